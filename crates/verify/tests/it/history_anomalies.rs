//! Hand-made histories: each kind of anomaly is found and named, and histories without one pass.

use AnomalyKind::*;
use lydite_verify::history::{
    Action, AnomalyKind, History, HistoryError, Key, KeyId, Level, Op, Options, Order, Outcome,
    RegisterOrder, Report, Seen, Transaction, check,
};

/// Reads a history of lines like `0 1-4 ok a x 1, r y [1 2]`: process, times, outcome, operations. `a` appends, `w`
/// writes, `i` inserts into a range, `r` reads a list, a register or a range.
pub(crate) fn history(text: &str) -> History {
    let mut history = History::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.splitn(4, ' ');
        let process = words.next().unwrap().parse().unwrap();
        let (invoked, completed) = words.next().unwrap().split_once('-').unwrap();
        let outcome = match words.next().unwrap() {
            "ok" => Outcome::Committed,
            "fail" => Outcome::Aborted,
            "info" => Outcome::Unknown,
            other => panic!("{other}"),
        };
        let ops = words.next().unwrap().split(", ").map(|op| operation(&mut history, op)).collect();
        let (invoked, completed) = (invoked.parse().unwrap(), completed.parse().unwrap());
        history.transactions.push(Transaction { process, invoked, completed, outcome, ops });
    }
    history
}

fn operation(history: &mut History, text: &str) -> Op {
    let mut words = text.splitn(3, ' ');
    let (what, key, value) = (words.next().unwrap(), Key::parse(words.next().unwrap()), words.next());
    let key = match history.keys.iter().position(|known| *known == key) {
        Some(at) => KeyId(at as u32),
        None => {
            history.keys.push(key);
            KeyId(history.keys.len() as u32 - 1)
        }
    };
    let number = |value: &str| value.parse::<u64>().unwrap();
    let action = match (what, value) {
        ("a", Some(value)) => Action::Append(number(value)),
        ("w", Some(value)) => Action::Write(number(value)),
        ("i", Some(value)) => Action::Insert(number(value)),
        ("r", None) => Action::Read(None),
        ("r", Some("nil")) => Action::Read(Some(Seen::Register(None))),
        ("r", Some(list)) if list.starts_with('[') => {
            let values = list.trim_matches(['[', ']']).split_whitespace().map(number).collect();
            Action::Read(Some(Seen::List(values)))
        }
        ("r", Some(set)) if set.starts_with('{') => {
            let values = set.trim_matches(['{', '}']).split_whitespace().map(number).collect();
            Action::Read(Some(Seen::Range(values)))
        }
        ("r", Some(value)) => Action::Read(Some(Seen::Register(Some(number(value))))),
        other => panic!("{other:?}"),
    };
    Op { key, action }
}

fn report(text: &str, level: Level) -> Report {
    check(&history(text), &Options::new(level)).unwrap()
}

/// Returns the kinds and orders that a check for strict serializability finds.
fn found(text: &str) -> Vec<(AnomalyKind, Order)> {
    let report = report(text, Level::StrictSerializable);
    report.anomalies.iter().map(|anomaly| (anomaly.kind, anomaly.order)).collect()
}

/// Asserts that one anomaly is found by data, counted once, and that exactly these levels hold.
fn only(text: &str, kind: AnomalyKind, strongest: Option<Level>) -> Report {
    let result = report(text, Level::Serializable);
    let kinds: Vec<_> = result.anomalies.iter().map(|anomaly| (anomaly.kind, anomaly.count)).collect();
    assert_eq!(kinds, [(kind, 1)], "{result}");
    assert_eq!(result.strongest(), strongest, "{result}");
    for level in [Level::ReadCommitted, Level::SnapshotIsolation, Level::Serializable] {
        assert_eq!(report(text, level).holds, Some(level) <= strongest, "{level}: {result}");
    }
    result
}

#[test]
fn a_good_history_has_no_anomaly() {
    let good = "0 1-2 ok a x 1, a y 1
                1 3-4 ok r x [1], a x 2, r x [1 2]
                0 5-6 ok r x [1 2], r y [1], r z []
                1 7-8 ok r r nil, w r 1, r r 1, w r 2
                0 9-10 ok r r 2";
    assert_eq!(found(good), []);
    assert_eq!(report(good, Level::StrictSerializable).strongest(), Some(Level::StrictSerializable));
}

