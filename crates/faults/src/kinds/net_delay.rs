//! `net-delay:TIME[,JITTER]`: packets that leave the database's ports are held for a time.

use super::net::{Action, Ended, NetKind};
use crate::error::FaultError;
use crate::hold::Shape;
use crate::spec::FaultSpec;
use std::time::Duration;

/// Units of times, in microseconds.
const UNITS: [(&str, f64); 3] = [("us", 1.0), ("ms", 1e3), ("s", 1e6)];
/// Longest delay.
const LONGEST: Duration = Duration::from_secs(60);

/// The kind.
pub(super) struct NetDelay;

impl NetKind for NetDelay {
    const NAME: &'static str = "net-delay";
    const ARGUMENTS: &'static str = "TIME";

    fn action(fault: &FaultSpec) -> Result<Action, FaultError> {
        Ok(Action::Hold { shape: shape(fault)?, table: "mangle" })
    }

    fn words(ended: &Ended) -> String {
        ended.taken("delayed")
    }
}

/// Reads the delay and its jitter.
fn shape(fault: &FaultSpec) -> Result<Shape, FaultError> {
    let read = |text: &str| {
        let (delay, jitter) = match text.split_once(',') {
            Some((delay, jitter)) => (time(delay)?, time(jitter)?),
            None => (time(text)?, Duration::ZERO),
        };
        (!delay.is_zero() && delay <= LONGEST && jitter <= delay).then_some(Shape::Delay { delay, jitter })
    };
    fault.arguments.as_deref().and_then(read).ok_or_else(|| {
        FaultError::Wrong(format!(
            "needs a time with its unit (us, ms or s) up to {} s, and perhaps a jitter not above it, as net-delay:50ms@5s..10s/lab:pg or \
             net-delay:50ms,10ms@5s..10s/lab:pg",
            LONGEST.as_secs()
        ))
    })
}

/// Reads a time with its unit.
fn time(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, micros) =
        UNITS.iter().find_map(|(unit, micros)| Some((text.strip_suffix(unit)?.trim_end(), micros)))?;
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * micros / 1e6).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: Option<&str>) -> Option<Shape> {
        shape(&FaultSpec::for_test(NetDelay::NAME, arguments)).ok()
    }

    #[test]
    fn a_delay_is_a_time_with_a_unit_and_perhaps_a_jitter() {
        let delay = |micros, jitter| {
            let of = Duration::from_micros;
            Some(Shape::Delay { delay: of(micros), jitter: of(jitter) })
        };
        assert_eq!(read(Some("50ms")), delay(50_000, 0));
        assert_eq!(read(Some("0.5 ms, 100us")), delay(500, 100));
        assert_eq!(read(Some("1s,1s")), delay(1_000_000, 1_000_000));
        for wrong in
            ["", "50", "0ms", "-1ms", "61s", "1ms,2ms", "1ms,", "1ms,0ms,0ms", "NaNms", "infs", "1e99s", "ms"]
        {
            assert_eq!(read(Some(wrong)), None, "{wrong}");
        }
        assert_eq!(read(None), None);
    }
}
