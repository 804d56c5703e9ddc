//! Small transactions on lists or registers in tables of the check's own.

use super::recorder::{Dealt, LOOK, Source, lock};
use crate::history::{Action, Generated, Generator, History, Key, KeyId, Op, Request, Seen, Transaction};
use lydite_database::{
    ListKey, ListOp, ListTarget, ListTransaction, Lists, Session, Target, TargetError, TargetErrorKind,
    TxError,
};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Keys that are added at once.
const KEYS_AT_ONCE: u32 = 256;

/// Source of the transactions.
pub(super) struct Own {
    target: Arc<dyn Target>,
    /// Longest wait of a transaction for a lock.
    limit: Duration,
    places: Vec<String>,
    dealer: Mutex<Dealer>,
}

struct Dealer {
    generator: Generator,
    /// Keys that the database has.
    made: u32,
    /// True once transactions are dealt: from then on the database may go away and come back.
    begun: bool,
}

/// Returns the target's tables for the check.
pub(super) fn lists(target: &Arc<dyn Target>) -> Result<&dyn ListTarget, TargetError> {
    target.capabilities().lists()
}

impl Own {
    /// Makes the first keys.
    pub(super) fn new(
        target: &Arc<dyn Target>,
        limit: Duration,
        places: Vec<String>,
        generator: Generator,
    ) -> Result<Self, TargetError> {
        let dealer = Mutex::new(Dealer { generator, made: 0, begun: false });
        let own = Self { target: Arc::clone(target), limit, places, dealer };
        own.make_keys(&mut lock(&own.dealer))?;
        Ok(own)
    }

    fn make_keys(&self, dealer: &mut Dealer) -> Result<(), TargetError> {
        while (dealer.made as usize) < dealer.generator.keys().len() {
            let numbers = dealer.made..dealer.made + KEYS_AT_ONCE;
            dealer.made = numbers.end;
            match lists(&self.target)?.add_keys(numbers) {
                // Perhaps some of them were added. Writes to the others abort until the generator replaces these keys.
                Err(error) if error.kind == TargetErrorKind::Unreachable && dealer.begun => {
                    thread::sleep(LOOK)
                }
                added => added?,
            }
        }
        Ok(())
    }

    fn dealt(&self, generated: &Generated, keys: &[Key]) -> Dealt<Lists> {
        let place = |key: KeyId| -> ListKey {
            let engine = keys[key.0 as usize].engine.as_ref();
            let place = self.places.iter().position(|place| Some(place) == engine);
            ListKey { place: place.unwrap_or(0) as u32, number: key.0 }
        };
        let both = |request: &Request| match *request {
            Request::Append(key, value) => (ListOp::Append(place(key), value), Action::Append(value)),
            Request::Write(key, value) => (ListOp::Write(place(key), value), Action::Write(value)),
            Request::Insert(key, value) => (ListOp::Insert(place(key), value), Action::Insert(value)),
            Request::ReadRange(key) => (ListOp::ReadRange(place(key)), Action::Read(None)),
            Request::ReadList(key) => (ListOp::ReadList(place(key)), Action::Read(None)),
            Request::ReadRegister(key) => (ListOp::ReadRegister(place(key)), Action::Read(None)),
        };
        let (ops, actions): (Vec<ListOp>, Vec<Action>) = generated.requests.iter().map(both).unzip();
        let ops_of_history = generated.requests.iter().zip(actions);
        let ops_of_history = ops_of_history.map(|(request, action)| Op { key: request.key(), action });
        let rolls_back = generated.rolls_back;
        Dealt { transaction: ListTransaction { ops, rolls_back }, ops: ops_of_history.collect(), rolls_back }
    }
}

impl Source for Own {
    type Workload = Lists;

    fn connect(&self) -> Result<Box<dyn Session<Lists>>, TargetError> {
        lists(&self.target)?.connect_lists(self.limit)
    }

    /// Makes the keys of the transaction first.
    fn deal(&self, _process: u32) -> Result<Dealt<Lists>, TargetError> {
        let mut dealer = lock(&self.dealer);
        dealer.begun = true;
        let generated = dealer.generator.transaction();
        self.make_keys(&mut dealer)?;
        Ok(self.dealt(&generated, dealer.generator.keys()))
    }

    fn answered(
        &self,
        transaction: &ListTransaction,
        answer: &Result<Vec<Vec<u64>>, TxError>,
        ops: &mut Vec<Op>,
    ) {
        let Ok(reads) = answer else { return };
        let read = transaction.ops.iter().zip(ops).filter(|(_, op)| op.action == Action::Read(None));
        for ((asked, op), values) in read.zip(reads) {
            op.action = Action::Read(Some(match asked {
                ListOp::ReadRange(_) => Seen::Range(values.clone()),
                ListOp::ReadRegister(_) => Seen::Register(values.first().copied()),
                _ => Seen::List(values.clone()),
            }));
        }
    }

    fn final_reads(&self) -> Result<Vec<Dealt<Lists>>, TargetError> {
        let dealer = lock(&self.dealer);
        let reads = dealer.generator.final_reads();
        Ok(reads.iter().map(|read| self.dealt(read, dealer.generator.keys())).collect())
    }

    fn final_reads_of(&self, keys: &[KeyId]) -> Vec<Dealt<Lists>> {
        let dealer = lock(&self.dealer);
        let read = |key: &KeyId| self.dealt(&dealer.generator.final_read(*key), dealer.generator.keys());
        keys.iter().map(read).collect()
    }

    fn history(&self, transactions: Vec<Transaction>, final_from: Option<u64>) -> (History, Option<String>) {
        (History { keys: lock(&self.dealer).generator.keys().to_vec(), transactions, final_from }, None)
    }
}
