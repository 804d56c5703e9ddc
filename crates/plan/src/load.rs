//! Settings of `lydite load` beside the data: documents, label and observed sources.

use crate::destination::Destination;
use crate::entries::Entries;
use crate::observe::{Observe, Reach};
use crate::plan::{check_places, label, output};
use lydite_families::TargetSpec;

/// The documents of a load, and the sources that are sampled for them.
#[derive(Clone, Debug)]
pub struct LoadOutputs {
    /// Place of the measures as JSON.
    pub json: Option<Destination>,
    /// Place of the page.
    pub report: Option<Destination>,
    /// The user's name for the load.
    pub label: Option<String>,
    /// Observed sources.
    pub observe: Observe,
}

impl LoadOutputs {
    /// Keys that it reads.
    pub const KEYS: &[&str] = &["json", "report", "label", "observe"];

    /// Reads the settings. Checks that the documents can be written.
    pub fn read(entries: &mut Entries, target: Option<&TargetSpec>, reach: Reach<'_>) -> Self {
        let json = output(entries, "json", target);
        let report = output(entries, "report", target);
        check_places(entries, &[("json", &json), ("report", &report)]);
        let label = entries.read("label", label);
        let observe = Observe::read(entries, reach);
        let outputs = Self { json, report, label, observe };
        if !outputs.any() {
            for key in ["label", "observe"] {
                if entries.text(key).is_some() {
                    entries.wrong(key, "is for the documents of a load: name --json or --report too");
                }
            }
        }
        outputs
    }

    /// True if there is a document to write.
    #[must_use]
    pub fn any(&self) -> bool {
        self.json.is_some() || self.report.is_some()
    }

    /// True if a document goes to the standard output.
    #[must_use]
    pub fn writes_stdout(&self) -> bool {
        [&self.json, &self.report].into_iter().flatten().any(Destination::is_stdout)
    }
}
