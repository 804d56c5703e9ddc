//! The log as a whole: the records read back, also after damage, and the answers to waiters.

use super::entry::{Entry, Large};
use super::frame::{self, BATCH_HEADER, SEGMENT_HEADER};
use super::pipeline::Pipeline;
use super::reader::{read, truncate};
use super::{Log, Lsn, Policy, list_segments, segment_path};
use crate::error::{Error, Result};
use crate::files::faulty::{FaultyFiles, Operation};
use crate::files::{Files, RealFiles, read_all};
use crate::incarnation::Owner;
use crate::options::{Durability, FullDisk};
use crate::ticket::Ticket;
use crate::wait;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(super) const DATABASE: u64 = 0xDA7A;
pub(super) const EIO: i32 = 5;
pub(super) const ENOSPC: i32 = 28;

pub(super) fn dir() -> &'static Path {
    Path::new("/log")
}

pub(super) fn open(files: &FaultyFiles, end: Lsn, durability: Durability, segment_bytes: u64) -> Arc<Log> {
    open_by(files, end, durability.into(), segment_bytes)
}

pub(super) fn open_by(files: &FaultyFiles, end: Lsn, policy: Policy, segment_bytes: u64) -> Arc<Log> {
    let policy = Policy { segment_bytes, ..policy };
    Log::open(Arc::new(files.clone()), dir(), "main", DATABASE, end, policy).unwrap()
}

fn full(files: &FaultyFiles) -> Arc<Log> {
    open(files, Lsn(0), Durability::Full, 1 << 20)
}

/// The end, and all records with their positions.
pub(super) type Content = (Lsn, Vec<(Lsn, Lsn, Vec<u8>)>);

pub(super) fn read_from(files: &dyn Files, from: Lsn) -> Result<Content> {
    let mut records = Vec::new();
    let end = read(files, dir(), "main", DATABASE, from, &mut |start, end, payload| {
        records.push((start, end, payload.to_vec()));
        Ok(())
    })?;
    Ok((end, records))
}

pub(super) fn payloads(files: &dyn Files) -> Result<Vec<Vec<u8>>> {
    Ok(read_from(files, Lsn(0))?.1.into_iter().map(|(_, _, payload)| payload).collect())
}

fn only_segment() -> PathBuf {
    segment_path(dir(), "main", 0)
}

/// Writes some batches of three records each and syncs each batch. Returns the files after a power cut that loses
/// everything unsynced.
fn some_batches(batches: u8) -> (FaultyFiles, Vec<Lsn>) {
    let files = FaultyFiles::default();
    let log = full(&files);
    let ends = (0..batches)
        .map(|batch| {
            for record in 0..3 {
                log.append(&[batch, record, 7, 7, 7]).unwrap();
            }
            log.sync(log.end()).unwrap();
            log.end()
        })
        .collect();
    (files.power_cut(0), ends)
}

#[test]
fn records_are_read_back_over_many_segments_and_openings() {
    let directory = tempfile::tempdir().unwrap();
    let files: Arc<dyn Files> = Arc::new(RealFiles);
    let (mut end, mut expected) = (Lsn(0), Vec::new());
    for opening in 0..3_u8 {
        let log = Log::open(files.clone(), directory.path(), "main", 1, end, Durability::Full).unwrap();
        for record in 0..100_u8 {
            let payload = vec![record; usize::from(record) * 3 + usize::from(opening)];
            let before = log.end();
            let after = log.append(&payload).unwrap();
            assert!(after > before && after == log.end());
            if record % 7 == 0 {
                Ticket::after(&[(&log, after)]).wait().unwrap();
                assert!(log.durable() >= after);
            }
            expected.push((after, payload));
        }
        log.close().unwrap();
        assert_eq!(log.durable(), log.end());
        assert_eq!(log.bytes(), log.end().0);
        assert!(matches!(log.append(b"late"), Err(Error::Usage(_))));
        let (mut got, mut last) = (Vec::new(), Lsn(0));
        end = read(&*files, directory.path(), "main", 1, Lsn(0), &mut |start, end, payload| {
            assert!(start >= last && start < end);
            last = end;
            got.push((end, payload.to_vec()));
            Ok(())
        })
        .unwrap();
        assert!(end == log.end() && got == expected);
    }
    assert!(list_segments(&*files, directory.path(), "main").unwrap().len() > 10);
    let error = read(&*files, directory.path(), "main", 2, Lsn(0), &mut |_, _, _| Ok(())).unwrap_err();
    assert!(error.to_string().contains("belongs to database 1, not 2"), "{error}");
}