#[test]
fn writes_that_interleave_are_a_dirty_write() {
    only(
        "0 1-5 ok a x 1, a y 1
         1 2-6 ok a x 2, a y 2
         2 7-8 ok r x [1 2], r y [2 1]",
        DirtyWrite,
        None,
    );
}

#[test]
fn writes_in_the_same_order_on_both_keys_are_fine() {
    assert_eq!(
        found(
            "0 1-5 ok a x 1, a y 1
             1 2-6 ok a x 2, a y 2
             2 7-8 ok r x [1 2], r y [1 2]"
        ),
        []
    );
}

#[test]
fn reading_an_aborted_write_is_g1a() {
    let report = only(
        "0 1-2 fail a x 1
         1 3-4 ok r x [1]",
        AbortedRead,
        None,
    );
    assert_eq!(
        report.anomalies[0].examples[0].to_string(),
        "T1 (process 1), T0 (process 0): T1 read 1 in x, written by T0, which was aborted"
    );
    only("0 1-2 fail w x 1\n1 3-4 ok r x 1", AbortedRead, None);
}

#[test]
fn an_aborted_transaction_may_have_read_anything() {
    assert_eq!(found("0 1-2 fail a x 1, r y [7]\n1 3-4 ok r x []"), []);
}

#[test]
fn an_unknown_transaction_counts_once_it_was_seen() {
    let seen = "0 1-2 info a x 1, a y 1
                1 3-4 ok r x [1]
                1 5-6 ok r x [1], r y []";
    only(seen, ReadSkew, Some(Level::ReadCommitted));
    assert_eq!(report(seen, Level::Serializable).transactions.unknown_seen, 1);
    let unseen = "0 1-2 info a x 1, a y 1
                  1 3-4 ok r x []
                  1 5-6 ok r x [], r y []";
    assert_eq!(found(unseen), []);
    // The reader itself counts only because it was seen.
    let chain = "0 1-2 info a x 1
                 1 1-2 info r x [1], a y 1
                 2 3-4 ok r y [1]";
    assert_eq!(report(chain, Level::Serializable).transactions.unknown_seen, 2);
}

#[test]
fn an_unknown_transaction_may_take_effect_late() {
    assert_eq!(
        found(
            "0 1-2 info a x 1
             1 3-4 ok r x []
             1 5-6 ok r x [1]"
        ),
        []
    );
}

#[test]
fn reading_between_two_writes_of_one_transaction_is_g1b() {
    let report = report(
        "0 1-4 ok a x 1, a x 2
         1 2-5 ok r x [1]
         2 6-7 ok r x [1 2]",
        Level::ReadCommitted,
    );
    assert_eq!(report.count(IntermediateRead), 1, "{report}");
    assert_eq!(report.anomalies.len(), 1, "{report}");
    only("0 1-4 ok w x 1, w x 2\n1 2-5 ok r x 1", IntermediateRead, None);
    assert_eq!(found("0 1-4 ok a x 1, a x 2\n1 2-5 ok r x [1 2]"), []);
}

#[test]
fn reading_each_others_writes_is_g1c() {
    only("0 1-3 ok a x 1, r y [1]\n1 2-4 ok a y 1, r x [1]", CircularInformation, None);
    only("0 1-3 ok w x 1, r y 1\n1 2-4 ok w y 1, r x 1", CircularInformation, None);
}

#[test]
fn seeing_one_effect_and_not_the_other_is_read_skew() {
    let report = only(
        "0 1-2 ok a x 1, a y 1
         1 1-3 ok r x [], r y [1]",
        ReadSkew,
        Some(Level::ReadCommitted),
    );
    assert_eq!(
        report.anomalies[0].examples[0].to_string(),
        "T1 (process 1), T0 (process 0): T1 read x = [], which misses 1 that T0 appended; \
         T1 read y = [1], which has 1 that T0 appended"
    );
    only("0 1-2 ok w x 1, w y 1\n1 1-3 ok r x nil, r y 1", ReadSkew, Some(Level::ReadCommitted));
}

