//! Settings that the servers of a lab have for a while: for the runs of one side of an experiment. The note keeps the
//! usual settings of each server, so that any process can bring them back.

use crate::directories::root;
use crate::kind::{KINDS, Kind, Servers};
use crate::note::Lab;
use crate::places::lab_of;
use crate::server::Server;
use crate::servers::{Programs, shut_down};
use crate::settings::{self, name_of};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::complain;
use lydite_faults::sockets::Address;
use std::path::{Path, PathBuf};

/// Products whose servers can have other settings for a while.
const ABLE: [Servers; 5] = [
    Servers::Postgres,
    Servers::PostgresOverShards,
    Servers::PostgresWithReplicas,
    Servers::Mariadb,
    Servers::Spider,
];

/// A lab whose servers get other settings for a while. When the value is dropped, they have their usual ones again.
#[derive(Debug)]
pub struct Trial {
    kind: &'static Kind,
    directory: PathBuf,
    /// True once the servers may have other settings than usual.
    tried: bool,
}

impl Trial {
    /// Rejects settings that no lab takes. `flag` is the one that has them.
    ///
    /// # Errors
    /// All wrong settings, one line each.
    pub fn check(flag: &str, settings: &[String]) -> Outcome {
        settings::check_flag(flag, settings)
    }

    /// Returns the reason why no lab takes a setting, `NAME=VALUE`; none if the server decides.
    #[must_use]
    pub fn problem(setting: &str) -> Option<String> {
        settings::problem(setting)
    }

    /// Returns the lab of a kind that was started without `--dir`.
    ///
    /// # Errors
    /// There is no such kind, or its servers can't have other settings.
    pub fn named(name: &str) -> Result<Self, Failure> {
        let kind = Kind::named(name)?;
        Self::of_kind(kind)?;
        Ok(Self { kind, directory: root().join(kind.name), tried: false })
    }

    /// Finds the lab of the database at these addresses.
    ///
    /// # Errors
    /// There is none among the labs that were started without `--dir`, or it can't have other settings.
    pub fn of(addresses: &[Address]) -> Result<Self, Failure> {
        let name = lab_of(addresses).map_err(|problem| Failure::usage(problem.to_string()))?;
        let name = name.ok_or_else(|| {
            Failure::usage(
                "the target is no lab that was started without --dir: start one with lydite lab up pg, and give the \
                 URL that it prints",
            )
        })?;
        Self::named(name)
    }

    /// Returns the name of the lab's kind.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind.name
    }

    /// Rejects a kind of lab that can't have other settings.
    pub(crate) fn of_kind(kind: &Kind) -> Outcome {
        if ABLE.contains(&kind.servers) {
            return Ok(());
        }
        let able = KINDS.iter().filter(|kind| ABLE.contains(&kind.servers)).map(|kind| kind.name);
        let able: Vec<&str> = able.collect();
        Err(Failure::usage(format!(
            "the lab {} can't have other settings for a while: use one of {}",
            kind.name,
            able.join(", ")
        )))
    }

    /// Starts the servers again with their usual settings and these, each as `NAME=VALUE`. `given` is what the user wrote
    /// for them; it may be empty if they are none.
    ///
    /// # Errors
    /// A server rejects a setting; then all have their usual settings again.
    pub fn set(&mut self, given: &str, settings: &[String]) -> Outcome {
        self.tried = true;
        let wanted = |server: &Server| with(server.usual.as_ref().unwrap_or(&server.settings), settings);
        let Err(refused) = self.start_again(|server| {
            let settings = wanted(server);
            server.usual.get_or_insert_with(|| std::mem::take(&mut server.settings));
            server.settings = settings;
        }) else {
            return Ok(());
        };
        let given = if settings.is_empty() { "the usual settings" } else { given };
        let back = self.end();
        let state = match &back {
            Ok(()) => "the lab has its usual settings again",
            Err(_) => "nor does the lab start with its usual settings",
        };
        let refused = Failure::usage(format!("{given}: the lab does not start: {}: {state}", refused.line()));
        Failure::all([Some(refused), back.err()].into_iter().flatten().collect())
    }

    /// Does the same as [`Trial::end`] for a lab whose note says that another process gave its servers other settings.
    ///
    /// # Errors
    /// A server does not end or start.
    pub fn end_of_others(&mut self) -> Outcome {
        self.tried |= Lab::read(&self.directory)?.is_some_and(|lab| is_on(&lab));
        self.end()
    }

    /// Starts the servers again with their usual settings, if they may have others. A lab that was ended has none.
    ///
    /// # Errors
    /// A server does not end or start.
    pub fn end(&mut self) -> Outcome {
        if self.tried && Lab::read(&self.directory)?.is_some() {
            take_back(self.kind, &self.directory)?;
        }
        self.tried = false;
        Ok(())
    }

    /// Ends all servers, changes them, and starts them. The note has the change before.
    fn start_again(&self, change: impl Fn(&mut Server)) -> Outcome {
        start_again(self.kind, &self.directory, change)
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        if let Err(failure) = self.end() {
            complain(&format!("{}: try lydite lab restart {}", failure.line(), self.kind.name));
        }
    }
}

