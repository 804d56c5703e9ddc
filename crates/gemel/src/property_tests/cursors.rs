//! Random moves of a cursor between own writes, savepoints, rollbacks to them, and commits of others, in both engines
//! and at all isolation levels. A sorted map predicts each row, and the rows after the commit.

use super::cases;
use crate::database::Database;
use crate::error::Error;
use crate::ids::Direction;
use crate::keyspace::{Engine, Keyspace};
use crate::options::{Durability, Isolation, Options};
use crate::transaction::{Savepoint, Transaction};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

/// Number of keys: enough for the batches of a cursor to grow.
const KEYS: u8 = 40;

type Rows = BTreeMap<u8, u8>;
/// Own writes; none deletes.
type Own = BTreeMap<u8, Option<u8>>;

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8),
    Delete(u8),
    /// Deletes the rows that the cursor passes.
    DeleteAlong(Direction, u8),
    Walk(Direction, u8),
    Seek(u8),
    ToStart,
    ToEnd,
    Savepoint,
    RollbackTo(usize),
    Release(usize),
    /// Another transaction commits.
    Other(u8, Option<u8>),
}

#[derive(Clone, Debug)]
struct Plan {
    isolation: Isolation,
    on_disk: bool,
    rows: Rows,
    bounds: [Bound<u8>; 2],
    steps: Vec<Step>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let number = || 0..KEYS;
    let direction = || prop_oneof![3 => Just(Direction::Forward), 2 => Just(Direction::Backward)];
    let step = prop_oneof![
        5 => (number(), any::<u8>()).prop_map(|(number, value)| Step::Put(number, value)),
        4 => number().prop_map(Step::Delete),
        3 => (direction(), 1..5_u8).prop_map(|(direction, rows)| Step::DeleteAlong(direction, rows)),
        12 => (direction(), 1..4_u8).prop_map(|(direction, rows)| Step::Walk(direction, rows)),
        2 => (direction(), 20..50_u8).prop_map(|(direction, rows)| Step::Walk(direction, rows)),
        3 => number().prop_map(Step::Seek),
        1 => Just(Step::ToStart),
        1 => Just(Step::ToEnd),
        2 => Just(Step::Savepoint),
        2 => any::<usize>().prop_map(Step::RollbackTo),
        1 => any::<usize>().prop_map(Step::Release),
        2 => (number(), any::<Option<u8>>()).prop_map(|(number, value)| Step::Other(number, value)),
    ];
    let bound = || {
        prop_oneof![
            2 => Just(Bound::Unbounded),
            1 => number().prop_map(Bound::Included),
            1 => number().prop_map(Bound::Excluded),
        ]
    };
    let level =
        prop_oneof![Just(Isolation::ReadCommitted), Just(Isolation::Snapshot), Just(Isolation::Serializable)];
    (
        (level, any::<bool>()),
        proptest::collection::btree_map(number(), any::<u8>(), 0..KEYS as usize),
        // Crossed bounds too: their range is empty.
        [bound(), bound()],
        proptest::collection::vec(step, 1..60),
    )
        .prop_map(|((isolation, on_disk), rows, bounds, steps)| Plan {
            isolation,
            on_disk,
            rows,
            bounds,
            steps,
        })
}

/// Returns the key of a number. Some keys are longer than the part that is compared as integers.
fn key(number: u8) -> Vec<u8> {
    let mut key = vec![number];
    key.resize(if number.is_multiple_of(3) { 20 } else { 1 }, 7);
    key
}

fn over(rows: &Rows, own: &Own) -> Rows {
    let mut rows = rows.clone();
    for (number, value) in own {
        match value {
            Some(value) => rows.insert(*number, *value),
            None => rows.remove(number),
        };
    }
    rows
}

/// A place of the model: twice the number of a key is before it, and two more is after it.
type Place = i32;

const START: Place = -1;
const END: Place = 1000;

fn step_over(
    rows: &Rows,
    [lower, upper]: [Bound<u8>; 2],
    place: Place,
    direction: Direction,
) -> Option<(u8, u8)> {
    let inside = |number: &u8| std::ops::RangeBounds::contains(&(lower, upper), number);
    let mut inside =
        rows.iter().map(|(number, value)| (*number, *value)).filter(|(number, _)| inside(number));
    match direction {
        Direction::Forward => inside.find(|(number, _)| 2 * Place::from(*number) + 1 > place),
        Direction::Backward => inside.rfind(|(number, _)| 2 * Place::from(*number) + 1 < place),
    }
}

/// A move of the cursor: its place before, the own writes at that time, and the result.
type Move = (Place, Direction, Own, Option<(u8, u8)>);

fn all(db: &Database, space: &Keyspace) -> Rows {
    let (mut rows, mut transaction) = (Rows::new(), db.begin(Isolation::Snapshot).unwrap());
    let each = |key: &[u8], value: &[u8]| {
        rows.insert(key[0], value[0]);
        ControlFlow::Continue(())
    };
    transaction.scan(space, Bound::Unbounded, Bound::Unbounded, Direction::Forward, each).unwrap();
    rows
}

