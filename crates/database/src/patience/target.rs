//! A target whose requests have a limit.

use super::Patience;
use super::lent::{Held, Lent};
use crate::balances::Balances;
use crate::capabilities::{
    BalanceTarget, Capabilities, HeldTarget, Moved, NodeSize, Nodes, Program, Replicated, StoppableWork,
    StoreTest, TableEngines,
};
use crate::error::TargetError;
use crate::facts::{ConditionFinding, DatabaseState, Description, LedgerCounts, TableChecksum};
use crate::held;
use crate::leaving::{Inventory, Leaving};
use crate::lists::{HeldLists, ListTarget, Lists};
use crate::load::Loader;
use crate::micro::{MicroLoader, MicroTarget};
use crate::observe::{Configuration, Observe, Observer};
use crate::replication::{Positions, Replication};
use crate::reread::{FoundRows, HalfCounts, RowKeys};
use crate::session::Session;
use crate::shapes::{TableShape, TableShapes};
use crate::target::{Demand, Target};
use crate::workload::Micro;
use crate::written::Written;
use lydite_micro::{Engines, Meta, TableId, Totals};
use lydite_tpcc::consistency::{CONDITIONS, Condition};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::{OrderId, Placement, TransactionKind, WarehouseId};
use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// A target whose requests have a limit, are reported, and can be ended by the user.
pub struct Patient {
    target: Arc<dyn Target>,
    patience: Patience,
}

impl Patient {
    /// Wraps `target`, so that `patience` limits its requests.
    pub fn new(target: Arc<dyn Target>, patience: Patience) -> Self {
        Self { target, patience }
    }

    fn ask<R: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce(&dyn Target) -> Result<R, TargetError> + Send + 'static,
    ) -> Result<R, TargetError> {
        let target = Arc::clone(&self.target);
        self.patience.ask(what, move || work(&*target))
    }

    /// Sends a request for work that has stages.
    fn finish(
        &self,
        stage: &(dyn Fn(&str) + Sync),
        work: impl FnOnce(&dyn Target, &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> + Send + 'static,
    ) -> Result<(), TargetError> {
        let target = Arc::clone(&self.target);
        let now = Mutex::new("the end of the load".to_owned());
        let now = || now.lock().unwrap_or_else(PoisonError::into_inner);
        self.patience.ask_for(
            &|| now().clone(),
            &|| 0,
            &mut |begins: String| {
                stage(&begins);
                *now() = begins;
            },
            move |heard| work(&*target, &|begins| heard(begins.to_owned())),
        )
    }
}

/// Names the conditions without a finding. If all twelve conditions of the standard are among them, the text names
/// these together.
fn unanswered(conditions: &[Condition]) -> String {
    let is_standard = |condition: &Condition| CONDITIONS.iter().any(|known| known.clause == condition.clause);
    let all = conditions.iter().filter(|condition| is_standard(condition)).count() == CONDITIONS.len();
    let named = conditions.iter().filter(|condition| !(all && is_standard(condition)));
    let clauses: Vec<&str> = named.map(|condition| condition.clause).collect();
    match &clauses[..] {
        [] if all => "the twelve consistency conditions".to_owned(),
        [] => "the end of the check".to_owned(),
        more if all => format!("the twelve consistency conditions, {}", more.join(", ")),
        [one] => format!("consistency condition {one}"),
        several => format!("consistency conditions {}", several.join(", ")),
    }
}

impl Target for Patient {
    fn describe(&self) -> Result<Description, TargetError> {
        self.ask("its version and settings", |target| target.describe())
    }

    fn state(&self) -> Result<DatabaseState, TargetError> {
        self.ask("the state of the database", |target| target.state())
    }

    fn admit(&self, demand: &Demand) -> Result<Vec<String>, TargetError> {
        let what = match demand {
            Demand::Load => "the settings that a load needs",
            Demand::Resume => "the state of the interrupted load",
            Demand::Districts(_) => "its limit of districts",
            Demand::FarStockLevels => "its support of remote Stock-Levels",
            Demand::Transactions(_) => "its transaction types",
            Demand::Sessions(_) => "its limit of connections",
            Demand::Contention => "whether transactions can compete for a row",
            Demand::Writes => "whether it takes writes, and at which isolation level",
        };
        let demand = demand.clone();
        self.ask(what, move |target| target.admit(&demand))
    }

