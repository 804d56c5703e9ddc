//! Contention control: transactions that compete for hot rows.

use crate::controls::{About, Control, Ground, PhaseOf, PlanStep, Ran, Scale, Schedule};
use crate::entries::Entries;
use crate::error::PlanError;
use crate::key::Key;
use crate::phase_key::PhaseKey;
use crate::problem::Problem;
use crate::values::number;
use lydite_bench::{ContentionFound, ContentionMethod, Mode, RunPlan, Step};
use lydite_database::{Demand, Target};
use lydite_families::TargetSpec;
use lydite_report::controls::contention::{self as report, Competing, Contention};
use lydite_report::controls::{Controls, PhaseControls};
use lydite_report::figures::plural;
use lydite_report::plan::PlanInfo;
use lydite_tpcc::input::{Contended, HotRow, TERMINALS_PER_WAREHOUSE};
use lydite_tpcc::scale::MIN_STOCK;
use lydite_tpcc::{DataSkew, Districts, Size, WarehouseId};

/// The most hot rows: half of the items of the smallest size, so each terminal keeps items that are not hot.
const MAX_ROWS: usize = Size::Tiny.items() as usize / 2;

/// The hot rows of a plan.
#[derive(Clone, Copy, Debug)]
pub struct HotRows {
    /// Their table.
    contended: Contended,
    /// Way of keeping the configured number.
    method: ContentionMethod,
}

