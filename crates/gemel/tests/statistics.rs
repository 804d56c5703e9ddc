//! Statistics of tables with known content, in both engines. The samples are random, but their seed is fixed. Each bound
//! is at least four standard deviations of the estimate, so a correct estimator misses none with a usual seed.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::row::{
    ColumnStatistics, ColumnType, KeyStatistics, OwnedValue, RowRange, Sampling, Schema, Table,
    TableStatistics, Value,
};
use gemel::{Compression, Database, Durability, Engine, Error, Isolation, Options};
use std::path::Path;

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
const ROWS: i64 = 200_000;
const SAMPLING: Sampling = Sampling { rows: 10_000, values: 100, seed: 1 };

fn open(path: &Path) -> Database {
    Database::open(path, Options { durability: Durability::None, ..Options::default() }).unwrap()
}

/// Inserts rows with these ids.
fn insert(
    db: &Database,
    table: &Table,
    ids: impl Iterator<Item = i64>,
    row: impl Fn(i64, &mut Vec<Value<'static>>),
) {
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    let mut values = Vec::new();
    for (number, id) in ids.enumerate() {
        if number % 5000 == 4999 {
            let full = std::mem::replace(&mut transaction, db.begin(Isolation::Snapshot).unwrap());
            full.commit().unwrap().wait().unwrap();
            transaction = db.begin(Isolation::Snapshot).unwrap();
        }
        values.clear();
        values.push(Value::Int(id));
        row(id, &mut values);
        table.insert(&mut transaction, &values).unwrap();
    }
    transaction.commit().unwrap().wait().unwrap();
}

/// Returns a number that looks random, from 0 to `end`, without `end`.
fn scrambled(id: i64, end: i64) -> i64 {
    let mixed = (id as u64 ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 32) as i64) % end
}

fn column<'s>(statistics: &'s TableStatistics, name: &str) -> &'s ColumnStatistics {
    statistics.columns.iter().find(|column| column.name == name).unwrap()
}

#[track_caller]
fn near(found: f64, expected: f64, error: f64) {
    assert!((found - expected).abs() <= error, "{found} instead of {expected}, at most {error} away");
}

fn int(value: &OwnedValue) -> f64 {
    match value {
        OwnedValue::Int(int) => *int as f64,
        other => panic!("{other:?}"),
    }
}

/// Checks that the bounds of a histogram divide the numbers from 0 to `end` equally.
#[track_caller]
fn divides(histogram: &[OwnedValue], end: f64, error: f64) {
    assert!(histogram.is_sorted() && histogram.len() > 10, "{histogram:?}");
    let buckets = (histogram.len() - 1) as f64;
    for (number, bound) in histogram.iter().enumerate() {
        near(int(bound) / end, number as f64 / buckets, error);
    }
}

