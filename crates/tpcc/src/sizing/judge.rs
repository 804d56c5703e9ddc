//! Judgement of the data and the space of a run by the rules of scaling.

use crate::limits::{MAX_NOPM_PER_WAREHOUSE, MIN_NOPM_PER_WAREHOUSE};
use crate::sizing::{Bytes, Space, TERMINALS_PER_WAREHOUSE};
use serde::Serialize;

/// The facts about a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// New orders per minute.
    pub nopm: f64,
    /// Warehouses of the database.
    pub warehouses: u32,
    /// True if all warehouses have the standard's rows.
    pub standard_rows: bool,
    /// Terminals that waited as users do; `None` if there were none such.
    pub terminals: Option<u64>,
    /// True if all checks of the data held; `None` if it was not checked.
    pub checks_hold: Option<bool>,
    /// Space that the run needs; `None` if the size of a warehouse is not known.
    pub space: Option<Space>,
    /// Bytes of the disks; `None` if they are not known.
    pub disk: Option<Bytes>,
}

/// The verdict on a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Clause of the rule.
    pub clause: &'static str,
    /// The rule.
    pub rule: &'static str,
    /// True if it is met; `None` if the facts do not say.
    pub met: Option<bool>,
    /// The facts.
    pub note: String,
}

/// Judges all rules.
#[must_use]
pub fn judge(facts: &Facts) -> Vec<Verdict> {
    let each = facts.nopm / f64::from(facts.warehouses.max(1));
    let wanted = u64::from(facts.warehouses) * TERMINALS_PER_WAREHOUSE;
    let space = match (facts.space, facts.disk) {
        (Some(space), Some(disk)) => {
            let needed = Bytes(space.sixty_day_bytes.0 + space.log_bytes.0);
            (Some(needed <= disk), format!("60 days and 8 hours of log take {needed}, the disks have {disk}"))
        }
        (Some(space), None) => {
            (None, format!("60 days take {}: give the disks with --disk SIZE", space.sixty_day_bytes))
        }
        (None, _) => {
            (None, "the size of a warehouse is not known: give it with --bytes-per-warehouse".to_owned())
        }
    };
    vec![
        Verdict {
            clause: "4.3.3.1",
            rule: "all warehouses have the standard's rows",
            met: Some(facts.standard_rows),
            note: if facts.standard_rows {
                format!("{} warehouses", facts.warehouses)
            } else {
                "they have others: load with --size standard and without data_skew".to_owned()
            },
        },
        Verdict {
            clause: "3.3.2",
            rule: "the data is consistent",
            met: facts.checks_hold,
            note: match facts.checks_hold {
                Some(true) => "all checks of the run hold".to_owned(),
                Some(false) => "a check of the run does not hold".to_owned(),
                None => "the run did not check: run without --no-check".to_owned(),
            },
        },
        Verdict {
            clause: "4.1.3",
            rule: "each warehouse gives 9 to 12.86 new orders per minute",
            met: Some((MIN_NOPM_PER_WAREHOUSE..=MAX_NOPM_PER_WAREHOUSE).contains(&each)),
            note: format!("{each:.2}"),
        },
        Verdict {
            clause: "4.2.1",
            rule: "ten terminals per warehouse wait as users do",
            met: Some(facts.terminals == Some(wanted)),
            note: match facts.terminals {
                Some(terminals) => format!("{terminals} terminals, {wanted} are needed"),
                None => "no terminal waits: use --mode rte".to_owned(),
            },
        },
        Verdict {
            clause: "4.2.3",
            rule: "60 days of growth and 8 hours of log fit",
            met: space.0,
            note: space.1,
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizing::SpacePlan;

    fn facts() -> Facts {
        Facts {
            nopm: 1_250.0,
            warehouses: 100,
            standard_rows: true,
            terminals: Some(1_000),
            checks_hold: Some(true),
            space: Some(SpacePlan::new(Bytes(70_000_000)).space(100, 1_250.0)),
            disk: Some("1TB".parse().unwrap()),
        }
    }

    #[test]
    fn a_scaled_run_meets_all_rules_and_each_wrong_fact_breaks_one() {
        let broken = |facts: &Facts| -> Vec<&str> {
            judge(facts).iter().filter(|rule| rule.met != Some(true)).map(|rule| rule.clause).collect()
        };
        assert_eq!(broken(&facts()), Vec::<&str>::new());
        assert_eq!(broken(&Facts { standard_rows: false, ..facts() }), ["4.3.3.1"]);
        assert_eq!(broken(&Facts { checks_hold: Some(false), ..facts() }), ["3.3.2"]);
        assert_eq!(broken(&Facts { nopm: 899.0, ..facts() }), ["4.1.3"]);
        assert_eq!(broken(&Facts { terminals: None, ..facts() }), ["4.2.1"]);
        assert_eq!(broken(&Facts { disk: Some(Bytes(30_000_000_000)), ..facts() }), ["4.2.3"]);
    }

    #[test]
    fn unknown_facts_are_neither_met_nor_broken() {
        let found = judge(&Facts { space: None, checks_hold: None, ..facts() });
        assert_eq!(found.iter().filter(|rule| rule.met.is_none()).count(), 2);
    }
}
