//! A model check of clocks, registry and slots. It compiles the same files with a model checker's locks and atomics.
//! Threads commit, read and collect over two engines of a few lines, and the checker runs them in many orders of their
//! steps.
//!
//! The check verifies in every order: the content of a snapshot never changes; no snapshot contains a commit in one
//! engine only; snapshots are monotone pairs; pairs of commits don't cross; nobody reads below the watermark that the
//! collector got, unless he finds his snapshot expired afterwards; and every thread finishes. Breaking the rules one by
//! one shows that each of these checks can fail.
//!
//! The checker knows one order of all steps only. So it does not prove that the orderings of the atomics suffice: those
//! of clocks and slots are sequentially consistent, and the registry is under a mutex.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::duplicate_mod,
    reason = "the model uses a part of the files, with other locks"
)]

#[path = "../active.rs"]
mod active;
#[path = "../clock.rs"]
mod clock;
#[path = "../csr/mod.rs"]
mod csr;
#[path = "../protocol.rs"]
mod protocol;
mod sync;

use crate::model_checker::{check_by_priority, check_randomly, orders};
use crate::options::{CommitStamps, Isolation};
use active::{Active, Count, Seat};
use clock::{Clock, Timestamp};
use csr::Registry;
use protocol::Part;
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;
use std::sync::Arc;
use std::time::Duration;

/// A rule that the test breaks on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    Nothing,
    /// Pairs of commits are not entered.
    NoAdmission,
    /// Pairs are entered only after the commit is published.
    LateAdmission,
    /// Timestamps are drawn one by one, and a crossing pair is not rejected.
    NoRefusal,
    /// The disk engine's half is installed and published before the anchor's.
    DiskFirst,
    /// The horizon is read after the registry is asked.
    LateHorizon,
    /// A reader does not wait for the half that it must see.
    NoWaiting,
    /// A timestamp is published before its commit is installed.
    EarlyPublication,
    /// The slot is written only after the snapshot is taken.
    LateSlot,
    /// A rejected commit does not publish its timestamps.
    NoPublication,
    /// Readers drop partitions that a running transaction needs.
    TooMuchDropped,
    /// Commits do.
    TooMuchDroppedByCommits,
    /// A reader does not check if its snapshot has expired.
    NoAgeCheck,
    /// It checks before it reads.
    EarlyAgeCheck,
    /// The collector marks expired snapshots only after it has collected what they need.
    LateMark,
}

/// The disk engine's latch. Commits hold it shared from before drawing to installing; sealing the memtables takes it
/// exclusively. As in the engine, a thread that waits to take it exclusively goes before later shared ones.
#[derive(Default)]
struct Gate {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Gate {
    fn enter(&self) {
        let mut state = self.state.lock().unwrap();
        while state.1 {
            state = self.changed.wait(state).unwrap();
        }
        state.0 += 1;
    }

    fn leave(&self) {
        self.state.lock().unwrap().0 -= 1;
        self.changed.notify_all();
    }

    fn alone(&self) {
        let mut state = self.state.lock().unwrap();
        while state.1 {
            state = self.changed.wait(state).unwrap();
        }
        state.1 = true;
        while state.0 > 0 {
            state = self.changed.wait(state).unwrap();
        }
        state.1 = false;
        drop(state);
        self.changed.notify_all();
    }
}

/// An engine: the installed commits and their timestamps.
struct Half {
    clock: Clock,
    installed: Mutex<Vec<(Timestamp, u32)>>,
    /// The watermark that the collector got. Not a lock of the model, because it belongs to the checks.
    collected: std::sync::Mutex<Timestamp>,
}

impl Half {
    fn new() -> Self {
        Self {
            clock: Clock::new(Timestamp(7)),
            installed: Mutex::default(),
            collected: std::sync::Mutex::default(),
        }
    }

    /// Returns true if nothing is collected that a snapshot needs.
    fn has_all(&self, at: Timestamp) -> bool {
        at >= *self.collected.lock().unwrap()
    }

