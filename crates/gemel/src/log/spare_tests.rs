//! Dropped segments that later ones overwrite.

use super::segments::remove_spares;
use super::tests::{DATABASE, EIO, ENOSPC, dir, read_from};
use super::{Log, Lsn, Policy, list_segments, segment_path};
use crate::error::{Error, Result};
use crate::files::faulty::{FaultyFiles, Operation};
use crate::files::{BLOCK_BYTES, Blocks, Files, RealFiles};
use crate::options::Durability;
use std::sync::Arc;
use std::time::Instant;

/// Segments and the records in them, one in each batch.
#[derive(Clone, Copy)]
struct Shape {
    segment: u64,
    record: fn(u64) -> Vec<u8>,
}

/// Batches begin at other offsets than those that they overwrite.
const UNEVEN: Shape =
    Shape { segment: 500, record: |number| vec![number as u8; 30 + (number * 7 % 50) as usize] };

/// Batches end at the ends of blocks, so behind the last one there is an old one as a whole.
const IN_BLOCKS: Shape = Shape {
    segment: 5 * BLOCK_BYTES as u64 - 64,
    record: |number| {
        let before = if number.is_multiple_of(5) { 64 } else { 0 };
        vec![number as u8; BLOCK_BYTES - before - 32 - 8]
    },
};

fn try_open(files: &FaultyFiles, end: Lsn, shape: Shape, spares: u64) -> Result<Arc<Log>> {
    let segment_bytes = shape.segment;
    let policy = Policy { spare_bytes: spares * segment_bytes, segment_bytes, ..Durability::Full.into() };
    Log::open(Arc::new(files.clone()), dir(), "main", DATABASE, end, policy)
}

fn open(files: &FaultyFiles, shape: Shape, spares: u64) -> Arc<Log> {
    try_open(files, Lsn(0), shape, spares).unwrap()
}

/// Names of the spares.
fn spares(files: &dyn Files) -> Vec<String> {
    files.list(dir()).unwrap().into_iter().filter(|name| name.ends_with(".spare")).collect()
}

/// The records that a log has accepted, and how many of them are durable.
struct Promised {
    shape: Shape,
    /// The end of each record that was appended.
    ends: Vec<Lsn>,
    /// Number of records that are durable.
    durable: usize,
    /// Position before which the log may be dropped.
    from: Lsn,
}

impl Promised {
    fn nothing(shape: Shape) -> Self {
        Self { shape, ends: Vec::new(), durable: 0, from: Lsn(0) }
    }
}

/// Appends records, each durable before the next. After every seven records, drops what was there ten records before.
fn work(log: &Log, records: usize, promised: &mut Promised) -> Result<()> {
    for number in promised.ends.len()..records {
        promised.ends.push(log.append(&(promised.shape.record)(number as u64))?);
        log.sync(log.end())?;
        promised.durable = promised.ends.len();
        if number % 7 == 6 && number > 10 {
            promised.from = promised.ends[number - 10];
            log.drop_before(promised.from)?;
        }
    }
    Ok(())
}

/// Checks that a log has the records that it promised, and perhaps the one after. Returns its end.
fn assert_there(files: &dyn Files, promised: &Promised, what: &str) -> Lsn {
    let (end, there) = read_from(files, promised.from).unwrap_or_else(|error| panic!("{what}: {error}"));
    let first = promised.ends.iter().filter(|end| **end <= promised.from).count();
    let durable = promised.durable - first.min(promised.durable);
    assert!(there.len() == durable || there.len() == durable + 1, "{what}: {} of {durable}", there.len());
    for (number, (_, _, payload)) in (first as u64..).zip(there) {
        assert_eq!(payload, (promised.shape.record)(number), "{what}");
    }
    end
}

#[test]
fn segments_overwrite_dropped_ones_and_leave_no_spare_when_the_log_is_closed() {
    for shape in [UNEVEN, IN_BLOCKS] {
        let files = FaultyFiles::default();
        let log = open(&files, shape, 3);
        let mut promised = Promised::nothing(shape);
        let mut most = 0;
        for records in (20..=200).step_by(5) {
            work(&log, records, &mut promised).unwrap();
            let kept = spares(&files);
            most = most.max(kept.len());
            assert_eq!(log.spare_bytes(), kept.len() as u64 * shape.segment);
            assert_there(&files, &promised, "open");
        }
        assert_eq!(most, 3);
        // A further segment needs no further file.
        let before = (files.list(dir()).unwrap().len(), spares(&files).len());
        let segments = list_segments(&files, dir(), "main").unwrap().len();
        while list_segments(&files, dir(), "main").unwrap().len() == segments {
            promised.ends.push(log.append(&(shape.record)(promised.ends.len() as u64)).unwrap());
            log.sync(log.end()).unwrap();
            promised.durable += 1;
        }
        assert_eq!((files.list(dir()).unwrap().len(), spares(&files).len() + 1), before);
        log.close().unwrap();
        assert_eq!(spares(&files), [""; 0]);
        assert_there(&files, &promised, "closed");
    }
}

