//! Prepared statements over the wire protocol, for the SQL text of the transactions.

use crate::per_transaction::{Preparing, to_prepare};
use crate::postgres::config::Config;
use crate::postgres::errors;
use crate::postgres::values::{decode, encode};
use crate::postgres::wire::{Wire, encoding, unexpected};
use crate::statement_limit::Watched;
use fallible_iterator::FallibleIterator;
use lydite_database::Positions;
use lydite_database::sql::connection::{Connection, Step};
use lydite_database::sql::dialect::{Batches, Dialect};
use lydite_database::sql::isolation::Isolation;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::prepared::{Prepared, StatementRole};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::sql::value::{Field, Rows, Value};
use lydite_tpcc::schema::ColumnType;
use postgres_protocol::Oid;
use postgres_protocol::message::backend::{DataRowBody, ErrorFields, Message};
use postgres_protocol::message::frontend;
use std::sync::{Arc, OnceLock};

/// Returns the SQL type of a column.
pub(crate) fn column_type(kind: ColumnType) -> String {
    match kind {
        ColumnType::Integer { below } if below <= 1 << 15 => "smallint".into(),
        // By length: an INTEGER of CockroachDB has eight bytes unless a setting says otherwise.
        ColumnType::Integer { below } if below <= 1 << 31 => "int4".into(),
        ColumnType::Integer { .. } => "int8".into(),
        ColumnType::Money { digits } => format!("numeric({digits}, 2)"),
        ColumnType::Rate => "numeric(4, 4)".into(),
        ColumnType::VarText(width) => format!("varchar({width})"),
        ColumnType::FixedText(width) => format!("char({width})"),
        ColumnType::Time => "timestamptz".into(),
    }
}

/// The dialect at an isolation level. The second text follows the beginning of a read-only transaction.
macro_rules! at {
    ($level:literal, $read:literal) => {{
        static DIALECT: Dialect = Dialect {
            column_type,
            money_text: str::to_string,
            exact: str::to_string,
            amount: |amount| amount.to_string(),
            joins_by_row: false,
            as_text: |value| format!("CAST({value} AS varchar(500))"),
            placeholder: '$',
            now: "CURRENT_TIMESTAMP",
            // Not FOR UPDATE: it would also block the foreign key checks of other transactions' inserts.
            for_update: " FOR NO KEY UPDATE",
            // A foreign key does not wait for the locks of for_update.
            customer_lock: "",
            // A locked row shows its current values, or the lock has failed.
            newest: "",
            call: "SELECT * FROM",
            procedures_commit: false,
            batches: Batches::Arrays,
            delete_new_order: "DELETE FROM new_order",
            begin_write: concat!("BEGIN ISOLATION LEVEL ", $level, " READ WRITE"),
            begin_read: concat!("BEGIN ISOLATION LEVEL ", $level, " READ ONLY", $read),
        };
        &DIALECT
    }};
}

/// Returns the dialect at an isolation level.
pub(crate) fn dialect(isolation: Isolation) -> &'static Dialect {
    match isolation {
        Isolation::RepeatableRead => at!("REPEATABLE READ", ""),
        Isolation::Serializable => at!("SERIALIZABLE", ""),
        Isolation::ReadCommitted => at!("READ COMMITTED", ""),
    }
}

/// Returns the dialect of the measured sessions. With follower reads, CockroachDB answers read-only transactions from the
/// closest replica, as of a time that all replicas have reached.
pub(crate) fn measured_dialect(config: &Config) -> &'static Dialect {
    match config.isolation {
        isolation if !config.follower_reads => dialect(isolation),
        Isolation::ReadCommitted => at!("READ COMMITTED", " AS OF SYSTEM TIME follower_read_timestamp()"),
        Isolation::Serializable | Isolation::RepeatableRead => {
            at!("SERIALIZABLE", " AS OF SYSTEM TIME follower_read_timestamp()")
        }
    }
}

/// Prepare requests that are sent before answers are read. With more of them both sides' buffers may fill up, and each
/// side would wait for the other.
const PREPARED_AT_ONCE: usize = 100;

/// Texts of the statements of a session, by the numbers of the statements.
pub(crate) struct Texts(Vec<Text>);

