//! Waiting for work of other threads.

use std::time::{Duration, Instant};

/// Maximum time to wait. Usually it takes some tenths of a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Calls `look` until `is_it` accepts the result, and returns that very result: another look could find something else.
#[track_caller]
pub(crate) fn wait_until<T>(
    look: impl Fn() -> T,
    is_it: impl Fn(&T) -> bool,
    problem: impl Fn(&T) -> String,
) -> T {
    let begun = Instant::now();
    loop {
        let found = look();
        if is_it(&found) {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{}", problem(&found));
        std::thread::sleep(Duration::from_millis(5));
    }
}
