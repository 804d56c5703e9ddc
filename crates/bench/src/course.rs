//! What changes in a run, and when: stages, each with where inputs come from while it lasts.
//!
//! Everybody who makes inputs or counts them has a [`Cursor`] of its own, so that asking for the stage of a moment costs two
//! comparisons. What is known of the nodes of a database may change while the run goes on: then there are new stages, and
//! the cursors notice.

use crate::clock::Nanos;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What applies from a moment on until the next stage begins.
#[derive(Clone, Debug)]
pub(crate) struct Stage<I> {
    /// When it begins; the first at 0, and they rise.
    pub(crate) from: Nanos,
    /// The phase that it belongs to; never less than that of the stage before.
    pub(crate) phase: usize,
    /// Sessions that play.
    pub(crate) sessions: u32,
    /// Where inputs come from.
    pub(crate) inputs: I,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Course<I> {
    stages: RwLock<Arc<[Stage<I>]>>,
    /// How often the stages were replaced.
    generation: AtomicU64,
}

impl<I> Course<I> {
    /// There is at least one stage.
    pub(crate) fn new(stages: Vec<Stage<I>>) -> Self {
        assert!(stages.first().is_some_and(|first| first.from == 0), "a stage for every moment");
        Self { stages: RwLock::new(stages.into()), generation: AtomicU64::new(0) }
    }

    /// All the time the same.
    pub(crate) fn steady(inputs: I) -> Self {
        Self::new(vec![Stage { from: 0, phase: 0, sessions: u32::MAX, inputs }])
    }

    pub(crate) fn stages(&self) -> Arc<[Stage<I>]> {
        Arc::clone(&self.stages.read())
    }

    /// As many stages as before, at the same times.
    pub(crate) fn replace(&self, stages: Vec<Stage<I>>) {
        *self.stages.write() = stages.into();
        self.generation.fetch_add(1, Ordering::Release);
    }
}

/// Finds the stages of moments that mostly rise.
#[derive(Debug)]
pub(crate) struct Cursor<I> {
    course: Arc<Course<I>>,
    stages: Arc<[Stage<I>]>,
    generation: u64,
    at: usize,
}

impl<I> Cursor<I> {
    pub(crate) fn new(course: &Arc<Course<I>>) -> Self {
        let generation = course.generation.load(Ordering::Acquire);
        Self { course: Arc::clone(course), stages: course.stages(), generation, at: 0 }
    }

    /// The stage of a moment.
    pub(crate) fn stage(&mut self, moment: Nanos) -> &Stage<I> {
        let generation = self.course.generation.load(Ordering::Acquire);
        if generation != self.generation {
            (self.generation, self.stages) = (generation, self.course.stages());
        }
        let next_began = self.stages.get(self.at + 1).is_some_and(|next| next.from <= moment);
        if next_began || self.stages[self.at].from > moment {
            self.at = self.stages.partition_point(|stage| stage.from <= moment).saturating_sub(1);
        }
        &self.stages[self.at]
    }

    /// When the stage after that of a moment begins; never, if it is the last.
    pub(crate) fn next(&mut self, moment: Nanos) -> Nanos {
        self.stage(moment);
        self.stages.get(self.at + 1).map_or(Nanos::MAX, |next| next.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages(names: &[(Nanos, &'static str)]) -> Vec<Stage<&'static str>> {
        let stage = |&(from, inputs)| Stage { from, phase: 0, sessions: 1, inputs };
        names.iter().map(stage).collect()
    }

    #[test]
    fn a_cursor_finds_the_stage_of_each_moment_even_of_one_before_the_last() {
        let course = Arc::new(Course::new(stages(&[(0, "a"), (10, "b"), (20, "c")])));
        let mut cursor = Cursor::new(&course);
        let found = [0, 9, 10, 25, 12, 3].map(|moment| cursor.stage(moment).inputs);
        assert_eq!(found, ["a", "a", "b", "c", "b", "a"]);
        assert_eq!([0, 10, 20].map(|moment| cursor.next(moment)), [10, 20, Nanos::MAX]);
    }

    #[test]
    fn a_cursor_notices_new_stages() {
        let course = Arc::new(Course::new(stages(&[(0, "a"), (10, "b")])));
        let mut cursor = Cursor::new(&course);
        assert_eq!(cursor.stage(11).inputs, "b");
        course.replace(stages(&[(0, "x"), (10, "y")]));
        assert_eq!(cursor.stage(11).inputs, "y");
    }
}
