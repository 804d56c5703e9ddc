//! Keys of the data: the districts of each warehouse, and the rows of each district.

use crate::entries::Entries;
use crate::error::PlanError;
use crate::key::Key;
use crate::problem::Problem;
use lydite_report::plan::PlanInfo;
use lydite_tpcc::meta::{DatabaseMeta, ScriptNote, Scripts};
use lydite_tpcc::{DataSkew, Districts, Size};

/// Keys of a plan about the data.
pub const KEYS: &[Key] = &[
    Key::new("data_skew").flag(
        "zipf(S)",
        "Spread the districts to load over the warehouses by Zipf, as zipf(1.5) [default: ten each]",
    ),
    Key::new("size").flag(
        "SIZE",
        "Rows of each warehouse to load: standard, small (a tenth) or tiny (a hundredth), for trials \
             [default: standard]",
    ),
];

/// The error of `--mode rte` on skewed districts.
pub(crate) const TEN_USERS: &str = "must be direct or open with data_skew: a warehouse's users are ten, each with a \
                                    district of its own (clause 4.2.1)";

/// The data of the database in a plan or on a command line. Unset keys take the value of the loaded database, else the
/// standard's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Spread of the districts over the warehouses.
    pub skew: Option<DataSkew>,
    /// Rows of ITEM and of each district.
    pub size: Option<Size>,
}

impl Data {
    /// Reads the data. `warehouses` is their number, if it is known.
    pub fn read(entries: &mut Entries, warehouses: Option<u32>) -> Self {
        let skew = entries.read("data_skew", str::parse::<DataSkew>);
        if let (Some(skew), Some(warehouses)) = (skew, warehouses)
            && let Err(problem) = Districts::spread(skew, warehouses)
        {
            entries.wrong("data_skew", &format!("is too steep: {problem}"));
        }
        let size = entries.read("size", |text| {
            let known = || Size::ALL.map(Size::name).join(", ");
            Size::from_name(text).ok_or_else(|| Problem::from(format!("must be one of {}", known())))
        });
        Self { skew, size }
    }

    /// Rejects emulated users on skewed districts.
    pub(crate) fn check_users(self, entries: &mut Entries) {
        if self.skew.is_some_and(|skew| !skew.is_uniform()) {
            entries.wrong("mode", TEN_USERS);
        }
    }

    /// Returns the data of a new database, with defaults for unset keys. Plans with equal data can share a database.
    pub fn of_a_new_database(self) -> Self {
        Self { skew: self.skew.filter(|skew| !skew.is_uniform()), size: Some(self.size.unwrap_or_default()) }
    }

    /// Returns the description of a new database.
    ///
    /// # Errors
    /// The skew is too steep for this number of warehouses.
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
    ///
    /// # Errors
    /// The difference, and what to do; the skew is too steep.
    pub fn check_loaded(self, meta: &DatabaseMeta, url: &str) -> Result<(), PlanError> {
        let rejected = |loaded: &str, asked: String| {
            Err(PlanError::usage(format!(
                "{url} holds {loaded}, but the plan wants {asked}: leave it out, or load again with --fresh"
            )))
        };
        if let Some(size) = self.size.filter(|&size| size != meta.size) {
            return rejected(
                &format!("warehouses of size {}", meta.size.name()),
                format!("size {}", size.name()),
            );
        }
        if let Some(skew) = self.skew
            && self.districts(meta.warehouses)? != meta.districts
        {
            let loaded = match meta.districts.skew() {
                None => "ten districts for each warehouse".to_owned(),
                Some(skew) => format!("districts that are spread by {skew}"),
            };
            return rejected(&loaded, format!("data_skew {skew}"));
        }
        Ok(())
    }

    /// Writes the data into the plan of the result: values that are configured or not the standard's.
    pub fn write_plan(self, meta: &DatabaseMeta, info: &mut PlanInfo) {
        info.data_skew = meta.districts.skew().or(self.skew).map(|skew| skew.to_string());
        let is_notable = meta.size != Size::Standard || self.size.is_some();
        info.size = is_notable.then(|| meta.size.name().into());
    }
}

/// Returns the options of `lydite load` that load the data of `meta`.
pub fn load_flags(meta: &DatabaseMeta) -> String {
    let scripts = script_flags(&meta.scripts);
    if meta.is_foreign() {
        // The seed of such rows is the checksum of their files.
        let dir = meta.files.as_deref().unwrap_or("DIR");
        return format!("--from {}{scripts}", shell_words::quote(dir));
    }
    format!("--warehouses {}{} --seed {}{scripts}", meta.warehouses, flags(meta), meta.seed)
}

/// Returns the options of `lydite load` that name the files of statements, with a space before each.
pub fn script_flags(scripts: &Scripts) -> String {
    let flag = |flag: &str, note: &Option<ScriptNote>| {
        note.as_ref().map(|note| format!(" {flag} {}", shell_words::quote(&note.file))).unwrap_or_default()
    };
    flag("--schema", &scripts.schema) + &flag("--after-load", &scripts.after_load)
}

/// Returns the options of `lydite load` that set the size and skew of `meta`, with a space before each.
fn flags(meta: &DatabaseMeta) -> String {
    let skew = meta.districts.skew().map(|skew| format!(" --data-skew '{skew}'")).unwrap_or_default();
    let size =
        if meta.size == Size::Standard { String::new() } else { format!(" --size {}", meta.size.name()) };
    skew + &size
}
