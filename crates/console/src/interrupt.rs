//! The user's request to stop, and lines that are printed while a command waits for a server.

use crate::output::{complain, eprint};
use lydite_bench::RunControl;
use lydite_database::Waiter;
use lydite_report::live::Style;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Time between two reads of the flag.
const LOOK: Duration = Duration::from_millis(20);

/// The user's request to stop (a flag), and the reports of waits for servers.
#[derive(Clone, Debug)]
pub struct Interrupt {
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

/// An interrupt that never happens and prints nothing.
impl Default for Interrupt {
    fn default() -> Self {
        Self::new(Arc::default(), Style::Quiet)
    }
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
    /// Returns an interrupt that comes when `asked` becomes true; the handler of signals sets it. `style` is the style of
    /// the reports.
    #[must_use]
    pub fn new(asked: Arc<AtomicBool>, style: Style) -> Self {
        Self { asked, style, view: Arc::new(Mutex::new(View::Nothing)) }
    }

    /// Returns a waiter for targets.
    pub fn waiter(&self) -> Arc<dyn Waiter> {
        Arc::new(self.clone())
    }

    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `work` while the terminal shows the view of a load, which takes lines from [`Interrupt::take_lines`].
    pub fn while_loading<T>(&self, work: impl FnOnce() -> T) -> T {
        self.beside(View::Load(Vec::new()), work)
    }

    /// Does `work` while the terminal shows the view of a run.
    pub fn while_measuring<T>(&self, work: impl FnOnce() -> T) -> T {
        self.beside(View::Run, work)
    }

    fn beside<T>(&self, view: View, work: impl FnOnce() -> T) -> T {
        *self.view() = view;
        let result = work();
        *self.view() = View::Nothing;
        result
    }

    /// Removes and returns the lines about silent servers for the view of a load.
    pub fn take_lines(&self) -> Vec<String> {
        match &mut *self.view() {
            View::Load(lines) => std::mem::take(lines),
            View::Nothing | View::Run => Vec::new(),
        }
    }

    /// Returns true if the user has asked to stop.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Does `work`, and stops `control` when the user asks to stop.
    pub fn during<T>(&self, control: &RunControl, work: impl FnOnce() -> T) -> T {
        self.when_asked(&|| control.stop(), work)
    }

    /// Does `work`, and says `words` when the user asks to stop.
    pub fn saying<T>(&self, words: &str, work: impl FnOnce() -> T) -> T {
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
pub struct SetOnDrop<'a>(pub &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
