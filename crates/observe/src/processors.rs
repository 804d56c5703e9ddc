//! Time of this machine's processors, from Linux's `/proc/stat`.

use crate::error::ObserveError;
use std::fs;

/// Time that this machine's processors have spent since its start, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processors {
    /// In programs, niced ones included.
    pub user: u64,
    /// In the kernel, for programs.
    pub system: u64,
    /// In the kernel, for devices.
    pub interrupts: u64,
    /// Idle.
    pub idle: u64,
    /// Idle, while the disk was at work.
    pub iowait: u64,
    /// Ready, while the host of this virtual machine ran others.
    pub steal: u64,
    /// Number of processors.
    pub count: u64,
}

/// Shares of the processors between two moments, as numbers of processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// At work, for whomever.
    pub busy: f64,
    /// Taken by the host of this virtual machine.
    pub steal: f64,
    /// All.
    pub all: f64,
}

impl Processors {
    /// Reads the present times.
    ///
    /// # Errors
    /// The system does not report them.
    pub fn now() -> Result<Self, ObserveError> {
        let path = "/proc/stat";
        let text = fs::read_to_string(path)
            .map_err(|error| ObserveError::Silent(format!("{path}: {error}: it needs Linux")))?;
        Self::parse(&text).ok_or_else(|| ObserveError::Silent(format!("{path} has no times of processors")))
    }

    /// Reads the first lines of `/proc/stat`. The time of guests is part of that in programs.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let first = lines.next()?.strip_prefix("cpu ")?;
        let all: Vec<u64> = first.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let &[user, nice, system, idle, iowait, irq, softirq, steal] = all.get(..8)? else { return None };
        let count = lines.take_while(|line| line.starts_with("cpu")).count() as u64;
        Some(Self { user: user + nice, system, interrupts: irq + softirq, idle, iowait, steal, count })
    }

    fn total(&self) -> u64 {
        self.user + self.system + self.interrupts + self.idle + self.iowait + self.steal
    }

    /// Returns the shares since an earlier moment; `None` if no time has passed.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Shares> {
        let total = self.total().checked_sub(earlier.total()).filter(|ticks| *ticks > 0)?;
        let share = |of: fn(&Self) -> u64| {
            of(self).saturating_sub(of(earlier)) as f64 / total as f64 * self.count as f64
        };
        Some(Shares {
            busy: share(|times| times.user + times.system + times.interrupts),
            steal: share(|times| times.steal),
            all: self.count as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 20 30 400 50 6 7 8 9 10\ncpu0 50 10 15 200 25 3 3 4 5 5\ncpu1 50 10 15 200 25 3 4 4 4 5\n\
                        intr 1 2\nctxt 5\n";

    #[test]
    fn the_times_of_processors_are_read() {
        let times = Processors::parse(STAT).unwrap();
        let expected =
            Processors { user: 120, system: 30, interrupts: 13, idle: 400, iowait: 50, steal: 8, count: 2 };
        assert_eq!(times, expected);
        assert_eq!(Processors::parse("intr 1"), None);
        assert_eq!(Processors::parse("cpu  1 2 3"), None);
    }

    #[test]
    fn shares_are_parts_of_all_processors() {
        let before = Processors::parse(STAT).unwrap();
        let after = Processors { user: 145, steal: 33, idle: 450, ..before };
        assert_eq!(after.since(&before), Some(Shares { busy: 0.5, steal: 0.5, all: 2.0 }));
        assert_eq!(before.since(&before), None);
    }
}
