//! The processes of servers: started for the life of this one, looked at, and ended.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take to start or to end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// User and group that a server runs as when the tests run as root; none when they do not.
pub(crate) fn unprivileged(user: &str) -> Option<(u32, u32)> {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("/etc/passwd");
    let line = users.lines().find(|line| line.split(':').next() == Some(user));
    let fields: Vec<&str> =
        line.expect("the server's user: scripts/install-test-deps.sh makes it").split(':').collect();
    Some((fields[2].parse().expect("a user's number"), fields[3].parse().expect("a group's number")))
}

/// Ends the server in `directory` with this process and deletes its data, if that has not been done by then: what is
/// kept in a static is never dropped. The server's process is on the first line of `pid_file` below `directory`.
pub(crate) fn clean_up_at_exit(directory: &Path, pid_file: &'static str) {
    static DIRECTORIES: Mutex<Vec<(PathBuf, &str)>> = Mutex::new(Vec::new());
    extern "C" fn clean_up() {
        let directories = std::mem::take(&mut *DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner));
        for (directory, pid_file) in directories.iter().filter(|(directory, _)| directory.exists()) {
            let id = fs::read_to_string(directory.join(pid_file))
                .ok()
                .and_then(|file| file.lines().next()?.parse().ok());
            // A file that a killed server left behind names a process that is not ours.
            if let Some(server) = id.filter(|&id| parent(id) == Some(std::process::id())) {
                let family = children(server);
                for &id in family.iter().chain([&server]) {
                    send(id, libc::SIGKILL);
                }
                let begin = Instant::now();
                while family.iter().chain([&server]).any(|&id| alive(id)) && begin.elapsed() < PATIENCE {
                    thread::sleep(Duration::from_millis(10));
                }
            }
            // Whatever stands in the way, the next reboot clears the directory for temporary files.
            let _cleared = fs::remove_dir_all(directory);
        }
    }
    let mut directories = DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner);
    if directories.is_empty() {
        // SAFETY: the function is `extern "C"`, takes nothing and does not unwind: it uses no other static than its
        // own, and files.
        unsafe { libc::atexit(clean_up) };
    }
    directories.push((directory.to_path_buf(), pid_file));
}

/// Starts a program that gets the signal `last` when this process dies. The kernel watches the starting thread, so that one must live on.
pub(crate) fn spawn_for_life(mut command: Command, last: i32) -> Child {
    // SAFETY: prctl and getppid are async-signal-safe, and nothing else is done between fork and exec.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, last);
            Ok(())
        });
    }
    type Order = (Command, mpsc::Sender<Child>);
    static STARTER: OnceLock<Mutex<mpsc::Sender<Order>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        thread::spawn(move || {
            for (mut command, answer) in inbox {
                let child = command.spawn().expect("the server's program");
                // The test that asked may have panicked meanwhile.
                let _nobody_waits = answer.send(child);
            }
        });
        Mutex::new(orders)
    });
    let (answer, child) = mpsc::channel();
    starter.lock().unwrap().send((command, answer)).expect("the starting thread");
    child.recv().expect("the server's process")
}

/// The processes that a process started.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|id| id.parse().ok())
        .collect()
}

/// What the kernel says of a process behind its name, if there is such a process.
fn status(id: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.to_string())
}

/// The state of a process by one letter (Z is a zombie, T is stopped).
pub(crate) fn state(id: u32) -> Option<char> {
    status(id)?.chars().next()
}

/// The parent of a process.
fn parent(id: u32) -> Option<u32> {
    status(id)?.split(' ').nth(1)?.parse().ok()
}

/// Whether a process is there and no zombie.
pub(crate) fn alive(id: u32) -> bool {
    state(id).is_some_and(|state| state != 'Z')
}

/// Sends a signal.
pub(crate) fn send(id: u32, signal: i32) {
    // SAFETY: kill has no memory preconditions; the id is of a process that this module started.
    unsafe {
        libc::kill(id as i32, signal);
    }
}
