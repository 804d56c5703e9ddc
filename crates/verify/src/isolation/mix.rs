//! The mix of TPC-C as a history: the parts of the answers that name a version of a row.
//!
//! | key | written by | read by |
//! |---|---|---|
//! | `d_next_o_id W/D` | New-Order | New-Order |
//! | `last_order W/D/C` | New-Order | Order-Status |
//! | `o_carrier_id W/D/O` (1: set) | Delivery | Order-Status |
//! | `c_balance W/D/C` in cents | Payment | Payment, Order-Status |
//!
//! A terminal does not see every write: a Delivery changes balances that it does not show, transactions without an answer
//! may have committed, and the database had rows before. Reads of values that no known transaction wrote are left out, and
//! so are rows that a transaction may have changed unseen. So no conclusion rests on amounts that are equal by chance.
//!
//! At the end one session asks for the Order-Status of customers whose rows were written. A balance that no known
//! transaction wrote is then the one from before the recording.

use super::recorder::{Dealt, Source, lock};
use crate::history::{Action, History, Key, KeyId, Op, Outcome as Ended, Seen, Transaction as Recorded};
use lydite_database::{Committed, Session, Target, TargetError, Tpcc, TxError};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::transactions::{CustomerSelector, OrderStatus, Payment};
use lydite_tpcc::{
    Cents, CustomerId, DistrictId, InputPlan, Mix as Choice, OrderId, Outcome, Standard, StandardOutcome,
    Terminal, Transaction, WarehouseId,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock};

/// A district.
type District = (WarehouseId, DistrictId);

/// A row that answers name a version of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Item {
    /// D_NEXT_O_ID of a district.
    NextOrder(District),
    /// Number of a customer's last order.
    LastOrder(District, CustomerId),
    /// O_CARRIER_ID of an order, once it is set.
    Carrier(District, OrderId),
    /// C_BALANCE of a customer.
    Balance(District, CustomerId),
}

impl Item {
    fn name(self) -> String {
        match self {
            Self::NextOrder((w, d)) => format!("d_next_o_id {w}/{d}"),
            Self::LastOrder((w, d), c) => format!("last_order {w}/{d}/{c}"),
            Self::Carrier((w, d), o) => format!("o_carrier_id {w}/{d}/{o}"),
            Self::Balance((w, d), c) => format!("c_balance {w}/{d}/{c}"),
        }
    }
}

/// Added to balances, which may be negative; C_BALANCE has 12 digits.
const BALANCE_ZERO: i64 = 1_000_000_000_000;
/// Added to the second, third, … write of the same value, because values of a history are unique.
const AGAIN: u64 = 1_000_000_000_000_000;

/// Customers whose Order-Status is asked for at the end. Of more of them, some are chosen all over the database.
const READ_AT_END: usize = 4_000;

/// Returns the value of a register for a balance.
fn of_balance(balance: Cents) -> u64 {
    BALANCE_ZERO.saturating_add(balance.0).max(0).cast_unsigned()
}

/// The customer whose row a transaction without an answer may have changed; `None` for any of the district.
type Doubt = (District, Option<CustomerId>);

/// Source of the transactions.
pub(super) struct Mix {
    target: Arc<dyn Target>,
    meta: DatabaseMeta,
    plan: InputPlan,
    /// The terminal of each process, with the last transaction that it was dealt.
    terminals: Vec<Mutex<(Terminal, Vec<Doubt>)>>,
    notes: Mutex<Notes>,
    /// Customers of the delivered orders, once the recording is over.
    customers: OnceLock<HashMap<(District, OrderId), CustomerId>>,
}

/// Facts that the answers bring.
#[derive(Default)]
struct Notes {
    /// D_NEXT_O_ID of each district before the recording.
    first: BTreeMap<District, OrderId>,
    items: Vec<Item>,
    ids: HashMap<Item, KeyId>,
    /// Delivered orders.
    delivered: HashSet<(District, OrderId)>,
    /// Customers whose rows or orders were written.
    touched: BTreeSet<(District, CustomerId)>,
    /// Rows that transactions without an answer may have changed.
    doubts: HashSet<Doubt>,
}

impl Notes {
    fn id(&mut self, item: Item) -> KeyId {
        let Self { items, ids, .. } = self;
        *ids.entry(item).or_insert_with(|| {
            items.push(item);
            KeyId(items.len() as u32 - 1)
        })
    }

