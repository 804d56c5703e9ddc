//! Processes of servers: start for the life of this process, state, and end.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time for a server to start or to end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// A server process that may run, and its log file.
pub(crate) struct Running {
    /// Name of the server in messages.
    name: &'static str,
    log: PathBuf,
    process: Mutex<Option<Child>>,
}

impl Running {
    /// Returns a server that does not run yet.
    pub(crate) fn new(name: &'static str, log: PathBuf) -> Self {
        Self { name, log, process: Mutex::new(None) }
    }

    fn process(&self) -> MutexGuard<'_, Option<Child>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the server and waits until `answers`. `last` is the signal that it gets when this process dies.
    pub(crate) fn start(&self, mut command: Command, last: i32, answers: impl Fn() -> bool) {
        let mut process = self.process();
        assert!(process.is_none(), "{} is running", self.name);
        let log = fs::OpenOptions::new().create(true).append(true).open(&self.log).expect("a log file");
        command
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log file"))
            .stderr(log);
        *process = Some(spawn_for_life(command, last));
        drop(process);
        let begin = Instant::now();
        loop {
            // Without this check, another server on the same port could answer.
            let ended = self.process().as_mut().map(Child::try_wait);
            assert!(matches!(ended, Some(Ok(None))), "{} ended: {}", self.name, self.log());
            if answers() {
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "{} did not start: {}", self.name, self.log());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the server's log.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Returns the number of the server's process, which must run.
    pub(crate) fn id(&self) -> u32 {
        self.process().as_ref().expect("a running server").id()
    }

    /// True if the server was started, has not ended, and is not frozen.
    pub(crate) fn is_running(&self) -> bool {
        self.process()
            .as_ref()
            .is_some_and(|child| matches!(state(child.id()), Some(state) if !"ZTX".contains(state)))
    }

    /// Sends a signal to the server and each of its processes without waiting (SIGSTOP, SIGCONT).
    pub(crate) fn signal(&self, signal: i32) {
        let parent = self.id();
        for id in children(parent).into_iter().chain([parent]) {
            send(id, signal);
        }
    }

    /// Ends the server by a signal, if it runs, and waits for it. With SIGKILL all its processes end at once.
    pub(crate) fn end(&self, signal: i32) {
        let Some(mut child) = self.process().take() else { return };
        let family = children(child.id());
        send(child.id(), signal);
        if signal == libc::SIGKILL {
            family.iter().for_each(|id| send(*id, libc::SIGKILL));
        }
        let begin = Instant::now();
        // Waiting reaps the process: while it is a zombie, the next server sees its file locks as held.
        while child.try_wait().expect("the server's state").is_none() {
            if begin.elapsed() > PATIENCE {
                send(child.id(), libc::SIGKILL);
            }
            thread::sleep(Duration::from_millis(10));
        }
        // The next server finds the old shared memory in use until the last of these processes is gone.
        while family.iter().any(|id| alive(*id)) && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends the server when it is dropped, and prints its log if a test has failed.
    pub(crate) fn abandon(&self) {
        self.end(libc::SIGKILL);
        if thread::panicking() {
            eprintln!("what {} said:\n{}", self.name, self.log());
        }
    }
}

/// Returns the user that the tests run as.
pub(crate) fn own_user() -> u32 {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() }
}

/// Returns the user and group of a server when the tests run as root; none otherwise.
pub(crate) fn unprivileged(user: &str) -> Option<(u32, u32)> {
    if own_user() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("/etc/passwd");
    let line = users.lines().find(|line| line.split(':').next() == Some(user));
    let fields: Vec<&str> =
        line.expect("the server's user: scripts/install-test-deps.sh makes it").split(':').collect();
    Some((fields[2].parse().expect("a user's number"), fields[3].parse().expect("a group's number")))
}

/// Ends the server in `directory` at the exit of this process and deletes its data, unless this is done by then: a
/// static is never dropped. The number of the server's process is on the first line of `pid_file` below `directory`.
pub(crate) fn clean_up_at_exit(directory: &Path, pid_file: &'static str) {
    static DIRECTORIES: Mutex<Vec<(PathBuf, &str)>> = Mutex::new(Vec::new());
    extern "C" fn clean_up() {
        let directories = std::mem::take(&mut *DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner));
        for (directory, pid_file) in directories.iter().filter(|(directory, _)| directory.exists()) {
            let id = fs::read_to_string(directory.join(pid_file))
                .ok()
                .and_then(|file| file.lines().next()?.parse().ok());
            // A killed server may leave a file with the number of a process that belongs to others.
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
            // If the deletion fails, the next reboot clears the directory for temporary files.
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

/// Starts a program that gets the signal `last` when this process dies. The kernel watches the starting thread, so that
/// thread must live on.
pub(crate) fn spawn_for_life(mut command: Command, last: i32) -> Child {
    // SAFETY: prctl and getppid are async-signal-safe, and nothing else is done between fork and exec.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, last);
            Ok(())
        });
    }
    type Order = (Command, mpsc::Sender<Child>);
    // One starting thread for each mount namespace: a thread inherits it from its creator, and servers inherit it from
    // the thread.
    static STARTERS: Mutex<BTreeMap<PathBuf, mpsc::Sender<Order>>> = Mutex::new(BTreeMap::new());
    let view = fs::read_link("/proc/thread-self/ns/mnt").expect("this thread's view");
    let mut starters = STARTERS.lock().unwrap();
    let starter = starters.entry(view).or_insert_with(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        thread::spawn(move || {
            for (mut command, answer) in inbox {
                let child = command.spawn().expect("the server's program");
                // The test that ordered the start may have panicked meanwhile.
                let _nobody_waits = answer.send(child);
            }
        });
        orders
    });
    let (answer, child) = mpsc::channel();
    starter.send((command, answer)).expect("the starting thread");
    drop(starters);
    child.recv().expect("the server's process")
}

/// Returns the child processes of a process.
fn children(parent: u32) -> Vec<u32> {
    fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|id| id.parse().ok())
        .collect()
}

/// Returns the kernel's status of a process after its name, if the process exists.
fn status(id: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.to_string())
}

/// Returns the state of a process as one letter (Z is a zombie, T is stopped).
fn state(id: u32) -> Option<char> {
    status(id)?.chars().next()
}

/// Returns the parent of a process.
fn parent(id: u32) -> Option<u32> {
    status(id)?.split(' ').nth(1)?.parse().ok()
}

/// True if a process exists and is no zombie.
fn alive(id: u32) -> bool {
    state(id).is_some_and(|state| state != 'Z')
}

/// Sends a signal.
pub(crate) fn send(id: u32, signal: i32) {
    // SAFETY: kill has no memory preconditions; the id is of a process that this module started.
    unsafe {
        libc::kill(id as i32, signal);
    }
}