fn set(transaction: &mut Transaction, space: &Keyspace, number: u8, value: Option<u8>) {
    match value {
        Some(value) => transaction.put(space, &key(number), &[value]).unwrap(),
        None => transaction.delete(space, &key(number)).unwrap(),
    }
}

fn run(db: &Database, space: &Keyspace, plan: &Plan) {
    let mut setup = db.begin(Isolation::Snapshot).unwrap();
    (0..KEYS).for_each(|number| set(&mut setup, space, number, plan.rows.get(&number).copied()));
    drop(setup.commit().unwrap());
    let mut committed = plan.rows.clone();

    let mut transaction = db.begin(plan.isolation).unwrap();
    // Selects the snapshot.
    assert_eq!(transaction.get(space, &key(KEYS)).unwrap(), None);
    let bytes = plan.bounds.map(|bound| bound.map(key));
    let [lower, upper] = [0, 1].map(|end: usize| bytes[end].as_ref().map(Vec::as_slice));
    let mut cursor = transaction.cursor(space, lower, upper).unwrap();
    let (mut own, mut place, mut others) = (Own::new(), START, 0);
    let mut saved: Vec<(Savepoint, Own)> = Vec::new();
    let mut moves: Vec<Move> = Vec::new();
    for step in &plan.steps {
        match *step {
            Step::Put(number, value) => {
                set(&mut transaction, space, number, Some(value));
                own.insert(number, Some(value));
            }
            Step::Delete(number) => {
                set(&mut transaction, space, number, None);
                own.insert(number, None);
            }
            Step::Walk(direction, rows) | Step::DeleteAlong(direction, rows) => {
                for _ in 0..rows {
                    let committed =
                        if plan.isolation == Isolation::ReadCommitted { &committed } else { &plan.rows };
                    let expected = step_over(&over(committed, &own), plan.bounds, place, direction);
                    let row = match direction {
                        Direction::Forward => cursor.next(&mut transaction).unwrap(),
                        Direction::Backward => cursor.prev(&mut transaction).unwrap(),
                    };
                    assert_eq!(
                        row.map(|(key, value)| (key[0], value[0])),
                        expected,
                        "{direction:?} from {place}"
                    );
                    moves.push((place, direction, own.clone(), expected));
                    let (Some((found, _)), Some((number, _))) = (row, expected) else { break };
                    assert_eq!(found, key(number));
                    place = 2 * Place::from(number) + if direction == Direction::Forward { 2 } else { 0 };
                    if matches!(step, Step::DeleteAlong(..)) {
                        transaction.delete(space, found).unwrap();
                        own.insert(number, None);
                    }
                }
            }
            Step::Seek(number) => {
                cursor.seek(&key(number)).unwrap();
                place = 2 * Place::from(number);
            }
            Step::ToStart => {
                cursor.seek_to_start();
                place = START;
            }
            Step::ToEnd => {
                cursor.seek_to_end();
                place = END;
            }
            Step::Savepoint => saved.push((transaction.savepoint().unwrap(), own.clone())),
            Step::RollbackTo(which) if !saved.is_empty() => {
                let which = which % saved.len();
                transaction.rollback_to(&saved[which].0).unwrap();
                own.clone_from(&saved[which].1);
                for (gone, _) in saved.drain(which + 1..) {
                    assert!(matches!(transaction.rollback_to(&gone), Err(Error::Usage(_))));
                }
            }
            Step::Release(which) if !saved.is_empty() => {
                let mut released = saved.split_off(which % saved.len()).into_iter();
                transaction.release(released.next().unwrap().0).unwrap();
                for (gone, _) in released {
                    assert!(matches!(transaction.release(gone), Err(Error::Usage(_))));
                }
            }
            Step::RollbackTo(_) | Step::Release(_) => {}
            Step::Other(number, value) => {
                let mut other = db.begin(Isolation::Snapshot).unwrap();
                set(&mut other, space, number, value);
                drop(other.commit().unwrap());
                committed = over(&committed, &Own::from([(number, value)]));
                others += 1;
            }
        }
    }
    match transaction.commit() {
        Ok(ticket) => {
            drop(ticket);
            if plan.isolation == Isolation::Serializable && !own.is_empty() {
                for (place, direction, own, result) in &moves {
                    let now = step_over(&over(&committed, own), plan.bounds, *place, *direction);
                    assert_eq!(now, *result, "{direction:?} from {place} was read before it changed");
                }
            }
            committed = over(&committed, &own);
        }
        Err(error) => assert!(error.is_retryable() && others > 0 && !own.is_empty(), "{error}"),
    }
    assert_eq!(all(db, space), committed);
}

#[test]
fn cursors_and_savepoints_behave_like_a_sorted_map() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::None, cache_bytes: 1 << 20, ..Options::default() };
    let db = Database::open(directory.path().join("db"), options).unwrap();
    let spaces = [db.keyspace("hot", Engine::Memory).unwrap(), db.keyspace("cold", Engine::Disk).unwrap()];
    let config =
        ProptestConfig { cases: cases() / 4, failure_persistence: None, ..ProptestConfig::default() };
    let outcome = TestRunner::new(config).run(&plan(), |plan| {
        run(&db, &spaces[usize::from(plan.on_disk)], &plan);
        Ok(())
    });
    outcome.unwrap();
}
