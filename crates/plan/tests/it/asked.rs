//! Plans from the arguments of `lydite run`.

use lydite_plan::entries::Entries;
use lydite_plan::{Plan, PlanError, keys};
use std::path::Path;

/// Number of loaded warehouses, if the plan sets none.
const LOADED: u32 = 10;

/// Reads a plan from flags, such as `["null:", "--mode", "open", "--set", "arrival=constant"]`, and fits it to a
/// database of its own number of warehouses, or of ten.
pub(crate) fn plan(arguments: &[&str]) -> Result<Plan, Vec<String>> {
    let lines = |error: PlanError| error.lines().into_iter().map(str::to_owned).collect::<Vec<_>>();
    let plan = Plan::read(entries(arguments)).map_err(lines)?;
    if plan.micro.is_none() {
        plan.mode(plan.warehouses.unwrap_or(LOADED)).map_err(lines)?;
    }
    Ok(plan)
}

/// Returns the errors of a plan that must be rejected.
pub(crate) fn refused(arguments: &[&str]) -> Vec<String> {
    plan(arguments).expect_err("a plan that is rejected")
}

/// Returns the only error of a plan that must be rejected.
pub(crate) fn refused_once(arguments: &[&str]) -> String {
    let errors = refused(arguments);
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors.concat()
}

/// Checks that a plan is rejected with an error that contains `said`.
pub(crate) fn assert_refused(arguments: &[&str], said: &str) {
    let errors = refused(arguments);
    assert!(errors.iter().any(|error| error.contains(said)), "{said}: {errors:?}");
}

/// Reads a plan from a file of this text, with more flags.
pub(crate) fn plan_of_file(text: &str, flags: &[&str]) -> Result<Plan, Vec<String>> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("p.toml");
    std::fs::write(&path, text).expect("a plan file");
    let path = path.to_str().expect("a name");
    plan(&[&["--config", path], flags].concat())
}

fn entries(arguments: &[&str]) -> Entries {
    let mut flags = Vec::new();
    let mut left = arguments.iter();
    while let Some(argument) = left.next() {
        match argument.strip_prefix("--") {
            Some(flag) => flags.push((flag.to_owned(), *left.next().expect("a value"))),
            None => flags.push(("target".to_owned(), *argument)),
        }
    }
    let mut entries = Entries::default();
    let of = |name: &str| {
        flags.iter().filter(|(flag, _)| flag == name).map(|(_, value)| *value).collect::<Vec<_>>()
    };
    of("config").iter().for_each(|path| entries.file(Path::new(path), keys()));
    of("set").iter().for_each(|setting| entries.set(setting, keys().plan));
    for (flag, value) in flags.iter().filter(|(flag, _)| !["config", "set"].contains(&flag.as_str())) {
        entries.flag(&flag.replace('-', "_"), Some((*value).to_owned()));
    }
    entries
}