#[test]
fn seeing_one_effect_in_one_engine_only_is_skewed_snapshots() {
    let report = only(
        "0 1-2 ok a x@memory 1, a y@disk 1
         1 1-3 ok r x@memory [], r y@disk [1]",
        SkewedSnapshots,
        Some(Level::ReadCommitted),
    );
    assert_eq!(report.anomalies[0].examples[0].engines, ["disk", "memory"]);
    // The same within one engine is plain read skew.
    only(
        "0 1-2 ok a x@memory 1, a y@memory 1, a z@disk 1
         1 1-3 ok r x@memory [], r y@memory [1]",
        ReadSkew,
        Some(Level::ReadCommitted),
    );
}

#[test]
fn seeing_both_or_neither_effect_is_fine() {
    assert_eq!(found("0 1-2 ok a x 1, a y 1\n1 1-3 ok r x [1], r y [1]"), []);
    assert_eq!(found("0 1-2 ok a x 1, a y 1\n1 1-3 ok r x [], r y []"), []);
}

#[test]
fn overwriting_an_unread_value_is_a_lost_update() {
    let at = Some(Level::ReadCommitted);
    // The cases: seen in the list, in no list, and with registers.
    only("0 1-3 ok r x [], a x 1\n1 2-4 ok r x [], a x 2\n2 5-6 ok r x [1 2]", LostUpdate, at);
    only("0 1-3 ok r x [], a x 1\n1 2-4 ok r x [], a x 2", LostUpdate, at);
    only("0 1-3 ok r x nil, w x 1\n1 2-4 ok r x nil, w x 2", LostUpdate, at);
    only("0 1-2 ok w x 9\n0 3-5 ok r x 9, w x 1\n1 4-6 ok r x 9, w x 2", LostUpdate, at);
    // The other transaction need not have read.
    only("0 1-3 ok r x [], a x 1\n1 2-4 ok a x 2\n2 5-6 ok r x [2 1]", LostUpdate, at);
}

#[test]
fn updates_that_build_on_each_other_are_fine() {
    assert_eq!(found("0 1-3 ok r x [], a x 1\n1 2-4 ok r x [1], a x 2"), []);
    assert_eq!(found("0 1-3 ok r x nil, w x 1\n1 2-4 ok r x 1, w x 2"), []);
    // Blind writes lose nothing that a transaction read.
    assert_eq!(found("0 1-3 ok a x 1\n1 2-4 ok a x 2\n2 5-6 ok r x [2 1]"), []);
    // A transaction that reads and writes may come before a blind write.
    assert_eq!(found("0 1-3 ok r x [], a x 1\n1 2-4 ok a x 2\n2 5-6 ok r x [1 2]"), []);
    assert_eq!(found("0 1-3 ok r x nil, w x 1\n1 2-4 ok w x 2"), []);
}

#[test]
fn writing_keys_that_the_other_read_is_write_skew() {
    let report = only(
        "0 1-3 ok r x [], r y [], a x 1
         1 2-4 ok r x [], r y [], a y 1",
        WriteSkew,
        Some(Level::SnapshotIsolation),
    );
    assert_eq!(report.anomalies[0].examples[0].explanation.len(), 2);
    only("0 1-3 ok r x nil, w y 1\n1 2-4 ok r y nil, w x 1", WriteSkew, Some(Level::SnapshotIsolation));
    // Across engines it is still write skew, with both engines named.
    let across = only(
        "0 1-3 ok r x@memory nil, w y@disk 1\n1 2-4 ok r y@disk nil, w x@memory 1",
        WriteSkew,
        Some(Level::SnapshotIsolation),
    );
    assert!(across.to_string().contains("across disk and memory"), "{across}");
}

#[test]
fn a_read_only_transaction_can_complete_a_cycle_under_snapshot_isolation() {
    // Fekete, O'Neil and O'Neil, "A Read-Only Transaction Anomaly Under Snapshot Isolation".
    only(
        "0 1-6 ok r x [], r y [], a x 1
         1 2-3 ok r y [], a y 1
         2 4-5 ok r x [], r y [1]
         2 7-8 ok r x [1], r y [1]",
        WriteSkew,
        Some(Level::SnapshotIsolation),
    );
}

