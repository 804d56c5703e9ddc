//! The templates that runs begin with.

use crate::experiment::{Experiment, Reload};
use crate::variant::Variant;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::complain;
use lydite_database::DatabaseState;
use lydite_decide::Side;
use lydite_families::Templates;
use lydite_sweep::template_name;

/// The template of a side.
struct Kept<'a> {
    variant: &'a Variant,
    name: String,
    templates: Templates,
}

/// Returns the templates of the experiment, each once.
fn kept<'a>(experiment: &'a Experiment, program: &str, interrupt: &Interrupt) -> Vec<Kept<'a>> {
    let mut all: Vec<Kept<'a>> = Vec::new();
    for side in [Side::A, Side::B] {
        let variant = experiment.side(side);
        let name = template_name(&variant.plan, variant.url(), program);
        if experiment.reload_of(side) != Reload::Restore || all.iter().any(|known| known.name == name) {
            continue;
        }
        let target = variant.plan.target.clone().waited_for_by(interrupt.waiter());
        if let Some(templates) = target.templates() {
            all.push(Kept { variant, name, templates });
        }
    }
    all
}

/// Makes templates of the databases that are loaded, before the first run, so that nothing that somebody loaded is lost.
/// Databases that are empty are loaded by the first run.
///
/// # Errors
/// A database holds something else than a whole load of Lydite's, or is away.
pub(crate) fn keep(experiment: &Experiment, program: &str, interrupt: &Interrupt) -> Outcome {
    let all = kept(experiment, program, interrupt);
    for of in &all {
        if of.templates.has(&of.name)? {
            // A killed experiment left it: the database may be half restored.
            return Ok(());
        }
    }
    for Kept { variant, name, templates } in &all {
        if !templates.database_is_there()? {
            continue;
        }
        let state = {
            let target = variant.plan.target.clone().waited_for_by(interrupt.waiter());
            target.open()?.state()?
        };
        let url = variant.url_without_options();
        let problem = match state {
            DatabaseState::Ready { .. } => {
                templates.check()?;
                templates.save(name)?;
                continue;
            }
            DatabaseState::Empty | DatabaseState::AnyScale | DatabaseState::Foreign { .. } => continue,
            DatabaseState::Loading { .. } => {
                format!("{url} has an unfinished load: finish it with lydite load --resume")
            }
            DatabaseState::Partial { problem, .. } => format!("{url} has no whole load: {problem}"),
            DatabaseState::Micro { .. } => format!("{url} has records of the microbenchmark"),
        };
        return Err(Failure::usage(format!(
            "{problem}; or name an empty database, or say --reload each-run, which drops all that is there"
        )));
    }
    Ok(())
}

/// Gives the databases what their templates have, and deletes the templates of an experiment that is over.
pub(crate) fn give_back(experiment: &Experiment, program: &str, interrupt: &Interrupt) {
    for Kept { name, templates, .. } in kept(experiment, program, interrupt) {
        let restored = match templates.has(&name) {
            Ok(true) => templates.restore(&name).and_then(|()| templates.delete(&name)),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = restored {
            complain(&format!(
                "the database could not be restored from the template {name}, which stays: {error}"
            ));
        }
    }
}

/// Names the templates that remaining pairs need.
pub(crate) fn complain_of_kept(experiment: &Experiment, program: &str) {
    let names: Vec<String> =
        kept(experiment, program, &Interrupt::default()).into_iter().map(|of| of.name).collect();
    if !names.is_empty() {
        complain(&format!("templates kept for the remaining pairs: {}", names.join(", ")));
    }
}

/// Does the same for an experiment that starts over.
///
/// # Errors
/// A database is away, or somebody has it open.
pub(crate) fn forget(experiment: &Experiment, program: &str, interrupt: &Interrupt) -> Outcome {
    for Kept { name, templates, .. } in kept(experiment, program, interrupt) {
        if templates.has(&name)? {
            templates.restore(&name)?;
            templates.delete(&name)?;
        }
    }
    Ok(())
}
