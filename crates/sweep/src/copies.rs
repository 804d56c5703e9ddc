//! The ending of an experiment's command: the text with the places of its files, and further copies of the document and the page.

use crate::directory::own_file;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::{complain, print};
use lydite_console::write::write;
use lydite_plan::destination::{Destination, documents};
use serde::Serialize;
use std::path::Path;

/// Further places of the document and of the page.
#[derive(Debug, Default)]
pub struct Copies {
    json: Option<Destination>,
    report: Option<Destination>,
}

impl Copies {
    /// Reads the values of `--json` and `--report`, and adds their problems to the errors. `out` is the directory of the
    /// experiment.
    #[must_use]
    pub fn read(json: Option<String>, report: Option<String>, out: &Path, errors: &mut Vec<String>) -> Self {
        let [json, report] = documents([("--json", json), ("--report", report)], errors);
        for (flag, place) in [("--json", &json), ("--report", &report)] {
            errors.extend(own_file(out, flag, place.as_ref()));
        }
        Self { json, report }
    }

    /// Returns true if one goes to the standard output.
    #[must_use]
    pub fn use_stdout(&self) -> bool {
        [&self.json, &self.report].into_iter().flatten().any(Destination::is_stdout)
    }

    /// Prints a text and the places of the files in the directory `out`, and writes the copies. `names` are those of the document
    /// and of the page.
    ///
    /// # Errors
    /// All places that can't be written.
    pub fn end(
        &self,
        text: &str,
        (out, names): (&Path, [&str; 2]),
        (document, page): (&impl Serialize, String),
        interrupt: &Interrupt,
    ) -> Outcome {
        let [name, page_name] = names;
        let printed = print(&format!(
            "{text}\nresults: {}\ndocument: {}\nreport: {}\n",
            out.join("results").display(),
            out.join(name).display(),
            out.join(page_name).display()
        ));
        let mut failures: Vec<Failure> = printed.err().into_iter().collect();
        if let Some(place) = &self.json {
            match serde_json::to_string_pretty(document) {
                Ok(text) => {
                    failures.extend(write(place, format!("{text}\n").as_bytes(), Some(interrupt)).err());
                }
                Err(error) => complain(&format!("{}: {error}", place.shown())),
            }
        }
        if let Some(place) = &self.report {
            failures.extend(write(place, page.as_bytes(), Some(interrupt)).err());
        }
        Failure::all(failures)
    }
}
