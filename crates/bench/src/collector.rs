//! Gathers the recorders' finished seconds into the series of the run, and summarizes them for observers.

use crate::clock::{Window, nanos};
use crate::histogram::histogram;
use crate::measurement::{Piece, Second};
use crate::phase_counts::PhaseCounts;
use crate::plan::LatencyLimit;
use crate::recorder::{Recorder, SecondCounts};
use crate::sparse_histogram::TwoDigits;
use crate::totals::Totals;
use crate::workload::Runnable;
use hdrhistogram::Histogram;
use lydite_database::AbortReason;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// Seconds whose percentiles are still open. Counts that come later miss the percentiles of their second, but are
/// always counted.
const OPEN_SECONDS: usize = 4;

/// Transaction type of the percentiles of each second.
const FIRST: usize = 0;

/// Returns an empty histogram with two digits, for a single second.
fn small_histogram() -> Histogram<u64> {
    match Histogram::new(2) {
        Ok(histogram) => histogram,
        Err(error) => unreachable!("two digits are valid: {error}"),
    }
}

/// Counts that a coordinator does not have yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct News {
    /// Counts by the number of their second. A second may come in several pieces.
    pub(crate) counts: Vec<(usize, Box<SecondCounts>)>,
    /// First second of `connected`.
    pub(crate) from: usize,
    /// Least numbers of connected sessions in the seconds that have ended.
    pub(crate) connected: Vec<u32>,
}

/// Everything that a collector gathered.
pub(crate) struct Collected {
    pub(crate) warmup_series: Vec<Second>,
    pub(crate) series: Vec<Second>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) phases: Vec<(usize, PhaseCounts)>,
}

/// Seconds of a run so far.
#[derive(Debug)]
pub(crate) struct Collector {
    warmup_seconds: usize,
    series: Vec<Second>,
    /// Latencies of the first type in the last, open seconds of `series`.
    open: VecDeque<Histogram<u64>>,
    /// Latencies so far by type: of the window, or of the warm-up while it lasts.
    so_far: Vec<Histogram<u64>>,
    /// True once the window has begun.
    measuring: bool,
    /// Pieces of the window; none if the plan does not cut it.
    pieces: Vec<Piece>,
    /// Counts by phase, in order; empty if the plan has one phase.
    phases: Vec<(usize, PhaseCounts)>,
    /// Limits of latency, as the plan has them.
    limits: Vec<LatencyLimit>,
    /// Counts for a coordinator; `None` if there is none.
    news: Option<News>,
}

impl Collector {
    pub(crate) fn new(window: &Window, kinds: usize, cuts: &[u64], limits: &[LatencyLimit]) -> Self {
        let piece =
            |from_s| Piece { from_s, first_latency: small_histogram(), aborts: [0; AbortReason::COUNT] };
        let starts = cuts.first().map(|_| 0).into_iter().chain(cuts.iter().copied().filter(|cut| *cut > 0));
        Self {
            pieces: starts.map(piece).collect(),
            warmup_seconds: window.warmup_seconds(),
            series: Vec::new(),
            open: VecDeque::new(),
            so_far: (0..kinds).map(|_| histogram()).collect(),
            measuring: false,
            phases: Vec::new(),
            limits: limits.to_vec(),
            news: None,
        }
    }

    /// Notes a window that begins earlier than it was to. None of its seconds has been collected yet.
    pub(crate) fn begins_earlier(&mut self, window: &Window) {
        self.warmup_seconds = window.warmup_seconds();
    }

    /// Returns the seconds so far.
    pub(crate) fn series(&self) -> &[Second] {
        &self.series
    }

    /// Keeps a copy of all counts for [`Collector::take_news`].
    pub(crate) fn keep_news(&mut self) {
        self.news = Some(News::default());
    }

    /// Takes the counts since the last call. The seconds before `end` have ended.
    pub(crate) fn take_news(&mut self, end: usize) -> News {
        let Some(news) = &mut self.news else { return News::default() };
        let from = news.from;
        news.connected = self.series[from..end].iter().map(|second| second.connected).collect();
        let next = News { from: end, ..News::default() };
        std::mem::replace(news, next)
    }

    /// Takes all seconds before `end` from the recorders. `connected` is the least number of connected sessions in the
    /// seconds since the last call.
    pub(crate) fn collect<W: Runnable>(
        &mut self,
        recorders: &[Mutex<Recorder<W>>],
        end: usize,
        connected: u32,
    ) {
        self.close(end, connected);
        self.take(recorders, end, connected, &mut |_| {});
    }

    /// Notes that all seconds before `end` have ended.
    pub(crate) fn close(&mut self, end: usize, connected: u32) {
        if end > self.warmup_seconds && !self.measuring {
            self.measuring = true;
            self.so_far.iter_mut().for_each(Histogram::reset);
        }
        // A second that has counts already may have lost connections since.
        if let Some(last) = end.checked_sub(1).and_then(|last| self.series.get_mut(last)) {
            last.connected = last.connected.min(connected);
        }
        self.extend(end, connected);
        let ahead = self.series.len() - end;
        while self.open.len() > OPEN_SECONDS + ahead {
            self.finish_second();
        }
    }

