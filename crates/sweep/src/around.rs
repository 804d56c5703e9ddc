//! The commands around a run: before it and after it, with the values of its point in their environment.

use crate::beside::{AFTER, BEFORE};
use crate::command::ShellCommand;
use crate::experiment::COMMAND_TIMEOUT;
use crate::point::Point;
use crate::view::View;
use lydite_console::exit::Outcome;
use lydite_console::interrupt::Interrupt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// File names of the output of the last commands.
pub(crate) const LOGS: [&str; 2] = ["before.log", "after.log"];

/// The commands around a run.
pub(crate) struct Around<'a> {
    point: &'a Point,
    variables: Vec<(String, String)>,
    /// Directory of the sweep.
    out: PathBuf,
    limit: Duration,
}

impl<'a> Around<'a> {
    /// Makes the commands around a run.
    ///
    /// - `url`: URL of the lab that is the target, if it is one
    /// - `result`: path of the run's result
    pub(crate) fn new(
        point: &'a Point,
        repetition: u32,
        url: Option<&str>,
        (out, result): (&Path, &Path),
        limit: Duration,
    ) -> Self {
        let url = url.unwrap_or_else(|| point.url());
        let result = std::path::absolute(result).unwrap_or_else(|_| result.to_owned());
        let of_run = [
            ("LYDITE_TARGET", url.to_owned()),
            ("LYDITE_DATABASE", url.split('?').next().unwrap_or_default().to_owned()),
            ("LYDITE_REPETITION", repetition.to_string()),
            ("LYDITE_RESULT", result.display().to_string()),
        ];
        let of_run = of_run.into_iter().map(|(name, value)| (name.to_owned(), value));
        let variables = point.variables.iter().cloned().chain(of_run).collect();
        Self { point, variables, out: out.to_owned(), limit }
    }

    /// Runs the command before the run, if there is one, and shows the lines that it prints.
    ///
    /// # Errors
    /// It fails, takes too long, or the user interrupts.
    pub(crate) fn before(&self, view: &mut View, interrupt: &Interrupt) -> Outcome {
        self.run(BEFORE, self.point.beside.before.as_deref(), view, Some(interrupt))
    }

    /// Runs the command after the run, also if the user has interrupted: it puts away what the first one made.
    ///
    /// # Errors
    /// It fails, or takes too long.
    pub(crate) fn after(&self, view: &mut View) -> Outcome {
        self.run(AFTER, self.point.beside.after.as_deref(), view, None)
    }

    fn run(
        &self,
        name: &str,
        command: Option<&str>,
        view: &mut View,
        interrupt: Option<&Interrupt>,
    ) -> Outcome {
        let Some(command) = command else { return Ok(()) };
        let log = self.out.join(format!("{name}.log"));
        let variables = &self.variables;
        let command = ShellCommand {
            name,
            command,
            variables,
            log: &log,
            limit: self.limit,
            limit_name: COMMAND_TIMEOUT,
        };
        for line in command.run(interrupt)? {
            view.note(&format!("{name}: {line}"));
        }
        Ok(())
    }
}