    fn create_schema(&self, meta: &DatabaseMeta) -> Result<(), TargetError> {
        let meta = meta.clone();
        self.ask("the new tables", move |target| target.create_schema(&meta))
    }

    fn begin_load(&self) -> Result<Box<dyn Send>, TargetError> {
        let held = self.ask("the right to load", |target| target.begin_load())?;
        Ok(Box::new(Held { right: Some(held), patience: self.patience.clone() }))
    }

    fn begin_run(&self, warehouses: &RangeInclusive<u32>) -> Result<Box<dyn Send>, TargetError> {
        let warehouses = warehouses.clone();
        let held = self.ask("the right to run", move |target| target.begin_run(&warehouses))?;
        Ok(Box::new(Held { right: Some(held), patience: self.patience.clone() }))
    }

    fn loader(&self) -> Result<Box<dyn Loader>, TargetError> {
        let loader = self.ask("a new connection for the load", |target| target.loader())?;
        Ok(Box::new(Lent::new(loader, &self.patience)))
    }

    fn finish_load(&self, jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        self.finish(stage, move |target, stage| target.finish_load(jobs, stage))
    }

    fn note_played(&self, kinds: &[TransactionKind]) -> Result<(), TargetError> {
        let kinds = kinds.to_vec();
        self.ask("the note of the transactions to play", move |target| target.note_played(&kinds))
    }

    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        self.ask("a new session", |target| target.connect())
    }

    fn reset(&self) -> Result<(), TargetError> {
        self.ask("dropping the tables", |target| target.reset())
    }

    fn check(
        &self,
        conditions: &[Condition],
        done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError> {
        let (target, asked) = (Arc::clone(&self.target), conditions.to_vec());
        let left = Mutex::new(conditions.to_vec());
        let left = || left.lock().unwrap_or_else(PoisonError::into_inner);
        self.patience.ask_for(
            &|| unanswered(&left()),
            &|| 0,
            &mut |finding: ConditionFinding| {
                left().retain(|condition| condition.number != finding.condition.number);
                done(&finding);
            },
            move |heard| target.check(&asked, &|finding| heard(finding.clone())),
        )
    }

    fn passes(&self, conditions: &[Condition]) -> Vec<Vec<Condition>> {
        self.target.passes(conditions)
    }

    fn checksums(&self) -> Result<Vec<TableChecksum>, TargetError> {
        self.ask("the checksums of the tables", |target| target.checksums())
    }

    fn counts(&self, warehouses: &RangeInclusive<u32>) -> Result<LedgerCounts, TargetError> {
        let warehouses = warehouses.clone();
        self.ask("the numbers of orders and payments", move |target| target.counts(&warehouses))
    }

    fn written(
        &self,
        warehouses: &RangeInclusive<u32>,
        orders_from: Option<OrderId>,
    ) -> Result<Written, TargetError> {
        let warehouses = warehouses.clone();
        self.ask("the orders and payments", move |target| target.written(&warehouses, orders_from))
    }

    fn reread(&self, keys: &RowKeys) -> Result<FoundRows, TargetError> {
        let keys = keys.clone();
        self.ask("rows of the run", move |target| target.reread(&keys))
    }

    fn halves(
        &self,
        warehouses: &RangeInclusive<u32>,
        loaded_orders: OrderId,
    ) -> Result<HalfCounts, TargetError> {
        let warehouses = warehouses.clone();
        self.ask("both sides of transactions", move |target| target.halves(&warehouses, loaded_orders))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let offered = self.target.capabilities();
        Capabilities {
            nodes: offered.nodes.map(|_| self as _),
            endpoints: offered.endpoints,
            replication: offered.replication.map(|_| self as _),
            balances: offered.balances.map(|_| self as _),
            held: offered.held.map(|_| self as _),
            micro: offered.micro.map(|_| self as _),
            lists: offered.lists.map(|_| self as _),
            store: offered.store.map(|_| self as _),
            work: offered.work.map(|_| self as _),
            server: offered.server,
            program: offered.program.map(|_| self as _),
            observe: offered.observe.map(|_| self as _),
            // A check of foreign tables is one long read, which the user can interrupt.
            foreign: offered.foreign,
            shapes: offered.shapes.map(|_| self as _),
            leaving: offered.leaving.map(|_| self as _),
        }
    }
}

