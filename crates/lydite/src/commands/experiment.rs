//! Experiments over several runs: what their commands have alike.

use crate::cli::{ExperimentArgs, OWN};
use lydite_plan::entries::Entries;
use lydite_plan::keys;
use lydite_sweep::Common;
use std::path::PathBuf;

/// Collects the plan file, `--set` and the flags.
pub(super) fn common(args: ExperimentArgs, out: PathBuf) -> Common {
    let mut entries = Entries::default();
    if let Some(path) = &args.config {
        entries.file(path, keys());
    }
    for setting in &args.set {
        entries.set(setting, keys().plan);
    }
    for (key, values) in args.plan.0.iter().filter(|(key, _)| !OWN.contains(&key.name)) {
        let between = key.flag.and_then(|flag| flag.repeated).unwrap_or_default();
        entries.flag(key.name, Some(values.join(between)));
    }
    let [label, json, report] = OWN.map(|key| args.plan.values(key).first().cloned());
    Common { entries, reload: args.reload, label, out, json, report, fresh: args.fresh }
}
