//! Reading the active warehouses of a database before and after a run, to compare them with what it acknowledged.

use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_database::{Target, TargetError};
use lydite_verify::conditions::read_aside;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The longest time until every server of a cluster shows committed rows.
const SETTLING: Duration = Duration::from_secs(3);
/// Time between two attempts.
const AGAIN: Duration = Duration::from_millis(50);

/// The active warehouses of a database. Other clients may work on the others.
#[derive(Clone)]
pub(crate) struct Reading {
    target: Arc<dyn Target>,
    embedded: bool,
    warehouses: RangeInclusive<u32>,
}

impl Reading {
    /// The pair is the first of the active warehouses and their number. `embedded` is true for a database within this
    /// process, which reads to the end even if the user interrupts.
    pub(crate) fn new(target: &Arc<dyn Target>, embedded: bool, (first, count): (u32, u32)) -> Self {
        Self { target: Arc::clone(target), embedded, warehouses: first..=first + count - 1 }
    }

    /// Returns the numbers of the warehouses.
    pub(crate) fn warehouses(&self) -> RangeInclusive<u32> {
        self.warehouses.clone()
    }

    /// Reads from the database. Returns `None` if the user interrupted.
    ///
    /// # Errors
    /// The database fails.
    pub(crate) fn read<R: Send + 'static>(
        &self,
        interrupt: &Interrupt,
        read: impl FnOnce(&dyn Target, &RangeInclusive<u32>) -> Result<R, TargetError> + Send + 'static,
    ) -> Result<Option<R>, Failure> {
        if self.embedded {
            return Ok(Some(read(&*self.target, &self.warehouses)?));
        }
        let warehouses = self.warehouses();
        Ok(read_aside(&self.target, &|| interrupt.asked(), move |target| read(target, &warehouses))?)
    }
}

/// Repeats `look` until `is_right` is true or some seconds are over, and returns the last finding: in some clusters a
/// server shows late what another one has acknowledged.
///
/// # Errors
/// The first error of `look`.
pub(crate) fn settled<T>(
    is_right: impl Fn(&T) -> bool,
    mut look: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let begun = Instant::now();
    loop {
        let found = look()?;
        if is_right(&found) || begun.elapsed() >= SETTLING {
            return Ok(found);
        }
        thread::sleep(AGAIN);
    }
}