#[test]
fn reading_from_a_position_returns_the_records_after_it() {
    let (files, _) = some_batches(5);
    let (end, all) = read_from(&files, Lsn(0)).unwrap();
    for (index, (_, after, _)) in all.iter().enumerate() {
        assert_eq!(read_from(&files, *after).unwrap(), (end, all[index + 1..].to_vec()));
    }
    let error = read_from(&files, Lsn(end.0 + 1)).unwrap_err();
    assert!(error.to_string().contains("had been durable up to"), "{error}");
}

#[test]
fn a_batch_torn_anywhere_is_cut_off_and_overwritten() {
    let (whole, ends) = some_batches(3);
    let [.., before, last] = ends[..] else { panic!() };
    let from = SEGMENT_HEADER + before.0 as usize;
    let to = SEGMENT_HEADER + last.0 as usize;
    for cut in from..to {
        for zeros in [false, true] {
            let files = whole.power_cut(0);
            files.tamper(&only_segment(), |content| {
                if zeros {
                    // The last byte of a batch is not zero, so the zeros always lose something.
                    content[cut..].fill(0);
                } else {
                    content.truncate(cut);
                }
            });
            let (end, records) = read_from(&files, Lsn(0)).unwrap();
            assert_eq!((end, records.len()), (before, 6));
            let log = open(&files, end, Durability::Full, 1 << 20);
            log.append(b"more").unwrap();
            log.close().unwrap();
            assert_eq!(payloads(&files).unwrap()[6..], [b"more"]);
        }
    }
}

#[test]
fn a_flipped_bit_is_corruption_if_a_later_batch_says_it_was_durable() {
    let (whole, ends) = some_batches(3);
    let [.., before, last] = ends[..] else { panic!() };
    for offset in 0..SEGMENT_HEADER + last.0 as usize {
        let files = whole.power_cut(0);
        files.tamper(&only_segment(), |content| content[offset] ^= 1 << (offset % 8));
        if offset >= SEGMENT_HEADER + before.0 as usize {
            assert_eq!(read_from(&files, Lsn(0)).unwrap().0, before, "at {offset}");
        } else {
            match read_from(&files, Lsn(0)).unwrap_err() {
                Error::Corruption { path, what } => {
                    assert_eq!(path, only_segment());
                    assert!(what.contains("offset") && what.contains("restore"), "{what}");
                }
                other => panic!("{other}"),
            }
        }
    }
}

#[test]
fn damage_to_the_last_record_after_a_clean_close_is_corruption() {
    let files = FaultyFiles::default();
    let log = full(&files);
    log.append(b"precious").unwrap();
    log.close().unwrap();
    let end = read_from(&files, Lsn(0)).unwrap().0;
    assert_eq!(end, log.end());
    // Opening and closing alone append nothing.
    open(&files, end, Durability::Full, 1 << 20).close().unwrap();
    assert_eq!(read_from(&files, Lsn(0)).unwrap().0, end);
    files.tamper(&only_segment(), |content| content[SEGMENT_HEADER + BATCH_HEADER + 9] ^= 1);
    assert!(matches!(read_from(&files, Lsn(0)), Err(Error::Corruption { .. })));
}