#[test]
fn two_readers_that_see_two_writes_in_opposite_orders_are_a_long_fork() {
    only(
        "0 1-9 ok a x 1
         1 1-9 ok a y 1
         2 1-9 ok r x [1], r y []
         3 1-9 ok r x [], r y [1]",
        LongFork,
        Some(Level::ReadCommitted),
    );
    assert_eq!(
        found(
            "0 1-9 ok a x 1
             1 1-9 ok a y 1
             2 1-9 ok r x [1], r y []
             3 1-9 ok r x [1], r y [1]"
        ),
        []
    );
}

#[test]
fn longer_forks_are_told_apart_from_read_skew() {
    only(
        "0 1-9 ok a x 1
         4 1-9 ok r x [1], a z 1
         1 1-9 ok a y 1
         2 1-9 ok r z [1], r y []
         3 1-9 ok r x [], r y [1]",
        NonAdjacent,
        Some(Level::ReadCommitted),
    );
}

#[test]
fn a_transaction_must_see_its_own_writes() {
    let at = None;
    only("0 1-2 ok a x 1, r x []", OwnWrites, at);
    only("0 1-2 ok w x 1, r x nil", OwnWrites, at);
    only("0 1-2 ok r x [1], a x 1", OwnWrites, at);
    only("0 1-2 ok r x 1, w x 1", OwnWrites, at);
}

#[test]
fn reading_a_key_twice_must_give_the_same_under_snapshot_isolation() {
    let text = "0 1-2 ok a x 1\n1 1-3 ok r x [], r x [1]";
    let result = report(text, Level::SnapshotIsolation);
    assert_eq!((result.count(UnrepeatableRead), result.holds), (1, false), "{result}");
    assert!(report(text, Level::ReadCommitted).holds);
    assert_eq!(found("0 1-2 ok a x 1\n1 1-3 ok r x [1], a x 2, r x [1 2]"), []);
    let result = report("0 1-2 ok w x 1\n1 1-3 ok r x nil, r x 1", Level::SnapshotIsolation);
    assert_eq!((result.count(UnrepeatableRead), result.holds), (1, false), "{result}");
}

#[test]
fn unwritten_and_duplicate_values_are_found() {
    only("0 1-2 ok r x [7]", GarbageRead, None);
    only("0 1-2 ok r x 7", GarbageRead, None);
    only("0 1-2 ok a x 1\n0 3-4 ok r x [1 1]", DuplicateAppend, None);
}

#[test]
fn lists_that_contradict_each_other_are_found() {
    only(
        "0 1-2 ok a x 1
         1 1-2 ok a x 2
         2 3-4 ok r x [1]
         2 5-6 ok r x [2]",
        IncompatibleOrder,
        None,
    );
}

#[test]
fn a_stale_read_breaks_only_real_time() {
    let stale = "0 1-2 ok a x 1\n1 3-4 ok r x []";
    assert_eq!(found(stale), [(ReadSkew, Order::Realtime)]);
    assert!(report(stale, Level::Serializable).holds);
    assert!(!report(stale, Level::StrictSerializable).holds);
    // At the same time it is fine.
    assert_eq!(found("0 1-4 ok a x 1\n1 3-5 ok r x []"), []);
    // Real time takes many steps here, but one step in the explanation.
    let far = "0 1-2 ok a x 1\n2 3-4 ok r z []\n2 5-6 ok r z []\n1 7-8 ok r x []";
    let result = report(far, Level::StrictSerializable);
    assert_eq!(result.anomalies[0].examples[0].explanation.len(), 2, "{result}");
}

#[test]
fn a_process_that_does_not_see_its_own_past_breaks_the_session() {
    let text = "0 1-2 ok a x 1\n0 3-4 ok r x []";
    assert_eq!(found(text), [(ReadSkew, Order::Session)]);
    let session = Options { session: true, ..Options::new(Level::SnapshotIsolation) };
    assert!(!check(&history(text), &session).unwrap().holds);
    assert!(report(text, Level::SnapshotIsolation).holds);
}

