//! Named places in the code where a test may step in, for instance to kill the process. Without tests and without
//! the feature `fail-points` they cost nothing.

#[cfg(any(test, feature = "fail-points"))]
pub(crate) use on::fail_point;
#[cfg(test)]
#[allow(unused_imports, reason = "for the tests of all modules")]
pub(crate) use on::on_fail_point;

/// A place where a test may step in.
#[cfg(not(any(test, feature = "fail-points")))]
#[inline(always)]
pub(crate) fn fail_point(_name: &'static str) {}

#[cfg(any(test, feature = "fail-points"))]
mod on {
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex, OnceLock, PoisonError};

    type Closure = Arc<dyn Fn() + Send + Sync>;

    fn closures() -> &'static Mutex<HashMap<&'static str, Closure>> {
        static CLOSURES: OnceLock<Mutex<HashMap<&'static str, Closure>>> = OnceLock::new();
        CLOSURES.get_or_init(Mutex::default)
    }

    /// What the environment variable `GEMEL_FAIL_POINT=name[:count]` asks for.
    struct Asked {
        name: String,
        left: AtomicU64,
    }

    /// The name, and at which of its passes to stop: the first unless told otherwise.
    fn parse(value: &str) -> (&str, u64) {
        match value.rsplit_once(':') {
            Some((name, count)) => (name, count.parse().unwrap_or(1)),
            None => (value, 1),
        }
    }

    /// Calls what a test registered under `name`, and kills the process if the environment asks for it.
    pub(crate) fn fail_point(name: &'static str) {
        static ASKED: OnceLock<Option<Asked>> = OnceLock::new();
        let asked = ASKED.get_or_init(|| {
            let value = std::env::var("GEMEL_FAIL_POINT").ok()?;
            let (name, count) = parse(&value);
            Some(Asked { name: name.to_owned(), left: AtomicU64::new(count) })
        });
        if let Some(asked) = asked
            && asked.name == name
            && asked.left.fetch_sub(1, Ordering::Relaxed) == 1
        {
            // As a crash would end it: no destructor runs, nothing buffered is written.
            std::process::abort();
        }
        // Called without the lock, since it may take its time.
        let closure = closures().lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        if let Some(closure) = closure {
            closure();
        }
    }

    /// Has `closure` called at each pass of a fail point.
    #[cfg_attr(not(test), allow(dead_code, reason = "for unit tests; others use the environment"))]
    pub(crate) fn on_fail_point(name: &'static str, closure: impl Fn() + Send + Sync + 'static) {
        closures().lock().unwrap_or_else(PoisonError::into_inner).insert(name, Arc::new(closure));
    }

    #[test]
    fn a_fail_point_calls_what_is_registered_under_its_name() {
        let passes = Arc::new(AtomicU64::new(0));
        let counter = passes.clone();
        on_fail_point("test.registered", move || {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        fail_point("test.registered");
        fail_point("test.other");
        fail_point("test.registered");
        assert_eq!(passes.load(Ordering::Relaxed), 2);
        assert_eq!(parse("log.before_sync:3"), ("log.before_sync", 3));
        assert_eq!(parse("log.before_sync"), ("log.before_sync", 1));
    }
}
