//! What Lydite stores with a database that it loaded, so that a later run can be judged against it.

use crate::nurand::CLoad;
use crate::scale::{Districts, Size};

/// Version of [`crate::population`]: the same version, seed and scale give the same rows.
pub const POPULATION_VERSION: u32 = 1;

/// The content of the `lydite_meta` table, apart from the state of the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseMeta {
    /// Configured warehouses.
    pub warehouses: u32,
    /// Districts of each warehouse; of what is stored by what they are spread, if they are not ten each.
    pub districts: Districts,
    /// Rows of ITEM and of each district.
    pub size: Size,
    /// Seed of the population.
    pub seed: u64,
    /// C-Load of C_LAST (clause 2.1.6.1).
    pub c_load: CLoad,
    /// [`POPULATION_VERSION`] at loading.
    pub population: u32,
    /// Version of Lydite that loaded it.
    pub lydite: String,
}

impl DatabaseMeta {
    /// Ten districts in each of `warehouses`, the standard's rows, these and C-Load from `seed` by the present population, loaded by version
    /// `lydite`.
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
        }
    }

    /// The warehouses in words: `2 warehouses`, or `1 small warehouse`.
    #[must_use]
    pub fn warehouses_in_words(&self) -> String {
        let plural = if self.warehouses == 1 { "" } else { "s" };
        match self.size {
            Size::Standard => format!("{} warehouse{plural}", self.warehouses),
            Size::Small => format!("{} small warehouse{plural}", self.warehouses),
        }
    }
}
