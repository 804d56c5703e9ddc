//! Replication of PostgreSQL: a server's role, and the position of its data in the write-ahead log (WAL) as a number of
//! bytes.

use crate::postgres::Postgres;
use crate::postgres::wire::Wire;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{Positions, Replication, Role, TargetError, TxError};
use std::thread;
use std::time::{Duration, Instant};

/// Query of the primary's position. With `synchronous_commit = off` commits may be beyond the flushed position.
const POSITION: &str = "SELECT pg_wal_lsn_diff(CASE current_setting('synchronous_commit') WHEN 'off' \
                        THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END, '0/0')::bigint, \
                        current_setting('wal_block_size')::bigint";
/// Longest header of a log page in bytes. Records come after it.
const LONGEST_HEADER: u64 = 40;
/// Times between two looks at a replica: the first and the longest.
const FIRST_LOOK: Duration = Duration::from_micros(200);
const LONGEST_LOOK: Duration = Duration::from_millis(10);

impl Positions for Wire {
    fn position(&mut self) -> Result<String, TxError> {
        let mut told = None;
        self.query_each(POSITION, &mut |row| {
            let number = |index: usize| row.get(index)?.as_ref()?.parse::<u64>().ok();
            told = number(0).zip(number(1));
        })
        .map_err(|error| error.in_transaction(false))?;
        let (at, page) = told.filter(|(_, page)| *page > 0).ok_or_else(|| {
            SqlError::Decode("the server reports no position of its log".into()).in_transaction(false)
        })?;
        // The position of the next record may be after a page header. No replica reaches it before that record exists.
        // A record that ended so soon after a page boundary began on the page before, so the boundary is enough.
        let header = at % page;
        Ok(if header <= LONGEST_HEADER { at - header } else { at }.to_string())
    }

    fn reach(&mut self, position: &str, longest: Duration) -> Result<bool, TxError> {
        // A promoted server keeps the position that it replayed last, so it must not count.
        let sql = format!(
            "SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') >= {position} WHERE pg_is_in_recovery()"
        );
        let begun = Instant::now();
        let mut wait = FIRST_LOOK;
        loop {
            let told = self.column(&sql).map_err(|error| error.in_transaction(false))?;
            match told.first().map(String::as_str) {
                Some("t") => return Ok(true),
                Some(_) => {}
                None => return Err(TxError::Fatal("the server is no longer a replica".into())),
            }
            let left = longest.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            thread::sleep(wait.min(left));
            wait = (wait * 2).min(LONGEST_LOOK);
        }
    }
}

impl Postgres {
    pub(super) fn read_replication(&self) -> Result<Replication, TargetError> {
        let mut wire = self.connect_wire()?;
        if !self.config.product.heap {
            return Ok(Replication { role: Role::Member, database: None });
        }
        let mut told = Vec::new();
        wire.query_each(
            "SELECT pg_is_in_recovery(), system_identifier, current_database(), current_schema() FROM pg_control_system()",
            &mut |row| told.extend(row.iter().map(|value| value.unwrap_or_default().to_string())),
        )
        .map_err(self.failed("ask whether it is a replica (this needs EXECUTE on pg_control_system())"))?;
        let [recovers, system, database, schema] = &told[..] else {
            return Err(TargetError::database(format!(
                "{}: the server does not report whether it is a replica",
                self.config.place()
            )));
        };
        Ok(Replication {
            role: if recovers == "t" { Role::Replica } else { Role::Primary },
            database: Some(format!("system {system}, database {database}, schema {schema}")),
        })
    }
}
