//! Tickets over logs: when they resolve, and how many resolve in a second.

use super::tests::{DATABASE, dir, wait_until};
use super::{Log, Lsn, Policy};
use crate::error::Result;
use crate::files::faulty::FaultyFiles;
use crate::files::{Files, RealFiles};
use crate::options::Durability;
use crate::ticket::Ticket;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Files whose syncs wait while the mutex is locked.
#[derive(Clone, Debug, Default)]
struct Gate(FaultyFiles, Arc<parking_lot::Mutex<()>>);

#[derive(Debug)]
struct GateFile(Box<dyn crate::files::File>, Arc<parking_lot::Mutex<()>>);

impl Files for Gate {
    fn create(&self, path: &Path) -> Result<Box<dyn crate::files::File>> {
        Ok(Box::new(GateFile(self.0.create(path)?, self.1.clone())))
    }
    fn open(&self, path: &Path) -> Result<Box<dyn crate::files::File>> {
        Ok(Box::new(GateFile(self.0.open(path)?, self.1.clone())))
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> Result<()> {
        self.0.remove(path)
    }
    fn list(&self, directory: &Path) -> Result<Vec<String>> {
        self.0.list(directory)
    }
    fn sync_dir(&self, directory: &Path) -> Result<()> {
        self.0.sync_dir(directory)
    }
    fn create_dir(&self, directory: &Path) -> Result<()> {
        self.0.create_dir(directory)
    }
}

impl crate::files::File for GateFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.0.write_at(offset, bytes)
    }
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.0.read_at(offset, buffer)
    }
    fn sync(&mut self) -> Result<()> {
        drop(self.1.lock());
        self.0.sync()
    }
    fn len(&mut self) -> Result<u64> {
        self.0.len()
    }
    fn truncate(&mut self, len: u64) -> Result<()> {
        self.0.truncate(len)
    }
}

fn gated() -> (Gate, Arc<Log>) {
    let gate = Gate::default();
    let log = Log::open(Arc::new(gate.clone()), dir(), "main", DATABASE, Lsn(0), Durability::Full).unwrap();
    (gate, log)
}

#[test]
fn a_ticket_over_two_logs_resolves_when_both_are_durable() {
    let ((first_gate, first), (second_gate, second)) = (gated(), gated());
    let closed = first_gate.1.lock();
    let closed_too = second_gate.1.lock();
    let (one, two) = Log::append_both((&first, b"half".into()), (&second, b"other half".into())).unwrap();
    assert!(Log::append_both((&first, b"half".into()), (&first, b"half".into())).is_err());
    let ticket = Ticket::after(&[(&first, one), (&second, two)]);
    drop(closed_too);
    second.sync(two).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert!(!ticket.is_done());
    drop(closed);
    ticket.wait().unwrap();
    assert!(first.durable() >= one && second.durable() >= two);
    assert!(Ticket::after(&[(&first, one), (&second, two)]).is_done());
    assert!(Ticket::after(&[]).is_done());
}

struct Flag(AtomicU64);

impl std::task::Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_ticket_is_a_future_that_wakes_once_when_the_commit_is_durable() {
    let (gate, log) = gated();
    let closed = gate.1.lock();
    let mut tickets: Vec<_> =
        (0..1000).map(|_| Ticket::after(&[(&log, log.append(b"commit").unwrap())])).collect();
    // A reader that waits for the last record appended before its snapshot.
    tickets.push(Ticket::after(&[(&log, log.end())]));
    let flags: Vec<_> = tickets.iter().map(|_| Arc::new(Flag(AtomicU64::new(0)))).collect();
    let mut poll = |index: usize| {
        let waker = flags[index].clone().into();
        let ticket = std::pin::Pin::new(&mut tickets[index]);
        std::future::Future::poll(ticket, &mut std::task::Context::from_waker(&waker))
    };
    for index in 0..flags.len() {
        assert!(poll(index).is_pending() && poll(index).is_pending());
    }
    drop(closed);
    wait_until(|| flags.iter().all(|flag| flag.0.load(Ordering::SeqCst) == 1));
    for index in 0..flags.len() {
        assert!(matches!(poll(index), std::task::Poll::Ready(Ok(()))));
    }
    assert!(gate.0.counts().1 < 10, "one sync should make many commits durable");
}

#[test]
fn a_callback_that_panics_harms_nobody_and_may_drop_the_log() {
    let (gate, log) = gated();
    let closed = gate.1.lock();
    let end = log.append(b"commit").unwrap();
    Ticket::after(&[(&log, end)]).on_done(|_| panic!("a panic that the test wants"));
    let ticket = Ticket::after(&[(&log, end)]);
    drop(closed);
    ticket.wait().unwrap();
    let closed = gate.1.lock();
    let end = log.append(b"commit").unwrap();
    let ticket = Ticket::after(&[(&log, end)]);
    let (sender, receiver) = std::sync::mpsc::channel();
    ticket.on_done(move |outcome| {
        drop(log);
        sender.send(outcome).unwrap();
    });
    drop(closed);
    receiver.recv().unwrap().unwrap();
}