#[test]
fn reading_from_the_future_breaks_real_time() {
    assert_eq!(found("0 1-2 ok r x [1]\n1 3-4 ok a x 1"), [(CircularInformation, Order::Realtime)]);
}

#[test]
fn blind_register_writes_are_ordered_by_time_only_if_wanted() {
    // Two readers that disagree on the order of two blind writes.
    let text = "0 1-2 ok w x 1, w y 1\n1 3-4 ok w x 2, w y 2\n2 5-6 ok r x 1, r y 2";
    assert!(report(text, Level::Serializable).holds);
    let ordered =
        Options { register_order: RegisterOrder::Realtime, ..Options::new(Level::SnapshotIsolation) };
    let report = check(&history(text), &ordered).unwrap();
    assert_eq!((report.count(ReadSkew), report.holds), (1, false), "{report}");
}

#[test]
fn invalid_histories_are_rejected() {
    let refused = |text: &str| check(&history(text), &Options::new(Level::Serializable)).unwrap_err();
    assert!(matches!(refused("0 1-2 ok a x 1\n1 1-2 ok a x 1"), HistoryError::NotUnique { .. }));
    assert!(matches!(refused("0 1-3 ok a x 1\n0 2-4 ok a x 2"), HistoryError::Times { .. }));
    assert!(matches!(refused("0 2-1 ok a x 1"), HistoryError::Times { .. }));
    assert!(matches!(refused("0 1-2 ok a x 1\n1 1-2 ok w x 2"), HistoryError::MixedKey { .. }));
    let line = History::from_json_lines("\n{\"process\":0}\n".as_bytes()).unwrap_err();
    assert!(line.to_string().starts_with("history line 2: missing field"), "{line}");
}

#[test]
fn a_history_comes_back_from_its_file_unchanged() {
    let written = history(
        "0 1-2 ok a x@memory 1, r y@disk [1 2], r y@disk
         1 3-4 info w a@b@ 1, r b nil, r a@b@ 1
         0 5-6 fail r b",
    );
    let mut file = Vec::new();
    written.to_json_lines(&mut file).unwrap();
    assert_eq!(History::from_json_lines(file.as_slice()).unwrap(), written);
}

#[test]
fn a_stale_read_breaks_the_order_of_a_session_and_a_torn_reader_does_not() {
    let judged = |text: &str| {
        let history = History::from_json_lines(text.as_bytes()).unwrap();
        check(&history, &Options::new(Level::StrictSerializable)).unwrap()
    };
    // Process 0 no longer sees what it saw.
    let stale = judged(
        r#"
{"process":1,"invoked":1,"completed":2,"outcome":"committed","ops":[["append","x",1]]}
{"process":0,"invoked":3,"completed":4,"outcome":"committed","ops":[["r","x",[1]]]}
{"process":0,"invoked":5,"completed":6,"outcome":"committed","ops":[["r","x",[]]]}
"#,
    );
    assert!(!stale.keeps(Order::Session) && !stale.keeps(Order::Realtime), "{stale}");
    assert!(stale.keeps(Order::Data));
    // Another process misses an acknowledged append.
    let late = judged(
        r#"
{"process":0,"invoked":1,"completed":2,"outcome":"committed","ops":[["append","x",1]]}
{"process":1,"invoked":3,"completed":4,"outcome":"committed","ops":[["r","x",[]]]}
{"process":0,"invoked":5,"completed":6,"outcome":"committed","ops":[["r","x",[1]]]}
"#,
    );
    assert!(late.keeps(Order::Session) && !late.keeps(Order::Realtime), "{late}");
    // A reader without a snapshot began first: read committed allows it, with sessions and on one server.
    let torn = judged(
        r#"
{"process":1,"invoked":1,"completed":8,"outcome":"committed","ops":[["r","x",[]],["r","y",[1]]]}
{"process":0,"invoked":2,"completed":3,"outcome":"committed","ops":[["append","x",1]]}
{"process":0,"invoked":4,"completed":5,"outcome":"committed","ops":[["append","y",1]]}
{"process":0,"invoked":9,"completed":10,"outcome":"committed","ops":[["r","x",[1]],["r","y",[1]]]}
"#,
    );
    assert_eq!(torn.strongest(), Some(Level::Serializable), "{torn}");
    assert!(torn.keeps(Order::Session) && torn.keeps(Order::Realtime), "{torn}");
}

