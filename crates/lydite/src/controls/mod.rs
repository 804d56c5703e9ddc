//! The controls of a run. Each is a module: a plain struct that reads its keys of the plan, refuses what can't be had, shapes the
//! steps of the run, and writes its part of the result. The table below is the list of them.

pub(crate) mod coaccess;
pub(crate) mod contention;
pub(crate) mod distribution;
pub(crate) mod function_tests;
pub(crate) mod imbalance;
pub(crate) mod rate;
pub(crate) mod replicas;

use crate::exit::{Failure, Outcome};
use crate::phases::{PhaseKey, Span, WantedStep};
use crate::plan::Plan;
use crate::raw::Raw;
use crate::result::Parts;
use lydite_bench::{Mode, PhaseFacts, RunPlan, Step};
use lydite_database::{Placement, Target, TxMode};
use lydite_families::TargetSpec;
use lydite_report::controls::{Controls, PhaseControls};
use lydite_report::plan::PlanInfo;
use lydite_tpcc::Districts;
use std::fmt::Debug;
use std::ops::Range;

/// Writes what holds for every control once: a field for each in [`Wanted`], [`OfStep`] and [`Settled`], and a call of each
/// in the order of the table.
macro_rules! table {
    ($($name:ident: $control:ty),+ $(,)?) => {
        /// The plan of each control.
        #[derive(Debug)]
        pub(crate) struct Wanted {
            $(pub(crate) $name: $control),+
        }

        /// The values of each control in one step of the run.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(crate) struct OfStep {
            $(pub(crate) $name: <$control as Control>::Step),+
        }

        /// The values of each control that are settled on a database.
        #[derive(Debug)]
        pub(crate) struct Settled {
            $(pub(crate) $name: <$control as Control>::Settled),+
        }

        /// Keys of a plan, by control.
        const KEYS: &[&[&str]] = &[$(<$control as Control>::KEYS),+];
        /// Keys of a phase, by control.
        const PHASE_KEYS: &[&[PhaseKey]] = &[$(<$control as Control>::PHASE_KEYS),+];

        impl Wanted {
            /// Reads the plan.
            pub(crate) fn read(raw: &mut Raw, about: &About<'_>) -> Self {
                Self { $($name: <$control as Control>::read(raw, about)),+ }
            }

            /// Refuses what some steps can't do.
            pub(crate) fn check_steps(&self, raw: &mut Raw, about: &About<'_>, steps: &[WantedStep]) {
                $(self.$name.check_steps(raw, about, steps);)+
            }

            /// Refuses a target that can't do what the plan asks for, before anything is loaded.
            pub(crate) fn check_target(&self, plan: &Plan, target: &dyn Target) -> Outcome {
                $(self.$name.check_target(plan, target)?;)+
                Ok(())
            }

            /// Refuses a scale that is too small for what the plan asks for.
            pub(crate) fn fit(&self, plan: &Plan, scale: &Scale<'_>) -> Outcome {
                $(self.$name.fit(plan, scale)?;)+
                Ok(())
            }

            /// Settles the plan on a database.
            pub(crate) fn settle(&self, plan: &Plan, ground: &Ground) -> Result<Settled, Failure> {
                Ok(Settled { $($name: self.$name.settle(plan, ground)?),+ })
            }

            /// Shapes the run and its steps.
            pub(crate) fn shape(&self, settled: &Settled, plan: &Plan, run: &mut RunPlan) {
                $(self.$name.shape(&settled.$name, run);)+
                for (number, (wanted, step)) in plan.steps.iter().zip(&mut run.steps).enumerate() {
                    $(<$control as Control>::shape_step(&settled.$name, number, &wanted.controls.$name, step);)+
                }
            }

            /// Keys of the plan, for the result.
            pub(crate) fn write_plan(&self, parts: &Parts<'_>, info: &mut PlanInfo) {
                $(self.$name.write_plan(parts, info);)+
            }

            /// Controls of the whole run, for the result.
            pub(crate) fn written(&self, parts: &Parts<'_>) -> Controls {
                let mut controls = Controls::default();
                $(self.$name.write(parts, &mut controls);)+
                controls
            }

            /// Controls of a phase, for the result.
            pub(crate) fn written_of_phase(&self, parts: &Parts<'_>, phase: &PhaseOf<'_>) -> PhaseControls {
                let mut controls = PhaseControls::default();
                $(self.$name.write_phase(parts, phase, &mut controls);)+
                controls
            }
        }

        impl OfStep {
            /// Reads the values of a step.
            pub(crate) fn read(raw: &mut Raw) -> Self {
                Self { $($name: <$control as Control>::read_step(raw)),+ }
            }
        }
    };
}

table! {
    imbalance: imbalance::Imbalance,
    distribution: distribution::Nodes,
    contention: contention::HotRows,
    coaccess: coaccess::Extra,
    rate: rate::Rate,
    function_tests: function_tests::Before,
    replicas: replicas::Reading,
}

