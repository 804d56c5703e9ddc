//! The settings of `lydite load` for TPC-C.

use crate::cli::LoadArgs;
use crate::commands::joining::joining;
use lydite_console::exit::Failure;
use lydite_database::TxMode;
use lydite_families::{NOT_INTERLEAVED, TargetSpec};
use lydite_observe::SourceSpec;
use lydite_plan::Problem;
use lydite_plan::data::Data;
use lydite_plan::entries::Entries;
use lydite_plan::key::names;
use lydite_plan::load::LoadOutputs;
use lydite_plan::own_schema;
use lydite_plan::values::{number, whole};
use lydite_run::fleet::joining::{Joining, check_shared};
use lydite_tpcc::limits::MAX_WAREHOUSES;
use lydite_tpcc::meta::DatabaseMeta;
use std::path::PathBuf;

/// Keys that `--set` accepts.
const KEYS: &[&str] = &[
    "workload",
    "data_skew",
    "size",
    "schema",
    "after_load",
    "micro.tables",
    "micro.records",
    "micro.record_bytes",
];

/// The seed of rows unless the user names one.
pub(super) const SEED: u64 = 1;

/// The settings of a load of TPC-C.
pub(super) struct Asked {
    pub(super) data: Data,
    pub(super) warehouses: Option<u32>,
    pub(super) jobs: usize,
    pub(super) seed: Option<u64>,
    pub(super) outputs: LoadOutputs,
    pub(super) fleet: Option<Joining>,
    /// `None` to write files alone.
    pub(super) spec: Option<TargetSpec>,
    pub(super) url: Option<String>,
    pub(super) from: Option<Directory>,
}

impl Asked {
    /// Reads the settings.
    ///
    /// # Errors
    /// Everything that is wrong, one line each.
    pub(super) fn read(args: &LoadArgs, mut entries: Entries) -> Result<Self, Failure> {
        let data = Data::read(&mut entries, None);
        let spec = spec(args, &mut entries.errors);
        if args.target.is_none() {
            for key in names(own_schema::KEYS) {
                if entries.text(key).is_some() {
                    entries.wrong(key, "is for the tables of a database: name a TARGET, or leave it out");
                }
            }
        }
        let spec = own_schema::read(&mut entries, spec);
        let outputs = LoadOutputs::read(&mut entries, spec.as_ref(), &SourceSpec::reach);
        let mut errors = entries.errors;
        errors.extend(args.interleaved.then(|| NOT_INTERLEAVED.to_owned()));
        let from = Directory::read(args, &outputs, &mut errors);
        let mut keep = |flag: &str, result: Result<u64, Problem>| {
            result.map_err(|problem| errors.push(format!("--{flag}: {problem}"))).ok()
        };
        let warehouses = args.warehouses.as_deref().map(|text| whole(text, 1, MAX_WAREHOUSES).map(u64::from));
        let missing = || Err("is missing: say how many to load, for example --warehouses 2".into());
        let warehouses = match warehouses {
            None if args.from.is_some() => None,
            warehouses => keep("warehouses", warehouses.unwrap_or_else(missing)),
        };
        let jobs = keep("jobs", whole(args.jobs.as_deref().unwrap_or("2"), 1, 1_000).map(u64::from));
        let seed = args.seed.as_deref().map(|text| number(text, "must be a whole number from 0"));
        let seed = seed.and_then(|seed| keep("seed", seed));
        let fleet = joining(&args.fleet, &mut errors);
        if let (Some(spec), Some(_)) = (&spec, &fleet)
            && let Err(problem) = check_shared(spec)
        {
            errors.push(format!("TARGET: {problem}"));
        }
        if !errors.is_empty() {
            return Err(Failure::Usage(errors));
        }
        let (warehouses, jobs) = (warehouses.map(|count| count as u32), jobs.unwrap_or(2) as usize);
        Ok(Self { data, warehouses, jobs, seed, outputs, fleet, spec, url: args.target.clone(), from })
    }

    /// Returns the description of a database with the rows of the seed. Only `--from` may leave the warehouses out.
    ///
    /// # Errors
    /// The skew is too steep for this number of warehouses.
    pub(super) fn describe(&self) -> Result<DatabaseMeta, Failure> {
        Ok(self.data.describe(self.warehouses.unwrap_or(1), self.seed.unwrap_or(SEED))?)
    }
}

/// Collects the settings that are keys.
pub(super) fn entries(args: &LoadArgs) -> Entries {
    let mut entries = Entries::default();
    for setting in &args.set {
        entries.set(setting, KEYS);
    }
    for (key, value) in [
        ("workload", &args.workload),
        ("data_skew", &args.data_skew),
        ("size", &args.size),
        ("schema", &args.schema),
        ("after_load", &args.after_load),
        ("target", &args.target),
        ("json", &args.json),
        ("report", &args.report),
        ("label", &args.label),
    ] {
        entries.flag(key, value.clone());
    }
    entries.flag("observe", (!args.observe.is_empty()).then(|| args.observe.join(";")));
    entries
}

/// Reads the URL, if there is one.
fn spec(args: &LoadArgs, errors: &mut Vec<String>) -> Option<TargetSpec> {
    let url = args.target.as_deref()?;
    TargetSpec::parse(url, TxMode::Statements).map_err(|more| errors.extend(more)).ok()
}

/// The directory of files that are written, loaded, or both.
#[derive(Clone, Debug)]
pub(super) struct Directory {
    pub(super) dir: PathBuf,
    /// True to write the files first.
    pub(super) write: bool,
}

impl Directory {
    /// Reads the flags.
    fn read(args: &LoadArgs, outputs: &LoadOutputs, errors: &mut Vec<String>) -> Option<Self> {
        let (dir, write, flag) = match (&args.csv, &args.from) {
            (Some(dir), _) => (dir, true, "csv"),
            (None, Some(dir)) => (dir, false, "from"),
            (None, None) => return None,
        };
        if args.fleet.agents.is_some() || args.fleet.join.is_some() {
            errors.push(format!("--{flag}: the files are on this machine: leave --agents out"));
        }
        if args.target.is_none() {
            for (given, other) in
                [(args.resume, "resume"), (args.fresh, "fresh"), (outputs.any(), "json or --report")]
            {
                if given {
                    errors.push(format!(
                        "--{other}: is for the load of a database: name a TARGET, or leave it out (--csv goes on with \
                         its files by itself)"
                    ));
                }
            }
        }
        if !write && !dir.is_dir() {
            errors.push(format!("--from: {} is no directory: name that of --csv", dir.display()));
        }
        Some(Self { dir: dir.clone(), write })
    }
}
