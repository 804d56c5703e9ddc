//! The servers of labs: started for a run, with the settings of its side.

use crate::experiment::Experiment;
use crate::variant::{Variant, flag};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_decide::Side;
use lydite_lab::{Labs, Trial, Trials};
use lydite_plan::controls::faults::addresses_of;

/// The labs of an experiment.
pub(crate) struct Servers<'a> {
    experiment: &'a Experiment,
    labs: Labs,
    trials: Trials,
}

impl<'a> Servers<'a> {
    /// Rejects labs that run but don't fit. Starts nothing.
    ///
    /// # Errors
    /// All such labs, one line each.
    pub(crate) fn new(experiment: &'a Experiment) -> Result<Self, Failure> {
        let labs = Labs::new(&experiment.out);
        labs.check(experiment.sides.iter().filter_map(|variant| variant.subject.lab.as_ref()))?;
        Ok(Self { experiment, labs, trials: Trials::default() })
    }

    /// Starts the servers with the settings of each side, so that a wrong setting is known before the first run.
    ///
    /// # Errors
    /// A lab can't be started, or rejects a setting; then it has its usual ones.
    pub(crate) fn try_out(&mut self, interrupt: &Interrupt) -> Outcome {
        for variant in self.experiment.sides.iter().filter(|variant| !variant.known.server.is_empty()) {
            let url = self.url(variant, interrupt)?;
            self.set(variant, url.as_deref())?;
        }
        Ok(())
    }

    /// Returns the URL of a variant's lab, which is started if it does not run; `None` if it is no lab of this command.
    ///
    /// # Errors
    /// The lab can't be started.
    pub(crate) fn url(&self, variant: &Variant, interrupt: &Interrupt) -> Result<Option<String>, Failure> {
        variant.subject.lab.as_ref().map(|lab| self.labs.url(lab, interrupt)).transpose()
    }

    /// Starts a variant's lab again with its settings, if one of the sides has some: both sides then have servers that have
    /// just started. `url` is that of the lab, if this command started it.
    ///
    /// # Errors
    /// The lab rejects a setting; then it has its usual ones.
    pub(crate) fn set(&mut self, variant: &Variant, url: Option<&str>) -> Outcome {
        if self.experiment.sides.iter().all(|variant| variant.known.server.is_empty()) {
            return Ok(());
        }
        let found = Trial::of(&addresses_of(url.unwrap_or_else(|| variant.subject.url())));
        let found = match found {
            Ok(found) => found,
            // The other side has settings, and this one is no lab.
            Err(_) if variant.known.server.is_empty() => return Ok(()),
            Err(problem) => {
                return Err(Failure::usage(format!("{}: {}", flag(variant.side, "server"), problem.line())));
            }
        };
        let (flag, settings) = (flag(variant.side, "server"), &variant.known.server);
        let given: Vec<String> = settings.iter().map(|setting| format!("{flag} {setting}")).collect();
        self.trials.set(found, &given.join(" "), settings)
    }

    /// Gives the servers their usual settings, and ends the labs that this command started.
    ///
    /// # Errors
    /// A server does not start or end.
    pub(crate) fn end(&mut self) -> Outcome {
        let mut failures: Vec<Failure> = self.trials.end().err().into_iter().collect();
        // A process before this one may have been killed before it gave them back.
        for variant in self.experiment.sides.iter().filter(|variant| !variant.known.server.is_empty()) {
            if let Ok(mut trial) = Trial::of(&addresses_of(variant.subject.url())) {
                failures.extend(trial.end_of_others().err());
            }
        }
        failures.extend(self.labs.end().err());
        Failure::all(failures)
    }

    /// Returns true if a side has settings of servers.
    pub(crate) fn has_settings(&self) -> bool {
        [Side::A, Side::B].iter().any(|side| !self.experiment.side(*side).known.server.is_empty())
    }
}
