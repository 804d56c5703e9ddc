//! A log whose disk has no space, for a while or until it is closed.

use super::tests::{EIO, ENOSPC, open, open_by, payloads, read_from};
use super::{Log, Lsn, Policy};
use crate::error::{Error, Result};
use crate::files::faulty::{FaultyFiles, Operation};
use crate::options::Durability;
use crate::ticket::Ticket;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// A record that takes several writes.
const LONG: usize = 3 << 20;

/// A log with a durable record `good`.
fn log(files: &FaultyFiles, segment_bytes: u64) -> Arc<Log> {
    let log = open(files, Lsn(0), Durability::Full, segment_bytes);
    let good = log.append(b"good").unwrap();
    Ticket::after(&[(&log, good)]).wait().unwrap();
    log
}

fn assert_full<T: std::fmt::Debug>(outcome: Result<T>) {
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::DiskFull(_)) && !error.is_retryable(), "{error:?}");
    assert!(error.to_string().contains("the disk is full (can't"), "{error}");
}

/// Checks what a power cut leaves: the durable record, and the other one as a whole or not at all.
fn assert_whole(files: &FaultyFiles, record: &[u8]) {
    for seed in 0..5 {
        let left = payloads(&files.power_cut(seed)).unwrap();
        assert!(left[0] == b"good" && (left.len() == 1 || left[1..] == [record]), "seed {seed}");
    }
}

#[test]
fn a_batch_that_finds_no_space_is_written_again_at_its_place_and_acknowledged_only_then() {
    for (length, nth, segment_bytes) in
        [(10, 1, 1 << 20), (LONG, 1, 1 << 30), (LONG, 2, 1 << 30), (LONG, 4, 1 << 30), (10, 1, 1), (10, 2, 1)]
    {
        let files = FaultyFiles::default();
        let log = log(&files, segment_bytes);
        let durable = log.durable();
        files.fail_from(Operation::Write, nth, ENOSPC);
        let record = vec![7; length];
        let end = log.append(&record).unwrap();
        let ticket = Ticket::after(&[(&log, end)]);
        for _ in 0..2 {
            assert_full(log.sync(end));
            assert_full(log.wait_for_room());
        }
        assert!(log.full().is_some() && !ticket.is_done());
        assert_eq!((log.durable(), log.end()), (durable, end));
        assert_whole(&files, &record);
        assert!(files.mend());
        log.wait_for_room().unwrap();
        ticket.wait().unwrap();
        assert!(log.full().is_none());
        let later = log.append(b"later").unwrap();
        log.sync(later).unwrap();
        let expected = [b"good".to_vec(), record, b"later".to_vec()];
        assert_eq!(payloads(&files.power_cut(0)).unwrap(), expected);
        log.close().unwrap();
        assert_eq!(payloads(&files).unwrap(), expected);
    }
}

/// The operations are: sync the old segment, make the new one, write its header, sync it, sync the directory, write the
/// batch, sync it.
#[test]
fn only_a_write_or_a_new_file_without_space_is_tried_again_and_never_a_sync() {
    for (nth, is_tried_again) in
        [(1, false), (2, true), (3, true), (4, false), (5, false), (6, true), (7, false)]
    {
        let files = FaultyFiles::default();
        let log = log(&files, 1);
        files.fail(Operation::Any, nth, ENOSPC, 10);
        let end = log.append(b"next").unwrap();
        let ticket = Ticket::after(&[(&log, end)]);
        let synced = log.sync(end);
        assert!(files.mend() && files.retries() == 0);
        assert_whole(&files, b"next");
        if is_tried_again {
            synced.unwrap();
            ticket.wait().unwrap();
            assert_eq!(payloads(&files.power_cut(0)).unwrap(), [b"good", b"next"]);
        } else {
            assert!(matches!(synced, Err(Error::Poisoned(_))), "{nth}: {synced:?}");
            assert!(matches!(ticket.wait(), Err(Error::Unknown(_))));
            assert!(matches!(log.wait_for_room(), Err(Error::Poisoned(_))));
        }
    }
}