fn gathering(files: impl Files + 'static, longest: Duration) -> Arc<Log> {
    let policy = Policy { gather: Some(longest), ..Durability::Full.into() };
    Log::open(Arc::new(files), dir(), "main", DATABASE, Lsn(0), policy).unwrap()
}

/// A time that no test waits for.
const LONG: Duration = Duration::from_secs(3_600);

#[test]
fn a_log_gathers_commits_for_a_limited_time() {
    let log = gathering(FaultyFiles::default(), Duration::from_millis(1));
    // Also if the ticket was dropped.
    let end = log.append(b"commit").unwrap();
    drop(Ticket::after(&[(&log, end)]));
    wait_until(|| log.durable() == end);
    // A large record is a batch of its own, and both are due.
    let (sender, receiver) = std::sync::mpsc::channel();
    for record in [vec![7; 10], vec![7; 1 << 20]] {
        let end = log.append(&record).unwrap();
        let sender = sender.clone();
        Ticket::after(&[(&log, end)]).on_done(move |outcome| sender.send(outcome).unwrap());
    }
    receiver.recv().unwrap().unwrap();
    receiver.recv().unwrap().unwrap();
    assert_eq!(log.durable(), log.end());
}

#[test]
fn only_commits_with_callbacks_are_gathered() {
    let log = gathering(FaultyFiles::default(), LONG);
    let commit = || Ticket::after(&[(&log, log.append(b"commit").unwrap())]);
    commit().wait().unwrap();
    let (first, mut second) = (commit(), commit());
    assert!(!first.is_done());
    let flag = Arc::new(Flag(AtomicU64::new(0)));
    let waker = flag.clone().into();
    let mut context = std::task::Context::from_waker(&waker);
    if std::future::Future::poll(std::pin::Pin::new(&mut second), &mut context).is_pending() {
        wait_until(|| flag.0.load(Ordering::SeqCst) == 1);
    }
    assert!(first.is_done());
    assert_eq!(log.counts().batches, 2, "the first is written together with the second");
    let called = Arc::new(AtomicU64::new(0));
    for _ in 0..3 {
        let called = called.clone();
        commit().on_done(move |_| {
            called.fetch_add(1, Ordering::SeqCst);
        });
    }
    assert_eq!(called.load(Ordering::SeqCst), 0);
    log.hurry();
    wait_until(|| called.load(Ordering::SeqCst) == 3);
    assert_eq!(log.counts().batches, 3);
}

#[test]
fn a_ticket_that_nobody_waits_for_yet_is_done_when_its_answer_is_known() {
    let gates = [Gate::default(), Gate::default()];
    let [first, second] = gates.each_ref().map(|gate| gathering(gate.clone(), LONG));
    let commit = || {
        let (one, two) = Log::append_both((&first, b"half".into()), (&second, b"other half".into())).unwrap();
        Ticket::after(&[(&first, one), (&second, two)])
    };
    let (ticket, lost) = (commit(), commit());
    let closed = gates[1].1.lock();
    first.sync(first.end()).unwrap();
    // A log that fails later has no part in the answer.
    first.fail(&Arc::from("it failed"));
    assert!(!ticket.is_done());
    drop(closed);
    second.sync(second.end()).unwrap();
    assert!(ticket.is_done());
    ticket.wait().unwrap();
    lost.wait().unwrap();
    let log = gathering(FaultyFiles::default(), LONG);
    let lost = Ticket::after(&[(&log, log.append(b"commit").unwrap())]);
    log.fail(&Arc::from("it failed"));
    assert!(lost.is_done() && lost.wait().is_err());
}

/// Measures durable commits per second on a disk, from two threads with up to a thousand in flight each. `cargo test
/// --release -p gemel -- --ignored --nocapture durable_commits`
#[test]
#[ignore = "a measurement"]
fn durable_commits_per_second() {
    let directory = tempfile::tempdir_in(".").unwrap();
    for in_flight in [1, 64, 1024] {
        let path = directory.path().join(in_flight.to_string());
        // The segments of unit tests are short.
        let policy = Policy { segment_bytes: 64 << 20, ..Durability::Full.into() };
        let log = Log::open(Arc::new(RealFiles), &path, "main", 1, Lsn(0), policy).unwrap();
        let begun = Instant::now();
        let commits: u64 = std::thread::scope(|scope| {
            let work = || {
                let (mut tickets, mut commits) = (std::collections::VecDeque::new(), 0);
                while begun.elapsed() < Duration::from_secs(2) {
                    let end = log.append(&[42; 120]).unwrap();
                    tickets.push_back(Ticket::after(&[(&log, end)]));
                    if tickets.len() >= in_flight {
                        tickets.pop_front().unwrap().wait().unwrap();
                        commits += 1;
                    }
                }
                commits
            };
            [scope.spawn(work), scope.spawn(work)].map(|thread| thread.join().unwrap()).iter().sum()
        });
        let rate = commits as f64 / begun.elapsed().as_secs_f64();
        println!("2 threads with {in_flight} in flight each: {rate:.0} durable commits a second");
        log.close().unwrap();
    }
}