impl Control for HotRows {
    const KEYS: &'static [Key] = &[
        Key::new("ci").flag(
            "N,N,…",
            "Transactions that compete for one row at any moment, in each phase: 10,40,50 (direct)",
        ),
        Key::new("hot"),
        Key::new("ci_method"),
    ];
    const PHASE_KEYS: &'static [PhaseKey] = &[PhaseKey::new("ci").whole()];
    /// Competing transactions of each hot row.
    type Step = Vec<u32>;
    type Settled = ();

    fn read(entries: &mut Entries, about: &About<'_>) -> Self {
        for key in ["hot", "ci_method"] {
            if entries.text(key).is_some() && entries.text("ci").is_none() {
                entries.wrong(key, "needs ci: how many transactions are to compete for the row");
            }
        }
        let contended = entries.read("hot", |text| {
            Contended::from_name(text).ok_or_else(|| Problem::from("must be stock or district"))
        });
        if contended == Some(Contended::District) && about.rte {
            entries.wrong("hot", "must be stock where users are emulated: each keeps its district");
        }
        let method = entries.read("ci_method", |text| {
            ContentionMethod::from_name(text).ok_or_else(|| Problem::from("must be feedback or park"))
        });
        if method == Some(ContentionMethod::Park) && (about.rte || about.open) {
            entries.wrong(
                "ci_method",
                "must be feedback in this mode: a parked session would not take the requests that are due",
            );
        }
        Self { contended: contended.unwrap_or_default(), method: method.unwrap_or_default() }
    }

    fn read_step(entries: &mut Entries) -> Vec<u32> {
        entries.read("ci", rows).unwrap_or_default()
    }

    fn check_steps(&self, entries: &mut Entries, _: &About<'_>, steps: &[PlanStep]) {
        let competes = |step: &PlanStep| !step.controls.contention.is_empty();
        let orders = |step: &PlanStep| {
            step.controls.distribution.is_some_and(|distribution| distribution.ratio_percent.is_some())
        };
        if steps.iter().any(competes) && steps.iter().any(orders) {
            entries.wrong("dis_ratio", "can't be combined with --ci: both choose the warehouses of an order");
        }
        let rows = steps.iter().map(|step| step.controls.contention.len()).max().unwrap_or_default();
        if steps.iter().any(|step| competes(step) && step.controls.contention.len() != rows) {
            entries.wrong(
                "ci",
                "has phases with fewer hot rows than others: write 0 for a row without competition, as 10+0",
            );
        }
    }

    fn fit(&self, schedule: &Schedule, scale: &Scale<'_>) -> Result<(), PlanError> {
        let (_, warehouses) = scale.active;
        let (sessions, flag) = match scale.mode {
            Mode::Direct { terminals } => (*terminals, "--terminals"),
            Mode::Open { sessions, .. } | Mode::Rte { sessions, .. } => (*sessions, "--sessions"),
        };
        if schedule.contends()
            && let Some(skew) = scale.districts.and_then(Districts::skew)
        {
            let rows = schedule.steps.iter().map(|step| step.controls.contention.len()).max().unwrap_or(0);
            if rows > MIN_STOCK as usize {
                return Err(PlanError::usage(format!(
                    "--ci: {rows} hot rows are too many for data_skew {skew}, whose smallest warehouse may stock \
                     {MIN_STOCK} items only: use fewer"
                )));
            }
            self.fit_spread_districts((sessions, flag), warehouses, skew)?;
        }
        let competing = |step: &PlanStep| -> (u64, u64) {
            let all = step.controls.contention.iter().copied().map(u64::from).sum();
            (all, step.sessions.unwrap_or(sessions).into())
        };
        let beyond = schedule.steps.iter().map(competing).filter(|(competing, playing)| competing > playing);
        if let Some((competing, playing)) = beyond.max_by_key(|(competing, playing)| competing - playing) {
            return Err(PlanError::usage(format!(
                "--ci: {competing} transactions can't compete with {playing} sessions: use more {flag}, or a \
                 lower --ci"
            )));
        }
        let rows =
            schedule.steps.iter().map(|step| step.controls.contention.len() as u32).max().unwrap_or_default();
        if rows == 0 {
            return Ok(());
        }
        // No session has a hot district as its own.
        let (each, but) = match self.contended {
            Contended::Stock => (TERMINALS_PER_WAREHOUSE, ""),
            Contended::District => (TERMINALS_PER_WAREHOUSE - 1, " beside a hot one each"),
        };
        let districts = warehouses.saturating_mul(each);
        if sessions > districts {
            return Err(PlanError::usage(format!(
                "--ci: {sessions} sessions need a district each, so that they meet nowhere but at the hot row, and \
                 the {} can give {districts}{but}: use at least {} warehouses, or fewer {flag}",
                plural(warehouses.into(), "warehouse"),
                sessions.div_ceil(each)
            )));
        }
        if self.contended == Contended::District && rows > warehouses {
            return Err(PlanError::usage(format!(
                "--ci: {rows} hot districts need a warehouse each, and {warehouses} are active: use fewer hot \
                 districts, or more warehouses"
            )));
        }
        Ok(())
    }

    fn check_target(
        &self,
        schedule: &Schedule,
        _: &TargetSpec,
        target: &dyn Target,
    ) -> Result<(), PlanError> {
        if schedule.contends() {
            target.admit(&Demand::Contention)?;
        }
        Ok(())
    }

    fn settle(&self, _: &Schedule, _: &Ground) -> Result<(), PlanError> {
        Ok(())
    }

    fn shape(&self, (): &(), run: &mut RunPlan) {
        run.contended = self.contended;
        run.contention_method = self.method;
    }

    fn shape_step((): &(), _: usize, asked: &Vec<u32>, step: &mut Step) {
        step.contention.clone_from(asked);
    }

    fn write_plan(&self, ran: &Ran<'_>, info: &mut PlanInfo) {
        let schedule = ran.schedule;
        let of_phases: Vec<&str> = schedule.phases.iter().filter_map(|phase| phase.asked("ci")).collect();
        info.contention.ci = if of_phases.len() == schedule.phases.len() {
            Some(of_phases.join(","))
        } else {
            let of_step = schedule.steps.first().map(|step| &step.controls.contention);
            let rows = of_step.filter(|rows| !rows.is_empty());
            rows.map(|rows| rows.iter().map(u32::to_string).collect::<Vec<_>>().join("+"))
        };
        let unusual = schedule.contends() && self.contended != Contended::default();
        info.contention.hot = unusual.then(|| self.contended.name().into());
        let unusual = schedule.contends() && self.method != ContentionMethod::default();
        info.contention.ci_method = unusual.then(|| self.method.name().into());
    }

    fn write(&self, ran: &Ran<'_>, controls: &mut Controls) {
        let Some(facts) = &ran.measurement.contention else { return };
        let Some(first) = facts.rows.first() else { return };
        let per_second = |seconds: &[f64]| seconds.iter().copied().map(Some).collect();
        let (first_warehouse, warehouses) = ran.active;
        let mut rows = Vec::new();
        if facts.rows.len() > 1 {
            for (number, row) in (0..).zip(&facts.rows) {
                let at = HotRow::nth(self.contended, number, WarehouseId(first_warehouse), warehouses);
                let (w_id, i_id, d_id) = match at {
                    HotRow::Stock(w_id, i_id) => (w_id, Some(i_id.0), None),
                    HotRow::District(w_id, d_id) => (w_id, None, Some(u32::from(d_id.0))),
                };
                rows.push(report::HotRow {
                    w_id: w_id.0,
                    i_id,
                    d_id,
                    phases: row.phases.iter().map(competing).collect(),
                    per_second: per_second(&row.per_second),
                });
            }
        }
        controls.contention = Some(Contention {
            hot: self.contended.name().into(),
            phases: first.phases.iter().map(competing).collect(),
            per_second: per_second(&first.per_second),
            queued: facts.queued,
            rows,
        });
    }

    fn write_phase(&self, ran: &Ran<'_>, phase: &PhaseOf<'_>, controls: &mut PhaseControls) {
        let Some(facts) = &ran.measurement.contention else { return };
        let of_phase = facts.rows.iter().filter_map(|row| row.phases.get(phase.number));
        controls.contention = Some(of_phase.map(competing).collect());
    }
}

