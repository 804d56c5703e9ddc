//! The notes of the templates that runs begin with.

use crate::experiment::Experiment;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_decide::Side;
use lydite_families::Templates;
use serde::{Deserialize, Serialize};

/// A template of a side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Noted {
    /// The side whose runs begin with it.
    pub(crate) of_b: bool,
    /// Name of the template.
    pub(crate) name: String,
    /// URL of the database, without password and options.
    pub(crate) database: String,
    /// True if it has what the database held before the first run. Else the first run loads the database and makes it.
    pub(crate) is_original: bool,
}

impl Noted {
    /// Returns the side whose runs begin with it.
    pub(crate) fn side(&self) -> Side {
        if self.of_b { Side::B } else { Side::A }
    }

    /// Returns the templates of its database; none if the database keeps none.
    pub(crate) fn templates(&self, experiment: &Experiment, interrupt: &Interrupt) -> Option<Templates> {
        experiment.side(self.side()).plan.target.clone().waited_for_by(interrupt.waiter()).templates()
    }
}

/// Rejects a directory whose templates are of other databases: this experiment could not give them back.
///
/// # Errors
/// The template and its database.
pub(crate) fn check(experiment: &Experiment, noted: &[Noted]) -> Outcome {
    match noted.iter().find(|of| experiment.side(of.side()).url_without_options() != of.database) {
        Some(Noted { name, database, .. }) => Err(Failure::usage(format!(
            "{}: an experiment there keeps what {database} held in the template {name}: go on with that experiment, or name \
             another directory with --out",
            experiment.out.display()
        ))),
        None => Ok(()),
    }
}
