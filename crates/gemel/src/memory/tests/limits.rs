//! Tests of the memory limit and of the bytes that count towards it.

use super::*;

#[test]
fn the_memory_limit_rejects_writes_but_not_deletes() {
    let engine = engine_of(100_000);
    let value = "x".repeat(1_000);
    let (mut kept, mut tries) = (0, 0);
    let refusal = loop {
        let since = engine.clock().horizon();
        match commit(&engine, 1, &mut [put(&format!("{kept}"), &value, since)]) {
            Ok(_) => (kept, tries) = (kept + 1, 0),
            // Nodes of the index that were replaced count until no reader of another test holds the epoch. Each try may
            // replace some.
            Err(_) if engine.state().unfreed_bytes > 0 && tries < 3 => {
                tries += 1;
                help_until(|| engine.state().unfreed_bytes == 0);
            }
            Err(refusal) => break refusal,
        }
        assert!(engine.state().bytes <= 100_000);
    };
    let Refusal::Error(Error::Capacity(message)) = refusal else { panic!("{refusal:?}") };
    assert!(message.contains("100000") && message.contains("memory_limit"), "{message}");
    assert!((70..100).contains(&kept), "{kept} rows of 1,000 bytes fit into 100,000");
    assert_eq!(engine.state().records, kept);
    help_until(|| engine.state().unfreed_bytes == 0);
    let full = engine.state();
    // A set of writes that is too large as a whole leaves nothing locked or counted.
    let since = engine.clock().horizon();
    let mut many: Vec<_> = (0..50).map(|n| put(&format!("new {n}"), "", since)).collect();
    assert!(matches!(commit(&engine, 1, &mut many), Err(Refusal::Error(Error::Capacity(_)))));
    help_until(|| engine.state() == full);
    let gone = commit_now(&engine, [delete("0", since), delete("1", since)]);
    engine.collect(gone);
    help_until(|| engine.state().unfreed_bytes == 0);
    commit_now(&engine, [put("0", &value, gone)]);
    assert!(engine.state().bytes <= 100_000);
}

#[test]
fn replaced_versions_count_until_no_reader_can_have_them() {
    let engine = engine();
    let value = "x".repeat(1_000);
    let rows = |since| (0..10).map(move |n| (n, since));
    let update = |since| {
        let writes: Vec<_> = rows(since).map(|(n, since)| put(&n.to_string(), &value, since)).collect();
        commit_now(&engine, writes)
    };
    let first = update(Timestamp::ZERO);
    let smallest = engine.state().bytes;
    let replaced = 10 * version_bytes(1_000);
    let pin = Pin::new();
    let second = update(first);
    engine.collect(second);
    assert_eq!(engine.state().versions_collected, 10);
    assert!(engine.state().bytes >= smallest + replaced, "the pin keeps the versions in memory");
    drop(pin);
    help_until(|| engine.state().bytes == smallest);
    // A reader in the middle of a scan holds them too.
    let (mut third, mut held) = (None, 0);
    engine
        .scan(SPACE, &all(), Direction::Forward, second, &mut |_, _, _| {
            let third = *third.get_or_insert_with(|| update(second));
            engine.collect(third);
            held = engine.state().bytes;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(held >= smallest + replaced, "the scan keeps the versions in memory");
    help_until(|| engine.state().bytes == smallest);
}

/// Values of this length get a smaller copy once they are the only version again.
#[test]
fn copies_count_until_no_reader_can_have_what_they_replaced() {
    let engine = engine();
    let value = "x".repeat(49);
    let first = commit_now(&engine, [put("a", &value, Timestamp::ZERO)]);
    let smallest = engine.state().bytes;
    let pin = Pin::new();
    let second = commit_now(&engine, [put("a", &value, first)]);
    engine.collect(second);
    let held = smallest + 2 * version_bytes(49);
    assert_eq!(engine.state().bytes, held, "the pin keeps the older version and the one that was copied");
    drop(pin);
    help_until(|| engine.state().bytes == smallest);
    let gone = commit_now(&engine, [delete("a", second)]);
    help_until(|| {
        engine.collect(gone);
        engine.state().bytes == 0
    });
}

#[test]
fn removed_records_and_index_nodes_count_until_no_reader_can_have_them() {
    const KEYS: u64 = 2_000;
    let engine = engine();
    let name = |n: u64| format!("a key that is longer than its head {n:06}");
    let mut last = commit_now(&engine, (0..KEYS).map(|n| put(&name(n), "", Timestamp::ZERO)));
    let least = KEYS * (record_bytes(&key(&name(0))) + version_bytes(0));
    help_until(|| engine.state().bytes == least);
    let pin = Pin::new();
    last = commit_now(&engine, (0..KEYS).map(|n| delete(&name(n), last)));
    help_until(|| {
        engine.collect(last);
        engine.garbage.is_empty()
    });
    assert_eq!(engine.state().records, 0);
    assert!(engine.state().bytes > least, "the pin keeps all of it in memory");
    drop(pin);
    help_until(|| engine.state().bytes == 0);
}

/// Without help nobody would move the epoch, because the rejected commits are the only ones.
#[test]
fn a_commit_at_the_memory_limit_waits_for_no_reader_and_frees_what_the_readers_left() {
    let engine = engine_of(100_000);
    let value = "x".repeat(10_000);
    let update = || {
        let since = engine.clock().horizon();
        let at = commit(&engine, 1, &mut [put("a", &value, since)])?;
        engine.collect(at);
        Ok(at)
    };
    update().unwrap();
    let pin = Pin::new();
    let refusal =
        (0..100).find_map(|_| update().err()).expect("100 versions of 10,000 bytes fit into 100,000");
    let Refusal::Error(Error::Capacity(message)) = refusal else { panic!("{refusal:?}") };
    assert!(message.contains("reader"), "{message}");
    assert!(engine.state().bytes <= 100_000);
    drop(pin);
    let again = (0..60_000).any(|_| {
        let done = update().is_ok();
        // Readers of other tests may hold the epoch.
        if !done {
            std::thread::sleep(Duration::from_millis(1));
        }
        done
    });
    assert!(again, "the commits do not help the epoch");
}
