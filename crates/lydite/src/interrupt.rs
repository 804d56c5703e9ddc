//! Ctrl-C: once ends cleanly, twice ends at once.

use lydite_bench::RunControl;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often the flag is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Makes a write beyond the largest file that is allowed (`ulimit -f`) fail as one on a full disk does, instead of
/// ending the process without a word.
pub(crate) fn survive_file_limits() -> std::io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(|_| ())
}

/// Whether whoever started the program wants it to go on when the terminal is closed (`nohup`).
fn ignores(signal: i32) -> bool {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action sigaction only writes the present one, for which there is room; all zeros is a valid one.
    let now = unsafe {
        if libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) != 0 {
            return false;
        }
        now.assume_init()
    };
    now.sa_sigaction == libc::SIG_IGN
}

/// Watches for SIGINT, SIGTERM and, unless it is ignored, SIGHUP.
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to watch.
    pub(crate) fn watch() -> std::io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let hangup = (!ignores(SIGHUP)).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
            // In this order: the first signal finds the flag unset, and the second one ends the process.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Self { asked })
    }

    /// Whether the user wants to stop.
    pub(crate) fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Does `work`, telling `control` to stop when the user wants to.
    pub(crate) fn during<T>(&self, control: &RunControl, work: impl FnOnce() -> T) -> T {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if self.asked() {
                        control.stop();
                        return;
                    }
                    thread::sleep(LOOK);
                }
            });
            let result = work();
            done.store(true, Ordering::Relaxed);
            result
        })
    }
}
