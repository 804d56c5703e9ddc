//! Reasons and words that several dialects of SQLite share.

use crate::pasted::row::Meaning::{self, Choice};
use crate::pasted::row::Word::{Ignored, Rejected, Same, Sets};

/// Reason for what Lydite sets itself.
pub(super) const OWN: &str = "Lydite sets it for its sessions";
/// Reason for the size of the cache.
pub(super) const CACHE: &str = "write cache_mb=MEGABYTES behind sqlite:PATH?";
/// Reason for passwords.
pub(super) const ENCRYPTION: &str = "Lydite has no encryption of files";
/// Reason for what would not let Lydite write.
pub(super) const WRITES: &str = "Lydite writes: leave it out";

/// Meaning of the durability of commits.
pub(super) const SYNCHRONOUS: Meaning = Choice(
    "synchronous",
    &[
        ("FULL", Sets("full")),
        ("NORMAL", Sets("normal")),
        ("OFF", Sets("off")),
        ("2", Sets("full")),
        ("1", Sets("normal")),
        ("0", Sets("off")),
    ],
    Rejected("write FULL, NORMAL or OFF"),
);
/// Meaning of foreign keys.
pub(super) const FOREIGN_KEYS: Meaning = Choice(
    "foreign_keys",
    &[("true", Sets("on")), ("false", Sets("off")), ("1", Sets("on")), ("0", Sets("off"))],
    Rejected("write on or off"),
);
/// Meaning of the journal.
pub(super) const JOURNAL: Meaning =
    Choice("", &[("WAL", Same)], Rejected("Lydite keeps the write-ahead log: leave it out"));
/// Meaning of a wish to read only.
pub(super) const READ_ONLY: Meaning = Choice("", &[("false", Same)], Rejected(WRITES));
/// Meaning of the version of files.
pub(super) const VERSION: Meaning = Choice("", &[("3", Same)], Ignored("Lydite has SQLite 3 alone"));