impl Nodes for Patient {
    fn placement(&self, warehouses: u32) -> Result<Option<Placement>, TargetError> {
        self.ask("the placement of the warehouses", move |target| target.capabilities().placement(warehouses))
    }

    fn sizes(&self) -> Result<Option<Vec<NodeSize>>, TargetError> {
        self.ask("the sizes of the nodes", |target| target.capabilities().node_sizes())
    }

    fn of_endpoints(&self) -> Result<Vec<String>, TargetError> {
        self.ask("the nodes of its endpoints", |target| target.capabilities().nodes_of_endpoints())
    }

    /// Waits without a limit, because a move copies rows.
    fn move_warehouses(&self, warehouses: &[WarehouseId], shard: usize) -> Result<Moved, TargetError> {
        self.target.capabilities().move_warehouses(warehouses, shard)
    }
}

impl TableShapes for Patient {
    fn shapes(&self) -> Result<Vec<TableShape>, TargetError> {
        self.ask("the sizes of its tables", |target| target.capabilities().shapes())
    }
}

impl Leaving for Patient {
    fn inventory(&self) -> Result<Inventory, TargetError> {
        self.ask("the list of what Lydite has made", |target| target.capabilities().leaving()?.inventory())
    }

    fn remove(&self, seen: &Inventory) -> Result<(), TargetError> {
        let seen = seen.clone();
        self.ask("dropping what Lydite has made", move |target| {
            target.capabilities().leaving()?.remove(&seen)
        })
    }
}

impl Replicated for Patient {
    fn replication(&self) -> Result<Replication, TargetError> {
        self.ask("its role in the replication", |target| target.capabilities().replication()?.replication())
    }

    fn positions(&self) -> Result<Option<Box<dyn Positions>>, TargetError> {
        let positions = self.ask("its position in the replication", |target| {
            target.capabilities().replication()?.positions()
        })?;
        Ok(positions.map(|positions| Box::new(Lent::new(positions, &self.patience)) as Box<dyn Positions>))
    }

    fn connect_to_read(&self) -> Result<Box<dyn Session>, TargetError> {
        self.ask("a new session", |target| target.capabilities().replication()?.connect_to_read())
    }
}

impl BalanceTarget for Patient {
    fn connect_balances(&self, longest_wait: Duration) -> Result<Box<dyn Session<Balances>>, TargetError> {
        self.ask("a new session for balances", move |target| {
            target.capabilities().balances()?.connect_balances(longest_wait)
        })
    }

    fn deadlock_timeout(&self) -> Result<Option<Duration>, TargetError> {
        self.ask("its deadlock timeout", |target| target.capabilities().balances()?.deadlock_timeout())
    }

    fn table_engines(&self) -> Result<Option<TableEngines>, TargetError> {
        self.ask("the engines of its tables", |target| target.capabilities().balances()?.table_engines())
    }
}

impl HeldTarget for Patient {
    fn connect_held(&self) -> Result<Box<dyn Session<held::Held>>, TargetError> {
        self.ask("a new session that stops", |target| target.capabilities().held()?.connect_held())
    }

    fn lock_waits(&self) -> Result<Option<u64>, TargetError> {
        self.ask("the sessions that wait", |target| target.capabilities().held()?.lock_waits())
    }
}

impl ListTarget for Patient {
    fn isolates_ranges(&self) -> bool {
        self.target.capabilities().lists().is_ok_and(ListTarget::isolates_ranges)
    }

    fn places(&self) -> Result<Vec<String>, TargetError> {
        self.ask("its engines and nodes", |target| target.capabilities().lists()?.places())
    }

    fn create_lists(&self) -> Result<(), TargetError> {
        self.ask("the tables of an isolation check", |target| target.capabilities().lists()?.create_lists())
    }

    fn add_keys(&self, numbers: Range<u32>) -> Result<(), TargetError> {
        self.ask("new keys", move |target| target.capabilities().lists()?.add_keys(numbers))
    }

