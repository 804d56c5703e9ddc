//! Tables in several engines: tests that the standard does not have. Transactions span DISTRICT and a table of another
//! engine. DISTRICT is the one table that both New-Order and Payment write, so each engine with a table that one of the
//! two writes is tested.

use crate::aside::Aside;
use crate::finding::{Property, Seen, Trouble};
use crate::isolation::{beside, ends};
use crate::pairs::Pair;
use crate::stage::{Stage, require};
use crate::{Extent, Test};
use lydite_database::{Balance, BalanceTransaction, Then, Trace, TxError};
use lydite_tpcc::schema::Table;
use lydite_tpcc::{Cents, DistrictId, OrderId, Transaction};

pub(crate) static TESTS: &[Test] = &[
    Test {
        property: Property::Atomicity,
        id: "commit",
        clause: "3.2.1",
        title: "a transaction over two engines rolls back and commits in both (not in the standard)",
        extent: Extent::Engines,
        play: |stage, _| of_pairs(stage, commit),
    },
    Test {
        property: Property::Isolation,
        id: "snapshot",
        clause: "3.4.1",
        title: "one read of two engines while both change (not in the standard)",
        extent: Extent::Engines,
        play: |stage, _| of_pairs(stage, snapshot),
    },
];

impl Pair {
    /// Returns the transaction that writes both tables, and its traces there.
    fn writer(&self, stage: &Stage<'_>) -> Result<(&'static str, Transaction, [Trace; 2]), Trouble> {
        let ground = &stage.ground;
        let (home, district, paid) = (ground.home, ground.district, ground.other);
        let ytd = Trace::Ytd(Balance::District(paid, DistrictId(1)));
        let next = Trace::NextOrder(home, district);
        let order = |trace: fn(_, _, _) -> Trace| -> Result<Trace, Trouble> {
            let number = stage.traces(&[next])?.first().and_then(|number| u64::try_from(number.0).ok());
            let number =
                number.ok_or_else(|| Trouble::NotRun("D_NEXT_O_ID is no number: load again".into()))?;
            Ok(trace(home, district, OrderId(number)))
        };
        let traces = match self.table {
            Table::Warehouse => [ytd, Trace::Ytd(Balance::Warehouse(paid))],
            Table::Customer => [ytd, Trace::Customer(home, district, ground.customer)],
            Table::History => [ytd, Trace::Payments(paid, DistrictId(1))],
            Table::Stock => [next, Trace::Stock(home.max(ground.other), ground.items[2])],
            Table::Orders => [next, order(Trace::Order)?],
            Table::NewOrder => [next, order(Trace::NewOrder)?],
            Table::OrderLine => [next, order(Trace::OrderLine)?],
            Table::Item | Table::District => {
                return Err(Trouble::NotRun(format!("no transaction writes {}", self.words())));
            }
        };
        Ok(match self.table {
            Table::Warehouse | Table::Customer | Table::History => ("Payment", ground.payment(), traces),
            _ => ("New-Order", ground.new_order(), traces),
        })
    }

    fn words(&self) -> String {
        let [district, other] = &self.engines;
        format!("DISTRICT in {district} and {} in {other}", upper(self.table))
    }
}

/// Returns the name of a table as the standard has it.
fn upper(table: Table) -> String {
    table.name().to_uppercase().replace('_', "-")
}