    fn write(&mut self, item: Item, value: u64) -> Op {
        if let Item::LastOrder(district, c_id) | Item::Balance(district, c_id) = item {
            self.touched.insert((district, c_id));
        }
        Op { key: self.id(item), action: Action::Write(value) }
    }

    fn read(&mut self, item: Item, value: Option<u64>) -> Op {
        Op { key: self.id(item), action: Action::Read(Some(Seen::Register(value))) }
    }

    /// Returns the operations that an answer shows.
    fn ops(&mut self, transaction: &Transaction, outcome: &Outcome) -> Vec<Op> {
        let (Transaction::Standard(transaction), Outcome::Standard(outcome)) = (transaction, outcome) else {
            return Vec::new();
        };
        match (transaction, outcome) {
            (Standard::NewOrder(order), StandardOutcome::NewOrder(seen)) => {
                let (district, o_id) = ((order.w_id, order.d_id), seen.o_id);
                vec![
                    self.read(Item::NextOrder(district), self.unless_first(district, o_id)),
                    self.write(Item::NextOrder(district), o_id.0 + 1),
                    self.write(Item::LastOrder(district, order.c_id), o_id.0),
                ]
            }
            (Standard::Payment(payment), StandardOutcome::Payment(seen)) => {
                let balance = Item::Balance((payment.c_w_id, payment.c_d_id), seen.c_id);
                let before = Cents(seen.c_balance.0 + payment.amount.0);
                vec![
                    self.read(balance, Some(of_balance(before))),
                    self.write(balance, of_balance(seen.c_balance)),
                ]
            }
            (Standard::OrderStatus(status), StandardOutcome::OrderStatus(seen)) => {
                let district = (status.w_id, status.d_id);
                let is_first = self.first.get(&district).is_some_and(|first| seen.o_id < *first);
                let carrier = seen.carrier_id.map(|_| 1);
                vec![
                    self.read(Item::Balance(district, seen.c_id), Some(of_balance(seen.c_balance))),
                    self.read(Item::LastOrder(district, seen.c_id), (!is_first).then_some(seen.o_id.0)),
                    self.read(Item::Carrier(district, seen.o_id), carrier),
                ]
            }
            (Standard::Delivery(delivery), StandardOutcome::Delivery(seen)) => {
                let mut ops = Vec::new();
                for (d_id, o_id) in &seen.delivered {
                    let district = (delivery.w_id, *d_id);
                    self.delivered.insert((district, *o_id));
                    ops.push(self.write(Item::Carrier(district, *o_id), 1));
                }
                ops
            }
            _ => Vec::new(),
        }
    }

    /// Returns D_NEXT_O_ID as a register has it: no value before the first write.
    fn unless_first(&self, district: District, next: OrderId) -> Option<u64> {
        (self.first.get(&district) != Some(&next)).then_some(next.0)
    }
}

impl Mix {
    /// Reads the database as it is before the recording.
    pub(super) fn new(
        target: &Arc<dyn Target>,
        meta: &DatabaseMeta,
        sessions: u32,
        seed: u64,
    ) -> Result<Self, TargetError> {
        let plan = InputPlan::on(meta, seed, Choice::Deck);
        let terminal = |process: u32| Mutex::new((plan.terminal_of(process, sessions), Vec::new()));
        let terminals = (0..sessions).map(terminal).collect();
        let first = target.written(&(1..=meta.warehouses), None)?.next_orders;
        let notes = Mutex::new(Notes { first, ..Notes::default() });
        let customers = OnceLock::new();
        Ok(Self { target: Arc::clone(target), meta: meta.clone(), plan, terminals, notes, customers })
    }

    /// Returns the customers of the delivered orders. It is called once the recording is over.
    fn delivered(&self) -> Result<&HashMap<(District, OrderId), CustomerId>, TargetError> {
        if let Some(known) = self.customers.get() {
            return Ok(known);
        }
        let delivered = lock(&self.notes).delivered.clone();
        let mut customers = HashMap::new();
        if let Some(from) = delivered.iter().map(|(_, o_id)| *o_id).min() {
            let written = self.target.written(&(1..=self.meta.warehouses), Some(from))?;
            let orders = written.orders.iter();
            let orders = orders.map(|order| (((order.w_id, order.d_id), order.o_id), order.c_id));
            customers.extend(orders.filter(|(order, _)| delivered.contains(order)));
        }
        Ok(self.customers.get_or_init(|| customers))
    }
}

