//! Half a commit: only one side of a transaction over two servers committed. The tables of both sides name it.

use crate::reading::{Reading, settled};
use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_database::Target;
use lydite_tpcc::OrderId;

/// Both sides of the transactions of a run.
pub(crate) struct Sides {
    reading: Reading,
    /// Orders with which each district was loaded.
    loaded_orders: OrderId,
    /// True if dUpdateStocks change S_ORDER_CNT, too.
    plays_update_stock: bool,
}

impl Sides {
    /// See [`Reading::new`].
    pub(crate) fn new(reading: Reading, loaded_orders: u32, plays_update_stock: bool) -> Self {
        Self { reading, loaded_orders: OrderId(loaded_orders.into()), plays_update_stock }
    }

    /// Counts both sides, and describes those that differ for some seconds; `None` if all transactions are whole, or if
    /// the user interrupted.
    ///
    /// # Errors
    /// The database fails.
    pub(super) fn half_a_commit(&self, interrupt: &Interrupt) -> Result<Option<String>, Failure> {
        // A commit of unknown outcome may be under way on one of the servers.
        settled(Option::is_none, || self.look(interrupt))
    }

    fn look(&self, interrupt: &Interrupt) -> Result<Option<String>, Failure> {
        let loaded_orders = self.loaded_orders;
        let read = move |target: &dyn Target, warehouses: &_| target.halves(warehouses, loaded_orders);
        let counts = self.reading.read(interrupt, read)?;
        Ok(counts.and_then(|counts| counts.half_a_commit(self.plays_update_stock)))
    }
}

/// Adds half a commit to the words of a failed check, in place of its guess at the causes.
pub(super) fn blamed(detail: &str, guess: &str, half: &str) -> String {
    if detail.contains(guess) { detail.replace(guess, half) } else { format!("{detail}: {half}") }
}