impl HotRows {
    /// Rejects hot rows on too few districts: `skew` leaves some warehouses with fewer than ten.
    fn fit_spread_districts(
        &self,
        (sessions, flag): (u32, &str),
        warehouses: u32,
        skew: DataSkew,
    ) -> Result<(), PlanError> {
        if self.contended == Contended::District {
            return Err(PlanError::usage(format!(
                "hot: district needs ten districts for each warehouse, and the database was loaded with {skew}: use \
                 hot=stock"
            )));
        }
        // The smallest warehouse may have one district only.
        if sessions > warehouses {
            return Err(PlanError::usage(format!(
                "--ci: {sessions} sessions need a warehouse each with data_skew {skew}, so that they meet nowhere but \
                 at the hot row, and {warehouses} are active: use more warehouses, or fewer {flag}"
            )));
        }
        Ok(())
    }
}

/// Reads the number of competing transactions of each hot row: `40`, or `40+10` for two rows.
fn rows(text: &str) -> Result<Vec<u32>, Problem> {
    let problem =
        "must be a number of competing transactions for each phase, as 10,40,50; 40+10 is for two hot rows";
    let rows = text.split('+').map(|one| number(one.trim(), problem)).collect::<Result<Vec<u32>, _>>()?;
    if rows.len() > MAX_ROWS { Err(format!("has more than {MAX_ROWS} hot rows").into()) } else { Ok(rows) }
}

/// Returns the configured and the measured competition for a row in a phase.
fn competing(found: &ContentionFound) -> Competing {
    Competing {
        asked: found.asked,
        actual: found.actual,
        deviation_percent: (found.asked_then > 0.0)
            .then(|| 100.0 * (found.actual - found.asked_then) / found.asked_then),
        settling_s: found.settling_s,
        from_s: found.from_s,
        to_s: found.to_s,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controls::tests::{DIRECT, entries};

    fn step(contention: &[u32]) -> PlanStep {
        let mut step = PlanStep::default();
        step.controls.contention = contention.to_vec();
        step
    }

    #[test]
    fn each_hot_row_has_its_number_of_competing_transactions() {
        let mut plan = entries(&[("ci", "40+10"), ("hot", "district")]);
        assert_eq!(HotRows::read_step(&mut plan), [40, 10]);
        assert_eq!(HotRows::read(&mut plan, &DIRECT).contended, Contended::District);
        assert_eq!(plan.errors, [""; 0]);
        assert_eq!(HotRows::read_step(&mut entries(&[])), [0; 0]);
        let mut wrong = entries(&[("ci", "40+x")]);
        assert_eq!(HotRows::read_step(&mut wrong), [0; 0]);
        assert!(wrong.errors[0].contains("must be a number of competing transactions"), "{:?}", wrong.errors);
    }

    #[test]
    fn users_keep_their_districts_and_every_phase_must_have_all_rows() {
        let mut plan = entries(&[("ci", "4"), ("mode", "rte"), ("hot", "district")]);
        HotRows::read(&mut plan, &About { rte: true, ..DIRECT });
        assert!(plan.errors[0].contains("must be stock where users are emulated"), "{:?}", plan.errors);
        let mut plan = entries(&[("ci", "4+1,4")]);
        let rows = HotRows { contended: Contended::Stock, method: ContentionMethod::Feedback };
        rows.check_steps(&mut plan, &DIRECT, &[step(&[4, 1]), step(&[4])]);
        assert!(plan.errors[0].contains("write 0 for a row without competition"), "{:?}", plan.errors);
    }

    #[test]
    fn only_sessions_of_a_closed_loop_are_parked() {
        let mut plan = entries(&[("ci", "4"), ("ci_method", "park")]);
        assert_eq!(HotRows::read(&mut plan, &DIRECT).method, ContentionMethod::Park);
        assert_eq!(plan.errors, [""; 0]);
        let mut plan = entries(&[("ci", "4"), ("ci_method", "park"), ("mode", "open"), ("rate", "9")]);
        HotRows::read(&mut plan, &About { open: true, ..DIRECT });
        assert!(plan.errors[0].contains("must be feedback in this mode"), "{:?}", plan.errors);
        let mut plan = entries(&[("ci_method", "wait")]);
        HotRows::read(&mut plan, &DIRECT);
        assert!(plan.errors.iter().any(|error| error.contains("needs ci")), "{:?}", plan.errors);
        assert!(
            plan.errors.iter().any(|error| error.contains("must be feedback or park")),
            "{:?}",
            plan.errors
        );
    }
}
