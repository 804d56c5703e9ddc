//! `net-rate:BYTES`: all packets that leave the database's ports get so many bytes per second together.

use super::net::{Action, Ended, State};
use super::{Acts, Kind};
use crate::fault::Fault;
use crate::hold::Shape;
use crate::spec::FaultSpec;

/// Units of bytes; the longer ones first, since others end like them.
const UNITS: [(&str, u64); 6] =
    [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30), ("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];

/// The kind.
pub(super) struct NetRate;

impl Kind for NetRate {
    type State = State;
    const NAME: &'static str = "net-rate";
    const ACTS: Acts = Acts::OnProcesses;

    fn read(&self, fault: &FaultSpec) -> Result<(), String> {
        shape(fault).map(drop)
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<String>> {
        let shape = shape(&fault.spec).map_err(|problem| vec![problem])?;
        State::of(fault, Action::Hold { shape, table: "security" })
    }

    fn how(&self, state: &State) -> String {
        state.how()
    }

    fn begin(&self, state: &mut State) -> Result<String, String> {
        state.begin()
    }

    fn end(&self, state: &State) -> Result<String, String> {
        let words =
            |ended: Ended| format!("{}; they had {} bytes", ended.taken("limited"), ended.counts.bytes);
        Ok(state.end()?.map_or_else(String::new, words))
    }
}

/// Reads the bytes per second.
fn shape(fault: &FaultSpec) -> Result<Shape, String> {
    let bytes_per_s = fault.arguments.as_deref().and_then(bytes).filter(|bytes| *bytes > 0);
    bytes_per_s.map(|bytes_per_s| Shape::Rate { bytes_per_s }).ok_or_else(|| {
        "needs bytes per second from 1, with k, M, G, Ki, Mi or Gi, as net-rate:200k@5s..10s/lab:pg".into()
    })
}

/// Reads a number of bytes.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = UNITS.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, *bytes)));
    let (number, unit) = unit.unwrap_or((text, 1));
    number.trim_end().parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_whole_numbers_with_a_unit_of_1000_or_1024() {
        for (text, expected) in [
            ("1", Some(1)),
            ("200k", Some(200_000)),
            ("3 M", Some(3_000_000)),
            ("1G", Some(1_000_000_000)),
            ("2Ki", Some(2048)),
            ("1Mi", Some(1 << 20)),
            ("1Gi", Some(1 << 30)),
            ("", None),
            ("k", None),
            ("-1k", None),
            ("1.5k", None),
            ("1KB", None),
            ("99999999999999999999", None),
            ("99999999999999999G", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }
}
