//! Reading large tables, or all of them, on one snapshot: conditions, checksums, and what a run is compared with.

use crate::postgres::wire::Wire;
use crate::postgres::{Postgres, session};
use crate::sql_load::panicked;
use lydite_database::sql::checksum::{CanonicalText, checksums};
use lydite_database::sql::conditions;
use lydite_database::sql::meta::{self, Admin};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{ConditionFinding, TableChecksum, TargetError};
use lydite_tpcc::consistency::{CUSTOMER_CONDITION, Condition, STOCK_CONDITION};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Connections that check conditions in parallel.
const CHECK_CONNECTIONS: usize = 2;

/// First conditions of the groups that take longest.
const SLOW: [u8; 4] = [4, 10, STOCK_CONDITION, CUSTOMER_CONDITION];

/// Statements that begin a transaction which reads large tables on one snapshot.
const READ_ONE_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

impl Postgres {
    /// Reads with `read` in a transaction that sees one snapshot, until the work is stopped. `doing` is for errors.
    pub(super) fn on_snapshot<T>(
        &self,
        doing: &str,
        read: impl FnOnce(&mut Wire) -> Result<T, SqlError>,
    ) -> Result<T, TargetError> {
        let failed = self.failed(doing);
        let settings = self.session_settings()?;
        let mut wire = self.connect_wire()?;
        wire.execute(&format!("{settings}; {READ_ONE_SNAPSHOT}")).map_err(&failed)?;
        let _at_work = wire.backend().map(|backend| self.work.enter(backend));
        self.work.unless_stopped(self.config.place())?;
        read(&mut wire).map_err(failed)
    }

    /// Evaluates conditions; see [`lydite_database::Target::check`].
    pub(super) fn check_conditions(
        &self,
        conditions: &[Condition],
        done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError> {
        let failed = self.failed("check");
        let settings = self.session_settings()?;
        let product = self.config.product;
        let mut first = self.connect_wire()?;
        let mut begin = format!("{settings}; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ");
        let connections = if product.exports_snapshots {
            first.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").map_err(&failed)?;
            let snapshot = first
                .column("SELECT pg_export_snapshot()")
                .map_err(&failed)?
                .into_iter()
                .next()
                .ok_or_else(|| TargetError::database("the server exported no snapshot"))?;
            begin += &format!("SET TRANSACTION SNAPSHOT '{snapshot}'; ");
            CHECK_CONNECTIONS
        } else {
            1
        };
        if product.heap {
            // Rows that came since the last ANALYZE look few: a nested loop over them would never end.
            begin += "SET LOCAL work_mem = '256MB'; SET LOCAL jit = off; SET LOCAL enable_nestloop = off";
        }
        let dialect = session::dialect(self.config.isolation);
        let next = AtomicUsize::new(0);
        let findings = Mutex::new(Vec::new());
        // The slow conditions first, so that both connections end at about the same time.
        let mut order = conditions::groups(conditions);
        order.sort_by_key(|group| !SLOW.contains(&group[0].number));
        let work = || -> Result<(), TargetError> {
            let mut wire = self.connect_wire()?;
            wire.execute(&begin).map_err(&failed)?;
            let meta = meta::read(&mut wire).map_err(&failed)?;
            let _at_work = wire.backend().map(|backend| self.work.enter(backend));
            while let Some(group) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.work.unless_stopped(self.config.place())?;
                let found = conditions::evaluate(&mut wire, dialect, &meta, group)
                    .map_err(|error| self.failed(&conditions::doing(group))(error))?;
                found.iter().for_each(done);
                findings.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
            }
            Ok(())
        };
        std::thread::scope(|scope| -> Result<(), TargetError> {
            let threads: Vec<_> = (0..connections).map(|_| scope.spawn(work)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(panicked())))
        })?;
        let mut findings = findings.into_inner().unwrap_or_else(PoisonError::into_inner);
        findings.sort_by_key(|finding| finding.condition.number);
        Ok(findings)
    }

    /// Returns a checksum of each table; see [`lydite_database::Target::checksums`].
    pub(super) fn read_checksums(&self) -> Result<Vec<TableChecksum>, TargetError> {
        let canonical = CanonicalText {
            money: |column| format!("({column} * 100)::bigint"),
            rate: |column| format!("({column} * 10000)::bigint"),
            as_text: session::dialect(self.config.isolation).as_text,
        };
        let mut wire = self.connect_wire()?;
        checksums(&mut wire, &canonical).map_err(self.failed("read the tables"))
    }
}