#[test]
fn a_missing_or_damaged_segment_is_corruption() {
    let files = FaultyFiles::default();
    let log = open(&files, Lsn(0), Durability::Full, 200);
    for record in 0..30_u8 {
        let end = log.append(&[record; 50]).unwrap();
        log.sync(end).unwrap();
    }
    log.close().unwrap();
    let firsts = list_segments(&files, dir(), "main").unwrap();
    assert!(firsts.len() > 5);
    let path = segment_path(dir(), "main", firsts[2]);
    let refused = |files: &FaultyFiles, from| match read_from(files, from) {
        Err(Error::Corruption { what, .. }) => what,
        other => panic!("{other:?}"),
    };

    let missing = files.power_cut(0);
    missing.remove(&path).unwrap();
    assert!(refused(&missing, Lsn(0)).contains("a segment is missing"));
    // Reading after the missing segment does not need it.
    assert!(read_from(&missing, Lsn(firsts[3])).is_ok());

    let missing = files.power_cut(0);
    missing.remove(&segment_path(dir(), "main", 0)).unwrap();
    assert!(refused(&missing, Lsn(0)).contains("needed from 0"));

    for first in &firsts {
        missing.remove(&segment_path(dir(), "main", *first)).unwrap_or_default();
    }
    assert_eq!(read_from(&missing, Lsn(0)).unwrap().0, Lsn(0));
    assert!(refused(&missing, Lsn(9)).contains("no file main-*.log"));
    let open = Log::open(Arc::new(missing), dir(), "main", DATABASE, Lsn(9), Durability::Full);
    assert!(matches!(open, Err(Error::Corruption { .. })));

    let cut = files.power_cut(0);
    let records = (firsts[3] - firsts[2]) as usize;
    cut.tamper(&path, |content| content.truncate(SEGMENT_HEADER + records - 1));
    assert!(refused(&cut, Lsn(0)).contains("no intact batch"));
    let swapped = files.power_cut(0);
    let other = read_all(&files, &segment_path(dir(), "main", firsts[3])).unwrap();
    swapped.tamper(&path, |content| *content = other);
    assert!(refused(&swapped, Lsn(0)).contains("not where its name says"));
}

#[test]
fn a_segment_half_made_at_a_power_cut_is_not_damage() {
    let (whole, ends) = some_batches(2);
    let end = ends[1];
    let next = segment_path(dir(), "main", end.0);
    let header =
        frame::Segment { format: frame::FORMAT, database: DATABASE, incarnation: 0, first: end.0 }.encode();
    for len in 0..=SEGMENT_HEADER {
        let files = whole.power_cut(0);
        files.put(&next, &header[..len]);
        assert_eq!(read_from(&files, Lsn(0)).unwrap().0, end);
        let log = open(&files, end, Durability::Full, 1 << 20);
        log.append(b"more").unwrap();
        log.close().unwrap();
        assert_eq!(payloads(&files).unwrap()[6..], [b"more"]);
    }
    // Behind a damaged header there are bytes, so the header had been durable.
    let files = whole.power_cut(0);
    files.put(&next, &[&header[1..], b"xx"].concat());
    assert!(matches!(read_from(&files, Lsn(0)), Err(Error::Corruption { .. })));
    // The existence of a segment says that everything before it had been durable.
    files.tamper(&only_segment(), |content| content.truncate(SEGMENT_HEADER + end.0 as usize - 1));
    assert!(matches!(read_from(&files, Lsn(0)), Err(Error::Corruption { .. })));
}

