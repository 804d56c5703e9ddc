//! Fail points: named places in the code where a test may step in, for instance to kill the process. Without tests and
//! without the feature `fail-points` they cost nothing.

#[cfg(any(test, feature = "fail-points"))]
pub(crate) use on::fail_point;
#[cfg(test)]
#[allow(unused_imports, reason = "for the tests of all modules")]
pub(crate) use on::{forget_here, on_fail_point, once_here, while_it_stands_at};

/// Marks a place where a test may step in.
#[cfg(not(any(test, feature = "fail-points")))]
#[inline(always)]
pub(crate) fn fail_point(_name: &'static str) {}

#[cfg(any(test, feature = "fail-points"))]
mod on {
    use std::cell::RefCell;
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicU64, Ordering};
    #[cfg(test)]
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex, OnceLock, PoisonError};

    type Closure = Arc<dyn Fn() + Send + Sync>;
    /// Closures to call once, by the name of their fail point.
    type Once = RefCell<Vec<(&'static str, Box<dyn FnOnce()>)>>;

    thread_local! {
        /// Closures for this thread's next passes of fail points. At each pass of a point, the first one of its name is
        /// called.
        static HERE: Once = const { RefCell::new(Vec::new()) };
    }

    /// Closures to call at each pass, by the name of their fail point.
    type Each = Mutex<HashMap<&'static str, Vec<Closure>>>;

    fn closures() -> &'static Each {
        static CLOSURES: OnceLock<Each> = OnceLock::new();
        CLOSURES.get_or_init(Mutex::default)
    }

    /// The value of the environment variable `GEMEL_FAIL_POINT=name[:count]`.
    struct Asked {
        name: String,
        left: AtomicU64,
    }

    /// Returns the name, and the number of the pass that kills the process (default 1).
    fn parse(value: &str) -> (&str, u64) {
        match value.rsplit_once(':') {
            Some((name, count)) => (name, count.parse().unwrap_or(1)),
            None => (value, 1),
        }
    }

    /// Calls the closures that tests registered under `name`, and kills the process if the environment says so.
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
            // Ends the process like a crash: no destructor runs, no buffer is written.
            std::process::abort();
        }
        // Called without the lock, because a closure may take long.
        let each = closures().lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        each.into_iter().flatten().for_each(|closure| closure());
        let take = |here: &Once| {
            let mut here = here.borrow_mut();
            let next = here.iter().position(|(place, _)| *place == name)?;
            Some(here.remove(next).1)
        };
        // A thread that ends has no closures left.
        if let Ok(Some(closure)) = HERE.try_with(take) {
            closure();
        }
    }

    /// Registers a closure to call at this thread's next pass of a fail point, after the closures registered before for
    /// earlier passes. Other tests can't replace it.
    #[cfg_attr(not(test), allow(dead_code, reason = "for unit tests; others use the environment"))]
    pub(crate) fn once_here(name: &'static str, closure: impl FnOnce() + 'static) {
        HERE.with_borrow_mut(|here| here.push((name, Box::new(closure))));
    }

    /// Drops the closures of this thread that were not called.
    #[cfg_attr(not(test), allow(dead_code, reason = "for unit tests; others use the environment"))]
    pub(crate) fn forget_here() {
        drop(HERE.take());
    }

    /// Does `work` in another thread. While that one stands at its first pass of the fail point `place`, does `then` in this
    /// one, which lets it go on at the first pass of one of the fail points `until`. Returns what both return.
    #[cfg(test)]
    pub(crate) fn while_it_stands_at<A: Send, B>(
        place: &'static str,
        work: impl FnOnce() -> A + Send,
        until: [&'static str; 2],
        then: impl FnOnce() -> B,
    ) -> (A, B) {
        let (stands, standing) = channel();
        let (go, going) = channel();
        std::thread::scope(|scope| {
            let other = scope.spawn(move || {
                once_here(place, move || {
                    stands.send(()).unwrap();
                    going.recv().unwrap();
                });
                work()
            });
            standing.recv().unwrap();
            for place in until {
                let go = go.clone();
                once_here(place, move || {
                    let _ = go.send(());
                });
            }
            let done = then();
            forget_here();
            (other.join().unwrap(), done)
        })
    }

    /// Registers a closure to call at each pass of a fail point, by whatever thread. Tests that run at the same time
    /// may each register one at the same fail point: a closure must find out if the pass is of its own test.
    #[cfg_attr(not(test), allow(dead_code, reason = "for unit tests; others use the environment"))]
    pub(crate) fn on_fail_point(name: &'static str, closure: impl Fn() + Send + Sync + 'static) {
        closures()
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(name)
            .or_default()
            .push(Arc::new(closure));
    }

    #[test]
    fn a_fail_point_calls_each_closure_registered_under_its_name() {
        let passes = Arc::new(AtomicU64::new(0));
        for test in [1, 100] {
            let counter = passes.clone();
            on_fail_point("test.registered", move || {
                counter.fetch_add(test, Ordering::Relaxed);
            });
        }
        fail_point("test.registered");
        fail_point("test.other");
        fail_point("test.registered");
        assert_eq!(passes.load(Ordering::Relaxed), 202);
        assert_eq!(parse("log.before_sync:3"), ("log.before_sync", 3));
        assert_eq!(parse("log.before_sync"), ("log.before_sync", 1));
    }
}
