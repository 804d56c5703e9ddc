//! Lost appends: an acknowledged write that the end lacks is found, and nothing that may be there is accused.

use crate::history_anomalies::history;
use lydite_verify::history::{
    Action, AnomalyKind, History, HistoryError, Key, KeyId, Level, Op, Options, Order, Outcome, Report, Seen,
    Transaction, check,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Reads a history whose reads at the end begin at `final_from`.
fn ends(text: &str, final_from: u64) -> History {
    History { final_from: Some(final_from), ..history(text) }
}

fn report(history: &History, level: Level) -> Report {
    check(history, &Options::new(level)).unwrap()
}

/// Asserts that so many writes are lost, which refutes every level, and returns the first sentence.
#[track_caller]
fn lost(text: &str, final_from: u64, count: u64) -> String {
    let history = ends(text, final_from);
    for level in Level::ALL {
        let result = report(&history, level);
        assert_eq!(result.count(AnomalyKind::LostAppend), count, "{result}");
        assert!(!result.holds && result.strongest().is_none(), "{result}");
    }
    let result = report(&history, Level::ReadCommitted);
    let anomaly = result.anomalies.iter().find(|found| found.kind == AnomalyKind::LostAppend).unwrap();
    assert_eq!(anomaly.order, Order::Data);
    anomaly.examples[0].explanation[0].clone()
}

#[track_caller]
fn nothing_lost(text: &str, final_from: u64) {
    let result = report(&ends(text, final_from), Level::Serializable);
    assert_eq!(result.count(AnomalyKind::LostAppend), 0, "{result}");
}

#[test]
fn an_acknowledged_append_that_the_end_lacks_is_lost_at_every_level() {
    assert_eq!(
        lost("0 1-2 ok a x 1\n1 5-6 ok r x []", 5, 1),
        "T0 appended 1 to x and was acknowledged at 2; at the end T1 read x = [], which lacks 1"
    );
    // It was there, and is gone.
    lost("0 1-2 ok a x 1\n1 3-4 ok r x [1]\n2 5-6 ok r x []", 5, 1);
    // Later appends are there.
    lost("0 1-2 ok a x 1\n0 3-4 ok a x 2, a x 3\n0 5-6 ok a x 4\n1 7-8 ok r x [1 4]", 7, 2);
    // The transaction with a lost append left another one on another key.
    lost("0 1-2 ok a x 1, a y 1\n1 5-6 ok r x [1]\n1 7-8 ok r y []", 5, 1);
}

#[test]
fn an_append_that_may_be_there_is_not_lost() {
    // Without a mark the read may be stale.
    let unmarked = history("0 1-2 ok a x 1\n1 5-6 ok r x []");
    assert!(report(&unmarked, Level::Serializable).holds);
    nothing_lost("0 1-2 ok a x 1\n1 3-4 ok r x []\n1 5-6 ok r y []", 5);
    // Its answer came after the read began.
    nothing_lost("0 1-6 ok a x 1\n1 5-7 ok r x []", 5);
    // A later read at the end shows it, or one at the same time.
    nothing_lost("0 1-2 ok a x 1\n1 5-6 ok r x []\n1 7-8 ok r x [1]", 5);
    nothing_lost("0 1-2 ok a x 1\n1 5-8 ok r x []\n2 6-7 ok r x [1]", 5);
    // A read at the end that failed shows nothing.
    nothing_lost("0 1-2 ok a x 1\n1 5-6 fail r x []\n1 7-8 ok r x [1]", 5);
    nothing_lost("0 1-2 ok a x 1\n1 5-6 info r x", 5);
    // The key was not read at the end.
    nothing_lost("0 1-2 ok a x 1\n1 5-6 ok r y []", 5);
}

#[test]
fn what_was_not_acknowledged_is_never_lost() {
    nothing_lost("0 1-2 info a x 1\n1 5-6 ok r x []", 5);
    nothing_lost("0 1-2 fail a x 1\n1 5-6 ok r x []", 5);
    // Not even if it was seen.
    nothing_lost("0 1-2 info a x 1\n1 3-4 ok r x [1]\n1 5-6 ok r x []", 5);
    nothing_lost("0 1-2 info w x 1\n1 5-6 ok r x nil", 5);
    nothing_lost("0 1-2 info i x 1\n1 3-4 ok r x {1}\n1 5-6 ok r x {}", 5);
}

#[test]
fn a_row_that_was_inserted_and_is_gone_at_the_end_is_lost() {
    assert_eq!(
        lost("0 1-2 ok i x 1, i x 2\n1 3-4 ok r x {1 2}\n1 5-6 ok r x {2}", 5, 1),
        "T0 inserted 1 into x and was acknowledged at 2; at the end T2 read x = {2}, which lacks 1"
    );
    lost("0 1-2 ok i x 1, i x 2\n1 5-6 ok r x {}", 5, 2);
    nothing_lost("0 1-2 ok i x 1, i x 2\n1 3-4 ok r x {}\n1 5-6 ok r x {2 1}", 5);
}

#[test]
fn a_registers_last_write_that_is_gone_at_the_end_is_lost() {
    assert_eq!(
        lost("0 1-2 ok w x 1\n0 3-4 ok w x 2\n1 5-6 ok r x 1", 5, 1),
        "T1 wrote x = 2 and was acknowledged at 4; at the end T2 read x = 1, which T0 wrote and which was acknowledged \
         at 2, before T1 began"
    );
    // One key counts once: nobody knows which of its writes was the last.
    assert_eq!(
        lost("0 1-4 ok w x 1\n1 2-3 ok w x 2\n1 5-6 ok r x nil", 5, 1),
        "T1 wrote x = 2 and was acknowledged at 3; at the end T2 read x = nil, the state before all writes"
    );
    // The writer had read the value, so its write came after it, whenever that was acknowledged.
    assert_eq!(
        lost("0 1-4 ok w x 1\n1 2-3 ok r x 1, w x 2\n1 5-6 ok r x 1", 5, 1),
        "T1 wrote x = 2 and was acknowledged at 3; at the end T2 read x = 1, which T1 had read before it wrote"
    );
    lost("0 1-2 info w x 1\n1 3-4 ok r x 1, w x 2\n1 5-6 ok r x 1", 5, 1);
}

#[test]
fn a_register_that_another_write_may_have_changed_last_is_not_accused() {
    // Writers at the same time: either may be the last.
    for last in [1, 2] {
        nothing_lost(&format!("0 1-4 ok w x 1\n1 2-3 ok w x 2\n1 5-6 ok r x {last}"), 5);
    }
    // A write without an answer may take effect late.
    nothing_lost("0 1-2 info w x 1\n1 3-4 ok w x 2\n1 5-6 ok r x 1", 5);
    nothing_lost("0 1-2 ok w x 1\n1 3-4 info w x 2\n1 5-6 ok r x 2", 5);
    nothing_lost("0 1-2 ok w x 1\n1 3-4 info w x 2\n1 5-6 ok r x 1", 5);
    // Overwritten, by others and by its own transaction.
    nothing_lost("0 1-2 ok w x 1\n1 3-4 ok r x 1, w x 2\n1 5-6 ok r x 2", 5);
    nothing_lost("0 1-2 ok w x 1, w x 2\n1 5-6 ok r x 2", 5);
    // A stale read, since a later one shows it.
    nothing_lost("0 1-2 ok w x 1\n1 5-6 ok r x nil\n1 7-8 ok r x 1", 5);
    nothing_lost("0 1-2 ok w x 1\n1 5-8 ok r x nil\n2 6-7 ok r x 1", 5);
}

#[test]
fn reads_at_the_end_are_marked_in_files_and_nobody_writes_beside_them() {
    let text = r#"
{"process":0,"invoked":1,"completed":2,"outcome":"committed","ops":[["append","x",1]]}
{"process":1,"invoked":5,"completed":6,"outcome":"committed","ops":[["r","x",[]]],"final":true}
"#;
    let read = History::from_json_lines(text.as_bytes()).unwrap();
    assert_eq!(read.final_from, Some(5));
    assert_eq!(report(&read, Level::ReadCommitted).count(AnomalyKind::LostAppend), 1);
    let (mut lines, mut edn) = (Vec::new(), Vec::new());
    read.to_json_lines(&mut lines).unwrap();
    assert_eq!(String::from_utf8(lines).unwrap(), text.trim_start());
    read.to_edn(&mut edn).unwrap();
    let edn = String::from_utf8(edn).unwrap();
    assert_eq!(edn.lines().filter(|line| line.ends_with(":final? true}")).count(), 2, "{edn}");
    let writes = check(&ends("0 1-2 ok r x []\n1 3-4 ok a x 1", 1), &Options::new(Level::Serializable));
    assert!(matches!(writes.unwrap_err(), HistoryError::WritesAtEnd(_)));
}

/// Number of keys. A key is a list, a register or a range by its number.
const KEYS: u32 = 6;

/// A step of a database that runs one transaction at a time.
#[derive(Clone, Debug)]
enum Step {
    /// A transaction that writes these keys, acknowledged or without an answer.
    Write(Vec<u32>, bool),
    /// A crash that loses so many of the last commits.
    Crash(usize),
}

/// Plays the steps and reads every key at the end. Returns the number of lost writes, too.
fn played(steps: &[Step]) -> (History, u64) {
    let keys = (0..KEYS).map(|number| Key { name: format!("k{number}"), engine: None }).collect();
    let mut history = History { keys, ..History::default() };
    // States after each commit: the values of each key.
    let mut states = vec![vec![Vec::<u64>::new(); KEYS as usize]];
    let mut acknowledged: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); KEYS as usize];
    let (mut clock, mut value) = (0, 0);
    let mut push = |history: &mut History, outcome, ops| {
        let (process, invoked) = (u32::from(outcome == Outcome::Unknown), clock);
        clock += 2;
        history.transactions.push(Transaction { process, invoked, completed: clock - 1, outcome, ops });
        invoked
    };
    for step in steps {
        match step {
            Step::Crash(count) => states.truncate(states.len().saturating_sub(*count).max(1)),
            Step::Write(written, answered) => {
                let mut state = states.last().unwrap().clone();
                let mut ops = Vec::new();
                for &key in written {
                    value += 1;
                    let action = [Action::Append(value), Action::Write(value), Action::Insert(value)];
                    ops.push(Op { key: KeyId(key), action: action[key as usize % 3].clone() });
                    state[key as usize].push(value);
                    if *answered {
                        acknowledged[key as usize].insert(value);
                    }
                }
                states.push(state);
                let outcome = if *answered { Outcome::Committed } else { Outcome::Unknown };
                push(&mut history, outcome, ops);
            }
        }
    }
    let mut lost = 0;
    for key in 0..KEYS {
        let there = states.last().unwrap()[key as usize].clone();
        let seen = match key % 3 {
            1 => Seen::Register(there.last().copied()),
            0 => Seen::List(there.clone()),
            _ => Seen::Range(there.clone()),
        };
        lost += if key % 3 == 1 {
            // A value that nobody acknowledged says nothing about the writes after it.
            let shown = there.last();
            let is_sure = shown.is_none_or(|shown| acknowledged[key as usize].contains(shown));
            let later =
                acknowledged[key as usize].iter().any(|value| shown.is_none_or(|shown| value > shown));
            u64::from(is_sure && later)
        } else {
            acknowledged[key as usize].iter().filter(|value| !there.contains(value)).count() as u64
        };
        let op = Op { key: KeyId(key), action: Action::Read(Some(seen)) };
        let invoked = push(&mut history, Outcome::Committed, vec![op]);
        history.final_from.get_or_insert(invoked);
    }
    (history, lost)
}

proptest! {
    #[test]
    fn exactly_the_acknowledged_writes_that_crashes_lose_are_found(
        steps in proptest::collection::vec(
            prop_oneof![
                8 => (proptest::collection::vec(0..KEYS, 1..4), proptest::bool::weighted(0.8))
                    .prop_map(|(keys, answered)| Step::Write(keys, answered)),
                1 => (0..5_usize).prop_map(Step::Crash),
            ],
            1..40,
        )
    ) {
        let (history, lost) = played(&steps);
        let result = report(&history, Level::ReadCommitted);
        prop_assert_eq!(result.count(AnomalyKind::LostAppend), lost, "{}", result);
    }
}
