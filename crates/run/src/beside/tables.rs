//! Sizes and parts of the tables, read once after the window and the checks.

use crate::companion::{Begun, Companion, Over};
use crate::ready::tpcc::Ready;
use crate::shapes::Shapes;
use lydite_bench::{Runnable, Status};
use lydite_database::{Target, Tpcc};
use lydite_report::RunResult;
use std::sync::Arc;

/// Begins nothing: the tables are read at the end.
pub(super) fn begin(ready: &Ready<'_>) -> Begun<Tpcc> {
    Ok(Some(Box::new(Reading { target: Arc::clone(&ready.target), shapes: Shapes::default() })))
}

struct Reading {
    target: Arc<dyn Target>,
    shapes: Shapes,
}

impl<W: Runnable> Companion<W> for Reading {
    fn afterwards(&mut self, over: &Over<'_, W>) {
        let measurement = over.measurement;
        if measurement.lost.is_none() && measurement.status != Status::Interrupted {
            self.shapes = Shapes::read(&self.target);
        }
    }

    fn add_to(&self, _: &Over<'_, W>, result: &mut RunResult) {
        result.target.tables.clone_from(&self.shapes.tables);
        result.warnings.extend(self.shapes.warning.clone());
    }
}