#[test]
fn a_log_of_a_copy_goes_on_in_segments_of_its_own_and_takes_no_other_copys() {
    let (original, ends) = some_batches(3);
    let [fork, longer] = [ends[1], ends[2]];
    let copy = original.power_cut(0);
    truncate(&copy, dir(), "main", fork).unwrap();
    let owner = |incarnation| Owner { database: DATABASE, incarnation, inherited: vec![(fork.0, 0)] };
    let go_on = |files: &FaultyFiles, owner: Owner, end, record: &[u8]| {
        let files: Arc<dyn Files> = Arc::new(files.clone());
        let log = Log::open(files, dir(), "main", owner, end, Durability::Full).unwrap();
        if !record.is_empty() {
            log.append(record).unwrap();
        }
        log.close().unwrap();
    };
    let read_by = |files: &FaultyFiles, owner: Owner| {
        let mut last = Vec::new();
        let end = read(files, dir(), "main", owner, Lsn(0), &mut |_, _, payload| {
            last = payload.to_vec();
            Ok(())
        });
        end.map(|end| (end, last)).map_err(|error| error.to_string())
    };
    go_on(&copy, owner(7), fork, b"");
    assert_eq!(list_segments(&copy, dir(), "main").unwrap(), [0], "an opening writes nothing");
    // As a power cut leaves it that comes before the first batch.
    let empty =
        frame::Segment { format: frame::FORMAT, database: DATABASE, incarnation: 7, first: fork.0 }.encode();
    copy.put(&segment_path(dir(), "main", fork.0), &empty);
    assert_eq!(read_by(&copy, owner(9)).unwrap().0, fork, "an empty segment belongs to nobody");
    go_on(&copy, owner(8), fork, b"mine");
    let (end, last) = read_by(&copy, owner(8)).unwrap();
    assert_eq!(last, b"mine");
    let others = "from another copy of the database";
    for other in [owner(7), DATABASE.into()] {
        let error = read_by(&copy, other).unwrap_err();
        assert!(
            error.contains("incarnation 8 of the database wrote it") && error.contains(others),
            "{error}"
        );
    }
    // The original's longer segment, in the place of the inherited one.
    let mixed = original.power_cut(0);
    let error = read_by(&mixed, owner(8)).unwrap_err();
    assert!(error.contains(&format!("goes on to {longer}")) && error.contains(others), "{error}");
    // A copy of the copy.
    let grandchild = Owner { incarnation: 11, inherited: vec![(fork.0, 0), (end.0, 8)], ..owner(0) };
    go_on(&copy, grandchild.clone(), end, b"third");
    assert_eq!(read_by(&copy, grandchild).unwrap().1, b"third");
    assert!(read_by(&copy, owner(8)).unwrap_err().contains(others));
}

#[test]
fn a_newer_format_is_rejected_by_its_number() {
    let files = FaultyFiles::default();
    files.put(
        &only_segment(),
        &frame::Segment { format: frame::FORMAT + 1, database: DATABASE, incarnation: 0, first: 0 }.encode(),
    );
    let error = read_from(&files, Lsn(0)).unwrap_err();
    assert!(matches!(error, Error::Usage(_)));
    assert!(error.to_string().contains("has format 6, and this version reads up to 5"), "{error}");
}

#[test]
fn a_log_can_be_cut_after_any_record_and_nowhere_else() {
    let files = FaultyFiles::default();
    let log = open(&files, Lsn(0), Durability::Full, 300);
    for record in 0..30_u8 {
        log.append(&[record; 20]).unwrap();
        if record % 4 == 3 {
            log.sync(log.end()).unwrap();
        }
    }
    log.close().unwrap();
    let (_, all) = read_from(&files, Lsn(0)).unwrap();
    assert_eq!(all.len(), 30);
    for (index, (start, after, _)) in all.iter().enumerate() {
        let cut = files.power_cut(0);
        truncate(&cut, dir(), "main", *after).unwrap();
        let cut = cut.power_cut(0);
        assert_eq!(read_from(&cut, Lsn(0)).unwrap(), (*after, all[..=index].to_vec()));
        let log = open(&cut, *after, Durability::Full, 300);
        log.append(b"more").unwrap();
        log.close().unwrap();
        assert_eq!(payloads(&cut).unwrap()[index + 1..], [b"more"]);

        let cut = files.power_cut(0);
        truncate(&cut, dir(), "main", *start).unwrap();
        assert_eq!(read_from(&cut, Lsn(0)).unwrap().1, all[..index]);
        let refused = truncate(&files.power_cut(0), dir(), "main", Lsn(after.0 - 1)).unwrap_err();
        assert!(refused.to_string().contains("can't cut the log"), "{refused}");
        // A crash in between leaves the log as it was, or cut at the end of a segment, or cut here.
        for seed in 0..12 {
            let cut = files.power_cut(0);
            cut.fail(Operation::Any, seed % 4 + 1, EIO, 3);
            let done = truncate(&cut, dir(), "main", *after).is_ok();
            let (_, left) = read_from(&cut.power_cut(seed), Lsn(0)).unwrap();
            assert!(left.len() > index && (!done || left.len() == index + 1), "{}", left.len());
            assert_eq!(left, all[..left.len()]);
        }
    }
}

