//! The measures of a load: its phases, its rows and bytes in each second, its batches, and the client's cost.

use crate::measurement::ClientCost;
use crate::os::{Usage, usage};
use lydite_database::{Batches, LoadProgress};
use lydite_tpcc::schema::Table;
use parking_lot::Mutex;
use std::time::{Duration, Instant, SystemTime};

/// Length of a phase below which nothing was done in it, in seconds.
const SHORTEST_S: f64 = 0.001;

/// A phase of a load. Phases follow each other without a gap.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPhase {
    /// Name: `preparing`, `creating tables`, `rows`, then the database's names of its steps.
    pub name: String,
    /// Begin in seconds since the load began.
    pub from_s: f64,
    /// End, likewise.
    pub to_s: f64,
}

/// Rows and bytes that were sent in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadSecond {
    /// Rows.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Measures of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadMeasures {
    /// Time at which the load began.
    pub start: SystemTime,
    /// Phases, in order.
    pub phases: Vec<LoadPhase>,
    /// One entry for each second since the load began. The last one is shorter than a second.
    pub seconds: Vec<LoadSecond>,
    /// Rows and bytes of each table of TPC-C; empty for other workloads, and if agents loaded.
    pub by_table: Vec<(Table, u64, u64)>,
    /// Batches; none if agents loaded.
    pub batches: Batches,
    /// Resources that this process used.
    pub client: ClientCost,
}

/// A load that is measured.
#[derive(Debug)]
pub(crate) struct Course {
    start: SystemTime,
    begun: Instant,
    usage: Usage,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    phases: Vec<LoadPhase>,
    seconds: Vec<LoadSecond>,
    /// Counts at the end of the last entry.
    counted: LoadSecond,
}

impl Course {
    /// Begins a load with its first phase.
    pub(crate) fn begin() -> Self {
        let course =
            Self { start: SystemTime::now(), begun: Instant::now(), usage: usage(), noted: Mutex::default() };
        course.stage("preparing");
        course
    }

    /// Returns the time since the load began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Begins a phase and ends the one before. A name that differs in its digits alone goes on with the same phase. A
    /// phase that was over at once leaves no trace.
    pub(crate) fn stage(&self, name: &str) {
        let now = self.elapsed().as_secs_f64();
        let letters = |name: &str| name.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
        let phases = &mut self.noted.lock().phases;
        if let Some(last) = phases.last_mut() {
            if letters(&last.name) == letters(name) {
                return;
            }
            last.to_s = now;
            if last.to_s - last.from_s < SHORTEST_S {
                name.clone_into(&mut last.name);
                return;
            }
        }
        phases.push(LoadPhase { name: name.to_owned(), from_s: now, to_s: now });
    }

    /// Notes the rows of the seconds that are over. Called several times a second.
    pub(crate) fn look(&self, progress: &LoadProgress) {
        let over = self.elapsed().as_secs() as usize;
        self.noted.lock().until(over, progress);
    }

    /// Returns the time until the next second begins.
    pub(crate) fn until_next_second(&self) -> Duration {
        Duration::from_secs(1).saturating_sub(Duration::from_nanos(self.elapsed().subsec_nanos().into()))
    }

    /// Returns the measures so far.
    pub(crate) fn measures(&self, progress: &LoadProgress) -> LoadMeasures {
        let end = self.elapsed();
        let now = usage();
        let mut noted = self.noted.lock();
        noted.until(end.as_secs_f64().ceil() as usize, progress);
        if let Some(last) = noted.phases.last_mut() {
            last.to_s = end.as_secs_f64();
        }
        LoadMeasures {
            start: self.start,
            phases: noted.phases.clone(),
            seconds: noted.seconds.clone(),
            by_table: progress.by_table(),
            batches: progress.batches(),
            client: ClientCost {
                cpu: now.cpu.saturating_sub(self.usage.cpu),
                driver_cpu: None,
                peak_rss_bytes: now.peak_rss_bytes,
            },
        }
    }
}

impl Noted {
    /// Adds entries until there are `count`. What was sent since the last entry belongs to the first new one.
    fn until(&mut self, count: usize, progress: &LoadProgress) {
        if self.seconds.len() >= count {
            return;
        }
        let now = LoadSecond { rows: progress.rows(), bytes: progress.bytes() };
        self.seconds.push(LoadSecond {
            rows: now.rows.saturating_sub(self.counted.rows),
            bytes: now.bytes.saturating_sub(self.counted.bytes),
        });
        self.counted = now;
        self.seconds.resize(count, LoadSecond::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_what_was_sent_in_them_and_add_up_to_all() {
        let progress = LoadProgress::default();
        let mut noted = Noted::default();
        noted.until(2, &progress);
        progress.add_to(Table::Stock, 10, 300);
        noted.until(3, &progress);
        noted.until(3, &progress);
        progress.add(5, 100);
        noted.until(5, &progress);
        let rows: Vec<u64> = noted.seconds.iter().map(|second| second.rows).collect();
        assert_eq!(rows, [0, 0, 10, 5, 0]);
        assert_eq!(noted.seconds.iter().map(|second| second.bytes).sum::<u64>(), progress.bytes());
        assert_eq!(progress.by_table(), [(Table::Stock, 10, 300)]);
    }

    #[test]
    fn phases_follow_each_other_and_a_count_in_a_name_begins_none() {
        let course = Course::begin();
        let wait = || std::thread::sleep(Duration::from_millis(2));
        for name in ["rows", "building keys", "copying 1 of 9", "copying 2 of 9", "gathering statistics"] {
            wait();
            course.stage(name);
        }
        wait();
        course.stage("over at once");
        course.stage("reading back");
        let measures = course.measures(&LoadProgress::default());
        let names: Vec<&str> = measures.phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(
            names,
            ["preparing", "rows", "building keys", "copying 1 of 9", "gathering statistics", "reading back"]
        );
        assert!(measures.phases.windows(2).all(|pair| pair[0].to_s == pair[1].from_s));
    }
}
