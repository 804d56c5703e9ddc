//! Checkpoints that a database makes meanwhile, as its counters show them.

use lydite_database::{Observer, Target, TargetError};

/// A watch over the counters of a database's checkpoints.
pub struct Checkpoints {
    /// `None` if the database reports no statistics.
    observer: Option<Box<dyn Observer>>,
    is_counter: fn(&str) -> bool,
    /// Sum of the counters at the beginning; `None` without any counter.
    before: Option<f64>,
}

impl Checkpoints {
    /// Begins to watch. `is_counter` is true for the names of counters that grow with each checkpoint.
    ///
    /// # Errors
    /// The database fails.
    pub fn watch(target: &dyn Target, is_counter: fn(&str) -> bool) -> Result<Self, TargetError> {
        let observer = target.capabilities().observer(0)?;
        let mut watch = Self { observer, is_counter, before: None };
        watch.before = watch.count()?;
        Ok(watch)
    }

    /// Returns true if there was a checkpoint since the beginning; `None` if the database counts none.
    ///
    /// # Errors
    /// The database fails.
    pub fn seen(&mut self) -> Result<Option<bool>, TargetError> {
        let now = self.count()?;
        Ok(self.before.zip(now).map(|(before, now)| now > before))
    }

    /// Returns the sum of the counters; none if there are none.
    fn count(&mut self) -> Result<Option<f64>, TargetError> {
        let Some(observer) = &mut self.observer else { return Ok(None) };
        let samples = observer.sample()?;
        let counters = samples.iter().filter(|sample| (self.is_counter)(&sample.name));
        let counts: Vec<f64> = counters.map(|sample| sample.value).collect();
        Ok((!counts.is_empty()).then(|| counts.iter().sum()))
    }
}
