//! The transactions that terminals enter, from the seed alone.

use crate::data::{Data, Engines, Home, TableId};
use crate::shape::Shape;
use arrayvec::ArrayVec;
use lydite_tpcc::random::{Purpose, Stream};

/// One record that a transaction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The table.
    pub table: TableId,
    /// The record's number, from 0.
    pub record: u32,
}

/// What a terminal enters. The records are drawn independently, so one may be in it twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The accesses, in their order: first those that read, then those that update.
    pub accesses: ArrayVec<Access, { Shape::MAX_ACCESSES as usize }>,
    /// How many of them are updates.
    updates: u32,
}

impl Transaction {
    /// What it reads.
    pub fn reads(&self) -> impl Iterator<Item = &Access> {
        self.accesses[..self.accesses.len() - self.updates as usize].iter()
    }

    /// What it updates.
    pub fn updates(&self) -> impl Iterator<Item = &Access> {
        self.accesses[self.accesses.len() - self.updates as usize..].iter()
    }

    /// Whether it changes nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.updates == 0
    }
}

/// What the database answered: enough to be sure that all was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Sum of the counters that were read, modulo 2^64.
    pub counters: u64,
    /// Bytes of the texts that were read.
    pub text_bytes: u64,
}

/// Where all inputs of a run come from: they depend on nothing else, whatever the mode and the number of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// Seed.
    pub seed: u64,
    /// What the database holds.
    pub data: Data,
    /// What a transaction is.
    pub shape: Shape,
    /// The database's engines. With one, no access is on disk whatever the shape says.
    pub engines: Engines,
}

/// One stream of transactions.
#[derive(Clone, Debug)]
pub struct Terminal(Stream);

impl Inputs {
    /// Terminal number `index`.
    #[must_use]
    pub fn terminal(&self, index: u32) -> Terminal {
        Terminal(Stream::new(self.seed, Purpose::MicroTerminal, u64::from(index)))
    }

    /// What the terminal enters next.
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
            // Any choice of places is as likely as any other.
            let home = if on_disk > 0 && stream.below(left) < on_disk { Home::Disk } else { Home::Memory };
            on_disk -= u32::from(home == Home::Disk);
            let table = TableId { home, number: stream.below(self.data.tables) };
            transaction.accesses.push(Access { table, record: stream.below(self.data.records) });
        }
        transaction
    }
}