    /// Returns the commits that a snapshot contains, in their order.
    fn see(&self, at: Timestamp) -> Vec<u32> {
        assert!(self.has_all(at), "a snapshot at {at} is read, below the watermark");
        let mut seen: Vec<_> =
            self.installed.lock().unwrap().iter().filter(|(written, _)| *written <= at).copied().collect();
        seen.sort_unstable();
        seen.into_iter().map(|(_, commit)| commit).collect()
    }
}

#[derive(Default)]
struct Facts {
    /// Pairs of snapshots.
    snapshots: Vec<(Timestamp, Timestamp)>,
    /// Commits over both engines that succeeded: number and timestamps.
    commits: Vec<(u32, Timestamp, Timestamp)>,
    refused: usize,
}

/// Parameters of a test.
#[derive(Clone, Copy)]
struct Plan {
    stamps: CommitStamps,
    broken: Broken,
    capacity: usize,
    recycle: u64,
}

struct Rig {
    halves: [Half; 2],
    registries: Vec<Registry>,
    active: Active,
    gate: Gate,
    plan: Plan,
    facts: std::sync::Mutex<Facts>,
}

impl Rig {
    fn new(plan: Plan) -> Arc<Self> {
        Arc::new(Self {
            halves: [Half::new(), Half::new()],
            registries: vec![Registry::new(plan.capacity, plan.recycle)],
            active: Active::new(),
            gate: Gate::default(),
            plan,
            facts: std::sync::Mutex::default(),
        })
    }

    fn is(&self, broken: Broken) -> bool {
        self.plan.broken == broken
    }

    fn begin(&self) -> (Seat, Timestamp) {
        let seat = self.active.begin(Isolation::Snapshot).unwrap();
        if self.is(Broken::LateSlot) {
            let anchor = self.halves[0].clock.horizon();
            self.active.refresh(seat, self.clocks());
            return (seat, anchor);
        }
        (seat, self.active.refresh(seat, self.clocks()))
    }

    fn clocks(&self) -> impl Iterator<Item = &Clock> {
        self.halves.iter().map(|half| &half.clock)
    }

    fn draw(&self, engine: usize) -> Timestamp {
        self.halves[engine].clock.draw()
    }

    fn stamp(&self, parts: &mut [Part<()>]) -> Result<(), csr::Refused> {
        let draw = |engine| self.draw(engine);
        let oldest = || self.oldest(Broken::TooMuchDroppedByCommits);
        match self.plan.broken {
            Broken::NoAdmission | Broken::LateAdmission => protocol::draw_all(parts, draw),
            Broken::NoRefusal => {
                let _ = protocol::stamp(&self.registries, CommitStamps::Independent, parts, draw, oldest);
            }
            _ => return protocol::stamp(&self.registries, self.plan.stamps, parts, draw, oldest),
        }
        Ok(())
    }

    /// Returns the oldest anchor snapshot of a running transaction, or a newer one if the rule `broken` is broken.
    fn oldest(&self, broken: Broken) -> Timestamp {
        let clock = &self.halves[0].clock;
        if self.is(broken) { clock.horizon() } else { self.active.watermark(0, clock) }
    }

    /// Commits with this number in these engines. If `fails`, it fails once its timestamps are drawn, as if a read had
    /// changed.
    fn commit(&self, number: u32, engines: &[usize], fails: bool) {
        let mut parts: Vec<_> =
            engines.iter().map(|engine| Part { engine: *engine, writes: (), stamp: None }).collect();
        if engines.contains(&1) {
            self.gate.enter();
        }
        let outcome = self.stamp(&mut parts);
        let stamps: Vec<_> = parts.iter().filter_map(|part| part.stamp).collect();
        if outcome.is_err() || fails {
            if engines.contains(&1) {
                self.gate.leave();
            }
            if outcome.is_err() {
                self.facts.lock().unwrap().refused += 1;
                assert!(
                    self.plan.stamps == CommitStamps::Independent || outcome == Err(csr::Refused::Closed),
                    "timestamps drawn under the latch cross others"
                );
                if self.is(Broken::NoPublication) {
                    return;
                }
            }
            protocol::publish(&parts, |engine| &self.halves[engine].clock);
            return;
        }
        if let [anchor, disk] = stamps[..] {
            self.facts.lock().unwrap().commits.push((number, anchor, disk));
        }
        let install = |part: &mut Part<()>, at| {
            self.halves[part.engine].installed.lock().unwrap().push((at, number));
            if part.engine == 1 {
                self.gate.leave();
            }
        };
        let clock = |engine: usize| &self.halves[engine].clock;
        let publish = |engine: usize, at| clock(engine).publish(at);
        match self.plan.broken {
            Broken::EarlyPublication => {
                protocol::publish(&parts, clock);
                for part in &mut parts {
                    let at = part.stamp.unwrap();
                    install(part, at);
                }
            }
            Broken::DiskFirst => {
                parts.reverse();
                protocol::finish(&mut parts, install, publish);
            }
            _ => protocol::finish(&mut parts, install, publish),
        }
        if self.is(Broken::LateAdmission)
            && let [anchor, disk] = stamps[..]
        {
            let _ = self.registries[0].latch().admit(anchor, disk);
        }
    }