/// A statement with its name at the server. Both are empty if the session does not have a statement of this number.
#[derive(Clone, Default)]
struct Text {
    name: String,
    sql: String,
    /// Description of the statement, for connections that do not prepare it.
    described: OnceLock<Known>,
}

impl Texts {
    pub(crate) fn of<S: Prepared>(statements: &[(S, String)]) -> Self {
        let count = statements.iter().map(|(statement, _)| statement.index() + 1).max().unwrap_or(0);
        let mut texts = vec![Text::default(); count];
        for (statement, sql) in statements {
            texts[statement.index()] =
                Text { name: format!("{statement:?}"), sql: sql.clone(), ..Text::default() };
        }
        Self(texts)
    }
}

/// Description of a prepared statement, from the server.
#[derive(Clone, Default)]
struct Known {
    /// True once the server has the statement, or has described it for a connection that sends its text each time.
    ready: bool,
    parameters: Vec<Oid>,
    columns: Vec<Oid>,
}

/// A connection with prepared statements.
pub(crate) struct PgConnection {
    wire: Wire,
    texts: Arc<Texts>,
    prepared: Vec<Known>,
    /// Limit of the round trips.
    watched: Option<Arc<Watched>>,
    /// Warning that came with the last commit.
    warning: Option<String>,
}

/// True for the error of a statement that was cancelled.
fn is_cancel(error: &SqlError) -> bool {
    matches!(error, SqlError::Database { code, .. } if code == errors::CANCELLED)
}

impl PgConnection {
    /// Makes a session of a connection.
    pub(crate) fn new(
        wire: Wire,
        texts: &Arc<Texts>,
        preparing: Preparing,
        watched: Option<Arc<Watched>>,
    ) -> Result<Self, SqlError> {
        let of_others = |text: &Text| text.described.get().cloned().unwrap_or_default();
        let prepared = texts.0.iter().map(of_others).collect();
        let mut connection = Self { wire, texts: Arc::clone(texts), prepared, watched: None, warning: None };
        if preparing == Preparing::AtOnce {
            let is_missing =
                |number: &usize| !texts.0[*number].name.is_empty() && !connection.prepared[*number].ready;
            let all: Vec<usize> = (0..texts.0.len()).filter(is_missing).collect();
            all.chunks(PREPARED_AT_ONCE).try_for_each(|numbers| connection.prepare(numbers))?;
        }
        // A lock on a table lets nobody prepare statements on it. Like all connecting, that has a patience of its own.
        connection.watched = watched;
        Ok(connection)
    }

    /// Runs SQL that gives the session its own settings.
    pub(crate) fn set(&mut self, sql: &str) -> Result<(), SqlError> {
        if sql.is_empty() { Ok(()) } else { self.wire.execute(sql) }
    }

    /// Makes a round trip, under the limit if there is one. See [`Watched::trip`].
    fn trip(
        &mut self,
        spared: bool,
        run: impl FnOnce(&mut Self) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let Some(watched) = self.watched.clone() else { return run(self) };
        self.warning = None;
        let trip = watched.trip(spared, is_cancel, || run(self));
        match (trip.result, self.warning.take()) {
            // The cancel ended a commit that waited for standbys: it is stored on this server alone.
            (Ok(()), Some(warning)) if trip.cancelled => {
                watched.give_up();
                Err(SqlError::Lost(warning))
            }
            (result, _) => result,
        }
    }

