//! `lydite faults`: lists and undoes active faults. Three hidden commands are the helper processes of a fault: its guard,
//! busy threads, and one that holds packets.

pub(super) mod places;

use crate::cli::{FaultsArgs, FaultsCommand};
use crate::exit::{Failure, Outcome};
use crate::output::print;
use lydite_faults::Where;
use lydite_faults::note::{self, Left};

/// Runs `lydite faults`.
pub(crate) fn command(args: FaultsArgs) -> Outcome {
    match args.command {
        FaultsCommand::List => list(),
        FaultsCommand::Clear { place } => clear(place.as_deref()),
        FaultsCommand::Guard => lydite_faults::guard()
            .map_err(|error| Failure::usage(format!("faults guard: {error}: lydite run starts it itself"))),
        FaultsCommand::Burn { threads } => {
            lydite_faults::burn(threads);
            Ok(())
        }
        FaultsCommand::Hold { queue, shape } => lydite_faults::hold(queue, &shape)
            .map_err(|error| Failure::usage(format!("faults hold: {error}: a fault starts it itself"))),
    }
}

/// Returns the notes of all active faults, and the failures of those that can't be read.
fn all() -> Result<(Vec<Left>, Vec<Failure>), Failure> {
    let directory = note::directory();
    let (left, problems) =
        note::all(&directory).map_err(|error| Failure::usage(format!("{}: {error}", directory.display())))?;
    Ok((left, problems.into_iter().map(Failure::usage).collect()))
}

/// Prints the active faults.
fn list() -> Outcome {
    let (left, failures) = all()?;
    let line = |left: &Left| {
        let note = &left.note;
        let guarded = if note.guard.lives() {
            format!("guarded by process {}", note.guard.pid)
        } else {
            "left behind: undo it with lydite faults clear".to_owned()
        };
        format!("{}  {guarded}\n", note.fault.name())
    };
    let text: String = left.iter().map(line).collect();
    print(if text.is_empty() { "no active faults\n" } else { &text })?;
    Failure::all(failures)
}

/// Undoes the active faults, or those that act on a place.
fn clear(place: Option<&str>) -> Outcome {
    let place = place
        .map(|text| Where::parse(text).map_err(|problem| Failure::usage(format!("WHERE {text:?} {problem}"))))
        .transpose()?;
    let (left, mut failures) = all()?;
    let mut text = String::new();
    for left in left {
        let fault = &left.note.fault;
        let here = |place: &Where| fault.spec.places.iter().any(|own| own.meets(place));
        if !place.as_ref().is_none_or(here) {
            continue;
        }
        match left.take_over() {
            Ok(_) => text += &format!("undone: {}\n", fault.name()),
            Err(problem) => failures.push(Failure::Target(format!("{}: {problem}", fault.name()))),
        }
    }
    print(if text.is_empty() && failures.is_empty() { "no active faults\n" } else { &text })?;
    Failure::all(failures)
}