#[test]
fn the_columns_of_a_large_table_have_the_known_distributions() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(&directory.path().join("db"));
        let schema = Schema::new()
            .column("id", ColumnType::I64)
            .column("uniform", ColumnType::I32)
            .column("zipf", ColumnType::I64)
            .column("same", ColumnType::Text)
            .nullable("null", ColumnType::I16)
            .nullable("half", ColumnType::Text);
        let schema = schema.primary_key(["id"]);
        let table = db.create_table("t", engine, schema).unwrap();
        // Value n has about 1/n of the rows of value 1: for ln(x) uniform, the floor of x is about Zipf.
        let zipf = |id: i64| {
            let uniform = scrambled(id.wrapping_mul(31), 1 << 24) as f64 / f64::from(1 << 24);
            (uniform * 20_000_f64.ln()).exp() as i64
        };
        let row = |id: i64, values: &mut Vec<Value<'static>>| {
            let half = if id % 2 == 0 { "four".into() } else { Value::Null };
            values.extend([
                Value::Int(scrambled(id, 1000)),
                Value::Int(zipf(id)),
                "same".into(),
                Value::Null,
                half,
            ]);
        };
        insert(&db, &table, 0..ROWS / 2, row);
        // A half is in files, if there are any, and the other half in memory.
        db.checkpoint().unwrap();
        insert(&db, &table, ROWS / 2..ROWS, row);
        let statistics = db.statistics("t", &SAMPLING).unwrap();
        assert!(
            !statistics.is_exact && (3000..=10_000).contains(&statistics.sampled),
            "{}",
            statistics.sampled
        );
        near(statistics.rows as f64, ROWS as f64, 0.04 * ROWS as f64);
        let rows = statistics.rows;

        let id = column(&statistics, "id");
        assert_eq!((id.distinct, id.null_fraction, id.average_bytes), (rows, 0.0, 8.0));
        assert!(id.most_common.is_empty() && id.histogram.len() == 101);
        divides(&id.histogram, ROWS as f64, 0.04);

        let uniform = column(&statistics, "uniform");
        assert_eq!(uniform.average_bytes, 4.0);
        near(uniform.distinct as f64, 1000.0, 60.0);
        divides(&uniform.histogram, 1000.0, 0.05);

        let skewed = column(&statistics, "zipf");
        let share = |value: f64| ((value + 1.0) / value).ln() / 20_000_f64.ln();
        for (number, common) in skewed.most_common.iter().take(3).enumerate() {
            let value = (number + 1) as f64;
            assert_eq!(int(&common.value), value);
            near(common.fraction, share(value), 0.02);
        }
        assert!(skewed.most_common.is_sorted_by(|one, other| one.fraction >= other.fraction));
        // The documented weakness: the estimate is too low where many values are rare.
        let truth = {
            let mut all: Vec<i64> = (0..ROWS).map(zipf).collect();
            all.sort_unstable();
            all.dedup();
            all.len() as f64
        };
        assert!(
            (0.2 * truth..=1.1 * truth).contains(&(skewed.distinct as f64)),
            "{} of {truth}",
            skewed.distinct
        );

        let same = column(&statistics, "same");
        assert_eq!((same.distinct, same.average_bytes, same.most_common[0].fraction), (1, 4.0, 1.0));
        assert!(same.most_common[0].value == OwnedValue::Text("same".into()) && same.histogram.is_empty());
        let null = column(&statistics, "null");
        assert_eq!((null.distinct, null.average_bytes, null.null_fraction), (0, 0.0, 1.0));
        assert!(null.most_common.is_empty() && null.histogram.is_empty());
        let half = column(&statistics, "half");
        near(half.null_fraction, 0.5, 0.04);
        assert_eq!((half.distinct, half.average_bytes), (1, 4.0));
        near(half.most_common[0].fraction, 0.5, 0.04);

        assert_eq!(db.statistics("t", &SAMPLING).unwrap(), statistics, "{engine:?}");
        let other = db.statistics("t", &Sampling { seed: 2, ..SAMPLING }).unwrap();
        assert_ne!(other, statistics, "{engine:?}");

        // Half of the rows go, and most of the others are written again.
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        table
            .delete_range(
                &mut transaction,
                &RowRange::new(
                    std::ops::Bound::Included(&[Value::Int(ROWS / 2)]),
                    std::ops::Bound::Unbounded,
                ),
            )
            .unwrap();
        for id in 0..ROWS / 4 {
            table.set(&mut transaction, &[Value::Int(id)], &[(5, "five!".into())]).unwrap();
        }
        transaction.commit().unwrap().wait().unwrap();
        let statistics = db.statistics("t", &SAMPLING).unwrap();
        near(statistics.rows as f64, ROWS as f64 / 2.0, 0.06 * ROWS as f64 / 2.0);
        divides(&column(&statistics, "id").histogram, ROWS as f64 / 2.0, 0.05);
        let half = column(&statistics, "half");
        near(half.null_fraction, 0.25, 0.05);
        near(half.average_bytes, (0.5 * 5.0 + 0.25 * 4.0) / 0.75, 0.1);
    }
}