    /// Prepares those of the statements that the server does not have yet. Those that begin or commit have neither
    /// parameters nor columns, and are prepared on the way.
    fn prepare_missing<S: Prepared>(&mut self, steps: &[Step<'_, S>]) -> Result<(), SqlError> {
        let missing = to_prepare(steps, |statement| {
            statement.role() == StatementRole::Other && !self.prepared[statement.index()].ready
        });
        if missing.is_empty() { Ok(()) } else { self.prepare(&missing) }
    }

    fn prepare(&mut self, numbers: &[usize]) -> Result<(), SqlError> {
        self.trip(true, |connection| {
            // The descriptions depend on settings too.
            let is_led = connection.wire.leading() > 0;
            if is_led {
                connection.wire.execute("BEGIN")?;
            }
            connection.prepare_in_trip(numbers)?;
            if is_led { connection.wire.execute("COMMIT") } else { Ok(()) }
        })?;
        if self.wire.is_unprepared() {
            for &number in numbers {
                self.texts.0[number].described.get_or_init(|| self.prepared[number].clone());
            }
        }
        Ok(())
    }

    fn prepare_in_trip(&mut self, numbers: &[usize]) -> Result<(), SqlError> {
        let Self { wire, texts, prepared, .. } = self;
        for number in numbers {
            let Text { name, sql, .. } = &texts.0[*number];
            let name = if wire.is_unprepared() { "" } else { name };
            frontend::parse(name, sql, [], &mut wire.out).map_err(encoding)?;
            frontend::describe(b'S', name, &mut wire.out).map_err(encoding)?;
        }
        frontend::sync(&mut wire.out);
        wire.flush()?;
        // The server answers each statement with ParseComplete, ParameterDescription, and RowDescription or NoData.
        let mut waiting = numbers.iter();
        loop {
            match wire.message()? {
                Message::ParameterDescription(body) => {
                    let number = waiting.next().ok_or_else(|| unexpected("a description too many"))?;
                    let entry = &mut prepared[*number];
                    entry.ready = true;
                    entry.parameters = body.parameters().collect().map_err(encoding)?;
                    match wire.message()? {
                        Message::RowDescription(body) => {
                            entry.columns = body
                                .fields()
                                .map(|field| Ok(field.type_oid()))
                                .collect()
                                .map_err(encoding)?;
                        }
                        Message::NoData => {}
                        Message::ErrorResponse(body) => return Err(wire.fail(body.fields())),
                        _ => return Err(unexpected("no description")),
                    }
                }
                Message::ErrorResponse(body) => return Err(wire.fail(body.fields())),
                Message::ReadyForQuery(status) => {
                    wire.status = status.status();
                    return Ok(());
                }
                _ => {}
            }
        }
    }

    fn bind<S: Prepared>(&mut self, statement: S, params: &[Value<'_>]) -> Result<(), SqlError> {
        let text = &self.texts.0[statement.index()];
        let prepared = &mut self.prepared[statement.index()];
        let name = if self.wire.is_unprepared() { "" } else { &text.name };
        if self.wire.is_unprepared() || !prepared.ready {
            // The server finds out the types of a statement that was not described.
            let types = prepared.parameters.iter().copied();
            frontend::parse(name, &text.sql, types, &mut self.wire.out).map_err(encoding)?;
            prepared.ready = true;
        }
        debug_assert_eq!(params.len(), prepared.parameters.len(), "{statement:?}");
        let bound = frontend::bind(
            "",
            name,
            [1],
            params.iter().zip(&prepared.parameters),
            |(value, &oid), out| encode(value, oid, out),
            [1],
            &mut self.wire.out,
        );
        match bound {
            Ok(()) => {}
            Err(frontend::BindError::Conversion(error)) => {
                self.wire.out.clear();
                return Err(SqlError::Decode(format!("{statement:?}: {error}")));
            }
            Err(frontend::BindError::Serialization(error)) => {
                self.wire.out.clear();
                return Err(encoding(error));
            }
        }
        frontend::execute("", 0, &mut self.wire.out).map_err(encoding)
    }

    /// Reads the answer to one bound statement.
    fn answer<S: Prepared>(&mut self, statement: S, rows: &mut Rows) -> Result<(), SqlError> {
        let columns = self.prepared[statement.index()].columns.len();
        rows.reset(columns);
        loop {
            match self.wire.message()? {
                Message::DataRow(body) => self.row(statement, &body, rows)?,
                Message::CommandComplete(body) => {
                    let tag = body.tag().map_err(encoding)?;
                    if statement.role() == StatementRole::Commit && tag == "ROLLBACK" {
                        return Err(SqlError::Decode("the server rolled back instead of committing".into()));
                    }
                    rows.set_affected(
                        tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0),
                    );
                    return Ok(());
                }
                Message::ErrorResponse(body) => return Err(self.wire.fail(body.fields())),
                Message::NoticeResponse(body) if statement.role() == StatementRole::Commit => {
                    self.warning = warning(body.fields());
                }
                _ => {}
            }
        }
    }

    fn row<S: Prepared>(&self, statement: S, body: &DataRowBody, rows: &mut Rows) -> Result<(), SqlError> {
        let columns = &self.prepared[statement.index()].columns;
        let buffer = body.buffer();
        let mut ranges = body.ranges();
        for &oid in columns {
            let range = ranges.next().map_err(encoding)?.ok_or_else(|| unexpected("a short row"))?;
            let field = match range {
                None => Field::Null,
                Some(range) => decode(&buffer[range], oid, rows).ok_or_else(|| {
                    SqlError::Decode(format!(
                        "{statement:?} returned a value of type {oid} that can't be read"
                    ))
                })?,
            };
            rows.push(field);
        }
        Ok(())
    }

    fn send_and_read<S: Prepared>(
        &mut self,
        steps: &[Step<'_, S>],
        rows: &mut [Rows],
    ) -> Result<(), SqlError> {
        // The first statement begins the transaction, if there is none.
        let mut leading = self.wire.leading();
        for (number, (statement, params)) in steps.iter().enumerate() {
            self.bind(*statement, params)?;
            if number == 0 && leading > 0 {
                debug_assert_ne!(
                    statement.role(),
                    StatementRole::Other,
                    "{statement:?} begins no transaction"
                );
                self.wire.write_leading()?;
            }
        }
        frontend::sync(&mut self.wire.out);
        self.wire.flush()?;
        for ((statement, _), rows) in steps.iter().zip(rows) {
            let answered = self.answer(*statement, rows);
            if let Err(error) = answered.and_then(|()| self.wire.read_leading(std::mem::take(&mut leading))) {
                if matches!(error, SqlError::Decode(_)) {
                    // The answer was not read to its end.
                    self.wire.until_ready()?;
                }
                // CockroachDB answers so even if it may have stored the transaction.
                if self.watched.is_some() && statement.role() == StatementRole::Commit && is_cancel(&error) {
                    return Err(SqlError::Lost(format!("{}: the commit may be stored", error.line())));
                }
                return Err(error);
            }
        }
        self.wire.until_ready()
    }
}

impl<S: Prepared> Connection<S> for PgConnection {
    fn positions(&mut self) -> Option<&mut dyn Positions> {
        Some(&mut self.wire)
    }

    fn run(&mut self, statement: S, params: &[Value<'_>], rows: &mut Rows) -> Result<(), SqlError> {
        self.pipeline(&[(statement, params)], std::slice::from_mut(rows))
    }

    fn pipeline(&mut self, steps: &[Step<'_, S>], rows: &mut [Rows]) -> Result<(), SqlError> {
        self.prepare_missing(steps)?;
        let commit_alone = matches!(steps, [(statement, _)] if statement.role() == StatementRole::Commit);
        self.trip(commit_alone, |connection| connection.send_and_read(steps, rows))
    }

    fn roll_back(&mut self) -> Result<(), SqlError> {
        if self.wire.status == b'I' {
            return Ok(());
        }
        self.trip(true, |connection| connection.wire.execute("ROLLBACK"))
    }
}

/// Returns the message of a warning; none of a notice.
fn warning(mut fields: ErrorFields<'_>) -> Option<String> {
    let (mut is_warning, mut message) = (false, None);
    while let Ok(Some(field)) = fields.next() {
        match field.type_() {
            b'V' => is_warning = field.value_bytes() == b"WARNING",
            b'M' => message = Some(String::from_utf8_lossy(field.value_bytes()).replace('\n', " ")),
            _ => {}
        }
    }
    message.filter(|_| is_warning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_database::sql::ddl;
    use lydite_tpcc::schema::Table;

    /// An INTEGER of CockroachDB has eight bytes, and its binary COPY rejects four.
    #[test]
    fn tables_have_integers_of_the_length_in_which_rows_are_copied() {
        for table in Table::ALL {
            let sql = ddl::create_table(dialect(Isolation::Serializable), table, "");
            assert!(!sql.contains("integer") && !sql.contains(" int "), "{sql}");
            for column in table.schema().columns {
                let is = |wanted: std::ops::RangeInclusive<u64>| matches!(column.kind, ColumnType::Integer { below } if wanted.contains(&below));
                assert_eq!(
                    is(1 << 15 | 1..=1 << 31),
                    sql.contains(&format!("{} int4", column.name)),
                    "{sql}"
                );
                assert_eq!(
                    is(1 << 31 | 1..=u64::MAX),
                    sql.contains(&format!("{} int8", column.name)),
                    "{sql}"
                );
            }
        }
    }
}
