//! Common parts of the model checks: locks with the interface of the real ones, and the checker's runs.

use std::fmt;
use std::sync::PoisonError;

#[derive(Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self(shuttle::sync::Mutex::new(inner))
    }

    pub(crate) fn lock(&self) -> shuttle::sync::MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn try_lock(&self) -> Option<shuttle::sync::MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }
}

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("mutex")
    }
}

/// A back-off that lets other threads run.
pub(crate) struct Backoff;

impl Backoff {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn snooze(&self) {
        shuttle::thread::yield_now();
    }
}

/// Returns the number of orders to try. `GEMEL_MODEL` overrides it.
pub(crate) fn orders() -> usize {
    std::env::var("GEMEL_MODEL").ok().and_then(|count| count.parse().ok()).unwrap_or(5000)
}

/// Runs a scene in many orders of its threads' steps: in random ones, and in ones with few switches between threads. An
/// order with more than `max_steps` fails, so an endless wait is found soon.
pub(crate) fn check(max_steps: usize, scene: impl Fn() + Clone + Send + Sync + 'static) {
    check_randomly(max_steps, orders(), scene.clone());
    check_by_priority(max_steps, orders(), scene);
}

/// Runs a scene in random orders of its steps.
pub(crate) fn check_randomly(max_steps: usize, orders: usize, scene: impl Fn() + Send + Sync + 'static) {
    let scheduler = shuttle::scheduler::RandomScheduler::new(orders);
    shuttle::Runner::new(scheduler, config(max_steps)).run(scene);
}

/// Runs a scene in orders with few switches between threads.
pub(crate) fn check_by_priority(max_steps: usize, orders: usize, scene: impl Fn() + Send + Sync + 'static) {
    let scheduler = shuttle::scheduler::PctScheduler::new(4, orders);
    shuttle::Runner::new(scheduler, config(max_steps)).run(scene);
}

fn config(max_steps: usize) -> shuttle::Config {
    let mut config = shuttle::Config::new();
    config.max_steps = shuttle::MaxSteps::FailAfter(max_steps);
    config
}
