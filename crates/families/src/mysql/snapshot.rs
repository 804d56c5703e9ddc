//! Reading large tables, or all of them, on one snapshot: conditions, checksums, and what a run is compared with.

use crate::mysql::wire::Wire;
use crate::mysql::{Mysql, spider};
use lydite_database::sql::checksum::{CanonicalText, checksums};
use lydite_database::sql::conditions;
use lydite_database::sql::meta::{self, Admin};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{ConditionFinding, TableChecksum, TargetError};
use lydite_tpcc::consistency::Condition;

impl Mysql {
    /// Opens a connection that reads one snapshot of the tables.
    fn connect_to_check(&self) -> Result<Wire, TargetError> {
        let mut wire = self.connect_wire()?;
        let prepare = wire.product.check;
        prepare.iter().try_for_each(|statement| wire.execute(statement)).map_err(self.failed("check"))?;
        if self.is_parted()? {
            wire.execute(spider::SESSION).map_err(self.failed("check"))?;
        }
        // One connection, because a snapshot can't be passed to another one. The snapshot is taken at once, in all
        // engines.
        wire.execute(
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT",
        )
        .map_err(self.failed("check"))?;
        Ok(wire)
    }

    /// Reads with `read` on one snapshot, until the work is stopped. `doing` is for errors.
    pub(super) fn on_snapshot<T>(
        &self,
        doing: &str,
        read: impl FnOnce(&mut Wire) -> Result<T, SqlError>,
    ) -> Result<T, TargetError> {
        let mut wire = self.connect_to_check()?;
        let _at_work = self.work.enter(wire.id);
        self.work.unless_stopped(self.config.place())?;
        read(&mut wire).map_err(self.failed(doing))
    }

    /// Evaluates conditions; see [`lydite_database::Target::check`].
    pub(super) fn check_conditions(
        &self,
        conditions: &[Condition],
        done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError> {
        let mut wire = self.connect_to_check()?;
        let dialect = wire.product.dialect;
        let meta = meta::read(&mut wire).map_err(self.failed("check"))?;
        let _at_work = self.work.enter(wire.id);
        conditions
            .iter()
            .map(|&condition| {
                self.work.unless_stopped(self.config.place())?;
                let finding = conditions::evaluate(&mut wire, dialect, &meta, condition)
                    .map_err(self.failed(&format!("check condition {}", condition.clause)))?;
                done(&finding);
                Ok(finding)
            })
            .collect()
    }

    /// Returns a checksum of each table; see [`lydite_database::Target::checksums`].
    pub(super) fn read_checksums(&self) -> Result<Vec<TableChecksum>, TargetError> {
        let mut wire = self.connect_wire()?;
        let canonical = CanonicalText {
            money: |column| format!("CAST({column} * 100 AS signed)"),
            rate: |column| format!("CAST({column} * 10000 AS signed)"),
            as_text: wire.product.dialect.as_text,
        };
        checksums(&mut wire, &canonical).map_err(self.failed("read the tables"))
    }
}
