//! Sizes and parts of the tables for a document. A failure to read them is a warning.

use lydite_console::output::complain;
use lydite_database::{TableShape, Target, TargetError};
use lydite_report::model::TableInfo;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longest wait for them.
const PATIENCE: Duration = Duration::from_secs(10);

/// The tables of a database, and the reason why they are not known.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    pub(crate) tables: Vec<TableInfo>,
    pub(crate) warning: Option<String>,
}

impl Shapes {
    /// Reads the tables, if the database can describe them.
    pub(crate) fn read(target: &Arc<dyn Target>) -> Self {
        if target.capabilities().shapes.is_none() {
            return Self::default();
        }
        let found = ask(target).map(|shapes| shapes.iter().map(info).collect());
        let warning =
            found.as_ref().err().map(|problem| format!("Not known: the sizes of the tables: {problem}"));
        warning.iter().for_each(|warning| complain(warning));
        Self { tables: found.unwrap_or_default(), warning }
    }
}

/// Asks on a thread of its own: the end of a run does not wait for a server that hangs.
fn ask(target: &Arc<dyn Target>) -> Result<Vec<TableShape>, TargetError> {
    let (found, shapes) = mpsc::channel();
    let target = Arc::clone(target);
    let work = move || {
        // The receiver may have lost patience.
        let _gone = found.send(target.capabilities().shapes());
    };
    let started = thread::Builder::new().name("table sizes".into()).spawn(work);
    started.map_err(|error| TargetError::database(format!("no thread for it: {error}")))?;
    let late = |_| TargetError::database(format!("no answer within {} s", PATIENCE.as_secs()));
    shapes.recv_timeout(PATIENCE).map_err(late)?
}

fn info(shape: &TableShape) -> TableInfo {
    let TableShape { table, bytes, rows, partitions, ranges, columns, indexes } = *shape;
    TableInfo { name: table.name().into(), bytes, rows, partitions, ranges, columns, indexes }
}