/// Nodes and blocks with few rows must not make their rows more likely.
#[test]
fn rows_of_any_size_and_order_of_insertion_are_equally_likely() {
    for (engine, compression) in [
        (Engine::Memory, Compression::None),
        (Engine::Disk, Compression::None),
        (Engine::Disk, Compression::Lz4),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { durability: Durability::None, compression, ..Options::default() };
        let db = Database::open(directory.path().join("db"), options).unwrap();
        let schema = Schema::new().column("id", ColumnType::I64).column("text", ColumnType::Text);
        let table = db.create_table("t", engine, schema.primary_key(["id"])).unwrap();
        let long: &'static str = Box::leak("x".repeat(1000).into_boxed_str());
        // Short rows in their order, and long ones in another.
        insert(&db, &table, 0..20_000, |_, values| values.push("y".into()));
        insert(&db, &table, (0..20_000).map(|n| 20_000 + n * 7919 % 20_000), |_, values| {
            values.push(long.into())
        });
        db.checkpoint().unwrap();
        let statistics = db.statistics("t", &Sampling { rows: 20_000, ..SAMPLING }).unwrap();
        // On disk most draws find a block of long rows, of which few stay in the sample.
        let error = if engine == Engine::Memory { 0.04 } else { 0.09 };
        near(statistics.rows as f64 / 40_000.0, 1.0, error);
        let text = column(&statistics, "text");
        near(text.most_common[0].fraction, 0.5, error);
        near(text.average_bytes / 1000.0, 0.5, error);
        divides(&column(&statistics, "id").histogram, 40_000.0, error);
    }
}

#[test]
fn a_small_table_is_read_as_a_whole() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(&directory.path().join("db"));
        let schema = Schema::new()
            .column("a", ColumnType::I64)
            .column("b", ColumnType::Bool)
            .nullable("text", ColumnType::Text)
            .primary_key(["a", "b"])
            .index("by_text", ["text", "b", "a"]);
        let table = db.create_table("t", engine, schema.clone()).unwrap();
        let empty = db.statistics("t", &SAMPLING).unwrap();
        assert!(empty.is_exact && (empty.rows, empty.sampled) == (0, 0));
        assert_eq!((empty.columns[2].null_fraction, empty.columns[2].distinct), (0.0, 0));
        assert_eq!(empty.keys[0].distinct, [0, 0]);

        let long: &'static str = Box::leak("z".repeat(2000).into_boxed_str());
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        for a in 0..1000 {
            let text = match a % 10 {
                0 => Value::Null,
                1 => long.into(),
                n if n < 5 => "few".into(),
                _ => "many".into(),
            };
            for b in [false, true] {
                table.insert(&mut transaction, &[Value::Int(a), Value::Bool(b), text]).unwrap();
            }
        }
        transaction.commit().unwrap().wait().unwrap();
        let mut of_snapshot = db.statistics("t", &SAMPLING).unwrap();
        assert!(of_snapshot.is_exact && (of_snapshot.rows, of_snapshot.sampled) == (2000, 2000));
        let [a, b, text] = &of_snapshot.columns[..] else { panic!("{of_snapshot:?}") };
        assert_eq!((a.distinct, b.distinct, text.distinct), (1000, 2, 3));
        assert_eq!((a.average_bytes, b.average_bytes), (8.0, 1.0));
        divides(&a.histogram, 1000.0, 0.02);
        let shares: Vec<_> =
            text.most_common.iter().map(|common| (common.value.to_string(), common.fraction)).collect();
        assert_eq!(shares, [("'many'".to_owned(), 0.5), ("'few'".to_owned(), 0.3)]);
        near(text.null_fraction, 0.1, 1e-9);
        near(text.average_bytes, (2000.0 + 3.0 * 3.0 + 5.0 * 4.0) / 9.0, 1e-9);
        let distinct = |key: &KeyStatistics| (key.index.clone(), key.columns.join(" "), key.distinct.clone());
        assert_eq!(distinct(&of_snapshot.keys[0]), (None, "a b".into(), vec![1000, 2000]));
        let by_text = (Some("by_text".to_owned()), "text b a".into(), vec![4, 8, 2000]);
        assert_eq!(distinct(&of_snapshot.keys[1]), by_text);

        // One row more than is read as a whole, and one less.
        let most = |rows| db.statistics("t", &Sampling { rows, ..SAMPLING }).unwrap().is_exact;
        assert!(most(2000) && !most(1999));
        let bare = db.statistics("t", &Sampling { values: 0, ..SAMPLING }).unwrap();
        for column in of_snapshot.columns.iter_mut() {
            column.most_common.clear();
            column.histogram.clear();
        }
        assert_eq!(bare, of_snapshot);
        for (table, rows) in [("t", 0), ("none", 1), ("t.by_text", 1)] {
            let error = db.statistics(table, &Sampling { rows, ..SAMPLING }).unwrap_err();
            assert!(matches!(error, Error::Usage(_)), "{error:?}");
        }
    }
}
