//! The templates that runs begin with. Each is noted in the directory before it is made, so that whoever goes on or starts
//! over finds it again, and no other experiment takes it for its own.

use crate::experiment::{Experiment, Reload};
use crate::noted::Noted;
use crate::store::Store;
use crate::variant::Variant;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::complain;
use lydite_database::DatabaseState;
use lydite_decide::Side;
use lydite_families::Templates;
use lydite_sweep::template_name;
use std::time::{SystemTime, UNIX_EPOCH};
use xxhash_rust::xxh3::xxh3_64;

/// Makes templates of the databases that are loaded, before the first run, so that nothing that somebody loaded is lost.
/// Databases that are empty are loaded by the first run. With runs, the templates that were made must be there.
///
/// # Errors
/// A database holds something else than a whole load of Lydite's, or is away; a template is gone.
pub(crate) fn keep(
    experiment: &Experiment,
    store: &mut Store,
    has_runs: bool,
    interrupt: &Interrupt,
) -> Outcome {
    if store.templates().is_empty() {
        let noted = plan(experiment, store.program(), interrupt)?;
        store.note_templates(noted)?;
    }
    for noted in store.templates().iter().filter(|of| of.is_original) {
        let Some(templates) = noted.templates(experiment, interrupt) else { continue };
        if templates.has(&noted.name)? {
            continue;
        }
        if has_runs {
            return Err(Failure::usage(format!(
                "the template {} is gone, and with it what {} held before the first run: load the database again, and \
                 name another directory with --out",
                noted.name, noted.database
            )));
        }
        templates.save(&noted.name)?;
    }
    Ok(())
}

/// Looks at the databases, and names their templates. Sides share one if they begin with the same rows.
fn plan(experiment: &Experiment, program: &str, interrupt: &Interrupt) -> Result<Vec<Noted>, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let unique = format!("{} {} {now}", experiment.out.display(), std::process::id());
    let mut all = Vec::new();
    for side in [Side::A, Side::B] {
        let variant = experiment.side(side);
        let target = variant.plan.target.clone().waited_for_by(interrupt.waiter());
        if experiment.reload_of(side) != Reload::Restore {
            continue;
        }
        let Some(templates) = target.templates() else { continue };
        let is_original = is_loaded(variant, &templates, interrupt)?;
        let database = variant.url_without_options().to_owned();
        // The rows of a database are the same by each of its URLs; what a run loads depends on the plan.
        let of =
            if is_original { database.clone() } else { template_name(&variant.plan, variant.url(), program) };
        let name = format!("template_{:016x}", xxh3_64(format!("{unique} {of}").as_bytes()));
        all.push(Noted { of_b: side == Side::B, name, database, is_original });
    }
    Ok(all)
}

/// True if the database has a whole load of Lydite's; false if it is empty.
///
/// # Errors
/// It holds something else, or is away.
fn is_loaded(variant: &Variant, templates: &Templates, interrupt: &Interrupt) -> Result<bool, Failure> {
    if !templates.database_is_there()? {
        return Ok(false);
    }
    let state = variant.plan.target.clone().waited_for_by(interrupt.waiter()).open()?.state()?;
    let url = variant.url_without_options();
    let problem = match state {
        DatabaseState::Ready { .. } => {
            templates.check()?;
            return Ok(true);
        }
        DatabaseState::Empty | DatabaseState::AnyScale | DatabaseState::Foreign { .. } => return Ok(false),
        DatabaseState::Loading { .. } => {
            format!("{url} has an unfinished load: finish it with lydite load --resume")
        }
        DatabaseState::Partial { problem, .. } => format!("{url} has no whole load: {problem}"),
        DatabaseState::Micro { .. } => format!("{url} has records of the microbenchmark"),
    };
    Err(Failure::usage(format!(
        "{problem}; or name an empty database, or say --reload each-run, which drops all that is there"
    )))
}

/// Gives the databases what their templates have, and deletes the templates. A template that can't be restored stays
/// noted, and the same command tries it again.
///
/// # Errors
/// A database is away, or somebody has it open; or the note can't be written.
pub(crate) fn give_back(experiment: &Experiment, store: &mut Store, interrupt: &Interrupt) -> Outcome {
    let mut left = Vec::new();
    let mut failures = Vec::new();
    for noted in store.templates().to_vec() {
        let Some(templates) = noted.templates(experiment, interrupt) else { continue };
        // Sides may share a template: the second one finds it gone.
        let restored = match templates.has(&noted.name) {
            Ok(true) => templates.restore(&noted.name).and_then(|()| templates.delete(&noted.name)),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = restored {
            failures.push(Failure::Target(format!(
                "{} could not be restored from the template {}, which stays: {error}: the same command tries it again",
                noted.database, noted.name
            )));
            left.push(noted);
        }
    }
    failures.extend(store.note_templates(left).err());
    Failure::all(failures)
}

/// Names the templates that remaining pairs need.
pub(crate) fn complain_of_kept(store: &Store) {
    let mut names: Vec<&str> = store.templates().iter().map(|of| of.name.as_str()).collect();
    names.dedup();
    if !names.is_empty() {
        complain(&format!("templates kept for the remaining pairs: {}", names.join(", ")));
    }
}
