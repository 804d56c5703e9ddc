//! Description of a loaded database, which Lydite stores with it for later runs.

use crate::kind::{DikeKind, TransactionKind};
use crate::nurand::CLoad;
use crate::scale::{Districts, Size};
use std::fmt;

/// Version of [`crate::population`]. Equal versions, seeds and scales give equal rows.
pub const POPULATION_VERSION: u32 = 1;

/// Version of rows that another program made. Lydite can't make them again.
pub const FOREIGN_POPULATION: u32 = 0;

/// The content of the `lydite_meta` table, apart from the state of the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseMeta {
    /// Configured warehouses.
    pub warehouses: u32,
    /// Districts of each warehouse. The database stores their skew if they are not ten each.
    pub districts: Districts,
    /// Rows of ITEM and of each district.
    pub size: Size,
    /// Seed of the population.
    pub seed: u64,
    /// C-Load of C_LAST (clause 2.1.6.1).
    pub c_load: CLoad,
    /// [`POPULATION_VERSION`] of the load.
    pub population: u32,
    /// Version of Lydite that loaded the database.
    pub lydite: String,
    /// Transactions beyond the standard's five that were played since.
    pub played: Played,
    /// Files of the user's statements that made the tables and ended the load.
    pub scripts: Scripts,
    /// Directory of the files that the rows of another program were loaded from, as an absolute path.
    pub files: Option<String>,
}

/// Files of the user's statements in a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scripts {
    /// File that made the tables; `None` for Lydite's own tables.
    pub schema: Option<ScriptNote>,
    /// File whose statements followed the rows.
    pub after_load: Option<ScriptNote>,
}

/// A file of statements, as a database notes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptNote {
    /// Path as the user wrote it.
    pub file: String,
    /// First 16 hexadecimal digits of the SHA-256 of its bytes.
    pub hash: String,
}

impl ScriptNote {
    /// Most bytes of the path, so that the note fits its column.
    pub const MAX_PATH: usize = 180;
    /// Digits of the hash.
    pub const HASH_DIGITS: usize = 16;

    /// Reads a note as its `Display` writes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (hash, file) = text.split_once(' ')?;
        (hash.len() == Self::HASH_DIGITS).then(|| Self { file: file.to_owned(), hash: hash.to_owned() })
    }
}

impl fmt::Display for ScriptNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.hash, self.file)
    }
}

/// The transactions beyond the standard's five that change what Lydite's own conditions compare
/// ([`crate::consistency::not_compared`]). The database notes each before it is played for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// dUpdateItem: items exchange their prices.
    pub update_item: bool,
    /// dUpdateStock: stock is taken without an order.
    pub update_stock: bool,
}

impl Played {
    /// The transactions that a database notes.
    pub const NOTED: [TransactionKind; 2] =
        [TransactionKind::Dike(DikeKind::UpdateItem), TransactionKind::Dike(DikeKind::UpdateStock)];

    /// Returns the value for the transactions for which `played` is true.
    #[must_use]
    pub fn of(played: impl Fn(TransactionKind) -> bool) -> Self {
        let [update_item, update_stock] = Self::NOTED.map(played);
        Self { update_item, update_stock }
    }
}

impl DatabaseMeta {
    /// True if another program made the rows, so Lydite does not know them. The seed is then a checksum of its files.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.population == FOREIGN_POPULATION
    }

    /// True if both databases hold the same rows after a load.
    #[must_use]
    pub fn is_of_same_rows(&self, other: &Self) -> bool {
        let key = |meta: &Self| (meta.warehouses, meta.size, meta.seed, meta.c_load, meta.population);
        key(self) == key(other) && self.districts == other.districts
    }

    /// Returns a description of `warehouses` with ten districts each and the standard's rows. Seed and C-Load come from
    /// `seed`, the population is the present one, and `lydite` is the version of Lydite that loads.
    #[must_use]
    pub fn uniform(warehouses: u32, seed: u64, lydite: impl Into<String>) -> Self {
        Self {
            warehouses,
            districts: Districts::uniform(),
            size: Size::Standard,
            seed,
            c_load: CLoad::from_seed(seed),
            population: POPULATION_VERSION,
            lydite: lydite.into(),
            played: Played::default(),
            scripts: Scripts::default(),
            files: None,
        }
    }

    /// Returns the warehouses in words: `2 warehouses`, or `1 small warehouse`.
    #[must_use]
    pub fn warehouses_in_words(&self) -> String {
        self.size.warehouses_in_words(self.warehouses)
    }

    /// Returns the loaded rows in words: `2 warehouses with data_skew zipf(1.5) from seed 7`.
    #[must_use]
    pub fn rows_in_words(&self) -> String {
        let spread = self.districts.skew().map(|skew| format!(" with data_skew {skew}")).unwrap_or_default();
        if self.is_foreign() {
            return format!("{} of another program", self.warehouses_in_words());
        }
        format!("{}{spread} from seed {}", self.warehouses_in_words(), self.seed)
    }
}
