//! The servers of labs in a sweep: started for a run, with the settings of its point.

use crate::experiment::Experiment;
use crate::point::Point;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_lab::{Labs, Trial, Trials};
use lydite_plan::controls::faults::addresses_of;
use std::collections::BTreeSet;
use std::path::Path;

/// The labs of a sweep.
pub(crate) struct Servers<'a> {
    experiment: &'a Experiment,
    labs: Labs,
    trials: Trials,
}

impl<'a> Servers<'a> {
    /// Makes the labs of the sweep in this directory.
    pub(crate) fn new(experiment: &'a Experiment, out: &Path) -> Self {
        Self { experiment, labs: Labs::new(out), trials: Trials::default() }
    }

    /// Rejects labs that run but don't fit, and targets whose servers can't get settings. Starts nothing.
    pub(crate) fn check(&self, todo: &[&Point]) -> Outcome {
        self.labs.check(todo.iter().filter_map(|point| point.lab.as_ref()))?;
        check_targets(self.experiment, todo)
    }

    /// Returns the URL of a point's lab, which is started if it does not run; `None` if its target is no lab.
    pub(crate) fn url(&self, point: &Point, interrupt: &Interrupt) -> Result<Option<String>, Failure> {
        point.lab.as_ref().map(|lab| self.labs.url(lab, interrupt)).transpose()
    }

    /// Returns points with settings of servers, together all that the runs of `todo` have and those of `done` had not.
    pub(crate) fn untried<'p>(&self, todo: &[&'p Point], done: &[&'p Point]) -> Vec<&'p Point> {
        let mut tried: BTreeSet<(&str, &str)> = done.iter().flat_map(|point| settings(point)).collect();
        let mut chosen = Vec::new();
        loop {
            let new = |point: &&'p Point| settings(point).filter(|setting| !tried.contains(setting)).count();
            let most = todo.iter().copied().max_by_key(new).filter(|point| new(point) > 0);
            let Some(point) = most else { return chosen };
            tried.extend(settings(point));
            chosen.push(point);
        }
    }

    /// Returns the lab of a point that must start again before each run: then some point of the sweep has settings, and
    /// all runs begin with servers that have just started.
    pub(crate) fn trial(&self, point: &Point) -> Result<Option<Trial>, Failure> {
        if self.experiment.points.iter().all(|point| point.beside.server.is_empty()) {
            return Ok(None);
        }
        match trial_of(point) {
            Ok(trial) => Ok(Some(trial)),
            // Other points have settings, and this target is no lab.
            Err(_) if point.beside.server.is_empty() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Starts the servers of a lab again with the settings of a point.
    ///
    /// # Errors
    /// A server rejects a setting; then all have their usual ones.
    pub(crate) fn set(&mut self, trial: Trial, point: &Point) -> Outcome {
        self.trials.set(trial, &point.beside.given(), &point.beside.server)
    }

    /// Ends the labs that this sweep started, and gives the servers of others their usual settings.
    pub(crate) fn end(&mut self) -> Outcome {
        Failure::all([self.labs.end(), self.trials.end()].into_iter().filter_map(Result::err).collect())
    }
}

/// Rejects settings of servers for targets that are no labs.
///
/// # Errors
/// All such settings, one line each.
pub(crate) fn check_targets(experiment: &Experiment, points: &[&Point]) -> Outcome {
    let problem = |point: &&Point| {
        let failure = trial_of(point).err()?;
        Some(format!("{}: {}: {}", experiment.file, point.beside.given(), failure.line()))
    };
    let wanting = points.iter().copied().filter(|point| !point.beside.server.is_empty());
    let problems: BTreeSet<String> = wanting.filter_map(|point| problem(&point)).collect();
    if problems.is_empty() { Ok(()) } else { Err(Failure::Usage(problems.into_iter().collect())) }
}

fn trial_of(point: &Point) -> Result<Trial, Failure> {
    match &point.lab {
        Some(lab) => lab.trial(),
        None => Trial::of(&addresses_of(point.url())),
    }
}

/// Returns the settings of a point's servers, each with their lab.
fn settings(point: &Point) -> impl Iterator<Item = (&str, &str)> {
    let lab = point.url().split('?').next().unwrap_or_default();
    point.beside.server.iter().map(move |setting| (lab, setting.as_str()))
}
