//! Signals: the first Ctrl-C ends a command cleanly, the second one at once.

use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_console::memory;
use lydite_console::target::announce;
use lydite_families::TargetSpec;
use lydite_report::live::Style;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Makes a write beyond the limit on file sizes (`ulimit -f`) fail like one on a full disk. By default it ends the
/// process silently.
pub(crate) fn survive_file_limits() -> std::io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(|_| ())
}

/// Makes the process go on at SIGHUP, SIGINT and SIGTERM.
pub(crate) fn survive_ends() -> std::io::Result<()> {
    [SIGHUP, SIGINT, SIGTERM]
        .into_iter()
        .try_for_each(|signal| flag::register(signal, Arc::default()).map(drop))
}

/// Returns a stream that can be read once SIGTERM has come, which then does not end the process.
pub(crate) fn readable_at_end() -> std::io::Result<UnixStream> {
    let (stop, stops) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(SIGTERM, stops)?;
    Ok(stop)
}

/// Returns true if the parent process made this one ignore the signal, as `nohup` does for SIGHUP.
fn ignores(signal: i32) -> bool {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action sigaction only writes the present one into `now`; all zeros are a valid action.
    let now = unsafe {
        if libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) != 0 {
            return false;
        }
        now.assume_init()
    };
    now.sa_sigaction == libc::SIG_IGN
}

/// Begins to watch for SIGINT, SIGTERM and, unless it is ignored, SIGHUP.
fn register(asked: &Arc<AtomicBool>) -> std::io::Result<()> {
    let hangup = (!ignores(SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        // In this order the first signal only sets the flag, and the second one ends the process.
        flag::register_conditional_shutdown(signal, 130, Arc::clone(asked))?;
        flag::register(signal, Arc::clone(asked))?;
    }
    Ok(())
}

/// Says what was understood of the target, and begins to watch for Ctrl-C if it has a server, so that waits for it are
/// reported and can be ended. A database within this process ends with the process.
pub(crate) fn watched(spec: TargetSpec, style: Style) -> Result<(TargetSpec, Option<Interrupt>), Failure> {
    if style != Style::Quiet {
        announce(&spec);
    }
    if !spec.has_server() {
        return Ok((spec, None));
    }
    memory::suit(&spec);
    let interrupt = watch(style)?;
    Ok((spec.waited_for_by(interrupt.waiter()), Some(interrupt)))
}

/// Begins to watch for Ctrl-C.
pub(crate) fn watch(style: Style) -> Result<Interrupt, Failure> {
    let asked = Arc::new(AtomicBool::new(false));
    register(&asked).map_err(|error| Failure::usage(format!("signals can't be watched: {error}")))?;
    Ok(Interrupt::new(asked, style))
}
