//! The thread that starts drivers.
//!
//! A driver asks the kernel to be killed when its parent goes, so that none is left behind when Lydite is killed. For the
//! kernel the parent is the thread that started it, and sessions come and go with their threads: so all are started by
//! one thread, which lives as long as the process.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{Sender, channel};

type Job = (Command, Sender<io::Result<Child>>);

static SPAWNER: Mutex<Option<Sender<Job>>> = Mutex::new(None);

/// Starts a program in a process group of its own that dies with this process.
pub(super) fn spawn(mut command: Command) -> io::Result<Child> {
    // A group of its own: Ctrl-C in the terminal is Lydite's to handle, and whatever the program starts ends with it.
    command.process_group(0);
    die_with_parent(&mut command);
    let (answer, answered) = channel();
    {
        let mut spawner = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match &*spawner {
            Some(sender) => sender.clone(),
            None => {
                let (sender, jobs) = channel::<Job>();
                std::thread::Builder::new().name("drivers".into()).spawn(move || {
                    for (mut command, answer) in jobs {
                        // Nobody may be waiting any more; the child then ends by its closed input.
                        let _heard = answer.send(command.spawn());
                    }
                })?;
                *spawner = Some(sender.clone());
                sender
            }
        };
        sender
            .send((command, answer))
            .map_err(|_| io::Error::other("the thread that starts drivers is gone"))?;
    }
    answered.recv().map_err(|_| io::Error::other("the thread that starts drivers is gone"))?
}

#[cfg(target_os = "linux")]
fn die_with_parent(command: &mut Command) {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only two system calls are made, both async-signal-safe, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have gone just before.
            if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::NotConnected.into()) }
        });
    }
}

/// Elsewhere a driver ends by its closed input.
#[cfg(not(target_os = "linux"))]
fn die_with_parent(_command: &mut Command) {}