impl Source for Mix {
    type Workload = Tpcc;

    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        self.target.connect()
    }

    fn deal(&self, process: u32) -> Result<Dealt<Tpcc>, TargetError> {
        let (terminal, dealt) = &mut *lock(&self.terminals[process as usize]);
        let transaction = terminal.next(&self.plan);
        *dealt = doubts(&transaction);
        Ok(Dealt { transaction, ops: Vec::new(), rolls_back: false })
    }

    fn answered(&self, transaction: &Transaction, answer: &Result<Outcome, TxError>, ops: &mut Vec<Op>) {
        match (transaction, answer) {
            (_, Ok(outcome)) => *ops = lock(&self.notes).ops(transaction, outcome),
            // A read of it would be dirty.
            (Transaction::Standard(Standard::NewOrder(order)), Err(TxError::RolledBack(seen))) => {
                let last = Item::LastOrder((order.w_id, order.d_id), order.c_id);
                ops.push(lock(&self.notes).write(last, seen.o_id.0));
            }
            (
                _,
                Err(
                    TxError::Unavailable { committed: Committed::Unknown, .. }
                    | TxError::WrongRows { committed: Committed::Unknown, .. },
                ),
            ) => {
                lock(&self.notes).doubts.extend(doubts(transaction));
            }
            _ => {}
        }
    }

    fn final_reads(&self) -> Result<Vec<Dealt<Tpcc>>, TargetError> {
        let delivered = self.delivered()?;
        let mut customers = lock(&self.notes).touched.clone();
        customers.extend(delivered.iter().map(|((district, _), c_id)| (*district, *c_id)));
        let every = customers.len().div_ceil(READ_AT_END).max(1);
        Ok(customers.into_iter().step_by(every).map(status_of).collect())
    }

    fn final_reads_of(&self, keys: &[KeyId]) -> Vec<Dealt<Tpcc>> {
        let notes = lock(&self.notes);
        let customer = |key: &KeyId| match *notes.items.get(key.0 as usize)? {
            Item::LastOrder(district, c_id) | Item::Balance(district, c_id) => Some((district, c_id)),
            Item::Carrier(district, o_id) => {
                let c_id = self.customers.get()?.get(&(district, o_id))?;
                Some((district, *c_id))
            }
            Item::NextOrder(_) => None,
        };
        let customers: BTreeSet<(District, CustomerId)> = keys.iter().filter_map(customer).collect();
        customers.into_iter().map(status_of).collect()
    }

    fn history(&self, mut transactions: Vec<Recorded>, final_from: Option<u64>) -> (History, Option<String>) {
        let delivered = self.delivered().map(|customers| -> HashSet<(District, CustomerId)> {
            customers.iter().map(|((district, _), c_id)| (*district, *c_id)).collect()
        });
        let mut notes = lock(&self.notes);
        // Sessions that still hang; the last transaction of the others was answered. The reads at the end have no
        // terminal.
        for tx in transactions.iter().filter(|tx| tx.outcome == Ended::Unknown) {
            if let Some(terminal) = self.terminals.get(tx.process as usize) {
                notes.doubts.extend(lock(terminal).1.drain(..));
            }
        }
        let doubted = |district, c_id| notes.doubts.contains(&(district, c_id));
        let is_hidden = |item: &Item| match (*item, &delivered) {
            (Item::Balance(district, c_id), Ok(delivered)) => {
                delivered.contains(&(district, c_id))
                    || doubted(district, Some(c_id))
                    || doubted(district, None)
            }
            (Item::Balance(..), Err(_)) => true,
            (Item::LastOrder(district, c_id), _) => doubted(district, Some(c_id)),
            (Item::NextOrder(_) | Item::Carrier(..), _) => false,
        };
        let hidden: Vec<bool> = notes.items.iter().map(is_hidden).collect();
        first_balances(&mut transactions, &notes.items, final_from);
        clean(&mut transactions, &hidden);
        let key = |item: &Item| Key { name: item.name(), engine: None };
        let keys = notes.items.iter().map(key).collect();
        let unread = delivered.err().map(|error| format!("balances are left out: {}", error.message));
        (History { keys, transactions, final_from }, unread)
    }
}

/// Returns the Order-Status of a customer.
fn status_of((district, c_id): (District, CustomerId)) -> Dealt<Tpcc> {
    let customer = CustomerSelector::Id(c_id);
    let transaction = OrderStatus { w_id: district.0, d_id: district.1, customer }.into();
    Dealt { transaction, ops: Vec::new(), rolls_back: false }
}