    fn connect_lists(&self, longest_wait: Duration) -> Result<Box<dyn Session<Lists>>, TargetError> {
        self.ask("a new session for an isolation check", move |target| {
            target.capabilities().lists()?.connect_lists(longest_wait)
        })
    }

    fn connect_held_lists(&self) -> Result<Box<dyn Session<HeldLists>>, TargetError> {
        self.ask("a new session that stops between operations", |target| {
            target.capabilities().lists()?.connect_held_lists()
        })
    }

    fn drop_lists(&self) -> Result<(), TargetError> {
        self.ask("the end of the tables of an isolation check", |target| {
            target.capabilities().lists()?.drop_lists()
        })
    }
}

impl Program for Patient {
    fn kill(&self) -> Result<usize, TargetError> {
        self.ask("the end of its program", |target| target.capabilities().program()?.kill())
    }
}

impl Observe for Patient {
    /// Waits by itself: observers have limits of their own, and nobody waits for them.
    fn observer(&self, server: usize) -> Result<Option<Box<dyn Observer>>, TargetError> {
        self.target.capabilities().observer(server)
    }

    fn servers(&self) -> Vec<String> {
        self.target.capabilities().observed_servers()
    }

    fn configuration(&self) -> Result<Configuration, TargetError> {
        self.ask("its changed settings", |target| target.capabilities().configuration())
    }
}

impl StoreTest for Patient {
    fn try_functions(&self) -> Result<Option<String>, TargetError> {
        self.ask("its functions", |target| target.capabilities().store()?.try_functions())
    }
}

impl StoppableWork for Patient {
    fn stop_work(&self) {
        let target = Arc::clone(&self.target);
        // A frozen server does not react to it.
        let _without =
            Builder::new().name("cancel".to_owned()).spawn(move || target.capabilities().stop_work());
    }
}

impl MicroTarget for Patient {
    fn engines(&self) -> Engines {
        self.target.capabilities().micro.map_or(Engines::One, MicroTarget::engines)
    }

    fn create_tables(&self, meta: &Meta) -> Result<(), TargetError> {
        let meta = meta.clone();
        self.ask("the new tables", move |target| target.capabilities().micro()?.create_tables(&meta))
    }

    fn table_loader(&self, meta: &Meta) -> Result<Box<dyn MicroLoader>, TargetError> {
        let meta = meta.clone();
        let loader = self.ask("a new connection for the load", move |target| {
            target.capabilities().micro()?.table_loader(&meta)
        })?;
        Ok(Box::new(Lent::new(loader, &self.patience)))
    }

    fn finish_tables(
        &self,
        meta: &Meta,
        jobs: usize,
        stage: &(dyn Fn(&str) + Sync),
    ) -> Result<(), TargetError> {
        let meta = meta.clone();
        self.finish(stage, move |target, stage| {
            target.capabilities().micro()?.finish_tables(&meta, jobs, stage)
        })
    }

    fn connect_micro(&self, meta: &Meta) -> Result<Box<dyn Session<Micro>>, TargetError> {
        let meta = meta.clone();
        self.ask("a new session", move |target| target.capabilities().micro()?.connect_micro(&meta))
    }

    fn totals(&self, meta: &Meta, table: TableId) -> Result<Totals, TargetError> {
        let meta = meta.clone();
        self.ask("the sums of a table", move |target| target.capabilities().micro()?.totals(&meta, table))
    }
}

#[cfg(test)]
mod tests {
    use super::unanswered;
    use lydite_tpcc::consistency::{CONDITIONS, OWN_CONDITIONS};

    #[test]
    fn the_standards_conditions_are_named_one_by_one_only_if_some_have_an_answer() {
        assert_eq!(unanswered(&CONDITIONS), "the twelve consistency conditions");
        let (one, extra) = (CONDITIONS[4].clause, OWN_CONDITIONS[0].clause);
        assert_eq!(unanswered(&CONDITIONS[4..5]), format!("consistency condition {one}"));
        let some = unanswered(&CONDITIONS[4..]);
        assert!(some.starts_with(&format!("consistency conditions {one}, ")), "{some}");
        let all = [&CONDITIONS[..], &OWN_CONDITIONS[..1]].concat();
        assert_eq!(unanswered(&all), format!("the twelve consistency conditions, {extra}"));
        assert_eq!(unanswered(&[]), "the end of the check");
    }
}
