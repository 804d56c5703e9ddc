//! The templates of a sweep with `reload = "restore"`: copies of loaded databases, which runs begin with.

use crate::experiment::{Experiment, Reload};
use crate::point::Point;
use lydite_console::interrupt::Interrupt;
use lydite_console::output::complain;
use lydite_families::template_name as name_of_template;
use lydite_plan::Plan;
use std::collections::BTreeSet;
use xxhash_rust::xxh3::xxh3_64;

/// Returns the name of the template that runs of a plan begin with; `url` is that of its target. Plans share a template if
/// they load the same data into the same database. Each build of the program has its own templates.
pub(crate) fn template_name(plan: &Plan, url: &str, program: &str) -> String {
    let scripts = plan.target.scripts().notes();
    let loaded = format!("{program} {url} {:?} {} {:?} {scripts:?}", plan.warehouses, plan.seed, plan.data);
    name_of_template(xxh3_64(loaded.as_bytes()))
}

/// Returns the name of the template that a point's runs begin with.
pub(crate) fn name(point: &Point, program: &str) -> String {
    template_name(&point.plan, point.given.get("target").map_or("", String::as_str), program)
}

/// Returns the names of all templates of a sweep.
pub(crate) fn names(experiment: &Experiment, program: &str) -> Vec<String> {
    let names: BTreeSet<String> = experiment.points.iter().map(|point| name(point, program)).collect();
    names.into_iter().collect()
}

/// Deletes the templates of a sweep that is complete or starts over. `report`: print the templates that can't be
/// deleted.
pub(crate) fn delete(experiment: &Experiment, program: &str, report: bool, interrupt: &Interrupt) {
    if experiment.reload != Reload::Restore {
        return;
    }
    let of = |point: &Point| {
        let target = point.plan.target.clone().waited_for_by(interrupt.waiter());
        Some((name(point, program), target.templates()?))
    };
    let mut deleted = BTreeSet::new();
    for (name, templates) in experiment.points.iter().filter_map(of) {
        if deleted.insert(name.clone())
            && let Err(error) = templates.delete(&name)
            && report
        {
            complain(&format!("the template {name} could not be deleted: {error}"));
        }
    }
}
