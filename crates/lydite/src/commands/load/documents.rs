//! The documents of a load, and the end of the command.

use super::files::Checked;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_database::Target;
use lydite_families::TargetSpec;
use lydite_plan::load::LoadOutputs;
use lydite_plan::own_schema;
use lydite_report::model::LoadPlan;
use lydite_run::LoadFacts;
use lydite_run::loading::LoadDone;
use lydite_tpcc::meta::DatabaseMeta;
use std::sync::Arc;

/// Returns database and plan of a load for its documents; `None` without documents.
pub(super) fn facts(
    outputs: &LoadOutputs,
    (target, spec): (&Arc<dyn Target>, &TargetSpec),
    meta: &DatabaseMeta,
    checked: Option<&Checked>,
) -> Result<Option<LoadFacts>, Failure> {
    if !outputs.any() {
        return Ok(None);
    }
    let [schema, after_load] = own_schema::infos(spec.scripts(), meta);
    let plan = LoadPlan {
        schema,
        after_load,
        workload: "tpcc".into(),
        warehouses: Some(meta.warehouses.into()),
        size: Some(meta.size.name().into()),
        data_skew: meta.districts.skew().map(|skew| skew.to_string()),
        seed: meta.seed,
        from: checked.map(|checked| checked.dir().to_owned()),
        check_s: checked.map(Checked::seconds),
        observe: Vec::new(),
    };
    Ok(Some(LoadFacts { target: Arc::clone(target), description: target.describe()?, plan }))
}

/// Writes the documents of a load, and ends the command.
pub(super) fn conclude(
    done: &LoadDone,
    facts: Option<LoadFacts>,
    outputs: &LoadOutputs,
    interrupt: &Interrupt,
    interrupted: &str,
) -> Outcome {
    let mut failures = Vec::new();
    if done.report.interrupted {
        failures.push(Failure::Interrupted(interrupted.to_owned()));
    }
    if let Some(facts) = facts {
        failures.extend(done.publish(facts, outputs, interrupt).err());
    }
    Failure::all(failures)
}
