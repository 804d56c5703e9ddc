//! Measures of the cost of the operations. Run with `cargo test --release -p gemel measures -- --ignored --nocapture`.

use super::*;
use std::time::Instant;

const ROWS: u64 = 1_000_000;

fn name(number: u64) -> [u8; 8] {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_be_bytes()
}

fn timed(what: &str, count: u64, mut each: impl FnMut(u64)) {
    let start = Instant::now();
    for number in 0..count {
        each(number);
    }
    println!("{what}: {:.2} µs", start.elapsed().as_secs_f64() * 1e6 / count as f64);
}

#[test]
#[ignore = "measures"]
fn measures_of_reads_and_commits() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { cache_bytes: 512 << 20, ..Options::default() };
    let engine = open_with(directory.path(), &options, no_log());
    let filler = "x".repeat(100);
    timed("commit of 10 rows of 100 bytes", ROWS / 10, |batch| {
        let names: Vec<_> = (0..10).map(|row| (name(batch * 10 + row), Some(filler.as_str()))).collect();
        commit(&engine, &names);
        if batch % 64 == 0 {
            engine.collect(engine.clock().horizon());
        }
    });
    let old = engine.clock().horizon();
    engine.flush_all().unwrap();
    compact(&engine);
    let keys: Vec<_> = (0..ROWS).map(|number| key(name(number * 7919 % ROWS))).collect();
    let read = |at| {
        let engine = &engine;
        let keys = &keys;
        move |number: u64| {
            let found = engine.get(KS, &keys[number as usize], at, None, &mut |value, _| {
                assert_eq!(value.len(), 100);
            });
            assert!(found.unwrap());
        }
    };
    timed("point get, first time", ROWS, read(old));
    timed("point get in cache", ROWS, read(old));
    // Rows get versions above the snapshot, in memory and in files.
    for batch in 0..ROWS / 100 {
        let names: Vec<_> = (0..10).map(|row| (name(batch * 10 + row), Some("new"))).collect();
        commit(&engine, &names);
    }
    timed("historical get, newer versions in memory", ROWS, read(old));
    engine.flush_all().unwrap();
    timed("historical get, newer versions in files", ROWS, read(old));
    let missing: Vec<_> = (ROWS..2 * ROWS).map(|number| key(name(number))).collect();
    timed("get of a key that is not there", ROWS, |number| {
        assert!(!engine.get(KS, &missing[number as usize], old, None, &mut |_, _| ()).unwrap());
    });
    // Keys are scattered evenly, so this range has about 100 of them.
    let width = u64::MAX / ROWS * 100;
    for (what, at) in [("scan of 100", engine.clock().horizon()), ("historical scan of 100", old)] {
        let mut rows = 0;
        timed(what, 20_000, |number| {
            let lower = u64::from_be_bytes(name(number)).min(u64::MAX - width);
            let upper = Bound::Excluded(key((lower + width).to_be_bytes()));
            let range = KeyRange { lower: Bound::Included(key(lower.to_be_bytes())), upper };
            let mut count = |_: &[u8], _: &[u8], _| {
                rows += 1;
                ControlFlow::Continue(())
            };
            engine.scan(KS, &range, Direction::Forward, at, &mut count).unwrap();
        });
        println!("  {} rows each", rows / 20_000);
    }
    println!("{:?}", engine.state());
}
