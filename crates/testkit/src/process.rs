//! The processes of servers: started for the life of this one, looked at, and ended.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take to start or to end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// A server that runs or not, and the file that its words go to.
pub(crate) struct Running {
    /// Its name for people.
    name: &'static str,
    log: PathBuf,
    process: Mutex<Option<Child>>,
}

impl Running {
    /// One that does not run yet.
    pub(crate) fn new(name: &'static str, log: PathBuf) -> Self {
        Self { name, log, process: Mutex::new(None) }
    }

    fn process(&self) -> MutexGuard<'_, Option<Child>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts it and waits until `answers`. `last`: the signal that it gets when this process dies.
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
            // Else somebody else's server on the same port would pass for ours.
            let ended = self.process().as_mut().map(Child::try_wait);
            assert!(matches!(ended, Some(Ok(None))), "{} ended: {}", self.name, self.log());
            if answers() {
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "{} did not start: {}", self.name, self.log());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// What it has written.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The number of its process, which must run.
    pub(crate) fn id(&self) -> u32 {
        self.process().as_ref().expect("a running server").id()
    }

    /// Whether it has been started, has not ended, and is not frozen.
    pub(crate) fn is_running(&self) -> bool {
        self.process()
            .as_ref()
            .is_some_and(|child| matches!(state(child.id()), Some(state) if !"ZTX".contains(state)))
    }

    /// Sends a signal to it and each of its processes without waiting (SIGSTOP, SIGCONT).
    pub(crate) fn signal(&self, signal: i32) {
        let parent = self.id();
        for id in children(parent).into_iter().chain([parent]) {
            send(id, signal);
        }
    }

    /// Ends it by a signal, if it runs, and waits for it. By SIGKILL all its processes go at once.
    pub(crate) fn end(&self, signal: i32) {
        let Some(mut child) = self.process().take() else { return };
        let family = children(child.id());
        send(child.id(), signal);
        if signal == libc::SIGKILL {
            family.iter().for_each(|id| send(*id, libc::SIGKILL));
        }
        let begin = Instant::now();
        // Waiting reaps it: a server that is only a zombie still holds its files' locks in the eyes of the next one.
        while child.try_wait().expect("the server's state").is_none() {
            if begin.elapsed() > PATIENCE {
                send(child.id(), libc::SIGKILL);
            }
            thread::sleep(Duration::from_millis(10));
        }
        // The next server finds the old one's shared memory in use until the last of its processes is gone.
        while family.iter().any(|id| alive(*id)) && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// For who drops it: its data are thrown away, and its words told if a test has failed.
    pub(crate) fn abandon(&self) {
        self.end(libc::SIGKILL);
        if thread::panicking() {
            eprintln!("what {} said:\n{}", self.name, self.log());
        }
    }
}

/// The user that the tests run as.
pub(crate) fn own_user() -> u32 {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() }
}

/// User and group that a server runs as when the tests run as root; none when they do not.
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
    // One for each view of the file systems: a thread has that of the one which began it, and so have the servers.
    static STARTERS: Mutex<BTreeMap<PathBuf, mpsc::Sender<Order>>> = Mutex::new(BTreeMap::new());
    let view = fs::read_link("/proc/thread-self/ns/mnt").expect("this thread's view");
    let mut starters = STARTERS.lock().unwrap();
    let starter = starters.entry(view).or_insert_with(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        thread::spawn(move || {
            for (mut command, answer) in inbox {
                let child = command.spawn().expect("the server's program");
                // The test that asked may have panicked meanwhile.
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

/// The processes that a process started.
fn children(parent: u32) -> Vec<u32> {
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
fn state(id: u32) -> Option<char> {
    status(id)?.chars().next()
}

/// The parent of a process.
fn parent(id: u32) -> Option<u32> {
    status(id)?.split(' ').nth(1)?.parse().ok()
}

/// Whether a process is there and no zombie.
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