    fn select(&self, anchor: Timestamp) -> Result<Timestamp, csr::Refused> {
        let (registry, clock) = (&self.registries[0], &self.halves[1].clock);
        let oldest = || self.oldest(Broken::TooMuchDropped);
        match self.plan.broken {
            Broken::LateHorizon => {
                let at = registry.select(anchor, clock.horizon(), oldest)?;
                let at = at.max(clock.horizon());
                clock.wait_for(at)?;
                Ok(at)
            }
            Broken::NoWaiting => registry.select(anchor, clock.horizon(), oldest),
            _ => protocol::select(registry, clock, anchor, oldest),
        }
    }

    /// Reads the anchor, then the disk engine, then both again.
    fn read(&self) {
        let (seat, anchor) = self.begin();
        let first = self.halves[0].see(anchor);
        // An error means that the partition is closed; a real transaction would begin again.
        if let Ok(disk) = self.select(anchor) {
            let second = self.halves[1].see(disk);
            thread::yield_now();
            assert_eq!(first, self.halves[0].see(anchor), "the content of the anchor's snapshot changed");
            assert_eq!(second, self.halves[1].see(disk), "the content of the disk engine's snapshot changed");
            let mut facts = self.facts.lock().unwrap();
            facts.snapshots.push((anchor, disk));
            for (commit, ..) in &facts.commits {
                let halves = (first.contains(commit), second.contains(commit));
                assert_eq!(halves.0, halves.1, "a snapshot at ({anchor}, {disk}) splits commit {commit}");
            }
        }
        self.active.end(seat, Count::ReadOnly);
    }

    /// Reads the anchor, then the disk engine, at snapshots that may expire at any time.
    fn read_limited(&self) {
        let (seat, anchor) = self.begin();
        self.active.limit(seat, Duration::ZERO);
        let right = |half: &Half, at| {
            let early = self.is(Broken::EarlyAgeCheck) && self.active.expired_at(seat).is_none();
            thread::yield_now();
            let whole = half.has_all(at);
            let young = early || self.is(Broken::NoAgeCheck) || self.active.expired_at(seat).is_none();
            assert!(whole || !young, "a read at {at} is incomplete, and its snapshot has not expired");
            young
        };
        if right(&self.halves[0], anchor)
            && let Ok(disk) = self.select(anchor)
            && right(&self.halves[1], disk)
        {
            self.facts.lock().unwrap().snapshots.push((anchor, disk));
        }
        self.active.end(seat, Count::ReadOnly);
    }

    /// Reads at read committed: the two snapshots need not agree, but must not go back behind a commit that was seen.
    fn read_committed(&self) {
        let (seat, anchor) = self.begin();
        let first = self.halves[0].see(anchor);
        let disk = protocol::newest(&self.registries[0], &self.halves[1].clock, anchor).unwrap();
        let second = self.halves[1].see(disk);
        let facts = self.facts.lock().unwrap();
        for (commit, ..) in &facts.commits {
            assert!(
                !first.contains(commit) || second.contains(commit),
                "the disk half of commit {commit} is not seen"
            );
        }
        drop(facts);
        self.active.end(seat, Count::ReadOnly);
    }

    /// Runs two transactions at once, so the threads need more than one chunk of slots.
    fn read_twice(&self) {
        let open = [self.begin(), self.begin()];
        for (seat, anchor) in open {
            let _ = self.halves[0].see(anchor);
            self.active.end(seat, Count::ReadOnly);
        }
    }