#[test]
fn a_power_cut_at_any_step_loses_nothing_from_a_log_with_spares() {
    for (shape, seed) in
        [UNEVEN, IN_BLOCKS].into_iter().flat_map(|shape| (0..3).map(move |seed| (shape, seed)))
    {
        let mut cut = 1;
        loop {
            let files = FaultyFiles::default();
            let log = open(&files, shape, 3);
            files.cut_power(cut, seed);
            let mut promised = Promised::nothing(shape);
            let outcome = work(&log, 60, &mut promised);
            let Some(left) = files.image() else {
                outcome.unwrap();
                break;
            };
            let what = format!("power cut before step {cut}, seed {seed}");
            let end = assert_there(&left, &promised, &what);
            promised.ends.retain(|known| *known <= end);
            promised.durable = promised.ends.len();
            // The power fails again while the log is opened, or in the work after it.
            left.cut_power(cut * 7 % 60 + 1, seed);
            let mut again = || {
                remove_spares(&left, dir(), "main")?;
                let log = try_open(&left, end, shape, 3)?;
                work(&log, promised.ends.len() + 25, &mut promised)
            };
            let outcome = again();
            let left = left.image().unwrap_or_else(|| {
                outcome.unwrap();
                assert_eq!(left.power_cut(0).list(dir()).unwrap(), left.list(dir()).unwrap());
                left.power_cut(seed)
            });
            assert_there(&left, &promised, &format!("second {what}"));
            cut += 1;
        }
        assert!(cut > 150, "{cut} steps");
    }
}

/// Opens a log and fills some segments. Some of them are dropped, and some of these are spares.
fn with_spares(files: &FaultyFiles) -> (Arc<Log>, Promised) {
    let log = open(files, UNEVEN, 3);
    let mut promised = Promised::nothing(UNEVEN);
    work(&log, 56, &mut promised).unwrap();
    assert!(spares(files).len() > 1);
    (log, promised)
}

#[test]
fn a_log_that_finds_no_space_takes_that_of_its_spares_and_waits_only_without_any() {
    for nth in 1..25 {
        let files = FaultyFiles::default();
        let (log, mut promised) = with_spares(&files);
        files.fail(Operation::Write, nth, ENOSPC, 0);
        work(&log, 80, &mut promised).unwrap();
        assert!(files.mend(), "nothing failed");
        assert_there(&files.power_cut(0), &promised, "with spares");

        let files = FaultyFiles::default();
        let (log, mut promised) = with_spares(&files);
        files.fail_from(Operation::Write, nth, ENOSPC);
        let refused = work(&log, 90, &mut promised).unwrap_err();
        assert!(matches!(refused, Error::DiskFull(_)), "{refused}");
        assert_eq!((log.spare_bytes(), spares(&files)), (0, vec![]));
        assert!(files.mend());
        log.sync(log.end()).unwrap();
        promised.durable = promised.ends.len();
        work(&log, 90, &mut promised).unwrap();
        log.close().unwrap();
        assert_there(&files.power_cut(0), &promised, "mended");
    }
}

