//! The controls of a run. Each is a module with a plain struct that reads its keys of the plan, rejects impossible
//! values, shapes the steps of the run, and writes its part of the result. The table below lists them. Controls don't
//! import each other: a conflict between two is checked in one of them, through the steps or the entries.

pub mod affinity;
pub mod coaccess;
pub mod contention;
pub mod distribution;
pub mod faults;
pub mod function_tests;
pub mod imbalance;
pub mod rate;
pub mod replicas;
mod schedule;

pub(crate) use schedule::{Loop, phase_keys};
pub use schedule::{PlanStep, Schedule};

use crate::data::Data;
use crate::entries::Entries;
use crate::error::PlanError;
use crate::key::Key;
use crate::phase_key::PhaseKey;
use crate::phases::Span;
use lydite_bench::{Measurement, Mode, PhaseFacts, RunPlan, Step};
use lydite_database::{Placement, ReplicasReport, Target, TxMode};
use lydite_families::TargetSpec;
use lydite_report::controls::{Controls, PhaseControls};
use lydite_report::plan::PlanInfo;
use lydite_tpcc::Districts;
use lydite_tpcc::meta::DatabaseMeta;
use std::fmt::Debug;
use std::ops::Range;
use std::time::Duration;

/// Generates [`ControlPlans`], [`StepControls`] and [`Settled`] with a field for each control, and the methods that
/// call each control in the order of the table.
macro_rules! table {
    ($($name:ident: $control:ty),+ $(,)?) => {
        /// The plan of each control.
        #[derive(Debug)]
        pub struct ControlPlans {
            $(#[doc = concat!("The plan of the control `", stringify!($name), "`.")] pub $name: $control),+
        }

        /// The values of each control in one step of the run.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct StepControls {
            $(
                #[doc = concat!("The values of the control `", stringify!($name), "`.")]
                pub $name: <$control as Control>::Step
            ),+
        }

        /// The values of each control that are settled on a database.
        #[derive(Debug)]
        pub struct Settled {
            $(
                #[doc = concat!("The settled values of the control `", stringify!($name), "`.")]
                pub $name: <$control as Control>::Settled
            ),+
        }

        /// Keys of a plan, by control.
        const KEYS: &[&[Key]] = &[$(<$control as Control>::KEYS),+];
        /// Keys of a phase, by control.
        const PHASE_KEYS: &[&[PhaseKey]] = &[$(<$control as Control>::PHASE_KEYS),+];

        impl ControlPlans {
            /// Reads the plan.
            pub(crate) fn read(entries: &mut Entries, about: &About<'_>) -> Self {
                Self { $($name: <$control as Control>::read(entries, about)),+ }
            }

            /// Rejects steps that are impossible on any database.
            pub(crate) fn check_steps(&self, entries: &mut Entries, about: &About<'_>, steps: &[PlanStep]) {
                $(self.$name.check_steps(entries, about, steps);)+
            }

            /// Rejects a target that can't run the plan, before anything is loaded.
            ///
            /// # Errors
            /// The reason, and what to do; the database's error.
            pub fn check_target(
                &self,
                schedule: &Schedule,
                spec: &TargetSpec,
                target: &dyn Target,
            ) -> Result<(), PlanError> {
                $(self.$name.check_target(schedule, spec, target)?;)+
                Ok(())
            }

            /// Rejects a scale that is too small for the plan.
            ///
            /// # Errors
            /// The reason, and what to do.
            pub fn fit(&self, schedule: &Schedule, scale: &Scale<'_>) -> Result<(), PlanError> {
                $(self.$name.fit(schedule, scale)?;)+
                Ok(())
            }

            /// Settles the plan on a database.
            ///
            /// # Errors
            /// The reason why it can't be settled, and what to do.
            pub fn settle(&self, schedule: &Schedule, ground: &Ground) -> Result<Settled, PlanError> {
                Ok(Settled { $($name: self.$name.settle(schedule, ground)?),+ })
            }

            /// Shapes the run and its steps.
            pub fn shape(&self, settled: &Settled, schedule: &Schedule, run: &mut RunPlan) {
                $(self.$name.shape(&settled.$name, run);)+
                for (number, (asked, step)) in schedule.steps.iter().zip(&mut run.steps).enumerate() {
                    $(<$control as Control>::shape_step(&settled.$name, number, &asked.controls.$name, step);)+
                }
            }

            /// Writes the keys of the plan into the result.
            pub fn write_plan(&self, ran: &Ran<'_>, info: &mut PlanInfo) {
                $(self.$name.write_plan(ran, info);)+
            }

            /// Returns the controls of the whole run for the result.
            #[must_use]
            pub fn written(&self, ran: &Ran<'_>) -> Controls {
                let mut controls = Controls::default();
                $(self.$name.write(ran, &mut controls);)+
                controls
            }

            /// Returns the controls of a phase for the result.
            #[must_use]
            pub fn written_of_phase(&self, ran: &Ran<'_>, phase: &PhaseOf<'_>) -> PhaseControls {
                let mut controls = PhaseControls::default();
                $(self.$name.write_phase(ran, phase, &mut controls);)+
                controls
            }
        }

        impl StepControls {
            /// Reads the values of a step.
            pub(crate) fn read(entries: &mut Entries) -> Self {
                Self { $($name: <$control as Control>::read_step(entries)),+ }
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
    function_tests: function_tests::FunctionTests,
    replicas: replicas::Reading,
    affinity: affinity::Affinity,
    faults: faults::Faults,
}

/// A control, from the keys of the plan to its part of the result.
pub trait Control: Sized {
    /// Keys of a plan that it reads.
    const KEYS: &'static [Key];
    /// Keys that a phase may set.
    const PHASE_KEYS: &'static [PhaseKey] = &[];
    /// Values that may change from step to step.
    type Step: Clone + Debug + Default + PartialEq;
    /// Values that are settled on a database.
    type Settled;

    /// Reads the values that hold for the whole run.
    fn read(entries: &mut Entries, about: &About<'_>) -> Self;

    /// Reads the values of a step.
    fn read_step(entries: &mut Entries) -> Self::Step;

    /// Rejects steps that are impossible on any database.
    fn check_steps(&self, _entries: &mut Entries, _about: &About<'_>, _steps: &[PlanStep]) {}

    /// Rejects a target that can't run the plan, before anything is loaded.
    ///
    /// # Errors
    /// The reason, and what to do; the database's error.
    fn check_target(
        &self,
        _schedule: &Schedule,
        _spec: &TargetSpec,
        _target: &dyn Target,
    ) -> Result<(), PlanError> {
        Ok(())
    }

    /// Rejects a scale that is too small for the plan.
    ///
    /// # Errors
    /// The reason, and what to do.
    fn fit(&self, _schedule: &Schedule, _scale: &Scale<'_>) -> Result<(), PlanError> {
        Ok(())
    }

    /// Settles the plan on a database.
    ///
    /// # Errors
    /// The reason why it can't be settled, and what to do.
    fn settle(&self, schedule: &Schedule, ground: &Ground) -> Result<Self::Settled, PlanError>;

    /// Shapes the part of the run that is the same in all steps.
    fn shape(&self, _settled: &Self::Settled, _run: &mut RunPlan) {}

    /// Shapes a step of the run, by its number.
    fn shape_step(_settled: &Self::Settled, _number: usize, _asked: &Self::Step, _step: &mut Step) {}

    /// Writes its keys of the plan into the result.
    fn write_plan(&self, _ran: &Ran<'_>, _info: &mut PlanInfo) {}

    /// Writes its part of the result, if the run had the control.
    fn write(&self, ran: &Ran<'_>, controls: &mut Controls);

    /// Writes its part of a phase's result, if the run had the control.
    fn write_phase(&self, _ran: &Ran<'_>, _phase: &PhaseOf<'_>, _controls: &mut PhaseControls) {}
}

/// Returns the keys of a plan that controls read.
pub(crate) fn keys() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().copied().flatten()
}

/// Returns the keys of a phase that controls read.
fn phase_keys_of_controls() -> impl Iterator<Item = &'static PhaseKey> {
    PHASE_KEYS.iter().copied().flatten()
}

/// The rest of the plan that controls depend on.
pub struct About<'a> {
    /// The target, if its URL is good.
    pub target: Option<&'a TargetSpec>,
    /// Way of sending transactions.
    pub tx: TxMode,
    /// True for the microbenchmark.
    pub micro: bool,
    /// True if users are emulated.
    pub rte: bool,
    /// True if requests come at a rate.
    pub open: bool,
    /// Number of warehouses, if the plan sets it.
    pub warehouses: Option<u32>,
    /// The first and the last of the active warehouses, if not all are.
    pub active: Option<(u32, u32)>,
    /// Length of the window.
    pub duration: Duration,
}

/// The scale of a run.
pub struct Scale<'a> {
    /// The mode on this scale.
    pub mode: &'a Mode,
    /// The first of the active warehouses, and their number.
    pub active: (u32, u32),
    /// The districts of all warehouses, if they are known.
    pub districts: Option<&'a Districts>,
}

/// The database that a run is settled on.
pub struct Ground {
    /// The first of the active warehouses, and their number.
    pub active: (u32, u32),
    /// The placement of the warehouses, if it is known.
    pub place: distribution::Place,
}

impl Ground {
    /// Returns the placement of the warehouses, if it is known.
    fn placement(&self) -> Option<&Placement> {
        self.place.placement.as_deref()
    }
}

/// A measured run. Controls write their part of the result from it.
pub struct Ran<'a> {
    /// Its phases and steps.
    pub schedule: &'a Schedule,
    /// The data in the plan.
    pub data: Data,
    /// The mode on the database's scale.
    pub mode: &'a Mode,
    /// The description of the loaded database.
    pub meta: &'a DatabaseMeta,
    /// Values of the controls that were settled on the database.
    pub settled: &'a Settled,
    /// The first of the active warehouses, and their number.
    pub active: (u32, u32),
    /// Reads of the replicas, if the run had any.
    pub replicas: Option<&'a ReplicasReport>,
    /// All measurements.
    pub measurement: &'a Measurement,
}

impl Ran<'_> {
    /// Returns the placement of the warehouses at the end, if it is known.
    #[must_use]
    pub fn placement(&self) -> Option<&Placement> {
        let known = self.settled.distribution.place.placement.as_deref();
        self.measurement.placement.as_deref().or(known)
    }
}

/// A phase that the run reached.
pub struct PhaseOf<'a> {
    /// Its number among the phases.
    pub number: usize,
    /// The phase in the plan.
    pub span: &'a Span,
    /// Its measured length in seconds: a run that ended early cuts its last phase.
    pub seconds: f64,
    /// Its steps.
    pub steps: Range<usize>,
    /// Measurements of the phase.
    pub facts: &'a PhaseFacts,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;
    use std::collections::BTreeSet;

    /// A plan with these values.
    pub(super) fn entries(values: &[(&str, &str)]) -> Entries {
        let mut entries = Entries::default();
        values.iter().for_each(|(key, value)| entries.put(key, (*value).to_owned()));
        entries
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
        duration: Duration::from_secs(30),
    };

    #[test]
    fn each_key_belongs_to_one_control_and_those_of_phases_are_keys_of_the_plan() {
        let known = plan::keys().plan;
        let all: BTreeSet<&str> = known.iter().copied().collect();
        assert_eq!(all.len(), known.len(), "{known:?}");
        assert!(phase_keys().all(|key| known.contains(&key.name)));
    }
}