/// Makes balances that a read at the end shows and no known transaction wrote those from before the first write: only
/// Payments write the balances that are not hidden.
fn first_balances(transactions: &mut [Recorded], items: &[Item], final_from: Option<u64>) {
    let Some(from) = final_from else { return };
    let is_balance = |key: KeyId| matches!(items.get(key.0 as usize), Some(Item::Balance(..)));
    let write = |op: &Op| if let Action::Write(value) = op.action { Some((op.key, value)) } else { None };
    let written: HashSet<(KeyId, u64)> =
        transactions.iter().flat_map(|tx| &tx.ops).filter_map(write).collect();
    for op in transactions.iter_mut().filter(|tx| tx.invoked >= from).flat_map(|tx| &mut tx.ops) {
        if let Action::Read(Some(Seen::Register(value))) = &mut op.action
            && is_balance(op.key)
            && value.is_some_and(|value| !written.contains(&(op.key, value)))
        {
            *value = None;
        }
    }
}

/// Returns the rows that a transaction changes and whose change only its answer shows.
fn doubts(transaction: &Transaction) -> Vec<Doubt> {
    let Transaction::Standard(transaction) = transaction else { return Vec::new() };
    match transaction {
        Standard::NewOrder(order) => vec![((order.w_id, order.d_id), Some(order.c_id))],
        Standard::Payment(Payment { c_w_id, c_d_id, customer, .. }) => {
            let c_id = match customer {
                CustomerSelector::Id(c_id) => Some(*c_id),
                CustomerSelector::LastName(_) => None,
            };
            vec![((*c_w_id, *c_d_id), c_id)]
        }
        Standard::Delivery(delivery) => {
            (1..=delivery.districts).map(|d_id| ((delivery.w_id, DistrictId(d_id)), None)).collect()
        }
        Standard::OrderStatus(_) | Standard::StockLevel(_) => Vec::new(),
    }
}