#[test]
fn a_failed_sync_poisons_the_log_and_is_not_retried() {
    for (operation, errno, words) in
        [(Operation::Sync, EIO, "can't sync"), (Operation::Write, ENOSPC, "the disk is full (can't write")]
    {
        let files = FaultyFiles::default();
        let policy = Policy { full_disk: FullDisk::Fail, ..Durability::Full.into() };
        let log = open_by(&files, Lsn(0), policy, 1 << 20);
        let good = log.append(b"good").unwrap();
        Ticket::after(&[(&log, good)]).wait().unwrap();
        files.fail(operation, 1, errno, 3);
        let bad = log.append(b"bad").unwrap();
        let error = Ticket::after(&[(&log, bad)]).wait().unwrap_err();
        assert!(matches!(error, Error::Unknown(_)) && error.to_string().contains(words), "{error}");
        let counts = files.counts();
        let error = log.append(b"later").unwrap_err();
        assert!(matches!(error, Error::Poisoned(_)) && error.to_string().contains(words), "{error}");
        assert!(matches!(log.sync(bad), Err(Error::Poisoned(_))));
        assert!(matches!(log.wait_for_room(), Err(Error::Poisoned(_))));
        assert!(matches!(Ticket::after(&[(&log, bad)]).wait(), Err(Error::Unknown(_))));
        // Records that were durable before stay known as durable.
        Ticket::after(&[(&log, good)]).wait().unwrap();
        assert!(matches!(log.close(), Err(Error::Poisoned(_))));
        assert_eq!(files.counts(), counts);
        for seed in 0..20 {
            let left = payloads(&files.power_cut(seed)).unwrap();
            assert!(left == [b"good".to_vec()] || left == [b"good".to_vec(), b"bad".to_vec()]);
        }
    }
}

#[test]
fn records_read_back_after_a_failed_sync_are_durable_once_the_log_is_open() {
    let files = FaultyFiles::default();
    let log = full(&files);
    let good = log.append(b"good").unwrap();
    log.sync(good).unwrap();
    files.fail(Operation::Sync, 1, EIO, 0);
    let bad = log.append(b"bad").unwrap();
    log.sync(bad).unwrap_err();
    drop(log);
    // The file system still shows the record, but a power cut would lose it.
    assert_eq!(payloads(&files).unwrap().len(), 2);
    assert_eq!(payloads(&files.power_cut(0)).unwrap().len(), 1);
    let end = read_from(&files, Lsn(0)).unwrap().0;
    let log = open(&files, end, Durability::Full, 1 << 20);
    assert_eq!(log.durable(), end);
    assert_eq!(payloads(&files.power_cut(0)).unwrap().len(), 2);
}

#[test]
fn a_process_killed_at_a_fail_point_loses_no_acknowledged_record() {
    for (point, at_least) in [("log.before_write:4", 3), ("log.after_write:4", 3), ("log.after_sync:4", 4)] {
        let directory = tempfile::tempdir().unwrap();
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "log::tests::a_process_that_commits_until_it_is_killed", "--ignored"])
            .env("GEMEL_FAIL_POINT", point)
            .env("GEMEL_TEST_DIRECTORY", directory.path())
            .output()
            .unwrap();
        assert!(child.status.code().is_none(), "not killed: {}", child.status);
        let mut left = 0;
        read(&RealFiles, directory.path(), "main", DATABASE, Lsn(0), &mut |_, _, payload| {
            assert_eq!(payload, [left; 100]);
            left += 1;
            Ok(())
        })
        .unwrap();
        assert!((at_least..=4).contains(&left), "{left} at {point}");
    }
}

