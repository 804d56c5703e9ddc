//! Random histories against a model, with flushes, compactions, collections and reopening in between.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<(u8, Option<u8>)>),
    Flush,
    Compact,
    /// Moves the watermark by this share of the way to the horizon.
    Collect(u8),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let rows = proptest::collection::btree_map(0_u8..12, proptest::option::weighted(0.7, any::<u8>()), 1..5);
    prop_oneof![
        10 => rows.prop_map(|rows| Step::Commit(rows.into_iter().collect())),
        3 => Just(Step::Flush),
        2 => Just(Step::Compact),
        2 => any::<u8>().prop_map(Step::Collect),
        1 => Just(Step::Reopen),
    ]
}

/// All states since the watermark, by timestamp.
type Model = BTreeMap<Timestamp, BTreeMap<u8, u8>>;

fn check(engine: &DiskEngine, model: &Model, watermark: Timestamp) {
    for (at, rows) in model.range(watermark..) {
        for name in 0..12_u8 {
            let value = rows.get(&name).map(u8::to_string);
            assert_eq!(get(engine, [name], *at), value, "key {name} at {at}, watermark {watermark}");
        }
        let expected: Vec<_> = rows.iter().map(|(name, value)| (vec![*name], value.to_string())).collect();
        assert_eq!(scan(engine, &all(), Direction::Forward, *at, 100), expected);
        let mut backward = scan(engine, &all(), Direction::Backward, *at, 100);
        backward.reverse();
        assert_eq!(backward, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_snapshot_since_the_watermark_reads_as_in_the_model(
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut engine = open(directory.path());
        let mut model = Model::from([(Timestamp::ZERO, BTreeMap::new())]);
        let mut watermark = Timestamp::ZERO;
        for step in steps {
            match step {
                Step::Commit(changes) => {
                    let values: Vec<_> =
                        changes.iter().map(|(name, value)| ([*name], value.map(|value| value.to_string()))).collect();
                    let rows: Vec<_> = values.iter().map(|(name, value)| (name, value.as_deref())).collect();
                    let at = commit(&engine, &rows);
                    let mut state = model.values().next_back().cloned().unwrap_or_default();
                    for (name, value) in changes {
                        match value {
                            Some(value) => state.insert(name, value),
                            None => state.remove(&name),
                        };
                    }
                    model.insert(at, state);
                }
                Step::Flush => engine.flush_all().unwrap(),
                Step::Compact => compact(&engine),
                Step::Collect(part) => {
                    let way = engine.clock().horizon().0 - watermark.0;
                    watermark = Timestamp(watermark.0 + way * u64::from(part) / 255);
                    engine.collect(watermark);
                }
                Step::Reopen => {
                    // A clean end: only the last state counts afterwards.
                    engine.flush_all().unwrap();
                    let last = engine.clock().horizon();
                    drop(engine);
                    engine = open(directory.path());
                    engine.clock().recover(last);
                    watermark = last;
                    engine.collect(watermark);
                }
            }
            check(&engine, &model, watermark);
        }
    }
}
