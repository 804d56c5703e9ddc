//! The documents of a load: its JSON and its page.

use crate::host;
use crate::loading::LoadDone;
use crate::publishing::or_elsewhere;
use crate::result::load::{of_tables, of_warehouses};
use crate::shapes::Shapes;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::print;
use lydite_database::{Description, Target};
use lydite_plan::destination::Destination;
use lydite_plan::load::LoadOutputs;
use lydite_report::model::{LoadPlan, LoadResult, Status, TargetInfo};
use lydite_report::render_load;
use std::sync::Arc;

/// Database and plan of a load, for its documents.
pub struct LoadFacts {
    /// The database.
    pub target: Arc<dyn Target>,
    /// The target's description.
    pub description: Description,
    /// The plan of the load.
    pub plan: LoadPlan,
}

impl LoadDone {
    /// Writes the documents that the user named, and prints their places.
    ///
    /// # Errors
    /// All failures to write.
    pub fn publish(&self, of: LoadFacts, outputs: &LoadOutputs, interrupt: &Interrupt) -> Outcome {
        if !outputs.any() {
            return Ok(());
        }
        let result = self.document(of, outputs)?;
        let (mut failures, mut text) = (Vec::new(), String::new());
        let mut output = |name: &str, place: &Destination, usual: &str, document: &str| {
            let written = or_elsewhere(place, usual, document.as_bytes(), interrupt);
            match written {
                Ok(()) => text.push_str(&format!("{name}: {}\n", place.shown())),
                Err(failure) => failures.push(failure),
            }
        };
        if let Some(place) = &outputs.json {
            let json = result
                .to_json()
                .map_err(|error| Failure::usage(format!("the load can't be written as JSON: {error}")))?;
            output("load", place, "load.json", &json);
        }
        if let Some(place) = &outputs.report {
            output("report", place, "load.html", &render_load(&result));
        }
        failures.extend(print(&text).err());
        Failure::all(failures)
    }

    fn document(&self, of: LoadFacts, outputs: &LoadOutputs) -> Result<LoadResult, Failure> {
        let LoadFacts { target, description, plan } = of;
        let micro = plan.workload == "micro";
        // The tables of the microbenchmark are others.
        let shapes = if micro { Shapes::default() } else { Shapes::read(&target) };
        let configuration = &self.seen.configuration;
        Ok(LoadResult {
            label: outputs.label.clone(),
            status: if self.report.interrupted { Status::Partial } else { Status::Complete },
            plan: LoadPlan { observe: outputs.observe.written(), ..plan },
            host: host::info(),
            load: if micro { of_tables(self)? } else { of_warehouses(self)? },
            warnings: description
                .unread
                .iter()
                .chain(&self.seen.warnings)
                .chain(&shapes.warning)
                .cloned()
                .collect(),
            target: TargetInfo {
                kind: description.kind,
                version: description.version,
                url: description.url,
                settings: description.settings,
                changed_settings: configuration.changed_settings.clone(),
                encrypted: configuration.encrypted,
                embedded: description.embedded,
                tables: shapes.tables,
            },
            ..LoadResult::default()
        })
    }
}