#[test]
#[ignore = "another test starts it in a process of its own"]
fn a_process_that_commits_until_it_is_killed() {
    let Some(directory) = std::env::var_os("GEMEL_TEST_DIRECTORY") else { return };
    let files = Arc::new(RealFiles);
    let directory = Path::new(&directory);
    let log = Log::open(files, directory, "main", DATABASE, Lsn(0), Durability::Full).unwrap();
    for record in 0..10 {
        let end = log.append(&[record; 100]).unwrap();
        Ticket::after(&[(&log, end)]).wait().unwrap();
    }
}

#[test]
fn a_full_disk_while_filling_ahead_does_no_harm() {
    let files = FaultyFiles::default();
    let log = full(&files);
    // The second write is the one that fills ahead with zeros.
    files.fail(Operation::Write, 2, ENOSPC, 100);
    for _ in 0..3 {
        let end = log.append(b"small").unwrap();
        log.sync(end).unwrap();
    }
    assert_eq!(payloads(&files.power_cut(0)).unwrap().len(), 3);
}

#[test]
fn acknowledged_records_survive_every_power_cut_in_order_and_complete() {
    for durability in [Durability::Full, Durability::Relaxed(Duration::from_millis(1)), Durability::None] {
        let files = FaultyFiles::default();
        let log = open(&files, Lsn(0), durability, 3000);
        let acknowledged = Arc::new(AtomicU64::new(0));
        for record in 0..400_u64 {
            let end = log.append(&record.to_le_bytes().repeat(record as usize % 20 + 1)).unwrap();
            let ticket = Ticket::after(&[(&log, end)]);
            if durability == Durability::Full {
                let acknowledged = acknowledged.clone();
                ticket.on_done(move |outcome| {
                    outcome.unwrap();
                    acknowledged.store(record + 1, Ordering::SeqCst);
                });
            } else {
                assert!(ticket.is_done());
                if record % 100 == 50 {
                    log.sync(end).unwrap();
                    acknowledged.store(record + 1, Ordering::SeqCst);
                }
            }
            if record % 5 == 0 {
                std::thread::sleep(Duration::from_micros(100));
                let before = acknowledged.load(Ordering::SeqCst);
                let left = payloads(&files.power_cut(record)).unwrap();
                assert!(left.len() as u64 >= before, "{} of {before}", left.len());
                for (expected, payload) in (0_u64..).zip(&left) {
                    assert_eq!(*payload, expected.to_le_bytes().repeat(expected as usize % 20 + 1));
                }
            }
        }
        log.close().unwrap();
        assert_eq!(payloads(&files.power_cut(0)).unwrap().len(), 400);
    }
}

#[test]
fn relaxed_logs_sync_by_themselves_and_unsynced_logs_are_written() {
    let files = FaultyFiles::default();
    let log = open(&files, Lsn(0), Durability::Relaxed(Duration::from_millis(5)), 1 << 20);
    let end = log.append(b"relaxed").unwrap();
    assert!(Ticket::after(&[(&log, end)]).is_done());
    wait_until(|| log.durable() == end);
    let end = log.append(b"and again").unwrap();
    wait_until(|| log.durable() == end);

    let files = FaultyFiles::default();
    let log = open(&files, Lsn(0), Durability::None, 1 << 20);
    let (_, syncs) = files.counts();
    log.append(b"none").unwrap();
    wait_until(|| payloads(&files).is_ok_and(|left| left.len() == 1));
    assert_eq!((files.counts().1, log.durable()), (syncs, Lsn(0)));
    log.sync(log.end()).unwrap();
    assert_eq!(log.durable(), log.end());
}

#[test]
fn a_relaxed_log_that_is_due_syncs_all_of_its_batches() {
    let pipeline = Pipeline::new(Lsn(0), Durability::Relaxed(Duration::from_millis(1)), None);
    for _ in 0..3 {
        // A large record is a batch of its own.
        pipeline.append(Entry::Moved(Large::take(&mut vec![7; 300 << 10], 10).unwrap())).unwrap();
        pipeline.append(b"small").unwrap();
    }
    let mut work = pipeline.next(Vec::new()).unwrap();
    for left in (0..6).rev() {
        assert!(work.sync);
        pipeline.finished(&work);
        if left > 0 {
            assert!(pipeline.is_due(), "{left} batches wait for another interval");
            work = pipeline.next(Vec::new()).unwrap();
        }
    }
    assert_eq!(pipeline.durable(), pipeline.end());
}

