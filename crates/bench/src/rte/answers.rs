//! Times of answers that only sessions see, because terminals have lines.

use crate::clock::{Nanos, Window};
use crate::histogram::{count, histogram};
use crate::tpcc::DeliveryFacts;
use hdrhistogram::Histogram;

/// Times in the window.
#[derive(Debug)]
pub(super) struct Answers {
    /// From the choice of a transaction until its input screen.
    pub(super) menu: Histogram<u64>,
    /// Deliveries that were queued.
    pub(super) delivery: DeliveryFacts,
}

impl Default for Answers {
    fn default() -> Self {
        Self { menu: histogram(), delivery: DeliveryFacts::new() }
    }
}

impl Answers {
    /// Records an input screen that was chosen at `due` and came at `at`.
    pub(super) fn menu(&mut self, window: &Window, due: Nanos, at: Nanos) {
        if window.counts(due, at) {
            count(&mut self.menu, at - due);
        }
    }

    /// Records a Delivery that was due at `due` and whose terminal saw at `at` that it is queued.
    pub(super) fn queued(&mut self, window: &Window, due: Nanos, at: Nanos) {
        if window.counts(due, at) {
            self.delivery.queued += 1;
            count(&mut self.delivery.interactive, at - due);
        }
    }
}