/// The labs of an experiment whose servers get other settings for a while.
#[derive(Debug, Default)]
pub struct Trials(Vec<Trial>);

impl Trials {
    /// Does what [`Trial::set`] does. Of the same lab, the first value is kept.
    ///
    /// # Errors
    /// See [`Trial::set`].
    pub fn set(&mut self, trial: Trial, given: &str, settings: &[String]) -> Outcome {
        let known = self.0.iter_mut().find(|known| known.name() == trial.name());
        if let Some(known) = known {
            return known.set(given, settings);
        }
        self.0.push(trial);
        self.0.last_mut().map_or(Ok(()), |trial| trial.set(given, settings))
    }

    /// Does what [`Trial::end`] does, for all labs.
    ///
    /// # Errors
    /// All servers that do not end or start.
    pub fn end(&mut self) -> Outcome {
        let ended = self.0.iter_mut().map(Trial::end).filter_map(Result::err).collect();
        self.0.clear();
        Failure::all(ended)
    }
}

/// Returns true if servers of the lab have other settings than usual.
pub(crate) fn is_on(lab: &Lab) -> bool {
    lab.servers.iter().any(|server| server.usual.is_some())
}

/// Starts the servers of a lab again with their usual settings.
pub(crate) fn take_back(kind: &Kind, directory: &Path) -> Outcome {
    start_again(kind, directory, |server| {
        if let Some(usual) = server.usual.take() {
            server.settings = usual;
        }
    })
}

fn start_again(kind: &Kind, directory: &Path, change: impl Fn(&mut Server)) -> Outcome {
    let programs = Programs::find(kind.servers)?;
    // Held until this function ends, and taken before the note is read: another process may be changing it.
    let _starting = Lab::lock(directory)?;
    let mut lab = Lab::of(kind, directory)?;
    shut_down(kind.servers, &lab.servers)?;
    lab.servers.iter_mut().for_each(change);
    let written = lab.write(directory);
    let _still = written.map_err(|error| Failure::usage(format!("{}: {error}", directory.display())))?;
    programs.start_down(kind.servers, directory, &lab, None).map(drop)
}

/// Returns the usual settings with others, which replace those of the same name.
fn with(usual: &[String], others: &[String]) -> Vec<String> {
    let replaced = |setting: &&String| others.iter().any(|other| name_of(other) == name_of(setting));
    usual.iter().filter(|setting| !replaced(setting)).chain(others).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_replaces_the_usual_one_of_its_name() {
        let settings = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<String>>();
        let usual = settings(&["fsync=off", "innodb-flush-log-at-trx-commit=2"]);
        assert_eq!(with(&usual, &[]), usual);
        assert_eq!(
            with(&usual, &settings(&["innodb_flush_log_at_trx_commit=0", "work_mem=1MB"])),
            ["fsync=off", "innodb_flush_log_at_trx_commit=0", "work_mem=1MB"]
        );
    }
}