#[test]
fn an_error_at_any_step_loses_nothing_from_a_log_with_spares() {
    let mut refused = 0;
    for (nth, errno) in (1..100).flat_map(|nth| [(nth, EIO), (nth, ENOSPC)]) {
        let what = format!("error {errno} at step {nth}");
        let files = FaultyFiles::default();
        let (log, mut promised) = with_spares(&files);
        files.fail(Operation::Any, nth, errno, 0);
        refused += usize::from(work(&log, 90, &mut promised).is_err());
        let _ = log.close();
        assert_there(&files.power_cut(0), &promised, &what);
        // At most the one that the error has hit.
        assert!(spares(&files).len() <= 1, "{what}: {:?}", spares(&files));
        remove_spares(&files, dir(), "main").unwrap();
        assert_eq!(spares(&files), [""; 0], "{what}");
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_spare_that_somebody_removed_is_left_out() {
    let files = FaultyFiles::default();
    let (log, mut promised) = with_spares(&files);
    for name in spares(&files) {
        files.remove(&dir().join(name)).unwrap();
    }
    work(&log, 76, &mut promised).unwrap();
    assert_there(&files, &promised, "removed");
    work(&log, 90, &mut promised).unwrap();
    assert!(log.drop_spares() && !log.drop_spares());
    assert!(spares(&files).is_empty() && log.spare_bytes() == 0);
    work(&log, 110, &mut promised).unwrap();
    assert_there(&files, &promised, "dropped");
}

/// Otherwise one large batch would keep its space forever.
#[test]
fn a_segment_that_is_longer_than_the_others_is_no_spare() {
    let files = FaultyFiles::default();
    let log = open(&files, UNEVEN, 9);
    for length in [10, 2 * UNEVEN.segment as usize, 10] {
        log.append(&vec![7; length]).unwrap();
        log.sync(log.end()).unwrap();
    }
    let firsts = list_segments(&files, dir(), "main").unwrap();
    assert_eq!(firsts.len(), 3);
    log.drop_before(log.end()).unwrap();
    assert_eq!(spares(&files), ["main-0000000000000000.spare"]);
}

/// The same on real files, with segments that are long enough to be filled ahead.
#[test]
fn real_segments_are_overwritten_in_place() {
    let directory = tempfile::tempdir().unwrap();
    let files: Arc<dyn Files> = Arc::new(RealFiles);
    let segment = 1 << 20;
    let policy = Policy { spare_bytes: 4 * segment, segment_bytes: segment, ..Durability::Full.into() };
    let log = Log::open(files.clone(), directory.path(), "main", DATABASE, Lsn(0), policy).unwrap();
    let segments = || list_segments(&*files, directory.path(), "main").unwrap();
    let write = |byte: u8, more: usize| {
        let until = segments().len() + more;
        for _ in 0..60 * more {
            log.append(&[byte; 20_000]).unwrap();
            log.sync(log.end()).unwrap();
            if segments().len() == until {
                return;
            }
        }
        panic!("{} segments of {until}", segments().len());
    };
    write(1, 3);
    let dropped = log.end();
    log.drop_before(dropped).unwrap();
    assert_eq!(log.spare_bytes(), 3 * segment);
    let before = files.list(directory.path()).unwrap().len();
    write(2, 2);
    assert_eq!((files.list(directory.path()).unwrap().len(), log.spare_bytes()), (before, segment));
    // The newest segment has hardly begun, and has its old length.
    let newest = *segments().last().unwrap();
    assert!(log.end().0 - newest < segment / 2);
    let bytes = std::fs::metadata(segment_path(directory.path(), "main", newest)).unwrap().len();
    assert!(bytes > segment / 2, "{bytes}");
    let read = |from| {
        let mut there = Vec::new();
        let end =
            super::reader::read(&*files, directory.path(), "main", DATABASE, from, &mut |_, _, payload| {
                there.push((payload.len(), payload[0], payload[payload.len() - 1]));
                Ok(())
            });
        (end.unwrap(), there)
    };
    let (end, there) = read(dropped);
    assert_eq!(end, log.end());
    assert!(there.len() > 50 && there.iter().all(|one| *one == (20_000, 2, 2)));
    log.close().unwrap();
    assert!(files.list(directory.path()).unwrap().iter().all(|name| name.ends_with(".log")));
    // Closing adds a mark that is no record.
    assert!(read(dropped).1 == there);
}

/// Prints the time of a write with its sync in new blocks and in those of an earlier file, in turns.
#[test]
#[ignore = "a measurement: cargo test --release -p gemel --lib -- --ignored --nocapture in_old_blocks"]
fn the_time_of_a_sync_in_new_and_in_old_blocks() {
    const WRITES: usize = 2000;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    for bytes in [4 << 10, 28 << 10, 48 << 10] {
        let mut all = [Vec::new(), Vec::new()];
        for _ in 0..5 {
            let mut file = RealFiles.create(&path).unwrap();
            for times in &mut all {
                let mut blocks = Blocks::new(&mut *file, 0).unwrap();
                let begun = Instant::now();
                for _ in 0..WRITES {
                    blocks.append(&mut *file, &vec![7; bytes]).unwrap();
                    file.sync().unwrap();
                }
                times.push(begun.elapsed() / WRITES as u32);
            }
            RealFiles.remove(&path).unwrap();
        }
        println!("{} KiB: new blocks {:?}, old blocks {:?}", bytes >> 10, all[0], all[1]);
    }
}