/// Plays a test on each pair.
fn of_pairs(
    stage: &Stage<'_>,
    play: fn(&Stage<'_>, &Pair) -> Result<String, Trouble>,
) -> Result<Seen, Trouble> {
    let pairs = stage.audit.engines.pairs();
    let seen = pairs.iter().map(|pair| {
        let words = play(stage, pair)?;
        Ok(format!("{}: {words}", pair.words()))
    });
    Ok(Seen::plain(seen.collect::<Result<Vec<_>, Trouble>>()?.join("; ")))
}

/// Requires that a committed transaction changed both tables, and returns what is there.
fn changed(
    stage: &Stage<'_>,
    pair: &Pair,
    traces: &[Trace; 2],
    before: &[Cents],
) -> Result<Vec<Cents>, Trouble> {
    let both = |after: &Vec<Cents>| after.iter().zip(before).all(|(after, before)| after != before);
    let after = stage.settled(|| stage.traces(traces), both)?;
    require(both(&after), || {
        let changes = traces.iter().zip(&after).zip(before).map(|((trace, after), before)| {
            let how = if after == before { "did not change" } else { "changed" };
            format!("{} {how}", upper(trace.table()))
        });
        let changes: Vec<String> = changes.collect();
        format!("{}: the transaction committed, but {}", pair.words(), changes.join(" and "))
    })?;
    Ok(after)
}

/// A transaction rolls back in both engines, and commits in both.
fn commit(stage: &Stage<'_>, pair: &Pair) -> Result<String, Trouble> {
    let (name, transaction, traces) = pair.writer(stage)?;
    let before = stage.traces(&traces)?;
    let mut act = stage.hold(name, transaction.clone())?;
    act.go(Then::RollBack);
    // An error at the rollback leaves nothing either.
    let _gone = act.end()?;
    let after = stage.settled(|| stage.traces(&traces), |after| *after == before)?;
    stage.step(format!("{}: a {name} rolls back right before its commit", pair.words()));
    require(after == before, || format!("{}: a {name} that rolled back left a change", pair.words()))?;
    let mut act = stage.beside(name, transaction)?;
    ends(stage, name, &mut act)?;
    changed(stage, pair, &traces, &before)?;
    stage.step(format!("{}: the {name} is in both", pair.words()));
    Ok(format!("a {name} rolled back in both and committed in both"))
}

/// T1 reads both tables, first the one and then the other, while T2 changes both between its reads.
fn snapshot(stage: &Stage<'_>, pair: &Pair) -> Result<String, Trouble> {
    let mut words = String::new();
    for turned in [false, true] {
        let (name, transaction, traces) = pair.writer(stage)?;
        let mut reads = traces;
        if turned {
            reads.reverse();
        }
        let before = stage.traces(&reads)?;
        let read = |between| BalanceTransaction::Trace { traces: reads.to_vec(), between };
        let (t1, reply) = Aside::begin_stopped("T1", &**stage.target, stage.crew, read)?;
        let [first, second] = reads.map(|trace| upper(trace.table()));
        stage.step(format!("{}: T1 reads {first}, and stops before it reads {second}", pair.words()));
        let mut t2 = stage.beside("T2", transaction)?;
        let seen = beside(stage, &mut t2, &format!("T2: {name} that changes both"))?;
        drop(reply);
        let read = t1.end(stage.crew)?;
        ends(stage, "T2", &mut t2)?;
        let after = changed(stage, pair, &reads, &before)?;
        words = match read {
            Ok(read) => {
                stage.step(format!("T1 read {}", state(&read, &before)));
                require(read == before || read == after, || {
                    format!("{}: T1 read {first} {}", pair.words(), torn(&read, &before, &second))
                })?;
                format!("T2 beside T1: {}; T1 read one state", seen.words)
            }
            Err(TxError::Aborted { detail, .. }) => {
                stage.step(format!("T1 was forced to roll back: {detail}"));
                format!("T2 beside T1: {}; T1 was forced to roll back", seen.words)
            }
            Err(error) => return Err(Trouble::NotRun(format!("T1: {error}"))),
        };
    }
    Ok(words)
}

/// Returns whether each value is from before T2.
fn state(read: &[Cents], before: &[Cents]) -> String {
    let of = read.iter().zip(before).map(|(read, before)| if read == before { "before" } else { "after" });
    format!("the state {} T2", of.collect::<Vec<_>>().join(" and "))
}

/// Describes a read of two states.
fn torn(read: &[Cents], before: &[Cents], second: &str) -> String {
    let is_old = |at: usize| read.get(at).zip(before.get(at)).is_some_and(|(read, before)| read == before);
    let of = |at| if is_old(at) { "from before T2" } else { "from after T2" };
    format!("{} and {second} {}: the engines have no common snapshot", of(0), of(1))
}
