//! Follows databases that move their data during a run: asks them for the placement again, and updates the inputs and
//! the counts.

use crate::measurement::Moved;
use crate::plan::RunPlan;
use crate::stages::{Stage, Stages};
use lydite_database::Target;
use lydite_tpcc::{Distribution, InputPlan, Placement, WarehouseId};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A thread that watches the placement until this is dropped. The run does not wait for the thread, because the
/// database may not answer.
pub(crate) struct PlacementWatch {
    shared: Arc<WatchState>,
}

#[derive(Default)]
struct WatchState {
    over: Mutex<bool>,
    ended: Condvar,
    seen: Mutex<Seen>,
}

/// Observations of the thread.
#[derive(Debug, Default)]
struct Seen {
    /// Current placement, if it differs from that at the start.
    placement: Option<Arc<Placement>>,
    /// Times of moves, with the number of warehouses that moved.
    moves: Vec<(SystemTime, u32)>,
    warnings: Vec<String>,
}

impl Seen {
    /// Adds a warning unless it is there already.
    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

impl PlacementWatch {
    /// Starts to watch at the plan's interval. Returns `None` if the plan has no interval, or if the placement is
    /// unknown.
    pub(crate) fn new(
        target: &Arc<dyn Target>,
        plan: &RunPlan,
        stages: &Arc<Stages<InputPlan>>,
    ) -> std::io::Result<Option<Self>> {
        let (Some(every), Some(mut placement)) = (plan.refresh, plan.placement.clone()) else {
            return Ok(None);
        };
        let (target, stages) = (Arc::clone(target), Arc::clone(stages));
        let (first, warehouses) = (WarehouseId(plan.first_warehouse), plan.warehouses);
        let shared = Arc::<WatchState>::default();
        let watching = Arc::clone(&shared);
        let look = move || {
            while !watching.is_over_after(every) {
                let found = target.capabilities().placement(placement.node_of.len() as u32);
                let mut seen = watching.seen.lock();
                let found = match found {
                    Ok(Some(found)) => found.with_nodes_of(&placement),
                    Ok(None) => {
                        let warning = "the database no longer reports the placement of the warehouses: the last \
                                       known one was used";
                        seen.warn(warning.into());
                        continue;
                    }
                    Err(error) => {
                        let why = error.message;
                        seen.warn(format!(
                            "the placement of the warehouses could not be queried again, so the last known one was \
                             used: {why}"
                        ));
                        continue;
                    }
                };
                let moved = found.node_of.iter().zip(&placement.node_of).filter(|(now, then)| now != then);
                let moved = moved.count() as u32;
                if moved == 0 {
                    continue;
                }
                placement = Arc::new(found);
                if let Some(endpoints) = target.capabilities().endpoints {
                    endpoints.follow(&placement);
                }
                seen.moves.push((SystemTime::now(), moved));
                seen.placement = Some(Arc::clone(&placement));
                let current = stages.current();
                let moved_to = |stage: &Stage<InputPlan>| {
                    let inputs = moved_inputs(&stage.inputs, &placement, (first, warehouses), &mut seen);
                    Stage { inputs, ..stage.clone() }
                };
                stages.replace(current.iter().map(moved_to).collect());
            }
        };
        std::thread::Builder::new().name("placement".to_owned()).spawn(look)?;
        Ok(Some(Self { shared }))
    }

    /// Returns the current placement if it changed, the moves since `start`, and warnings.
    pub(crate) fn seen(&self, start: SystemTime) -> (Option<Arc<Placement>>, Vec<Moved>, Vec<String>) {
        let mut seen = self.shared.seen.lock();
        let since = |at: SystemTime| match at.duration_since(start) {
            Ok(after) => after.as_secs_f64(),
            Err(before) => -before.duration().as_secs_f64(),
        };
        let moves =
            seen.moves.iter().map(|&(at, warehouses)| Moved { at_s: since(at), warehouses }).collect();
        (seen.placement.take(), moves, std::mem::take(&mut seen.warnings))
    }
}

impl Drop for PlacementWatch {
    fn drop(&mut self) {
        *self.shared.over.lock() = true;
        self.shared.ended.notify_all();
    }
}

impl WatchState {
    /// Waits for `every`. Returns true if the run is over.
    fn is_over_after(&self, every: Duration) -> bool {
        let mut over = self.over.lock();
        self.ended.wait_while_for(&mut over, |over| !*over, every);
        *over
    }
}

/// Returns the inputs on another placement. A distribution that is impossible there stays as it was, with a warning.
fn moved_inputs(
    inputs: &InputPlan,
    placement: &Arc<Placement>,
    (first, warehouses): (WarehouseId, u32),
    seen: &mut Seen,
) -> InputPlan {
    let mut moved = InputPlan { placement: Some(Arc::clone(placement)), ..inputs.clone() };
    if let Some(distribution) = &inputs.distribution {
        match Distribution::new(distribution.asked(), placement, first, warehouses) {
            Ok(distribution) => moved.distribution = Some(Arc::new(distribution)),
            Err(problem) => seen.warn(format!(
                "the database moved warehouses, and the distribution is impossible on the new placement, so it \
                 stayed as it was: {problem}"
            )),
        }
    }
    moved
}
