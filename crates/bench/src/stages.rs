//! The stages of a run. Each stage has the source of inputs while it lasts.
//!
//! Every maker and counter of inputs has a [`Cursor`] of its own, so a look for the current stage costs two
//! comparisons. New knowledge about a database's nodes replaces the stages during the run, and the cursors notice.

use crate::clock::Nanos;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Settings from a moment until the next stage begins.
#[derive(Clone, Debug)]
pub(crate) struct Stage<I> {
    /// Start of the stage. The first one starts at 0, and starts rise.
    pub(crate) from: Nanos,
    /// Phase of the stage, never less than that of the previous stage.
    pub(crate) phase: usize,
    /// Number of sessions that play.
    pub(crate) sessions: u32,
    /// Source of inputs.
    pub(crate) inputs: I,
}

/// The stages of a run. See the module.
#[derive(Debug)]
pub(crate) struct Stages<I> {
    current: RwLock<Arc<[Stage<I>]>>,
    /// Number of times that the stages were replaced.
    generation: AtomicU64,
}

impl<I> Stages<I> {
    /// Makes the stages of a run, at least one.
    pub(crate) fn new(stages: Vec<Stage<I>>) -> Self {
        assert!(stages.first().is_some_and(|first| first.from == 0), "a stage for every moment");
        Self { current: RwLock::new(stages.into()), generation: AtomicU64::new(0) }
    }

    /// Makes a single stage for the whole run.
    pub(crate) fn steady(inputs: I) -> Self {
        Self::new(vec![Stage { from: 0, phase: 0, sessions: u32::MAX, inputs }])
    }

    /// Returns all stages, as last replaced.
    pub(crate) fn current(&self) -> Arc<[Stage<I>]> {
        Arc::clone(&self.current.read())
    }

    /// Replaces the stages by as many new ones with the same start times.
    pub(crate) fn replace(&self, stages: Vec<Stage<I>>) {
        *self.current.write() = stages.into();
        self.generation.fetch_add(1, Ordering::Release);
    }
}

/// Finds the stages of moments, which mostly rise.
#[derive(Debug)]
pub(crate) struct Cursor<I> {
    stages: Arc<Stages<I>>,
    /// The stages of this generation.
    current: Arc<[Stage<I>]>,
    generation: u64,
    at: usize,
}

impl<I> Cursor<I> {
    pub(crate) fn new(stages: &Arc<Stages<I>>) -> Self {
        let generation = stages.generation.load(Ordering::Acquire);
        Self { stages: Arc::clone(stages), current: stages.current(), generation, at: 0 }
    }

    /// True if the stages have several phases.
    pub(crate) fn has_phases(&self) -> bool {
        self.current.last().is_some_and(|last| last.phase > 0)
    }

    /// Returns the stage of a moment.
    pub(crate) fn stage(&mut self, moment: Nanos) -> &Stage<I> {
        let generation = self.stages.generation.load(Ordering::Acquire);
        if generation != self.generation {
            (self.generation, self.current) = (generation, self.stages.current());
        }
        let next_began = self.current.get(self.at + 1).is_some_and(|next| next.from <= moment);
        if next_began || self.current[self.at].from > moment {
            self.at = self.current.partition_point(|stage| stage.from <= moment).saturating_sub(1);
        }
        &self.current[self.at]
    }

    /// Returns the start of the stage after that of a moment; the last stage returns a time that never comes.
    pub(crate) fn next(&mut self, moment: Nanos) -> Nanos {
        self.stage(moment);
        self.current.get(self.at + 1).map_or(Nanos::MAX, |next| next.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(names: &[(Nanos, &'static str)]) -> Vec<Stage<&'static str>> {
        let stage = |&(from, inputs)| Stage { from, phase: 0, sessions: 1, inputs };
        names.iter().map(stage).collect()
    }

    #[test]
    fn a_cursor_finds_the_stage_of_each_moment_even_of_one_before_the_last() {
        let stages = Arc::new(Stages::new(made(&[(0, "a"), (10, "b"), (20, "c")])));
        let mut cursor = Cursor::new(&stages);
        let found = [0, 9, 10, 25, 12, 3].map(|moment| cursor.stage(moment).inputs);
        assert_eq!(found, ["a", "a", "b", "c", "b", "a"]);
        assert_eq!([0, 10, 20].map(|moment| cursor.next(moment)), [10, 20, Nanos::MAX]);
    }

    #[test]
    fn a_cursor_notices_new_stages() {
        let stages = Arc::new(Stages::new(made(&[(0, "a"), (10, "b")])));
        let mut cursor = Cursor::new(&stages);
        assert_eq!(cursor.stage(11).inputs, "b");
        stages.replace(made(&[(0, "x"), (10, "y")]));
        assert_eq!(cursor.stage(11).inputs, "y");
    }
}