pub(super) fn wait_until(condition: impl Fn() -> bool) {
    wait::wait_until(condition, |so| *so, |_| "it never comes".into());
}

#[test]
fn segments_wholly_below_a_position_are_dropped() {
    let files = FaultyFiles::default();
    let log = open(&files, Lsn(0), Durability::Full, 500);
    for record in 0..50_u8 {
        let end = log.append(&[record; 60]).unwrap();
        log.sync(end).unwrap();
    }
    let (end, all) = read_from(&files, Lsn(0)).unwrap();
    let firsts = list_segments(&files, dir(), "main").unwrap();
    log.drop_before(Lsn(firsts[3] - 1)).unwrap();
    assert_eq!(list_segments(&files.power_cut(0), dir(), "main").unwrap(), firsts[2..]);
    log.drop_before(Lsn(firsts[3])).unwrap();
    assert_eq!(list_segments(&files, dir(), "main").unwrap(), firsts[3..]);
    assert_eq!(log.bytes(), end.0 - firsts[3]);
    let (start, _, _) = all[25];
    assert_eq!(read_from(&files, start).unwrap(), (end, all[25..].to_vec()));
    log.drop_before(Lsn(u64::MAX)).unwrap();
    assert_eq!(list_segments(&files, dir(), "main").unwrap(), [*firsts.last().unwrap()]);
    log.append(b"more").unwrap();
    log.close().unwrap();
    let end = log.end();
    assert_eq!(read_from(&files, Lsn(*firsts.last().unwrap())).unwrap().0, end);
    assert_eq!(open(&files, end, Durability::Full, 500).end(), end);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_make_the_reader_panic(
        content in proptest::collection::vec(any::<u8>(), 0..300), with_header: bool, also_second: bool, from in 0_u64..400,
    ) {
        let files = FaultyFiles::default();
        let header = frame::Segment { format: frame::FORMAT, database: DATABASE, incarnation: 0, first: 0 }.encode();
        let whole = [if with_header { &header[..] } else { &[] }, &content[..]].concat();
        files.put(&only_segment(), &whole);
        if also_second {
            files.put(&segment_path(dir(), "main", content.len() as u64), &content);
        }
        drop(read_from(&files, Lsn(from)));
        drop(truncate(&files, dir(), "main", Lsn(from)));
    }

    #[test]
    fn arbitrary_damage_never_changes_a_record_that_is_read(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in 0_usize..20,
    ) {
        let (files, ends) = some_batches(6);
        let (_, all) = read_from(&files, Lsn(0)).unwrap();
        files.tamper(&only_segment(), |content| {
            for (place, byte) in &changes {
                let place = place.index(content.len());
                content[place] = *byte;
            }
            let to = SEGMENT_HEADER + ends[5].0 as usize - cut;
            content[to..].fill(0);
        });
        match read_from(&files, Lsn(0)) {
            Ok((_, left)) => prop_assert!(left.len() <= all.len() && left[..] == all[..left.len()]),
            Err(error) => {
                let refused = matches!(error, Error::Corruption { .. } | Error::Usage(_));
                prop_assert!(refused);
            }
        }
    }
}

#[test]
fn the_buffers_of_a_log_shrink_after_a_large_batch() {
    use super::pipeline::Pipeline;
    // With this durability there is always something to do.
    let pipeline = Pipeline::new(Lsn(0), Durability::Relaxed(Duration::ZERO), None);
    let mut spare = Vec::new();
    let mut kept = Vec::new();
    // Each batch becomes the spare buffer, and after the next batch the buffer that collects.
    for bytes in [16 << 20, 100, 100, 100] {
        pipeline.append(&vec![7; bytes]).unwrap();
        let work = pipeline.next(spare).unwrap();
        pipeline.finished(&work);
        kept.push(work.batch.capacity());
        spare = work.batch;
    }
    assert!(kept[0] >= 16 << 20 && kept[1..].iter().all(|kept| *kept <= 2 << 20), "{kept:?}");
}
