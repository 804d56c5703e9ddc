//! Processes that are killed while they work, again and again on one directory. After each death, everything
//! acknowledged is there, nothing is there in part, and both engines agree. A chain of commits, each in one engine and
//! after a read of the last one, has no gap. A prepared transaction is undecided, committed or rolled back, each as a
//! whole, and as it was acknowledged. A table that is copied, dropped and replaced in one transaction is there with its
//! rows. Each fail point kills a process at least once.
//!
//! `GEMEL_CRASHES=500 cargo test --release -p gemel --test crash` is the long suite. This test has a `main` of its own,
//! so its last line is shown.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

#[path = "../alone/mod.rs"]
mod alone;
mod bank;
mod check;
mod promise;
mod work;

use bank::{next, options};
use check::{Promised, check};
use gemel::{CommitStamps, LogMode, Options};
use promise::Promise;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use work::work;

const CHILD: &str = "GEMEL_CRASH_CHILD";

fn mode(index: usize) -> Options {
    let log = [LogMode::Shared, LogMode::PerEngine][index % 2];
    let stamps = [CommitStamps::Latched, CommitStamps::Independent][index / 2 % 2];
    options(log, stamps)
}

/// Fail points at which a process is killed, and the number of the last pass at which that may happen.
const FAIL_POINTS: &[(&str, u64)] = &[
    ("log.before_write", 100),
    ("log.after_write", 100),
    ("log.before_sync", 100),
    ("log.after_sync", 100),
    ("log.before_segment", 1),
    ("log.after_segment", 1),
    ("commit.after_append", 200),
    ("commit.after_install", 200),
    ("commit.between_publications", 300),
    ("checkpoint.after_piece", 100),
    ("checkpoint.before_sync", 4),
    ("checkpoint.before_rename", 4),
    ("checkpoint.after_rename", 4),
    ("checkpoint.prepared_again", 4),
    ("checkpoint.before_manifest", 4),
    ("checkpoint.after_manifest", 4),
    ("files.before_rename", 6),
    ("disk.before_flush", 4),
    ("disk.after_flush", 4),
    ("disk.before_compact", 6),
    ("disk.after_compact", 3),
    ("move.begun", 6),
    ("move.settled", 6),
    ("move.read", 20),
    ("move.copying", 20),
    ("move.copied", 6),
    ("move.before_manifest", 6),
    ("move.after_manifest", 6),
    ("move.switching", 6),
    ("move.switched", 6),
    ("prepare.locked", 20),
    ("prepare.after_append", 20),
    ("prepare.commit_appended", 12),
    ("prepare.rolled_back", 6),
    ("ddl.before_manifest", 6),
    ("ddl.after_manifest", 6),
    ("ddl.leaving", 6),
    ("ddl.publishing", 6),
    ("ddl.published", 6),
    ("catalog.freeing", 6),
];

/// Lets a process work on a directory until it dies, at a fail point or by a signal after some time. Returns the last
/// transaction of each worker that was acknowledged as durable, the prepared transactions, and true if it died at the
/// fail point.
fn crash(
    setting: &str,
    point: Option<(&str, u64)>,
    patience: Duration,
) -> (HashMap<u64, u64>, Promised, bool) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.env(CHILD, setting);
    if let Some((name, visit)) = point {
        child.env("GEMEL_FAIL_POINT", format!("{name}:{visit}"));
    }
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let acks = std::thread::spawn(move || {
        let mut acks: HashMap<u64, u64> = HashMap::new();
        let mut promised = Promised::default();
        for line in lines.map_while(Result::ok) {
            let mut words = line.split(' ');
            if let [kind @ ("prepared" | "decided"), name, "."] = words.clone().collect::<Vec<_>>()[..] {
                let promise = Promise::parse(name).unwrap();
                let set = if kind == "prepared" { &mut promised.prepared } else { &mut promised.decided };
                set.insert(promise);
                continue;
            }
            if let (Some("ack"), Some(worker), Some(done)) = (words.next(), words.next(), words.next()) {
                // The last line may be cut short, because its writer was killed.
                if let (Ok(worker), Ok(done)) = (worker.parse::<u64>(), done.parse::<u64>()) {
                    // Two threads extend the chain, and the later link may be printed first.
                    let last = acks.entry(worker).or_default();
                    *last = done.max(*last);
                }
            }
        }
        (acks, promised)
    });
    // The time of the kill is part of the test: it comes anywhere in the work.
    let until = Instant::now() + patience;
    let mut died = None;
    while died.is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
        died = child.try_wait().unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The process ends by the abort of the fail point, not by a panic.
    #[cfg(unix)]
    if let Some(died) = died {
        use std::os::unix::process::ExitStatusExt;
        assert!(died.signal().is_some(), "the process ended by itself ({died}): {setting}");
    }
    let (acks, promised) = acks.join().unwrap();
    (acks, promised, died.is_some())
}

