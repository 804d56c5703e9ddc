//! Resource use of this process, and timers, from the operating system. The only unsafe code of this crate.

use crate::clock::{Clock, Nanos};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::time::Duration;

/// Resources that this process has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Processor time, user and system, of all threads.
    pub(crate) cpu: Duration,
    /// Peak of the resident memory, in bytes.
    pub(crate) peak_rss_bytes: u64,
}

/// Returns the resources that this process has used so far; zeros if the system does not report them.
pub(crate) fn usage() -> Usage {
    let usage = resources(libc::RUSAGE_SELF);
    let unit = if cfg!(target_os = "macos") { 1 } else { 1_024 };
    let peak_rss_bytes = peak_rss_bytes().unwrap_or(usage.ru_maxrss.unsigned_abs() * unit);
    Usage { cpu: processor_time(&usage), peak_rss_bytes }
}

/// Returns the peak of memory from Linux's `/proc`. On Linux `ru_maxrss` begins with the memory of the program that
/// started this one.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1_024)
}

fn resources(whose: libc::c_int) -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage writes a whole rusage to the pointer, which is valid for it; all zeros is a valid rusage
    // too, if it should fail.
    unsafe {
        libc::getrusage(whose, usage.as_mut_ptr());
        usage.assume_init()
    }
}

fn processor_time(usage: &libc::rusage) -> Duration {
    let time = |time: libc::timeval| {
        // Microseconds have another type on other systems.
        Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Returns the processor time of this process's descendants, both ended and running ones. `None` if it has none, or if
/// the system does not report them (it needs Linux's `/proc`).
pub(crate) fn descendants_cpu() -> Option<Duration> {
    // SAFETY: sysconf takes a number and changes nothing.
    let ticks = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|ticks| *ticks > 0)?;
    let stats: Vec<Stat> =
        std::fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| stat(&entry)).collect();
    let mut family = vec![std::process::id()];
    let mut spent = 0;
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        for child in stats.iter().filter(|stat| stat.parent == parent) {
            spent += child.ticks;
            family.push(child.id);
        }
        next += 1;
    }
    let ended = processor_time(&resources(libc::RUSAGE_CHILDREN));
    (next > 1 || !ended.is_zero()).then(|| ended + Duration::from_millis(spent * 1_000 / ticks))
}

/// A process, from `/proc/ID/stat`.
struct Stat {
    id: u32,
    parent: u32,
    /// Ticks of the process and of its children that have ended.
    ticks: u64,
}

fn stat(entry: &std::fs::DirEntry) -> Option<Stat> {
    let id = entry.file_name().to_str()?.parse().ok()?;
    let text = std::fs::read_to_string(entry.path().join("stat")).ok()?;
    // The name in parentheses may contain any character. The fields from the third on follow it.
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = fields.get(11..15)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(Stat { id, parent: fields.get(1)?.parse().ok()?, ticks })
}

/// Makes this thread's sleeps end within microseconds of their time. By default Linux adds 50 µs.
pub(crate) fn precise_timers() {
    #[cfg(target_os = "linux")]
    // SAFETY: PR_SET_TIMERSLACK takes a number and changes nothing but the calling thread's timers.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_000 as libc::c_ulong);
    }
}

/// Slice of a thread that has to run as soon as it wakes: the shortest that Linux grants.
const SHORT_SLICE: Duration = Duration::from_micros(100);

/// Lets this thread run as soon as it wakes, also if busy threads hold all processors, until the result is dropped.
///
/// By default it waits until one of them has used up its slice, which takes milliseconds. From Linux 6.12 on, a thread
/// with a shorter slice goes first; it needs no privilege. Elsewhere this does nothing.
pub(crate) fn prompt_wakeups() -> PromptWakeups {
    PromptWakeups { before: set_slice(SHORT_SLICE), of_this_thread: PhantomData }
}

/// Keeps the wake-ups of a thread prompt.
pub(crate) struct PromptWakeups {
    /// The thread's slice before; `None` if it was not changed.
    before: Option<Duration>,
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for PromptWakeups {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            set_slice(before);
        }
    }
}

/// Sets the slice of this thread, and returns the one before. `None` if the system has no slices of threads, or if the
/// thread's policy is not `SCHED_OTHER`.
#[cfg(target_os = "linux")]
fn set_slice(slice: Duration) -> Option<Duration> {
    let mut attributes = scheduling()?;
    let before = Duration::from_nanos(attributes.sched_runtime);
    attributes.sched_runtime = slice.as_nanos() as u64;
    // SAFETY: sched_setattr reads the attributes, which are initialized. Thread 0 is the calling one.
    let set = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    (set == 0).then_some(before)
}

/// Returns the scheduling attributes of this thread. `None` if its policy is not `SCHED_OTHER`, or if Linux is older
/// than 6.12 and reports no slice.
#[cfg(target_os = "linux")]
fn scheduling() -> Option<libc::sched_attr> {
    let mut attributes = MaybeUninit::<libc::sched_attr>::zeroed();
    let size = size_of::<libc::sched_attr>() as libc::c_uint;
    // SAFETY: sched_getattr writes at most `size` bytes to the pointer, which is valid for them; all zeros are valid
    // attributes too. Thread 0 is the calling one.
    let attributes = unsafe {
        let done = libc::syscall(libc::SYS_sched_getattr, 0, attributes.as_mut_ptr(), size, 0) == 0;
        done.then(|| attributes.assume_init())?
    };
    (attributes.sched_policy == libc::SCHED_OTHER as u32 && attributes.sched_runtime > 0)
        .then_some(attributes)
}

#[cfg(not(target_os = "linux"))]
fn set_slice(_: Duration) -> Option<Duration> {
    None
}

/// Time before the target at which sleeping stops and spinning begins. A sleep never ends early and, with precise
/// timers, seldom ends later than this.
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
    fn time_of_processes_that_were_started_counts_while_they_run_and_after() {
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let begun = std::time::Instant::now();
        while descendants_cpu().is_none_or(|cpu| cpu < Duration::from_millis(50)) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", descendants_cpu());
            std::thread::sleep(Duration::from_millis(10));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            descendants_cpu().is_some_and(|cpu| cpu >= Duration::from_millis(50)),
            "{:?}",
            descendants_cpu()
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn wake_ups_are_prompt_while_asked_for() {
        let slice = || Some(scheduling()?.sched_runtime);
        let before = slice();
        let prompt = prompt_wakeups();
        assert_eq!(slice(), before.map(|_| SHORT_SLICE.as_nanos() as u64));
        drop(prompt);
        assert_eq!(slice(), before);
    }

    #[test]
    fn usage_is_known() {
        let usage = usage();
        assert!(usage.peak_rss_bytes > 100_000, "{usage:?}");
    }
}