    fn collect(&self) {
        if self.is(Broken::LateMark) {
            for half in &self.halves {
                *half.collected.lock().unwrap() = half.clock.horizon();
            }
        }
        self.active.expire();
        for (engine, half) in self.halves.iter().enumerate() {
            let watermark = self.active.watermark(engine, &half.clock);
            let mut collected = half.collected.lock().unwrap();
            *collected = (*collected).max(watermark);
        }
    }

    /// Runs each of these in a thread of its own, and waits for all.
    fn play<const THREADS: usize>(self: &Arc<Self>, works: [fn(&Self); THREADS]) {
        let threads = works.map(|work| {
            let rig = Arc::clone(self);
            thread::spawn(move || work(&rig))
        });
        for thread in threads {
            thread.join().unwrap();
        }
    }

    /// Checks the rules that hold for all snapshots and commits together.
    fn check(&self) {
        for half in &self.halves {
            assert_eq!(half.clock.horizon(), half.clock.drawn(), "a timestamp was never published");
        }
        let facts = self.facts.lock().unwrap();
        for (s, x) in &facts.snapshots {
            for (t, y) in &facts.snapshots {
                assert!(s >= t || x <= y, "snapshots ({s}, {x}) and ({t}, {y}) cross");
            }
            for (commit, c, d) in &facts.commits {
                assert_eq!(s >= c, x >= d, "snapshot ({s}, {x}) splits commit {commit} at ({c}, {d})");
            }
        }
        for (one, a, d) in &facts.commits {
            for (two, b, e) in &facts.commits {
                assert!(one == two || (a < b) == (d < e), "commits ({a}, {d}) and ({b}, {e}) cross");
            }
        }
    }
}

/// Runs two threads that commit over both engines (one of these commits fails), one that commits over a single engine
/// at a time, readers, a collector, and a thread that seals memtables.
fn scene(plan: Plan) {
    let rig = Rig::new(plan);
    rig.play([
        |rig| {
            rig.commit(1, &[0, 1], false);
            rig.read();
            rig.commit(2, &[0, 1], false);
        },
        |rig| {
            rig.commit(3, &[0, 1], true);
            rig.commit(4, &[0, 1], false);
            rig.read();
        },
        |rig| {
            rig.commit(5, &[1], false);
            rig.commit(6, &[0], false);
            rig.read_committed();
        },
        |rig| {
            rig.read();
            rig.read();
        },
        |rig| {
            rig.collect();
            rig.gate.alone();
            rig.active.close_idle();
            rig.collect();
        },
    ]);
    rig.read();
    rig.check();
}

/// Runs threads with two transactions at once, which open chunks of slots, while others close them, commit, and
/// collect.
fn crowd(plan: Plan) {
    let rig = Rig::new(plan);
    let twice = |rig: &Rig| (0..2).for_each(|_| rig.read_twice());
    rig.play([
        twice,
        twice,
        |rig| (0..4).for_each(|_| rig.active.close_idle()),
        |rig| (1..=4).for_each(|number| rig.commit(number, &[0], false)),
        |rig| {
            for _ in 0..3 {
                rig.collect();
                rig.active.close_idle();
            }
        },
    ]);
    assert_eq!(rig.active.count(Count::ReadOnly), 8, "a transaction was not counted");
    assert!(rig.active.running().is_empty());
    rig.active.close_idle();
    assert_eq!(rig.active.scanned(), sync::CHUNK, "a chunk without transactions is still open");
    rig.read_twice();
}

/// Runs readers whose snapshots may expire, beside commits, a collector, and a registry that drops its partitions.
fn aging(plan: Plan) {
    let rig = Rig::new(plan);
    let limited = |rig: &Rig| (0..2).for_each(|_| rig.read_limited());
    rig.play([
        limited,
        limited,
        |rig| (1..=3).for_each(|number| rig.commit(number, &[0, 1], false)),
        |rig| (4..=5).for_each(|number| rig.commit(number, &[1], false)),
        |rig| (0..3).for_each(|_| rig.collect()),
    ]);
    rig.check();
    rig.collect();
    rig.read();
}

const STAMPS: [CommitStamps; 2] = [CommitStamps::Latched, CommitStamps::Independent];

/// No scene has half as many steps.
const MAX_STEPS: usize = 20_000;

fn randomly(plan: Plan, orders: usize) {
    randomly_in(scene, plan, orders);
}

fn by_priority(plan: Plan, orders: usize) {
    by_priority_in(scene, plan, orders);
}

fn randomly_in(scene: fn(Plan), plan: Plan, orders: usize) {
    check_randomly(MAX_STEPS, orders, move || scene(plan));
}

fn by_priority_in(scene: fn(Plan), plan: Plan, orders: usize) {
    check_by_priority(MAX_STEPS, orders, move || scene(plan));
}

#[test]
fn snapshots_and_commits_over_two_engines_agree_in_every_order_of_steps() {
    for stamps in STAMPS {
        let plan = Plan { stamps, broken: Broken::Nothing, capacity: 100, recycle: 100 };
        randomly(plan, orders());
        by_priority(plan, orders());
    }
}

#[test]
fn they_agree_while_the_registrys_partitions_are_closed_and_dropped() {
    for stamps in STAMPS {
        for (capacity, recycle) in [(1, 1), (2, 2)] {
            let plan = Plan { stamps, broken: Broken::Nothing, capacity, recycle };
            randomly(plan, orders() / 2);
            by_priority(plan, orders() / 2);
        }
    }
}

#[test]
fn no_transaction_is_missed_while_chunks_of_slots_open_and_close() {
    let plan = Plan { stamps: STAMPS[0], broken: Broken::Nothing, capacity: 100, recycle: 100 };
    randomly_in(crowd, plan, orders());
    by_priority_in(crowd, plan, orders());
}

#[test]
fn a_read_that_misses_collected_versions_finds_its_snapshot_expired() {
    for stamps in STAMPS {
        for size in [1, 100] {
            let plan = Plan { stamps, broken: Broken::Nothing, capacity: size, recycle: size as u64 };
            randomly_in(aging, plan, orders() / 2);
            by_priority_in(aging, plan, orders() / 2);
        }
    }
}

/// Breaks each rule in turn, and checks that the model finds it for the right reason.
#[test]
fn every_broken_rule_is_found() {
    let (latched, independent) = (CommitStamps::Latched, CommitStamps::Independent);
    // The last message comes from readers at read committed, when they see a split commit.
    let unequal: &[&str] = &["split", "changed", "cross", "is not seen"];
    for (broken, stamps, says) in [
        (Broken::NoAdmission, latched, unequal),
        (Broken::LateAdmission, latched, unequal),
        (Broken::NoRefusal, independent, unequal),
        (Broken::LateHorizon, latched, unequal),
        (Broken::NoWaiting, latched, unequal),
        (Broken::EarlyPublication, latched, unequal),
        (Broken::TooMuchDropped, latched, unequal),
        (Broken::TooMuchDroppedByCommits, latched, unequal),
        (Broken::DiskFirst, latched, &["below the watermark"]),
        (Broken::LateSlot, latched, &["below the watermark"]),
        (Broken::NoPublication, independent, &["max_steps"]),
        (Broken::NoAgeCheck, latched, &["has not expired"]),
        (Broken::EarlyAgeCheck, latched, &["has not expired"]),
        (Broken::LateMark, latched, &["has not expired"]),
    ] {
        let drops = [Broken::TooMuchDropped, Broken::TooMuchDroppedByCommits].contains(&broken);
        let size = if drops { 1 } else { 100 };
        let plan = Plan { stamps, broken, capacity: size, recycle: size as u64 };
        let ages = [Broken::NoAgeCheck, Broken::EarlyAgeCheck, Broken::LateMark].contains(&broken);
        let found = std::panic::catch_unwind(|| {
            let scene = if ages { aging } else { scene };
            randomly_in(scene, plan, 50_000);
            by_priority_in(scene, plan, 50_000);
        });
        let found = found.expect_err(&format!("{broken:?} is not found"));
        let text = found.downcast_ref::<String>().map_or("", String::as_str);
        assert!(says.iter().any(|word| text.contains(word)), "{broken:?} is found as: {text}");
    }
}