    /// Takes all seconds that are left in the recorders.
    pub(crate) fn collect_rest<W: Runnable>(&mut self, recorders: &[Mutex<Recorder<W>>], connected: u32) {
        self.take(recorders, usize::MAX, connected, &mut |_| {});
    }

    /// Takes everything that the recorders have, and adds their totals up at the same moments, so that these and the
    /// seconds count the same transactions.
    pub(crate) fn collect_with_totals<W: Runnable>(
        &mut self,
        recorders: &[Mutex<Recorder<W>>],
        connected: u32,
    ) -> Totals<W> {
        let mut totals = Totals::new();
        self.take(recorders, usize::MAX, connected, &mut |recorder| totals.add(recorder));
        totals
    }

    /// Adds the least number of connected sessions of another process in a second.
    pub(crate) fn connect(&mut self, number: usize, connected: u32) {
        self.extend(number + 1, 0);
        self.series[number].connected += connected;
    }

    /// Takes all seconds before `end`, and calls `visit` with each recorder at that moment.
    fn take<W: Runnable>(
        &mut self,
        recorders: &[Mutex<Recorder<W>>],
        end: usize,
        connected: u32,
        visit: &mut dyn FnMut(&Recorder<W>),
    ) {
        for recorder in recorders {
            let mut taken = Vec::new();
            let mut recorder = recorder.lock();
            recorder.take_before(end, |number, counts| taken.push((number, counts)));
            visit(&recorder);
            drop(recorder);
            for (number, counts) in taken {
                // When a run is stopped, a session may count a moment beyond the end of the series.
                self.extend(number + 1, connected);
                self.add(number, &counts);
                if let Some(news) = &mut self.news {
                    news.counts.push((number, counts));
                }
            }
        }
    }

    pub(crate) fn extend(&mut self, end: usize, connected: u32) {
        while self.series.len() < end {
            self.series.push(Second {
                connected,
                over: vec![0; self.limits.len()],
                ..Second::new(self.so_far.len())
            });
            self.open.push_back(small_histogram());
        }
    }

    /// Adds counts to a second of the series.
    pub(crate) fn add(&mut self, number: usize, counts: &SecondCounts) {
        let first_open = self.series.len() - self.open.len();
        let second = &mut self.series[number];
        for (total, completed) in second.completed.iter_mut().zip(&counts.completed) {
            *total += completed;
        }
        second.aborts += counts.aborts.iter().sum::<u64>();
        second.errors += counts.errors;
        second.unknown += counts.unknown;
        second.touched.merge(&counts.touched);
        PhaseCounts::merge_all(&mut self.phases, &counts.phases);
        for (total, limit) in second.over.iter_mut().zip(&self.limits) {
            let of_kind = |latency: &TwoDigits| latency.above(nanos(limit.latency));
            *total += match limit.kind {
                Some(kind) => counts.latency.get(kind).map_or(0, of_kind),
                None => counts.latency.iter().map(of_kind).sum(),
            };
        }
        if let Some(second) = number.checked_sub(self.warmup_seconds) {
            let place = self.pieces.partition_point(|piece| piece.from_s <= second as u64);
            if let Some(piece) = place.checked_sub(1).and_then(|place| self.pieces.get_mut(place)) {
                counts.latency[FIRST].add_to(&mut piece.first_latency);
                for (total, aborts) in piece.aborts.iter_mut().zip(counts.aborts) {
                    *total += aborts;
                }
            }
        }
        if number >= first_open {
            counts.latency[FIRST].add_to(&mut self.open[number - first_open]);
        }
        if (number >= self.warmup_seconds) == self.measuring {
            for (so_far, latency) in self.so_far.iter_mut().zip(&counts.latency) {
                latency.add_to(so_far);
            }
        }
    }

    fn finish_second(&mut self) {
        let number = self.series.len() - self.open.len();
        let Some(latency) = self.open.pop_front() else { return };
        if !latency.is_empty() {
            let quantile = |q| Some(Duration::from_nanos(latency.value_at_quantile(q)));
            self.series[number].first_p50 = quantile(0.5);
            self.series[number].first_p99 = quantile(0.99);
        }
    }

    /// Returns the sums of the window so far, or of the warm-up while it lasts.
    pub(crate) fn totals(&self) -> Second {
        let from = if self.measuring { self.warmup_seconds } else { 0 };
        let mut totals = Second::new(self.so_far.len());
        for second in self.series.iter().skip(from) {
            for (total, completed) in totals.completed.iter_mut().zip(&second.completed) {
                *total += completed;
            }
            totals.aborts += second.aborts;
            totals.errors += second.errors;
            totals.unknown += second.unknown;
        }
        totals
    }

    /// Returns the latency of type `kind` so far at a quantile between 0 and 1, to within one percent; `None` if no
    /// transaction completed.
    pub(crate) fn quantile(&self, kind: usize, quantile: f64) -> Option<Duration> {
        let so_far = &self.so_far[kind];
        (!so_far.is_empty()).then(|| Duration::from_nanos(so_far.value_at_quantile(quantile)))
    }

    /// Returns everything that it gathered.
    pub(crate) fn finish(mut self) -> Collected {
        while !self.open.is_empty() {
            self.finish_second();
        }
        let window = self.series.split_off(self.warmup_seconds.min(self.series.len()));
        Collected { warmup_series: self.series, series: window, pieces: self.pieces, phases: self.phases }
    }
}
