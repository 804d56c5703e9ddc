//! The thread that starts drivers.
//!
//! A driver asks the kernel to kill it when its parent ends, so no driver outlives a killed Lydite. For the kernel the
//! parent is the thread that started the driver. Threads of sessions come and go, so one thread that lives as long as
//! the process starts all drivers.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{Sender, channel};

type Job = (Command, Sender<io::Result<Child>>);

static SPAWNER: Mutex<Option<Sender<Job>>> = Mutex::new(None);

/// Starts a program in a process group of its own. The program dies with this process.
pub(super) fn spawn(mut command: Command) -> io::Result<Child> {
    // A group of its own, because Lydite handles Ctrl-C in the terminal, and because the programs that a driver starts
    // must end with it.
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
                        // The caller may have ended. The child then ends because its input is closed.
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
            // The parent may have ended just before.
            if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::NotConnected.into()) }
        });
    }
}

/// On other systems a driver ends when its input is closed.
#[cfg(not(target_os = "linux"))]
fn die_with_parent(_command: &mut Command) {}
