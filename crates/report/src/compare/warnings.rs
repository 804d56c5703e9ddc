//! Warnings about the runs of a comparison, each with the files that it is about: a noisy or busy machine, aborts, outages,
//! faults, interruptions, failed checks.

use std::fmt;

use serde::Serialize;

use crate::findings::findings_with_losses;
use crate::model::RunResult;

/// A warning about one or several of the compared runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Names of the files of these runs.
    pub files: Vec<String>,
    /// A sentence.
    pub text: String,
}

/// Writes `FILE, FILE: TEXT`.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.files.is_empty() {
            return f.write_str(&self.text);
        }
        write!(f, "{}: {}", self.files.join(", "), self.text)
    }
}

/// Returns the warnings about runs, each with the name of its file: those of failures first, equal ones once.
pub(crate) fn of_runs<'a>(runs: impl IntoIterator<Item = (&'a str, &'a RunResult)>) -> Vec<Warning> {
    let found = |(file, result): (&str, &'a RunResult)| {
        let file = file.to_owned();
        findings_with_losses(result).map(move |finding| (finding.weight, file.clone(), finding.text))
    };
    let mut all: Vec<_> = runs.into_iter().flat_map(found).collect();
    all.sort_by_key(|(weight, ..)| std::cmp::Reverse(*weight));
    merged(all.into_iter().map(|(_, file, text)| Warning { files: vec![file], text }))
}

/// Returns warnings with the same text as one with the files of all.
pub(crate) fn merged(warnings: impl IntoIterator<Item = Warning>) -> Vec<Warning> {
    let mut all: Vec<Warning> = Vec::new();
    for warning in warnings {
        let Some(known) = all.iter_mut().find(|known| known.text == warning.text) else {
            all.push(warning);
            continue;
        };
        for file in warning.files {
            if !known.files.contains(&file) {
                known.files.push(file);
            }
        }
    }
    all
}