const NAME: &str = "nothing_acknowledged_is_lost_and_nothing_is_there_in_part";

fn main() -> ExitCode {
    if let Ok(child) = std::env::var(CHILD) {
        // A panic in one thread ends the whole process, with an exit code that differs from a crash.
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            tell(panic);
            std::process::exit(101);
        }));
        let mut parts = child.splitn(4, ' ');
        let mode_index: usize = parts.next().unwrap().parse().unwrap();
        let seed = parts.next().unwrap().parse().unwrap();
        let fat = parts.next() == Some("fat");
        work(Path::new(parts.next().unwrap()), mode(mode_index), seed, fat);
        return ExitCode::SUCCESS;
    }
    alone::run(NAME, suite)
}

fn suite() -> ExitCode {
    let crashes: u64 = std::env::var("GEMEL_CRASHES").map_or(54, |count| count.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut random = 0x2545_F491_4F6C_DD1D;
    let mut acknowledged: Vec<HashMap<u64, u64>> = vec![HashMap::new(); 4];
    let mut promised: [Promised; 4] = Default::default();
    let (mut undecided, mut left_undecided) = (0, 0);
    let (mut hit, mut by_point, mut there) = (HashSet::new(), 0, [0; 4]);
    let (mut lost, mut partial, mut crash_number) = (0, 0, 0);
    loop {
        // At the end, fail points that were not reached in time get as much time as they need, a few times.
        let missed = FAIL_POINTS.iter().find(|(name, _)| !hit.contains(name));
        let extra = crash_number >= crashes;
        if extra && (missed.is_none() || crash_number >= crashes + 2 * FAIL_POINTS.len() as u64) {
            break;
        }
        let mode_index = (crash_number % 4) as usize;
        let path = directory.path().join(format!("db{mode_index}"));
        let point = match missed {
            Some((name, _)) if extra => Some((*name, 1)),
            // Two of three processes die at a fail point, the others by a signal.
            _ if crash_number % 3 == 2 => None,
            _ => {
                let turn = crash_number - crash_number / 3;
                let (name, visits) = FAIL_POINTS[turn as usize % FAIL_POINTS.len()];
                Some((name, 1 + next(&mut random) % visits))
            }
        };
        let fat = if point.is_some_and(|(name, _)| name.ends_with("_segment")) { "fat" } else { "-" };
        let patience = match point {
            Some(_) if extra || fat == "fat" => Duration::from_secs(20),
            Some(_) => Duration::from_millis(1500),
            None => Duration::from_millis(20 + next(&mut random) % 300),
        };
        let setting = format!("{mode_index} {crash_number} {fat} {}", path.display());
        let (acks, promises, died) = crash(&setting, point, patience);
        if let Some((name, _)) = point.filter(|_| died) {
            by_point += 1;
            hit.insert(name);
        }
        acknowledged[mode_index].extend(acks);
        promised[mode_index].prepared.extend(promises.prepared);
        promised[mode_index].decided.extend(promises.decided);
        let promises = &mut promised[mode_index];
        let found = check(&path, mode(mode_index), crash_number, &acknowledged[mode_index], promises);
        undecided += found.undecided;
        left_undecided += u64::from(found.undecided > 0);
        for (kind, what) in found
            .lost
            .iter()
            .map(|what| ("lost", what))
            .chain(found.partial.iter().map(|what| ("partial", what)))
        {
            eprintln!("crash {crash_number} at {point:?}, database {mode_index}: {kind}: {what}");
        }
        lost += found.lost.len();
        partial += found.partial.len();
        there[mode_index] = found.there;
        crash_number += 1;
    }
    for mode_index in 0..4 {
        let report = gemel::check(directory.path().join(format!("db{mode_index}"))).unwrap();
        assert!(report.is_good(), "{report}");
    }
    let acknowledged: u64 = acknowledged.iter().flat_map(HashMap::values).sum();
    println!(
        "{crash_number} crashes ({by_point} at named places, {} of {} places), {crash_number} recoveries, {acknowledged} \
         transactions acknowledged, {} there; {} prepared transactions, {} decided, undecided after {left_undecided} crashes; \
         lost {lost}, partial {partial}",
        hit.len(),
        FAIL_POINTS.len(),
        there.iter().sum::<u64>(),
        promised.iter().map(|promised| promised.prepared.len()).sum::<usize>(),
        promised.iter().map(|promised| promised.decided.len()).sum::<usize>(),
    );
    let all = hit.len() == FAIL_POINTS.len() || crashes < 3 * FAIL_POINTS.len() as u64 / 2;
    let good = lost == 0 && partial == 0 && acknowledged > 0 && undecided > 0 && all;
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