/// Leaves out operations on hidden keys and reads of values that nobody wrote, or more than one transaction. Makes the
/// values of writes unique: two transactions that both read a row before they wrote it lost an update nonetheless.
fn clean(transactions: &mut [Recorded], hidden: &[bool]) {
    let mut writers: HashMap<(KeyId, u64), u64> = HashMap::new();
    for tx in &mut *transactions {
        tx.ops.retain(|op| !hidden[op.key.0 as usize]);
        // A number that was rolled back goes to the next order.
        let aborted = tx.outcome == Ended::Aborted;
        for op in &tx.ops {
            if let Action::Write(value) = op.action {
                *writers.entry((op.key, value)).or_default() += u64::from(!aborted);
            }
        }
    }
    let mut seen: HashMap<(KeyId, u64), u64> = HashMap::new();
    for tx in transactions {
        let aborted = tx.outcome == Ended::Aborted;
        tx.ops.retain_mut(|op| match &mut op.action {
            Action::Write(value) => {
                let known = (op.key, *value);
                let is_unused = writers.get(&known) == Some(&0);
                let before = seen.entry(known).or_default();
                if aborted && !(is_unused && *before == 0) {
                    return false;
                }
                *value += AGAIN * *before;
                *before += 1;
                true
            }
            Action::Read(Some(Seen::Register(Some(value)))) => {
                writers.get(&(op.key, *value)).is_some_and(|writers| *writers <= 1)
            }
            _ => true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{AnomalyKind, Level, Options, check};
    use arrayvec::ArrayVec;
    use lydite_tpcc::rows::Address;
    use lydite_tpcc::text::Text;
    use lydite_tpcc::transactions::{NewOrder, NewOrderOutcome, OrderStatusOutcome, PaymentOutcome};
    use lydite_tpcc::{Rate, Timestamp};

    const KEY: KeyId = KeyId(0);
    const DISTRICT: District = (WarehouseId(1), DistrictId(2));

    fn tx(process: u32, outcome: Ended, actions: &[Action]) -> Recorded {
        let ops = actions.iter().map(|action| Op { key: KEY, action: action.clone() }).collect();
        Recorded { process, invoked: u64::from(process), completed: u64::from(process) + 10, outcome, ops }
    }

    fn read(value: u64) -> Action {
        Action::Read(Some(Seen::Register(Some(value))))
    }

    fn cleaned(mut transactions: Vec<Recorded>, hidden: bool) -> Vec<Vec<Action>> {
        clean(&mut transactions, &[hidden]);
        transactions.into_iter().map(|tx| tx.ops.into_iter().map(|op| op.action).collect()).collect()
    }

    #[test]
    fn only_reads_of_known_and_unique_values_stay() {
        let transactions = vec![
            tx(0, Ended::Committed, &[Action::Write(7)]),
            tx(1, Ended::Committed, &[read(7), read(8), Action::Write(9)]),
            tx(2, Ended::Committed, &[read(9), Action::Write(9)]),
        ];
        assert_eq!(cleaned(transactions.clone(), true), [vec![], vec![], vec![]]);
        let again = Action::Write(9 + AGAIN);
        assert_eq!(
            cleaned(transactions, false),
            [vec![Action::Write(7)], vec![read(7), Action::Write(9)], vec![again]]
        );
    }

    #[test]
    fn a_number_that_was_rolled_back_and_used_again_is_no_dirty_read() {
        let used = vec![
            tx(0, Ended::Aborted, &[Action::Write(7)]),
            tx(1, Ended::Committed, &[Action::Write(7)]),
            tx(2, Ended::Committed, &[read(7)]),
        ];
        let [aborted, committed, reader] = &cleaned(used, false)[..] else { panic!("three") };
        assert_eq!((aborted.len(), committed.len(), reader.len()), (0, 1, 1));
        let unused = vec![tx(0, Ended::Aborted, &[Action::Write(7)]), tx(2, Ended::Committed, &[read(7)])];
        assert_eq!(cleaned(unused, false), [vec![Action::Write(7)], vec![read(7)]]);
    }

    const CUSTOMER: CustomerId = CustomerId(3);

    fn order(o_id: u64) -> (Transaction, Outcome) {
        let input =
            NewOrder { w_id: DISTRICT.0, d_id: DISTRICT.1, c_id: CUSTOMER, lines: ArrayVec::default() };
        let seen = NewOrderOutcome {
            o_id: OrderId(o_id),
            entry_d: Timestamp(0),
            c_last: Text::default(),
            c_credit: Text::default(),
            c_discount: Rate(0),
            w_tax: Rate(0),
            d_tax: Rate(0),
            total: Cents(0),
            lines: Vec::new(),
        };
        (Transaction::Standard(Standard::NewOrder(input)), Outcome::Standard(StandardOutcome::NewOrder(seen)))
    }

    fn payment(amount: i64, balance: i64) -> (Transaction, Outcome) {
        let address = || Address {
            street_1: Text::default(),
            street_2: Text::default(),
            city: Text::default(),
            state: Text::default(),
            zip: Text::default(),
        };
        let input = Payment {
            w_id: DISTRICT.0,
            d_id: DISTRICT.1,
            c_w_id: DISTRICT.0,
            c_d_id: DISTRICT.1,
            customer: CustomerSelector::Id(CUSTOMER),
            amount: Cents(amount),
        };
        let seen = PaymentOutcome {
            h_date: Timestamp(0),
            warehouse: address(),
            district: address(),
            c_id: CUSTOMER,
            c_first: Text::default(),
            c_middle: Text::default(),
            c_last: Text::default(),
            address: address(),
            c_phone: Text::default(),
            c_since: Timestamp(0),
            c_credit: Text::default(),
            c_credit_lim: Cents(0),
            c_discount: Rate(0),
            c_balance: Cents(balance),
            c_data: None,
        };
        (
            Transaction::Standard(Standard::Payment(input)),
            Outcome::Standard(StandardOutcome::Payment(Box::new(seen))),
        )
    }

    fn status(o_id: u64, balance: i64) -> (Transaction, Outcome) {
        let customer = CustomerSelector::Id(CUSTOMER);
        let seen = OrderStatusOutcome {
            c_id: CUSTOMER,
            c_first: Text::default(),
            c_middle: Text::default(),
            c_last: Text::default(),
            c_balance: Cents(balance),
            o_id: OrderId(o_id),
            entry_d: Timestamp(0),
            carrier_id: None,
            lines: Vec::new(),
        };
        let input = OrderStatus { w_id: DISTRICT.0, d_id: DISTRICT.1, customer };
        (
            Transaction::Standard(Standard::OrderStatus(input)),
            Outcome::Standard(StandardOutcome::OrderStatus(seen)),
        )
    }

    /// Checks committed transactions, each with its begin and end.
    fn found(level: Level, played: Vec<(u64, u64, (Transaction, Outcome))>) -> Vec<AnomalyKind> {
        found_at_end(level, played, None)
    }

    /// The same. Those that began at `final_from` or later read at the end.
    fn found_at_end(
        level: Level,
        played: Vec<(u64, u64, (Transaction, Outcome))>,
        final_from: Option<u64>,
    ) -> Vec<AnomalyKind> {
        let first = BTreeMap::from([(DISTRICT, OrderId(3_001))]);
        let mut notes = Notes { first, ..Notes::default() };
        let mut transactions: Vec<Recorded> = (0..)
            .zip(played)
            .map(|(process, (invoked, completed, (transaction, outcome)))| {
                let ops = notes.ops(&transaction, &outcome);
                Recorded { process, invoked, completed, outcome: Ended::Committed, ops }
            })
            .collect();
        first_balances(&mut transactions, &notes.items, final_from);
        clean(&mut transactions, &vec![false; notes.items.len()]);
        let keys = notes.items.iter().map(|item| Key { name: item.name(), engine: None }).collect();
        let report = check(&History { keys, transactions, final_from }, &Options::new(level));
        let report = report.expect("a history");
        report.anomalies.iter().map(|anomaly| anomaly.kind).collect()
    }

    #[test]
    fn two_payments_on_one_balance_lose_an_update() {
        let good = vec![(0, 1, payment(5, -5)), (2, 5, payment(1, -6)), (3, 6, payment(2, -8))];
        assert_eq!(found(Level::StrictSerializable, good), []);
        let lost = vec![(0, 1, payment(5, -5)), (2, 5, payment(1, -6)), (3, 6, payment(2, -7))];
        assert_eq!(found(Level::SnapshotIsolation, lost), [AnomalyKind::LostUpdate]);
    }

    #[test]
    fn two_orders_of_one_number_lose_an_update() {
        let lost = vec![(0, 3, order(3_001)), (1, 4, order(3_001))];
        assert_eq!(found(Level::SnapshotIsolation, lost), [AnomalyKind::LostUpdate]);
    }

    #[test]
    fn an_order_status_that_misses_an_acknowledged_order_is_stale() {
        let stale = || vec![(0, 1, order(3_001)), (2, 3, status(2_999, 0))];
        assert_eq!(found(Level::Serializable, stale()), []);
        assert_eq!(found(Level::StrictSerializable, stale()).len(), 1);
        let fresh = vec![(0, 1, order(3_001)), (2, 3, status(3_001, 0))];
        assert_eq!(found(Level::StrictSerializable, fresh), []);
    }

    #[test]
    fn an_acknowledged_payment_or_order_that_is_gone_at_the_end_is_lost() {
        let read_committed = |played, final_from| found_at_end(Level::ReadCommitted, played, final_from);
        let lost = [AnomalyKind::LostAppend];
        // The balance is the one from before the recording, which nobody wrote.
        let paid = || vec![(0, 1, payment(5, -1_005)), (2, 3, status(2_999, -1_000))];
        assert_eq!(read_committed(paid(), Some(2)), lost);
        assert_eq!(read_committed(paid(), None), [], "it may be a stale read");
        // It is the one of an earlier Payment.
        let second = vec![(0, 1, payment(5, -5)), (2, 3, payment(5, -10)), (4, 5, status(2_999, -5))];
        assert_eq!(read_committed(second, Some(4)), lost);
        let ordered = vec![(0, 1, order(3_001)), (2, 3, status(2_999, 0))];
        assert_eq!(read_committed(ordered, Some(2)), lost);
        let kept = vec![
            (0, 1, order(3_001)),
            (2, 3, payment(5, -5)),
            (4, 6, payment(5, -15)),
            (5, 7, payment(5, -10)),
            (8, 9, status(3_001, -15)),
        ];
        assert_eq!(read_committed(kept, Some(8)), []);
    }

    /// One customer sees the order and misses the payment, the other way round at the same time.
    #[test]
    fn two_order_statuses_with_different_orders_of_events_are_a_long_fork() {
        let fork = vec![
            (0, 1, payment(5, -5)),
            (2, 20, order(3_001)),
            (3, 21, payment(1, -6)),
            (4, 22, status(3_001, -5)),
            (5, 23, status(2_999, -6)),
        ];
        assert!(!found(Level::SnapshotIsolation, fork).is_empty());
    }
}
