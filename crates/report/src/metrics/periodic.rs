//! Faults that repeat, over their occurrences.

use super::FiveNumbers;
use crate::model::{FaultAvailability, FaultResult, PeriodicFault, RunResult, Spread};

/// Returns the faults of a result that repeat, each over its occurrences, in the order of the plan.
#[must_use]
pub fn periodic(result: &RunResult) -> Vec<PeriodicFault> {
    let mut all: Vec<PeriodicFault> = Vec::new();
    for (index, fault) in result.faults.iter().enumerate() {
        let (Some(every_s), Some(occurrence)) = (fault.every_s, fault.occurrence) else { continue };
        // The occurrences of a fault follow each other, and are numbered from 1.
        if occurrence == 1 || all.is_empty() {
            let (kind, place) = (fault.kind.clone(), fault.place.clone());
            all.push(PeriodicFault { kind, place, every_s, ..PeriodicFault::default() });
        }
        if let Some(of) = all.last_mut() {
            of.faults.push(index);
        }
    }
    all.iter_mut().for_each(|of| summarise(of, result));
    all
}

/// Fills the summary of a fault whose occurrences are known.
fn summarise(of: &mut PeriodicFault, result: &RunResult) {
    let faults = || of.faults.iter().filter_map(|fault| result.faults.get(*fault));
    let count = |is: fn(&FaultResult) -> bool| faults().filter(|fault| is(fault)).count() as u64;
    let (occurred, ok) = (count(|fault| fault.begun_s.is_some()), count(|fault| fault.ok));
    let judged = result.availability.iter().filter(|judged| of.faults.contains(&judged.fault));
    let judged: Vec<&FaultAvailability> = judged.collect();
    let spread = |value: fn(&FaultAvailability) -> Option<f64>| {
        Spread::of(&judged.iter().filter_map(|judged| value(judged)).collect::<Vec<_>>())
    };
    let (r_e, t_e) = (spread(|judged| judged.r_e), spread(|judged| judged.t_e));
    let (recovery_s, tps_during) = (spread(|judged| judged.recovery_s), spread(|judged| judged.tps_during));
    *of = PeriodicFault { occurred, ok, r_e, t_e, recovery_s, tps_during, ..std::mem::take(of) };
}

impl Spread {
    /// Returns the spread of some numbers; none without numbers.
    fn of(values: &[f64]) -> Option<Self> {
        let FiveNumbers { min, median, max, .. } = FiveNumbers::of(values)?;
        Some(Self { of: values.len() as u64, min, median, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_that_repeats_is_summed_up_over_its_own_occurrences() {
        let fault = |kind: &str, occurrence: Option<u64>, ok: bool| FaultResult {
            kind: kind.into(),
            place: "lab:pg".into(),
            every_s: occurrence.map(|_| 10.0),
            occurrence,
            begun_s: ok.then_some(5.0),
            ok,
            ..FaultResult::default()
        };
        let judged = |fault: usize, r_e: Option<f64>, tps_during: f64| FaultAvailability {
            fault,
            r_e,
            tps_during: Some(tps_during),
            ..FaultAvailability::default()
        };
        let result = RunResult {
            faults: vec![
                fault("kill", None, true),
                fault("stop", Some(1), true),
                fault("stop", Some(2), true),
                fault("stop", Some(3), false),
                fault("stop", Some(1), true),
            ],
            availability: vec![
                judged(0, Some(0.1), 1.0),
                judged(1, Some(0.8), 40.0),
                judged(2, None, 60.0),
                judged(4, Some(-0.5), 90.0),
            ],
            ..RunResult::default()
        };
        let [one, other] = &periodic(&result)[..] else { panic!("two") };
        assert_eq!((&one.faults, one.occurred, one.ok), (&vec![1, 2, 3], 2, 2));
        assert_eq!(one.r_e, Some(Spread { of: 1, min: 0.8, median: 0.8, max: 0.8 }));
        assert_eq!(one.tps_during, Some(Spread { of: 2, min: 40.0, median: 50.0, max: 60.0 }));
        assert_eq!((one.t_e, one.name()), (None, "stop on lab:pg every 10 s".to_owned()));
        assert_eq!((&other.faults, other.occurred), (&vec![4], 1));
        assert_eq!(other.r_e.map(|r_e| r_e.min), Some(-0.5));
    }
}
