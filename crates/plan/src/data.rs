//! The data of a database, from the plan to the result: the districts of each warehouse, and the rows of each district.

use crate::entries::Entries;
use crate::error::PlanError;
use lydite_report::plan::PlanInfo;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::{DataSkew, Districts, Size};

/// The keys of a plan that say it.
pub const KEYS: &[&str] = &["data_skew", "size"];

/// Why emulated users need the standard's districts.
pub const TEN_USERS: &str = "must be direct or open with data_skew: a warehouse's users are ten, each with a district of its own \
                                    (clause 4.2.1)";

/// The data that a plan or a command line asks for. A key that it leaves out takes the value of the loaded database, and of a
/// new one the standard's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Spread of the districts over the warehouses.
    pub skew: Option<DataSkew>,
    /// Rows of ITEM and of each district.
    pub size: Option<Size>,
}

impl Data {
    /// Reads it. `warehouses`: how many there are, if that is known.
    pub fn read(entries: &mut Entries, warehouses: Option<u32>) -> Self {
        let skew = entries.read("data_skew", str::parse);
        if let (Some(skew), Some(warehouses)) = (skew, warehouses)
            && let Err(problem) = Districts::spread(skew, warehouses)
        {
            entries.wrong("data_skew", &format!("is too steep: {problem}"));
        }
        let size = entries.read("size", |text| {
            Size::from_name(text).ok_or_else(|| String::from("must be standard or small"))
        });
        Self { skew, size }
    }

    /// Rejects emulated users on districts that are spread.
    pub fn check_users(self, entries: &mut Entries) {
        if self.skew.is_some_and(|skew| !skew.is_uniform()) {
            entries.wrong("mode", TEN_USERS);
        }
    }

    /// The data of a new database, with defaults where nothing is asked for: two plans with the same can share one.
    pub fn of_a_new_database(self) -> Self {
        Self { skew: self.skew.filter(|skew| !skew.is_uniform()), size: Some(self.size.unwrap_or_default()) }
    }

    /// Describes a new database of so many warehouses.
    pub fn describe(self, warehouses: u32, seed: u64) -> Result<DatabaseMeta, PlanError> {
        let uniform = DatabaseMeta::uniform(warehouses, seed, env!("CARGO_PKG_VERSION"));
        Ok(DatabaseMeta {
            districts: self.districts(warehouses)?,
            size: self.size.unwrap_or_default(),
            ..uniform
        })
    }

    fn districts(self, warehouses: u32) -> Result<Districts, PlanError> {
        let spread = self.skew.map(|skew| Districts::spread(skew, warehouses)).transpose();
        Ok(spread.map_err(|problem| PlanError::usage(format!("data_skew: {problem}")))?.unwrap_or_default())
    }

    /// Rejects a database that was loaded with other data.
    pub fn check_loaded(self, meta: &DatabaseMeta, url: &str) -> Result<(), PlanError> {
        let refused = |held: &str, wanted: String| {
            Err(PlanError::usage(format!(
                "{url} holds {held}, but the plan wants {wanted}: leave it out, or load again with --fresh"
            )))
        };
        if let Some(size) = self.size.filter(|&size| size != meta.size) {
            return refused(
                &format!("warehouses of size {}", meta.size.name()),
                format!("size {}", size.name()),
            );
        }
        if let Some(skew) = self.skew
            && self.districts(meta.warehouses)? != meta.districts
        {
            let held = match meta.districts.skew() {
                None => "ten districts for each warehouse".to_owned(),
                Some(skew) => format!("districts that are spread by {skew}"),
            };
            return refused(&held, format!("data_skew {skew}"));
        }
        Ok(())
    }

    /// Writes the data of a run into its plan in the result: whatever is not the standard's, or was asked for.
    pub fn write_plan(self, meta: &DatabaseMeta, info: &mut PlanInfo) {
        info.data_skew = meta.districts.skew().or(self.skew).map(|skew| skew.to_string());
        let told = meta.size != Size::Standard || self.size.is_some();
        info.size = told.then(|| meta.size.name().into());
    }
}

/// The options of `lydite load` that load such a database, with a space before each.
pub fn flags(meta: &DatabaseMeta) -> String {
    let skew = meta.districts.skew().map(|skew| format!(" --data-skew '{skew}'")).unwrap_or_default();
    let size =
        if meta.size == Size::Standard { String::new() } else { format!(" --size {}", meta.size.name()) };
    skew + &size
}