/// A control, from the keys of the plan to its part of the result.
pub(crate) trait Control: Sized {
    /// Keys of a plan that it reads.
    const KEYS: &'static [&'static str];
    /// Keys that a phase may set.
    const PHASE_KEYS: &'static [PhaseKey] = &[];
    /// Values that may change from step to step.
    type Step: Clone + Debug + Default + PartialEq;
    /// Values that are settled on a database.
    type Settled;

    /// Reads what holds for the whole run.
    fn read(raw: &mut Raw, about: &About<'_>) -> Self;

    /// Reads the values of a step.
    fn read_step(raw: &mut Raw) -> Self::Step;

    /// Refuses what some steps can't do.
    fn check_steps(&self, _raw: &mut Raw, _about: &About<'_>, _steps: &[WantedStep]) {}

    /// Refuses a target that can't do what the plan asks for, before anything is loaded.
    fn check_target(&self, _plan: &Plan, _target: &dyn Target) -> Outcome {
        Ok(())
    }

    /// Refuses a scale that is too small for what the plan asks for.
    fn fit(&self, _plan: &Plan, _scale: &Scale<'_>) -> Outcome {
        Ok(())
    }

    /// Settles the plan on a database.
    fn settle(&self, plan: &Plan, ground: &Ground) -> Result<Self::Settled, Failure>;

    /// Shapes what is the same in all steps of the run.
    fn shape(&self, _settled: &Self::Settled, _run: &mut RunPlan) {}

    /// Shapes a step of the run, by its number.
    fn shape_step(_settled: &Self::Settled, _number: usize, _wanted: &Self::Step, _step: &mut Step) {}

    /// Writes its keys of the plan into the result.
    fn write_plan(&self, _parts: &Parts<'_>, _info: &mut PlanInfo) {}

    /// Writes its part of the result, if the run had the control.
    fn write(&self, parts: &Parts<'_>, controls: &mut Controls);

    /// Writes its part of a phase, if the run had the control.
    fn write_phase(&self, _parts: &Parts<'_>, _phase: &PhaseOf<'_>, _controls: &mut PhaseControls) {}
}

/// The keys of a plan that controls read.
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().copied().flatten().copied()
}

/// The keys of a phase that controls read.
pub(crate) fn phase_keys() -> impl Iterator<Item = &'static PhaseKey> {
    PHASE_KEYS.iter().copied().flatten()
}

/// The rest of the plan, as far as controls depend on it.
pub(crate) struct About<'a> {
    /// The target, if its URL is good.
    pub(crate) target: Option<&'a TargetSpec>,
    pub(crate) tx: TxMode,
    /// True for the microbenchmark.
    pub(crate) micro: bool,
    /// True if users are emulated.
    pub(crate) rte: bool,
    /// True if requests come at a rate.
    pub(crate) open: bool,
    /// Warehouses of the database, if the plan says it.
    pub(crate) warehouses: Option<u32>,
    /// The first and the last of the warehouses that are used, if not all are.
    pub(crate) active: Option<(u32, u32)>,
}

/// The scale of a run.
pub(crate) struct Scale<'a> {
    pub(crate) mode: &'a Mode,
    /// The first of the active warehouses, and their number.
    pub(crate) active: (u32, u32),
    /// The districts of all warehouses, if they are known.
    pub(crate) districts: Option<&'a Districts>,
}

/// The database that a run is settled on.
pub(crate) struct Ground {
    /// The first of the active warehouses, and their number.
    pub(crate) active: (u32, u32),
    /// The placement of the warehouses, if it is known.
    pub(crate) place: distribution::Place,
}

impl Ground {
    /// The placement of the warehouses, if it is known.
    pub(crate) fn placement(&self) -> Option<&Placement> {
        self.place.placement.as_deref()
    }
}

/// A phase that the run reached.
pub(crate) struct PhaseOf<'a> {
    /// Its place among the phases.
    pub(crate) number: usize,
    pub(crate) span: &'a Span,
    /// Its steps.
    pub(crate) steps: Range<usize>,
    pub(crate) facts: &'a PhaseFacts,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;
    use std::collections::BTreeSet;

    /// A plan with these values.
    pub(super) fn raw(values: &[(&str, &str)]) -> Raw {
        let mut raw = Raw::default();
        values.iter().for_each(|(key, value)| raw.put(key, (*value).to_owned()));
        raw
    }

    /// A direct mode on warehouses that are not known.
    pub(super) const DIRECT: About<'static> = About {
        target: None,
        tx: TxMode::Statements,
        micro: false,
        rte: false,
        open: false,
        warehouses: None,
        active: None,
    };

    #[test]
    fn each_key_belongs_to_one_control_and_those_of_phases_are_keys_of_the_plan() {
        let all: BTreeSet<&str> = plan::KEYS.iter().copied().collect();
        assert_eq!(all.len(), plan::KEYS.len(), "{:?}", *plan::KEYS);
        assert!(phase_keys().all(|key| keys().any(|known| known == key.name)));
    }
}
