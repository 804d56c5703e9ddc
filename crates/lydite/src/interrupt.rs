//! Ctrl-C: the first one ends a command cleanly, the second one at once. Also prints the reports of waits for servers.

use crate::exit::Failure;
use crate::memory;
use crate::output::{complain, eprint};
use lydite_bench::RunControl;
use lydite_database::Waiter;
use lydite_families::TargetSpec;
use lydite_report::live::Style;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Time between two reads of the flag.
const LOOK: Duration = Duration::from_millis(20);

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

/// Watches for SIGINT, SIGTERM and, unless it is ignored, SIGHUP.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    style: Style,
    view: Arc<Mutex<View>>,
}

/// The live view in the terminal during a wait for a server.
#[derive(Debug, PartialEq, Eq)]
enum View {
    /// No view: lines go to the standard error.
    Nothing,
    /// A load's view. It shows the current step itself, so it takes only lines about silent servers.
    Load(Vec<String>),
    /// A run's view, which reports outages itself.
    Run,
}

impl Waiter for Interrupt {
    fn has_enough(&self) -> bool {
        self.asked()
    }

    fn tell(&self, line: &str, alive: bool) {
        match &mut *self.view() {
            View::Load(lines) if !alive => lines.push(line.to_owned()),
            View::Load(_) | View::Run => {}
            View::Nothing => match self.style {
                Style::Quiet => {}
                Style::Plain => eprint(&format!("{line}\n")),
                // Overwrites the line that counts conditions.
                Style::Live => eprint(&format!("\r\x1b[K{line}\n")),
            },
        }
    }
}

impl Interrupt {
    /// Begins to watch.
    pub(crate) fn watch(style: Style) -> std::io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let hangup = (!ignores(SIGHUP)).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
            // In this order the first signal only sets the flag, and the second one ends the process.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Self { asked, style, view: Arc::new(Mutex::new(View::Nothing)) })
    }

    /// Returns a waiter for targets.
    pub(crate) fn waiter(&self) -> Arc<dyn Waiter> {
        Arc::new(self.clone())
    }

    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `work` while the terminal shows the view of a load, which takes lines from [`Interrupt::take_lines`].
    pub(crate) fn while_loading<T>(&self, work: impl FnOnce() -> T) -> T {
        self.beside(View::Load(Vec::new()), work)
    }

    /// Does `work` while the terminal shows the view of a run.
    pub(crate) fn while_measuring<T>(&self, work: impl FnOnce() -> T) -> T {
        self.beside(View::Run, work)
    }

    fn beside<T>(&self, view: View, work: impl FnOnce() -> T) -> T {
        *self.view() = view;
        let result = work();
        *self.view() = View::Nothing;
        result
    }

    /// Removes and returns the lines about silent servers for the view of a load.
    pub(crate) fn take_lines(&self) -> Vec<String> {
        match &mut *self.view() {
            View::Load(lines) => std::mem::take(lines),
            View::Nothing | View::Run => Vec::new(),
        }
    }

    /// Returns true if the user has asked to stop.
    pub(crate) fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Does `work`, and stops `control` when the user asks to stop.
    pub(crate) fn during<T>(&self, control: &RunControl, work: impl FnOnce() -> T) -> T {
        self.when_asked(&|| control.stop(), work)
    }

    /// Does `work`, and says `words` when the user asks to stop.
    pub(crate) fn saying<T>(&self, words: &str, work: impl FnOnce() -> T) -> T {
        // Who asked before has read something else.
        if self.asked() { work() } else { self.when_asked(&|| complain(words), work) }
    }

    /// Does `work`, and `act` when the user asks to stop.
    fn when_asked<T>(&self, act: &(dyn Fn() + Sync), work: impl FnOnce() -> T) -> T {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            // The thread ends too if the work panics.
            let _done = SetOnDrop(&done);
            let watching = thread::Builder::new().spawn_scoped(scope, || {
                while !done.load(Ordering::Relaxed) {
                    if self.asked() {
                        act();
                        return;
                    }
                    thread::sleep(LOOK);
                }
            });
            if let Err(error) = watching {
                complain(&format!(
                    "the system gives no thread to watch for Ctrl-C ({error}): press it twice to end"
                ));
            }
            work()
        })
    }
}

/// Sets a flag when it is dropped.
pub(crate) struct SetOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Begins to watch for Ctrl-C if the target has a server, so that waits for it are reported and can be ended. A
/// database within this process ends with the process.
pub(crate) fn watched(spec: TargetSpec, style: Style) -> Result<(TargetSpec, Option<Interrupt>), Failure> {
    if !spec.has_server() {
        return Ok((spec, None));
    }
    memory::suit(&spec);
    let interrupt = watch(style)?;
    Ok((spec.waited_for_by(interrupt.waiter()), Some(interrupt)))
}

/// Begins to watch for Ctrl-C.
pub(crate) fn watch(style: Style) -> Result<Interrupt, Failure> {
    Interrupt::watch(style).map_err(|error| Failure::usage(format!("signals can't be watched: {error}")))
}
