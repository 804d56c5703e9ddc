//! Tests of the commit protocol, reads and scans.

use super::*;
use crate::Conflict;

fn bounds(lower: Bound<&str>, upper: Bound<&str>) -> KeyRange {
    KeyRange { lower: lower.map(key), upper: upper.map(key) }
}

#[test]
fn the_first_committer_wins() {
    let (_directory, engine) = engine();
    let since = engine.clock().horizon();
    let mut first = [write("a", Some("1"), since), write("b", Some("1"), since)];
    let mut second = [write("0", Some("2"), since), write("b", Some("2"), since)];
    engine.lock(Owner::from(1), &mut first).unwrap();
    let clash = |refusal| match refusal {
        Err(Refusal::Clash(clash)) => clash.kind,
        other => panic!("{other:?}"),
    };
    assert_eq!(clash(engine.lock(Owner::from(2), &mut second)), Conflict::Locked);
    assert!(
        engine.validate_key(Owner::from(3), KS, &key("0"), since).unwrap(),
        "a rejected commit leaves nothing locked"
    );
    let at = engine.clock().draw();
    engine.install(&mut first, at);
    assert_eq!(
        clash(engine.lock(Owner::from(2), &mut second)),
        Conflict::Write,
        "the first commit counts before it is published"
    );
    engine.clock().publish(at);
    assert_eq!(clash(engine.lock(Owner::from(2), &mut second)), Conflict::Write);
    let mut second = second.map(|write| Write { since: at, ..write });
    engine.lock(Owner::from(2), &mut second).unwrap();
    engine.give_up(&mut second);
    assert_eq!(engine.state().recent_keys, 2);
}

#[test]
fn an_abandoned_commit_leaves_nothing_and_blocks_nobody() {
    let (_directory, engine) = engine();
    let since = engine.clock().horizon();
    let mut writes = [write("a", Some("1"), since)];
    engine.lock(Owner::from(1), &mut writes).unwrap();
    let at = engine.clock().draw();
    engine.give_up(&mut writes);
    engine.clock().publish(at);
    assert_eq!(get(&engine, "a", at), None);
    engine.flush_all().unwrap();
    put(&engine, "a", "2");
}

#[test]
fn a_phantom_is_found_by_validating_the_range() {
    let (_directory, engine) = engine();
    let since = put(&engine, "b", "1");
    let range = bounds(Bound::Included("a"), Bound::Excluded("m"));
    assert!(engine.validate_range(Owner::from(7), KS, &range, since).unwrap());
    let mut writes = [write("c", Some("new"), since)];
    engine.lock(Owner::from(8), &mut writes).unwrap();
    assert!(!engine.validate_range(Owner::from(7), KS, &range, since).unwrap(), "it is being inserted");
    let at = engine.clock().draw();
    engine.install(&mut writes, at);
    engine.clock().publish(at);
    assert!(!engine.validate_range(Owner::from(7), KS, &range, since).unwrap(), "it was inserted");
    assert!(
        engine
            .validate_range(Owner::from(7), KS, &bounds(Bound::Excluded("c"), Bound::Unbounded), since)
            .unwrap()
    );
    assert!(engine.validate_range(Owner::from(7), KS, &range, at).unwrap());
    assert!(!engine.validate_key(Owner::from(7), KS, &key("c"), since).unwrap());
}

#[test]
fn each_snapshot_reads_the_state_of_its_time() {
    let (_directory, engine) = engine();
    let mut history = Vec::new();
    for step in 0..30 {
        let value = format!("{step}");
        let deleted = step % 5 == 4;
        history.push((
            commit(&engine, &[("k", (!deleted).then_some(value.as_str()))]),
            (!deleted).then_some(value),
        ));
        if step % 4 == 3 {
            engine.flush_all().unwrap();
        }
    }
    compact(&engine);
    for (at, value) in history {
        assert_eq!(get(&engine, "k", at), value);
        let mut stamp = None;
        engine.get(KS, &key("k"), at, None, &mut |_, at| stamp = Some(at)).unwrap();
        assert_eq!(stamp, value.map(|_| at));
    }
}

#[test]
fn scans_merge_memory_and_files_in_both_directions_within_their_bounds() {
    let (_directory, engine) = engine();
    for name in ["a", "c", "e", "g"] {
        put(&engine, name, "file");
    }
    engine.flush_all().unwrap();
    let files = engine.clock().horizon();
    commit(&engine, &[("b", Some("memory")), ("c", Some("newer")), ("e", None)]);
    let now = engine.clock().horizon();
    let names = |range: &KeyRange, direction, at, most| {
        let rows = scan(&engine, range, direction, at, most);
        rows.into_iter().map(|(key, _)| String::from_utf8(key).unwrap()).collect::<String>()
    };
    let both = |range: &KeyRange, at| {
        let forward = names(range, Direction::Forward, at, 10);
        assert_eq!(forward.chars().rev().collect::<String>(), names(range, Direction::Backward, at, 10));
        forward
    };
    assert_eq!(both(&all(), now), "abcg");
    assert_eq!(both(&all(), files), "aceg");
    assert_eq!(both(&bounds(Bound::Included("b"), Bound::Included("c")), now), "bc");
    assert_eq!(both(&bounds(Bound::Excluded("b"), Bound::Unbounded), now), "cg");
    assert_eq!(both(&bounds(Bound::Unbounded, Bound::Excluded("c")), now), "ab");
    assert_eq!(both(&bounds(Bound::Included("g"), Bound::Included("a")), now), "");
    assert_eq!(both(&bounds(Bound::Excluded("b"), Bound::Excluded("b")), now), "");
    assert_eq!(names(&all(), Direction::Forward, now, 2), "ab", "a scan ends on a break");
    assert_eq!(names(&all(), Direction::Backward, now, 2), "gc");
    let newer = bounds(Bound::Included("c"), Bound::Included("c"));
    assert_eq!(scan(&engine, &newer, Direction::Forward, now, 1)[0].1, "newer");
}

#[test]
fn invalid_writes_and_keyspaces_are_rejected_with_a_reason() {
    let (_directory, engine) = engine();
    let message = |refusal| match refusal {
        Err(Refusal::Error(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(
        message(engine.lock(Owner::from(1), &mut [write("", Some("v"), Timestamp::ZERO)]))
            .contains("at least one byte")
    );
    let unknown = Write { keyspace: KeyspaceId(9), ..write("k", None, Timestamp::ZERO) };
    assert!(
        message(engine.lock(Owner::from(1), &mut [unknown])).contains("keyspace 9 is not in the disk engine")
    );
    assert!(engine.get(KeyspaceId(70_000), &key("k"), Timestamp::MAX, None, &mut |_, _| ()).is_err());
    assert!(engine.open_keyspace(KeyspaceId(1 << 20)).unwrap_err().to_string().contains("room for 1048576"));
    engine.close();
}
