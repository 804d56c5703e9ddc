//! `lydite faults`: lists and undoes active faults. Hidden commands are the helper processes of a fault: its guard, the
//! threads that keep processors or a disk busy, one that keeps memory, one that holds packets, and the rehearsal for another host.

use crate::cli::{FaultsArgs, FaultsCommand};
use crate::signals;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::{complain, print};
use lydite_database::secret;
use lydite_faults::Where;
use lydite_faults::note::{self, Left};
use lydite_faults::remote::run;

/// Runs `lydite faults`.
pub(crate) fn command(args: FaultsArgs) -> Outcome {
    match args.command {
        FaultsCommand::List { place } => list(place.as_deref()),
        FaultsCommand::Clear { place, forget } => clear(place.as_deref(), forget),
        FaultsCommand::Rehearse => lydite_lab::places::answer(),
        // Some send signals to all processes of a service or a session.
        FaultsCommand::Guard => signals::survive_ends()
            .and_then(|()| lydite_faults::guard())
            .map_err(|error| Failure::usage(format!("faults guard: {error}: lydite run starts it itself"))),
        FaultsCommand::Burn { threads } => {
            lydite_faults::burn(threads);
            Ok(())
        }
        FaultsCommand::Memory { bytes } => lydite_faults::burn_memory(bytes).or_else(|error| {
            // The guard reads it in place of the line that the memory is taken.
            print(&format!("{error}\n"))
        }),
        FaultsCommand::Disk { threads, directory, write } => {
            lydite_faults::disk_load(write, threads, &directory).or_else(|error| {
                // The guard reads it in place of the line that the threads have begun.
                print(&format!("{error}\n"))
            })
        }
        FaultsCommand::Hold { queue, shape } => signals::readable_at_end()
            .and_then(|stop| lydite_faults::hold(queue, &shape, &stop))
            .map_err(|error| Failure::usage(format!("faults hold: {error}: a fault starts it itself"))),
    }
}

/// Returns the notes of all active faults, and the failures of those that can't be read.
fn all() -> (Vec<Left>, Vec<Failure>) {
    let (mut all, mut failures) = (Vec::new(), Vec::new());
    for directory in note::directories() {
        match note::all(&directory) {
            Ok((left, problems)) => {
                all.extend(left);
                failures.extend(problems.into_iter().map(Failure::usage));
            }
            Err(error) => failures.push(Failure::usage(format!("{}: {error}", directory.display()))),
        }
    }
    (all, failures)
}

/// Warns about faults that an earlier run left behind, before they disturb this one. Notes that can't be read are for
/// `lydite faults list` to tell.
pub(crate) fn warn_of_left() {
    let (left, _) = all();
    for left in left.iter().filter(|left| !left.note.guard.lives()) {
        complain(&format!(
            "{} is still in force, left by an earlier run: lydite faults clear",
            left.note.fault.name()
        ));
    }
}

/// The place of a command; all places of this machine if none.
struct Place {
    host: Option<String>,
    place: Option<Where>,
}

impl Place {
    fn parse(text: Option<&str>) -> Result<Self, Failure> {
        let Some(text) = text else { return Ok(Self { host: None, place: None }) };
        let read = Where::parse(text)
            .map_err(|problem| Failure::usage(format!("WHERE {:?} {problem}", secret::shown(text))))?;
        Ok(match read {
            // The host alone means all that is on it.
            (host @ Some(_), Where::Local) => Self { host, place: None },
            (host, place) => Self { host, place: Some(place) },
        })
    }

    /// Returns true if a fault acts on the place.
    fn has(&self, left: &Left) -> bool {
        let places = &left.note.fault.spec.places;
        // The text of nodes=N does not say which lab it is of.
        let is =
            |own: &Where, place: &Where| own == place || !matches!(own, Where::Nodes(_)) && own.meets(place);
        self.place.as_ref().is_none_or(|place| places.iter().any(|own| is(own, place)))
    }

    /// Gives the command to the host of the place. Returns `None` if that is this machine.
    fn pass_on(&self, command: &[&str]) -> Option<Outcome> {
        let host = self.host.as_deref()?;
        let place = self.place.as_ref().map(Where::to_string);
        let arguments: Vec<&str> =
            std::iter::once(&"faults").chain(command).copied().chain(place.as_deref()).collect();
        Some(pass_on(host, &arguments))
    }
}

/// Prints the active faults, or those that act on a place.
fn list(place: Option<&str>) -> Outcome {
    let place = Place::parse(place)?;
    if let Some(outcome) = place.pass_on(&["list"]) {
        return outcome;
    }
    let (left, failures) = all();
    let line = |left: &Left| {
        let note = &left.note;
        let guarded = if note.guard.lives() {
            format!("guarded by process {}", note.guard.pid)
        } else {
            "left behind: undo it with lydite faults clear".to_owned()
        };
        format!("{}  {guarded}\n", note.fault.name())
    };
    let text: String = left.iter().filter(|left| place.has(left)).map(line).collect();
    print(if text.is_empty() && failures.is_empty() { "no active faults\n" } else { &text })?;
    Failure::all(failures)
}

/// Undoes the active faults, or those that act on a place. With `forget` also removes the notes of those that it can't
/// undo.
fn clear(place: Option<&str>, forget: bool) -> Outcome {
    let place = Place::parse(place)?;
    let command: &[&str] = if forget { &["clear", "--forget"] } else { &["clear"] };
    if let Some(outcome) = place.pass_on(command) {
        return outcome;
    }
    let (left, mut failures) = all();
    let mut text = String::new();
    for left in left.into_iter().filter(|left| place.has(left)) {
        let name = left.note.fault.name();
        match left.take_over() {
            Ok(_) => text += &format!("undone: {name}\n"),
            Err(problem) if forget => match left.forget() {
                Ok(()) => text += &format!("forgotten: {name} ({problem})\n"),
                Err(problem) => failures.push(Failure::Target(format!("{name}: {problem}"))),
            },
            Err(problem) => failures.push(Failure::Target(format!(
                "{name}: {problem}; undo it by hand, then run lydite faults clear --forget"
            ))),
        }
    }
    print(if text.is_empty() && failures.is_empty() { "no active faults\n" } else { &text })?;
    Failure::all(failures)
}

/// Runs `lydite faults list` or `clear` on a host and prints its output.
///
/// # Errors
/// The host can't be reached, or the command fails there.
fn pass_on(host: &str, arguments: &[&str]) -> Outcome {
    let failed = |problem: String| Failure::Target(format!("ssh {host}: {problem}"));
    let output = run(host, arguments, "").map_err(|error| failed(error.to_string()))?;
    print(&String::from_utf8_lossy(&output.stdout))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}
