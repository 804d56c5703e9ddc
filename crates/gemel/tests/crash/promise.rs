//! Prepared transactions, by their names.

use super::bank::Bank;
use gemel::{Conflict, Isolation, Keyspace, Transaction};

/// A prepared transaction: the number of the crash that ended its process, its thread, and its number there. It writes
/// a row in each engine, and has read a key that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Promise {
    pub(crate) crash: u64,
    pub(crate) thread: u64,
    pub(crate) number: u64,
}

impl Promise {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('/').map(str::parse::<u64>);
        let (crash, thread, number) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
        Some(Self { crash, thread, number })
    }

    pub(crate) fn name(self) -> String {
        format!("{}/{}/{}", self.crash, self.thread, self.number)
    }

    /// Returns true if the decision is to commit.
    pub(crate) fn commits(self) -> bool {
        !self.number.is_multiple_of(3)
    }

    pub(crate) fn row(self) -> String {
        format!("promise/{}", self.name())
    }

    /// Returns the key that it has read.
    pub(crate) fn guard(self) -> String {
        format!("guard/{}", self.name())
    }

    pub(crate) fn guard_space(self, bank: &Bank) -> &Keyspace {
        bank.home(self.number)
    }

    pub(crate) fn prepare(self, bank: &Bank) -> gemel::Result<()> {
        let mut transaction = bank.db.begin(Isolation::Serializable)?;
        transaction.get(self.guard_space(bank), self.guard().as_bytes())?;
        for space in [&bank.hot, &bank.cold] {
            // Some of the records are large.
            transaction.put(space, self.row().as_bytes(), &vec![1; self.number as usize % 7 * 60])?;
        }
        transaction.prepare(&self.name())?.wait()
    }

    pub(crate) fn decide(self, bank: &Bank) -> gemel::Result<()> {
        let name = self.name();
        let decided =
            if self.commits() { bank.db.commit_prepared(&name) } else { bank.db.roll_back_prepared(&name) };
        decided?.wait()
    }

    /// Returns the number of its rows that are there.
    pub(crate) fn rows(self, bank: &Bank, reader: &mut Transaction) -> usize {
        let spaces = [&bank.hot, &bank.cold].into_iter();
        spaces.filter(|space| reader.get(space, self.row().as_bytes()).unwrap().is_some()).count()
    }

    /// Returns true if nobody else can write its rows, nor what it has read.
    pub(crate) fn is_protected(self, bank: &Bank) -> bool {
        let (row, guard) = (self.row(), self.guard());
        let mut places =
            [(&bank.hot, &row), (&bank.cold, &row), (self.guard_space(bank), &guard)].into_iter();
        places.all(|(space, key)| {
            let mut other = bank.db.begin(Isolation::Snapshot).unwrap();
            other.put(space, key.as_bytes(), b"").unwrap();
            matches!(other.commit(), Err(gemel::Error::Conflict { kind: Conflict::Locked, .. }))
        })
    }
}
