//! The microbenchmark on PostgreSQL.

use crate::per_transaction;
use crate::postgres::connecting::{advised, connected};
use crate::postgres::copy::copy_in;
use crate::postgres::session::dialect;
use crate::postgres::wire::Wire;
use crate::postgres::{Postgres, load_lock};
use lydite_database::sql::meta::{self, Admin};
use lydite_database::sql::micro::{COLUMNS, MicroSession, MicroStatement, name, tables, totals};
use lydite_database::{LoadProgress, Micro, MicroLoader, MicroTarget, Session, TargetError, seated};
use lydite_micro::{Engines, Meta, TableId, Totals};
use lydite_tpcc::schema::ColumnType;

impl MicroTarget for Postgres {
    fn engines(&self) -> Engines {
        Engines::One
    }

    fn create_tables(&self, meta: &Meta) -> Result<(), TargetError> {
        let mut wire = self.connect_wire()?;
        let mut sql = String::from("BEGIN; ");
        for table in tables(meta) {
            sql += &format!(
                "CREATE TABLE {} (id bigint NOT NULL, counter bigint NOT NULL, payload varchar({}) NOT NULL); ",
                name(table),
                meta.data.text_bytes()
            );
        }
        sql += &meta::create_notes(&meta.notes());
        sql += "; COMMIT";
        wire.execute(&sql).map_err(self.failed("create the tables"))
    }

    fn table_loader(&self, meta: &Meta) -> Result<Box<dyn MicroLoader>, TargetError> {
        let place = self.config.place();
        let mut wire = connected(&self.config)?;
        load_lock::share(&mut wire, self.config.product)
            .map_err(|error| advised(error, "join the load", &place))?;
        Ok(Box::new(PgTableLoader { wire, place, meta: meta.clone() }))
    }

    fn finish_tables(
        &self,
        meta: &Meta,
        jobs: usize,
        stage: &(dyn Fn(&str) + Sync),
    ) -> Result<(), TargetError> {
        stage("building keys");
        let key = |table| format!("ALTER TABLE {} ADD PRIMARY KEY (id)", name(table));
        self.run_all(&tables(meta).map(key).collect::<Vec<_>>(), jobs)?;
        stage("gathering statistics");
        // VACUUM too, see `Target::finish_load`.
        let vacuum = |table| format!("VACUUM (ANALYZE) {}", self.config.in_schema(&name(table)));
        self.run_all(&tables(meta).map(vacuum).collect::<Vec<_>>(), jobs)?;
        let mut wire = self.connect_wire()?;
        wire.execute(meta::READY).map_err(self.failed("note the end of the load"))?;
        stage("writing a checkpoint");
        // Only a superuser may run it. Without it the first run pays for the load's dirty pages.
        let _only_superusers_may = wire.execute("CHECKPOINT");
        Ok(())
    }

    fn connect_micro(&self, meta: &Meta) -> Result<Box<dyn Session<Micro>>, TargetError> {
        let statements = MicroStatement::all(meta, dialect(self.config.isolation));
        let opening = self.measured(self.opening("", &statements));
        per_transaction::session(self.config.life, move || {
            let (connection, seat) = opening.open()?;
            Ok(seated(Box::new(MicroSession::new(connection)), seat))
        })
    }

    fn totals(&self, meta: &Meta, table: TableId) -> Result<Totals, TargetError> {
        let mut wire = self.connect_wire()?;
        // As for the conditions: a role's time limits do not apply to checks.
        wire.keep(&[("statement_timeout", "0".into())]).map_err(self.failed("check"))?;
        totals(&mut wire, meta, table).map_err(self.failed(&format!("check {}", name(table))))
    }
}

struct PgTableLoader {
    wire: Wire,
    place: String,
    meta: Meta,
}

impl MicroLoader for PgTableLoader {
    fn load(&mut self, table: TableId, progress: &LoadProgress) -> Result<(), TargetError> {
        let Meta { data, seed, .. } = self.meta;
        // Two integers of eight bytes and a text. The table defines the text's width.
        let number = ColumnType::Integer { below: 1 << 63 };
        let types = vec![number, number, ColumnType::VarText(u16::MAX)];
        copy_in(&mut self.wire, &name(table), COLUMNS, types, progress, |copy| {
            data.write_table(table, seed, |record, text| {
                copy.row(|copy| {
                    copy.field(&i64::from(record).to_be_bytes());
                    copy.field(&0_i64.to_be_bytes());
                    copy.field(text.as_bytes());
                })
            })
        })
        .map_err(|error| advised(error, &format!("load {}", name(table)), &self.place))
    }
}
