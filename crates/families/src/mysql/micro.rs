//! The microbenchmark on MySQL's family.

use crate::mysql::connecting::advised;
use crate::mysql::copy::{Way, copy_in, way};
use crate::mysql::wire::Wire;
use crate::mysql::{Mysql, schema};
use crate::per_transaction;
use lydite_database::sql::micro::{COLUMNS, MicroSession, MicroStatement, name, tables, totals};
use lydite_database::{LoadProgress, Micro, MicroLoader, MicroTarget, Session, TargetError, seated};
use lydite_micro::{Engines, Meta, TableId, Totals};
use lydite_tpcc::rows::ColumnSink;

impl MicroTarget for Mysql {
    fn engines(&self) -> Engines {
        Engines::One
    }

    fn create_tables(&self, meta: &Meta) -> Result<(), TargetError> {
        let mut wire = self.connect_wire()?;
        let statements: Vec<String> = tables(meta)
            .map(|table| {
                format!(
                    "CREATE TABLE {} (id bigint PRIMARY KEY, counter bigint NOT NULL, payload varchar({}) NOT NULL) \
                     DEFAULT CHARACTER SET ascii",
                    name(table),
                    meta.data.text_bytes()
                )
            })
            .collect();
        schema::create_noted(&mut wire, &self.config, &meta.notes(), statements)
            .map_err(self.failed("create the tables"))
    }

    fn table_loader(&self, meta: &Meta) -> Result<Box<dyn MicroLoader>, TargetError> {
        let place = self.config.place();
        let mut wire = self.connect_wire()?;
        let way = way(&mut wire).map_err(self.failed("ask for local_infile"))?;
        Ok(Box::new(MysqlTableLoader {
            batch: self.config.batch.or(wire.product.batch),
            wire,
            place,
            way,
            meta: meta.clone(),
        }))
    }

    fn finish_tables(
        &self,
        meta: &Meta,
        jobs: usize,
        stage: &(dyn Fn(&str) + Sync),
    ) -> Result<(), TargetError> {
        stage("gathering statistics");
        let analyze: Vec<String> =
            tables(meta).map(|table| format!("ANALYZE TABLE {}", name(table))).collect();
        self.run_all(&analyze, jobs)?;
        self.note_ready()
    }

    fn connect_micro(&self, meta: &Meta) -> Result<Box<dyn Session<Micro>>, TargetError> {
        let statements = MicroStatement::all(meta, self.product()?.dialect);
        let opening = self.measured(self.opening(Vec::new(), &statements, false));
        per_transaction::session(self.config.life, move || {
            let (connection, seat) = opening.open()?;
            Ok(seated(Box::new(MicroSession::new(connection)), seat))
        })
    }

    fn totals(&self, meta: &Meta, table: TableId) -> Result<Totals, TargetError> {
        let mut wire = self.connect_wire()?;
        totals(&mut wire, meta, table).map_err(self.failed(&format!("check {}", name(table))))
    }
}

struct MysqlTableLoader {
    wire: Wire,
    place: String,
    way: Way,
    /// Rows per batch; `None` if a table is one statement.
    batch: Option<u32>,
    meta: Meta,
}

impl MicroLoader for MysqlTableLoader {
    fn load(&mut self, table: TableId, progress: &LoadProgress) -> Result<(), TargetError> {
        let Meta { data, seed, .. } = self.meta;
        let into = (&*name(table), COLUMNS);
        copy_in(&mut self.wire, self.way, into, self.batch.as_mut(), progress, |copy| {
            data.write_table(table, seed, |record, text| {
                copy.row(|row| {
                    row.int(i64::from(record));
                    row.int(0);
                    row.text(text);
                })
            })
        })
        .map_err(|error| advised(error, &format!("load {}", name(table)), &self.place))
    }
}
