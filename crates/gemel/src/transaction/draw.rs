//! Keys at random.

use super::Transaction;
use crate::draw::{EachDrawn, Random};
use crate::error::Result;
use crate::keyspace::Keyspace;

impl Transaction {
    /// Draws committed keys of a keyspace at random, `draws` times, and passes those that have a value to `each`. The
    /// transaction does not remember these reads, so it must not write.
    ///
    /// # Errors
    /// Same as [`Transaction::read`].
    pub(crate) fn draw(
        &mut self,
        keyspace: &Keyspace,
        draws: u64,
        random: &mut Random,
        each: &mut EachDrawn<'_>,
    ) -> Result<()> {
        let keyspace = self.readable(keyspace)?;
        let engine = keyspace.engine_index();
        let at = self.snapshot(engine)?;
        let drawn = self.core.engines[engine].draw(keyspace.id, draws, at, random, each);
        self.confirmed(keyspace, drawn)
    }
}
