//! Objects of a target, such as loaders, whose requests have a limit.

use super::Patience;
use crate::error::{Committed, TargetError, TxError};
use crate::load::{LoadProgress, LoadUnit, Loader};
use crate::load_rows::LoadRows;
use crate::micro::MicroLoader;
use crate::replication::Positions;
use lydite_micro::TableId;
use std::time::Duration;

/// An object that is lent to a thread for each request.
pub(super) struct Lent<T: ?Sized> {
    /// `None` after a request that was given up.
    thing: Option<Box<T>>,
    patience: Patience,
}

impl<T: ?Sized + Send + 'static> Lent<T> {
    pub(super) fn new(thing: Box<T>, patience: &Patience) -> Self {
        Self { thing: Some(thing), patience: patience.clone() }
    }

    fn ask<R: Send + 'static>(
        &mut self,
        what: &dyn Fn() -> String,
        moved: &dyn Fn() -> u64,
        work: impl FnOnce(&mut T) -> Result<R, TargetError> + Send + 'static,
    ) -> Result<R, TargetError> {
        let Some(mut thing) = self.thing.take() else {
            return Err(TargetError::unreachable(format!(
                "{}: the connection was abandoned, because it gave no answer",
                self.patience.0.place
            )));
        };
        let asked = self.patience.ask_for(what, moved, &mut |()| {}, move |_| {
            let result = work(&mut thing);
            // The object comes back with the answer, even with an error.
            Ok((thing, result))
        });
        let (thing, result) = asked?;
        self.thing = Some(thing);
        result
    }
}

impl Loader for Lent<dyn Loader> {
    fn load(&mut self, unit: LoadUnit, rows: &LoadRows, progress: &LoadProgress) -> Result<(), TargetError> {
        let (rows, counted) = (rows.clone(), progress.clone());
        let what = || format!("the rows of {unit}");
        self.ask(&what, &|| progress.bytes(), move |loader| loader.load(unit, &rows, &counted))
    }
}

impl MicroLoader for Lent<dyn MicroLoader> {
    fn load(&mut self, table: TableId, progress: &LoadProgress) -> Result<(), TargetError> {
        let counted = progress.clone();
        let what = || format!("the rows of table {}", table.number + 1);
        self.ask(&what, &|| progress.bytes(), move |loader| loader.load(table, &counted))
    }
}

impl Positions for Lent<dyn Positions> {
    fn position(&mut self) -> Result<String, TxError> {
        let what = || "its position in the replication".to_owned();
        self.ask(&what, &|| 0, |positions| Ok(positions.position())).map_err(unavailable)?
    }

    fn reach(&mut self, position: &str, longest: Duration) -> Result<bool, TxError> {
        let (what, position) = (|| "its position in the replication".to_owned(), position.to_owned());
        self.ask(&what, &|| 0, move |positions| Ok(positions.reach(&position, longest)))
            .map_err(unavailable)?
    }
}

/// Returns the error of a connection that was given up.
fn unavailable(error: TargetError) -> TxError {
    TxError::Unavailable { committed: Committed::No, detail: error.message }
}

/// The right to load. Its release waits at most [`GRACE`].
pub(super) struct Held {
    pub(super) right: Option<Box<dyn Send>>,
    pub(super) patience: Patience,
}

impl Drop for Held {
    fn drop(&mut self) {
        let right = self.right.take();
        self.patience.leave(move || drop(right));
    }
}
