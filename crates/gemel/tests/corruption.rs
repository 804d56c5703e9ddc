//! Damage in the files of a closed database. After each flipped bit, each cut and each removed file, the damage is found
//! or changes nothing: opening or reading fails, or every row is as before. Nothing panics.
//!
//! The usual suite takes a few places in every file. `GEMEL_CORRUPTIONS=10000` takes that many places, and
//! `GEMEL_CORRUPTIONS=1` each bit and each length. This test has a `main` of its own, so its last line is shown.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod alone;
mod scratch;

use gemel::LogMode;
use gemel::fuzzing::closed::{Closed, Damage};
use scratch::directory;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

const NAME: &str = "damage_is_found_or_changes_nothing";
/// Panics of all threads.
static PANICS: AtomicU64 = AtomicU64::new(0);

/// Returns at most `most` numbers below `end`, with the same distance between them.
fn places(end: usize, most: usize) -> impl Iterator<Item = usize> {
    let stride = end.div_ceil(most).max(1);
    // Not always the first bit of a file.
    (0..end).skip(stride * 5 / 8).step_by(stride)
}

/// Returns true for a message in words. Those of values, as `{:?}` writes them, have braces, parentheses around quotes,
/// and names of types.
fn is_plain(message: &str) -> bool {
    !["{", "::", "(\"", "Some(", "Error", "Mismatch", "Invalid"].iter().any(|sign| message.contains(sign))
}

#[derive(Default)]
struct Counts {
    flips: u64,
    cuts: u64,
    removals: u64,
    found: u64,
    harmless: u64,
    bad: u64,
}

fn suite() -> ExitCode {
    let cases = match std::env::var("GEMEL_CORRUPTIONS").ok().map(|cases| cases.parse().unwrap()) {
        None => 120,
        Some(1) => usize::MAX,
        Some(cases) => cases,
    };
    std::panic::set_hook(Box::new(|panic| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        eprintln!("{panic}");
    }));
    let mut counts = Counts::default();
    for log in [LogMode::Shared, LogMode::PerEngine] {
        let directory = directory();
        let closed = Closed::new(directory.path(), log);
        // Half of the cases are in each database. Each file has flips, cuts and one removal.
        let most = (cases / 4 / closed.files().len()).max(1);
        for (path, bytes) in closed.files() {
            let flips = places(bytes.len() * 8, most).map(|bit| Damage::Flip { bit });
            let cuts = places(bytes.len(), most).map(|to| Damage::Cut { to });
            for damage in flips.chain(cuts).chain([Damage::Remove]) {
                match damage {
                    Damage::Flip { .. } => counts.flips += 1,
                    Damage::Cut { .. } => counts.cuts += 1,
                    _ => counts.removals += 1,
                }
                damage.apply(path);
                let panics = PANICS.load(Ordering::SeqCst);
                let read = catch_unwind(AssertUnwindSafe(|| closed.is_whole()));
                let panicked = PANICS.load(Ordering::SeqCst) > panics;
                let bad = match read {
                    _ if panicked => Some("a panic"),
                    Ok(Ok(true)) => {
                        counts.harmless += 1;
                        None
                    }
                    Ok(Ok(false)) => Some("missing or wrong rows"),
                    Ok(Err(error)) => {
                        counts.found += 1;
                        (!is_plain(&error.to_string())).then_some("a message that shows a program's value")
                    }
                    Err(_) => Some("a panic"),
                };
                if let Some(bad) = bad {
                    counts.bad += 1;
                    let name = path.strip_prefix(directory.path()).unwrap().display();
                    eprintln!("{log:?}: {damage:?} of {name} ({} bytes): {bad}", bytes.len());
                }
                closed.restore();
            }
        }
        assert!(closed.is_whole().unwrap(), "the files were not restored");
    }
    let Counts { flips, cuts, removals, found, harmless, bad } = counts;
    println!(
        "{flips} bits flipped, {cuts} files cut, {removals} files removed: {found} found, {harmless} harmless, {bad} \
         accepted with wrong rows, reported in no words, or panicked"
    );
    if bad == 0 && found > harmless { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn main() -> ExitCode {
    alone::run(NAME, suite)
}
