//! The first row beyond many deleted ones, by a scan, an index and a cursor in both directions. Blocks are counted: an
//! old snapshot keeps the deleted rows in the files, so only a gap that an earlier scan noted can save reading them.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::row::{ColumnType, RowRange, Schema, Table, Value};
use gemel::{Database, Direction, Engine, Isolation, Options};
use std::ops::{Bound, ControlFlow};

const ROWS: i64 = 20_000;
/// The rows that are left after the deletions.
const LEFT: std::ops::Range<i64> = 10_000..10_010;
/// Blocks that one search may read: an index block and a data block of each file, for the row and its index entry.
/// Reading over the deleted rows on one side takes some hundreds.
const FEW_BLOCKS: u64 = 40;

struct Queue {
    db: Database,
    jobs: Table,
}

impl Queue {
    fn open(path: &std::path::Path) -> Self {
        // A small cache: the tree's crate does not count the cached blocks that a scan visits.
        let db = Database::open(path, Options { cache_bytes: 1 << 16, ..Options::default() }).unwrap();
        let schema = Schema::new().column("id", ColumnType::I64).column("name", ColumnType::Text);
        let schema = schema.primary_key(["id"]).index("by_name", ["name"]);
        let jobs = db.create_table("jobs", Engine::Disk, schema).unwrap();
        Self { db, jobs }
    }

    fn insert(&self, ids: impl Iterator<Item = i64>) {
        let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
        for id in ids {
            let name = format!("{id:0>80}");
            self.jobs.insert(&mut transaction, &[Value::Int(id), name.as_str().into()]).unwrap();
        }
        transaction.commit().unwrap().wait().unwrap();
    }

    fn delete(&self, ids: impl Iterator<Item = i64>) {
        let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
        for id in ids {
            assert!(self.jobs.delete(&mut transaction, &[Value::Int(id)]).unwrap());
        }
        transaction.commit().unwrap().wait().unwrap();
    }

    /// Returns the first row of a search, and the blocks that the search read.
    fn first(&self, search: Search, direction: Direction) -> (Option<i64>, u64) {
        let blocks = || {
            let disk = self.db.state().disk;
            disk.blocks_cached + disk.blocks_from_files
        };
        let before = blocks();
        let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
        let (smallest, largest) = ([Value::Int(0)], [Value::Int(i64::MAX)]);
        let bounded = RowRange::new(Bound::Included(&smallest), Bound::Included(&largest));
        let mut found = None;
        let mut take = |row: gemel::row::RowView<'_>| {
            found = Some(row.int(0)?);
            Ok(ControlFlow::Break(()))
        };
        match search {
            Search::All => self.jobs.scan(&mut transaction, &RowRange::all(), direction, take).unwrap(),
            Search::Bounded => self.jobs.scan(&mut transaction, &bounded, direction, take).unwrap(),
            Search::Index => {
                let all = RowRange::all();
                self.jobs.scan_index(&mut transaction, "by_name", &all, direction, take).unwrap();
            }
            Search::Cursor => {
                let mut cursor = self.jobs.cursor(&transaction, &RowRange::all()).unwrap();
                let row = if direction == Direction::Forward {
                    cursor.next(&mut transaction).unwrap()
                } else {
                    cursor.seek_to_end();
                    cursor.prev(&mut transaction).unwrap()
                };
                if let Some(row) = row {
                    let _ = take(row).unwrap();
                }
            }
        }
        (found, blocks() - before)
    }

    /// Checks the first row in both directions.
    fn check_rows(&self, smallest: Option<i64>, largest: Option<i64>) {
        for search in [Search::All, Search::Bounded, Search::Index, Search::Cursor] {
            for (direction, expected) in [(Direction::Forward, smallest), (Direction::Backward, largest)] {
                assert_eq!(self.first(search, direction).0, expected, "{search:?} {direction:?}");
            }
        }
    }

    /// Does the same, and checks that the second of two searches reads few blocks.
    fn check(&self, smallest: Option<i64>, largest: Option<i64>) {
        for search in [Search::All, Search::Bounded, Search::Index, Search::Cursor] {
            for (direction, expected) in [(Direction::Forward, smallest), (Direction::Backward, largest)] {
                assert_eq!(self.first(search, direction).0, expected, "{search:?} {direction:?}");
                let (found, blocks) = self.first(search, direction);
                assert_eq!(found, expected, "{search:?} {direction:?}");
                assert!(blocks <= FEW_BLOCKS, "{search:?} {direction:?} reads {blocks} blocks");
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Search {
    All,
    Bounded,
    Index,
    Cursor,
}

#[test]
fn a_search_for_the_first_row_skips_deleted_rows_from_any_bound_in_both_directions() {
    let directory = tempfile::tempdir().unwrap();
    let queue = Queue::open(directory.path());
    queue.insert(0..ROWS);
    queue.db.checkpoint().unwrap();
    // Keeps the deleted rows and their deletions in the files.
    let old = queue.db.begin(Isolation::Snapshot).unwrap();
    queue.delete((0..ROWS).filter(|id| !LEFT.contains(id)));
    queue.db.checkpoint().unwrap();
    queue.check(Some(LEFT.start), Some(LEFT.end - 1));
    // New rows at both ends are found, and so is the end of the gap after they have gone.
    queue.insert([5, ROWS - 5].into_iter());
    queue.check_rows(Some(5), Some(ROWS - 5));
    queue.delete([5, ROWS - 5].into_iter());
    queue.check(Some(LEFT.start), Some(LEFT.end - 1));
    queue.delete(LEFT);
    queue.db.checkpoint().unwrap();
    queue.check(None, None);
    queue.insert([7].into_iter());
    queue.check_rows(Some(7), Some(7));
    drop(old);
    drop(queue);
    Queue::open(directory.path()).check_rows(Some(7), Some(7));
}