#[test]
fn a_log_that_is_closed_while_the_disk_is_full_gives_its_batch_up_as_unknown() {
    for record in [&b"lost"[..], &[7; 50_000]] {
        let files = FaultyFiles::default();
        let log = log(&files, 1 << 20);
        files.fail_from(Operation::Write, 1, ENOSPC);
        let end = log.append(record).unwrap();
        let ticket = Ticket::after(&[(&log, end)]);
        assert_full(log.sync(end));
        assert!(matches!(log.close(), Err(Error::Poisoned(_))));
        let error = ticket.wait().unwrap_err();
        assert!(matches!(&error, Error::Unknown(why) if why.contains("the disk is full")), "{error:?}");
        assert!(files.mend());
        let end = read_from(&files, Lsn(0)).unwrap().0;
        let log = open(&files, end, Durability::Full, 1 << 20);
        let later = log.append(b"later").unwrap();
        log.sync(later).unwrap();
        assert_eq!(payloads(&files.power_cut(0)).unwrap(), [&b"good"[..], b"later"]);
    }
}

#[test]
fn a_log_that_is_closed_once_there_is_space_loses_nothing() {
    for durability in [Durability::Full, Durability::None] {
        let files = FaultyFiles::default();
        let log = open(&files, Lsn(0), durability, 1 << 20);
        files.fail_from(Operation::Write, 1, ENOSPC);
        let end = log.append(b"kept").unwrap();
        let ticket = Ticket::after(&[(&log, end)]);
        assert_full(log.sync(end));
        assert!(files.mend());
        log.close().unwrap();
        ticket.wait().unwrap();
        assert_eq!(payloads(&files.power_cut(0)).unwrap(), [b"kept"]);
    }
}

#[test]
fn another_error_of_a_later_attempt_ends_the_log() {
    let files = FaultyFiles::default();
    let log = log(&files, 1 << 20);
    files.fail_from(Operation::Write, 1, ENOSPC);
    let end = log.append(b"next").unwrap();
    let ticket = Ticket::after(&[(&log, end)]);
    assert_full(log.sync(end));
    files.fail(Operation::Write, 1, EIO, 0);
    let error = log.wait_for_room().unwrap_err();
    assert!(matches!(&error, Error::Poisoned(why) if why.contains("could not be written")), "{error:?}");
    assert!(matches!(ticket.wait(), Err(Error::Unknown(_))));
    assert_whole(&files, b"next");
}

/// Nobody asks for it, so the thread tries again by itself.
#[test]
fn a_ticket_resolves_without_another_commit_once_there_is_space() {
    let files = FaultyFiles::default();
    let log = log(&files, 1 << 20);
    files.fail(Operation::Write, 1, ENOSPC, 100);
    let end = log.append(b"next").unwrap();
    Ticket::after(&[(&log, end)]).wait().unwrap();
    assert_eq!(payloads(&files.power_cut(0)).unwrap(), [b"good", b"next"]);
}

#[test]
fn commits_that_are_gathered_on_a_full_disk_are_written_once_there_is_space() {
    let files = FaultyFiles::default();
    let policy = Policy { gather: Some(Duration::from_millis(1)), ..Durability::Full.into() };
    let log = open_by(&files, Lsn(0), policy, 1 << 20);
    files.fail_from(Operation::Write, 1, ENOSPC);
    let (sender, answers) = mpsc::channel();
    let commit = || {
        let (end, sender) = (log.append(b"next").unwrap(), sender.clone());
        Ticket::after(&[(&log, end)]).on_done(move |outcome| sender.send(outcome).unwrap());
    };
    commit();
    assert_full(log.sync(log.end()));
    commit();
    log.hurry();
    assert_full(log.wait_for_room());
    assert!(answers.try_recv().is_err());
    assert!(files.mend());
    for _ in 0..2 {
        answers.recv().unwrap().unwrap();
    }
    assert_eq!(payloads(&files.power_cut(0)).unwrap(), [b"next", b"next"]);
}
