//! Settings that experiments over several runs have alike, as the user wrote them.

use lydite_plan::entries::Entries;
use std::path::PathBuf;

/// Settings of the user.
#[derive(Default)]
pub struct Common {
    /// Keys of the plans of all runs: the plan file, `--set` and flags.
    pub entries: Entries,
    /// Origin of each run's database.
    pub reload: Option<String>,
    /// Name of the experiment.
    pub label: Option<String>,
    /// Directory of results, document and page.
    pub out: PathBuf,
    /// Further place of the document.
    pub json: Option<String>,
    /// Further place of the page.
    pub report: Option<String>,
    /// True to delete the results that the directory holds first.
    pub fresh: bool,
}
