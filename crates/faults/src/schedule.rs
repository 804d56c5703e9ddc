//! The priority and the processors of a process, for the process that replaces it.

use crate::process::{Fields, ProcessId};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::thread;

/// Priority and processors of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Schedule {
    /// Scheduling policy, as `SCHED_OTHER`.
    policy: i32,
    /// Priority of a real-time policy.
    real_time: i32,
    /// Nice value.
    nice: i32,
    /// Numbers of the processors that it may use.
    processors: Vec<usize>,
}

impl Schedule {
    /// Reads that of a process.
    ///
    /// # Errors
    /// It has ended, or the system does not report it.
    pub(crate) fn of(process: ProcessId) -> io::Result<Self> {
        let pid = libc::pid_t::try_from(process.pid).map_err(io::Error::other)?;
        Self::read(&format!("/proc/{pid}/stat"), pid)
    }

    fn read(stat: &str, pid: libc::pid_t) -> io::Result<Self> {
        let text = fs::read_to_string(stat)?;
        let fields = Fields::of(&text);
        let (Some(nice), Some(real_time), Some(policy)) = (fields.get(19), fields.get(40), fields.get(41))
        else {
            return Err(io::Error::other(format!("{stat} can't be read")));
        };
        // SAFETY: an all-zero set is a valid value of this plain struct.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set outlives the call, which gets its size.
        if unsafe { libc::sched_getaffinity(pid, size_of::<libc::cpu_set_t>(), &raw mut set) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let all = 0..usize::try_from(libc::CPU_SETSIZE).map_err(io::Error::other)?;
        // SAFETY: the numbers are below the size of the set.
        let processors = all.filter(|number| unsafe { libc::CPU_ISSET(*number, &set) }).collect();
        Ok(Self { policy, real_time, nice, processors })
    }

    /// Does `work` on a thread with this priority and these processors. The processes that it starts inherit them.
    ///
    /// # Errors
    /// This user may not have them, or there is no thread.
    pub(crate) fn during<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let start = || self.apply().map(|()| work());
            let thread = thread::Builder::new().name("start".into()).spawn_scoped(scope, start)?;
            thread.join().unwrap_or_else(|_| Err(io::Error::other("its thread panicked")))
        })
    }

    /// Gives them to this thread.
    fn apply(&self) -> io::Result<()> {
        let checked = |result: i32| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
        let own = Self::read("/proc/thread-self/stat", 0)?;
        if (own.policy, own.real_time) != (self.policy, self.real_time) {
            let parameter = libc::sched_param { sched_priority: self.real_time };
            // SAFETY: the parameter outlives the call.
            checked(unsafe { libc::sched_setscheduler(0, self.policy, &raw const parameter) })?;
        }
        if own.nice != self.nice {
            // SAFETY: setpriority has no memory preconditions. On Linux 0 is the calling thread.
            checked(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, self.nice) })?;
        }
        if own.processors != self.processors {
            // SAFETY: an all-zero set is a valid value of this plain struct.
            let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            // SAFETY: the numbers were read from such a set, and are below its size.
            self.processors.iter().for_each(|number| unsafe { libc::CPU_SET(*number, &mut set) });
            // SAFETY: the set outlives the call, which gets its size.
            checked(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_gets_another_priority_and_processor_than_this_one() {
        let own = Schedule::of(ProcessId::own().unwrap()).unwrap();
        // Less than this process has, which any user may ask for.
        let less = Schedule { nice: 19, processors: own.processors[..1].to_vec(), ..own.clone() };
        let mut child = less.during(|| Command::new("sleep").arg("60").spawn()).unwrap().unwrap();
        let found = Schedule::of(ProcessId::of(child.id()).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found.unwrap(), less);
        assert_eq!(Schedule::of(ProcessId::own().unwrap()).unwrap(), own);
        let none = Schedule { processors: Vec::new(), ..own };
        assert!(none.during(|| panic!("it must not be started")).is_err());
    }
}
