//! What the operating system knows of this process, and its timers. The only unsafe code of this crate.

use crate::clock::{Clock, Nanos};
use std::mem::MaybeUninit;
use std::time::Duration;

/// What this process has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Processor time, user and system, of all threads.
    pub(crate) cpu: Duration,
    /// The most memory that was resident at any time.
    pub(crate) peak_rss_bytes: u64,
}

/// What this process has used; zeros if the system does not tell.
pub(crate) fn usage() -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage writes a whole rusage to the pointer, which is valid for it; all zeros is a valid rusage
    // too, if it should fail.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let time = |time: libc::timeval| {
        // Microseconds are of another type on other systems.
        Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec as u64)
    };
    let unit = if cfg!(target_os = "macos") { 1 } else { 1_024 };
    Usage {
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        peak_rss_bytes: usage.ru_maxrss.unsigned_abs() * unit,
    }
}

/// Lets this thread's sleeps end within microseconds of their time; Linux would add 50 µs.
pub(crate) fn precise_timers() {
    #[cfg(target_os = "linux")]
    // SAFETY: PR_SET_TIMERSLACK takes a number and changes nothing but the calling thread's timers.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_000 as libc::c_ulong);
    }
}

/// Sleeping never ends early, and seldom later than this once timers are precise: the rest is spun.
const SPIN: Nanos = 20_000;

/// Waits until `at`: sleeps, then spins for the last microseconds.
pub(crate) fn wait_precisely(clock: &Clock, at: Nanos) {
    loop {
        let left = at.saturating_sub(clock.now());
        if left == 0 {
            return;
        }
        if left > SPIN {
            std::thread::sleep(Duration::from_nanos(left - SPIN));
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_never_ends_early() {
        precise_timers();
        let clock = Clock::start();
        for step in 1..20 {
            let at = clock.now() + step * 50_000;
            wait_precisely(&clock, at);
            assert!(clock.now() >= at);
        }
    }

    #[test]
    fn usage_is_known() {
        let usage = usage();
        assert!(usage.peak_rss_bytes > 100_000, "{usage:?}");
    }
}
