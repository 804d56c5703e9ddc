//! Transactions that terminals enter. They depend on the seed alone.

use crate::data::{Data, Engines, Home, TableId};
use crate::shape::Shape;
use arrayvec::ArrayVec;
use lydite_tpcc::random::{Purpose, Stream};

/// A record that a transaction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The table.
    pub table: TableId,
    /// The record's number, from 0.
    pub record: u32,
}

/// A transaction. Its records are drawn independently, so one record may occur twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Accesses in their order: reads first, then updates.
    pub accesses: ArrayVec<Access, { Shape::MAX_ACCESSES as usize }>,
    /// Number of updates.
    updates: u32,
}

impl Transaction {
    /// Returns the reads.
    pub fn reads(&self) -> impl Iterator<Item = &Access> {
        self.accesses[..self.accesses.len() - self.updates as usize].iter()
    }

    /// Returns the updates.
    pub fn updates(&self) -> impl Iterator<Item = &Access> {
        self.accesses[self.accesses.len() - self.updates as usize..].iter()
    }

    /// True if the transaction changes nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.updates == 0
    }
}

/// Answer of the database: enough to prove that every record was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Sum of the counters that were read, modulo 2^64.
    pub counters: u64,
    /// Bytes of the texts that were read.
    pub text_bytes: u64,
}

/// Settings that fix all inputs of a run, whatever the mode and the number of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// Seed of all terminals.
    pub seed: u64,
    /// Content of the database.
    pub data: Data,
    /// Shape of the transactions.
    pub shape: Shape,
    /// The database's engines. With one, no access is on disk whatever the shape says.
    pub engines: Engines,
}

/// One stream of transactions.
#[derive(Clone, Debug)]
pub struct Terminal(Stream);

impl Inputs {
    /// Returns terminal `index`.
    #[must_use]
    pub fn terminal(&self, index: u32) -> Terminal {
        Terminal(Stream::new(self.seed, Purpose::MicroTerminal, u64::from(index)))
    }

    /// Draws the next transaction of a terminal.
    #[must_use]
    pub fn next(&self, terminal: &mut Terminal) -> Transaction {
        let stream = &mut terminal.0;
        let accesses = self.shape.accesses.min(Shape::MAX_ACCESSES);
        let mut on_disk = match self.engines {
            Engines::One => 0,
            Engines::Two => {
                let hundredths = accesses * self.shape.disk_percent.min(100);
                hundredths / 100 + u32::from(stream.percent(hundredths % 100))
            }
        };
        let mut transaction =
            Transaction { accesses: ArrayVec::new(), updates: self.shape.updates.min(accesses) };
        for left in (1..=accesses).rev() {
            // Every choice of places is equally likely.
            let home = if on_disk > 0 && stream.below(left) < on_disk { Home::Disk } else { Home::Memory };
            on_disk -= u32::from(home == Home::Disk);
            let table = TableId { home, number: stream.below(self.data.tables) };
            transaction.accesses.push(Access { table, record: stream.below(self.data.records) });
        }
        transaction
    }
}