#[test]
fn a_phantom_is_named_and_explained() {
    let text = "0 2-4 ok r x {1}, i x 2
                1 3-5 ok r x {1}, i x 3
                2 0-1 ok i x 1
                2 6-7 ok r x {3 1 2}";
    let result = only(text, Phantom, Some(Level::SnapshotIsolation));
    assert_eq!(
        result.anomalies[0].examples[0].explanation,
        [
            "T0 read x = {1}, which misses 3 that T1 inserted",
            "T1 read x = {1}, which misses 2 that T0 inserted",
        ]
    );
}

#[test]
fn a_phantom_over_a_list_and_a_range_needs_both() {
    // T0 looks whether the range is empty and appends; T1 looks at the list and inserts.
    let text = "0 1-3 ok r x {}, a y 1
                1 2-4 ok r y [], i x 1
                2 5-6 ok r x {1}, r y [1]";
    only(text, Phantom, Some(Level::SnapshotIsolation));
    // One after the other is fine, in either order.
    assert!(found("0 1-2 ok r x {}, a y 1\n1 3-4 ok r y [1], i x 1\n2 5-6 ok r x {1}, r y [1]").is_empty());
    assert!(found("0 1-2 ok r y [], i x 1\n1 3-4 ok r x {1}, a y 1\n2 5-6 ok r x {1}, r y [1]").is_empty());
}

#[test]
fn what_a_read_of_a_range_may_not_show_is_found_without_a_cycle() {
    only("0 1-2 ok r x {7}", GarbageRead, None);
    only("0 1-2 fail i x 1\n1 3-4 ok r x {1}", AbortedRead, None);
    only("0 1-2 ok i x 1\n1 3-4 ok r x {1 1}", DuplicateAppend, None);
    only("0 1-2 ok i x 1, r x {}", OwnWrites, None);
    only("0 1-2 ok r x {1}, i x 1", OwnWrites, None);
    // A row that came while the transaction ran; its own rows are no change.
    let came = "0 1-4 ok r x {}, i x 2, r x {1 2}\n1 2-3 ok i x 1";
    let kinds: Vec<_> = found(came).into_iter().filter(|(_, order)| *order == Order::Data).collect();
    assert_eq!(kinds, [(UnrepeatableRead, Order::Data), (ReadSkew, Order::Data)]);
    assert!(found("0 1-2 ok r x {}, i x 2, r x {2}").is_empty());
}

#[test]
fn an_insert_without_an_answer_counts_once_it_is_seen() {
    let seen = "0 1-2 info i x 1\n1 3-4 ok r x {1}";
    assert!(report(seen, Level::Serializable).holds);
    assert_eq!(report(seen, Level::Serializable).transactions.unknown_seen, 1);
    assert!(found("0 1-2 info i x 1\n1 3-4 ok r x {}").is_empty());
}

#[test]
fn ranges_survive_a_file_and_are_left_out_of_jepsens_form() {
    let text = r#"
{"process":0,"invoked":1,"completed":3,"outcome":"committed","ops":[["range","x",[1,2]],["insert","x",3],["append","y",1]]}
{"process":1,"invoked":2,"completed":4,"outcome":"unknown","ops":[["insert","x",1],["insert","x",2],["r","x"]]}
"#;
    let history = History::from_json_lines(text.as_bytes()).unwrap();
    let (mut lines, mut edn) = (Vec::new(), Vec::new());
    history.to_json_lines(&mut lines).unwrap();
    assert_eq!(String::from_utf8(lines).unwrap(), text.trim_start());
    history.to_edn(&mut edn).unwrap();
    let edn = String::from_utf8(edn).unwrap();
    assert!(edn.contains("[[:append \"y\" 1]]") && !edn.contains(r#""x""#), "{edn}");
    let mixed = text.replace("[\"append\",\"y\"", "[\"append\",\"x\"");
    let mixed = History::from_json_lines(mixed.as_bytes()).unwrap();
    let error = check(&mixed, &Options::new(Level::Serializable)).unwrap_err();
    assert!(error.to_string().contains("uses key x as a list"), "{error}");
}
