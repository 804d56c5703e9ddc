//! Prepared statements over the wire protocol, for the SQL text of the transactions.

use crate::per_transaction::{Preparing, to_prepare};
use crate::postgres::config::Config;
use crate::postgres::wire::{Wire, encoding, unexpected};
use crate::postgres::{errors, numeric};
use crate::statement_limit::Watched;
use bytes::{BufMut, BytesMut};
use fallible_iterator::FallibleIterator;
use lydite_database::Positions;
use lydite_database::sql::connection::{Connection, Step};
use lydite_database::sql::dialect::{Batches, Dialect};
use lydite_database::sql::isolation::Isolation;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::prepared::{Prepared, StatementRole};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::sql::value::{Field, Rows, Value};
use lydite_tpcc::Timestamp;
use lydite_tpcc::schema::ColumnType;
use postgres_protocol::message::backend::{DataRowBody, ErrorFields, Message};
use postgres_protocol::message::frontend;
use postgres_protocol::types::{ArrayDimension, array_from_sql, array_to_sql};
use postgres_protocol::{IsNull, Oid};
use std::error::Error;
use std::sync::Arc;

/// Microseconds from 1970 to 2000, PostgreSQL's epoch.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

const BOOL: Oid = 16;
const INT8: Oid = 20;
const INT2: Oid = 21;
const INT4: Oid = 23;
const TEXT: Oid = 25;
const BPCHAR: Oid = 1042;
const VARCHAR: Oid = 1043;
const TIMESTAMP: Oid = 1114;
const TIMESTAMPTZ: Oid = 1184;
const NUMERIC: Oid = 1700;
const INT8_ARRAY: Oid = 1016;
/// Array types of the types above.
const ARRAYS: [Oid; 10] = [1000, 1005, 1007, 1009, 1014, 1015, INT8_ARRAY, 1115, 1185, 1231];

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

/// Converts a point in time to PostgreSQL's form: microseconds since 2000.
pub(crate) fn postgres_micros(time: Timestamp) -> i64 {
    time.0 - EPOCH_MICROS
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
}

impl Texts {
    pub(crate) fn of<S: Prepared>(statements: &[(S, String)]) -> Self {
        let count = statements.iter().map(|(statement, _)| statement.index() + 1).max().unwrap_or(0);
        let mut texts = vec![Text::default(); count];
        for (statement, sql) in statements {
            texts[statement.index()] = Text { name: format!("{statement:?}"), sql: sql.clone() };
        }
        Self(texts)
    }
}

/// Description of a prepared statement, from the server.
#[derive(Clone, Default)]
struct Known {
    /// True once the server has the statement.
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
        let prepared = vec![Known::default(); texts.0.len()];
        let mut connection = Self { wire, texts: Arc::clone(texts), prepared, watched: None, warning: None };
        if preparing == Preparing::AtOnce {
            let own = |number: &usize| !texts.0[*number].name.is_empty();
            let all: Vec<usize> = (0..texts.0.len()).filter(own).collect();
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
        self.trip(true, |connection| connection.prepare_in_trip(numbers))
    }

    fn prepare_in_trip(&mut self, numbers: &[usize]) -> Result<(), SqlError> {
        let Self { wire, texts, prepared, .. } = self;
        for number in numbers {
            let Text { name, sql } = &texts.0[*number];
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
        if !prepared.ready {
            frontend::parse(&text.name, &text.sql, [], &mut self.wire.out).map_err(encoding)?;
            prepared.ready = true;
        }
        debug_assert_eq!(params.len(), prepared.parameters.len(), "{statement:?}");
        let bound = frontend::bind(
            "",
            &text.name,
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
        for (statement, params) in steps {
            self.bind(*statement, params)?;
        }
        frontend::sync(&mut self.wire.out);
        self.wire.flush()?;
        for ((statement, _), rows) in steps.iter().zip(rows) {
            if let Err(error) = self.answer(*statement, rows) {
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

type Encoded = Result<IsNull, Box<dyn Error + Sync + Send>>;

fn encode(value: &Value<'_>, oid: Oid, out: &mut BytesMut) -> Encoded {
    match value {
        Value::Int(number) => int(*number, oid, out),
        Value::OptionalInt(Some(number)) => int(*number, oid, out),
        Value::OptionalInt(None) | Value::OptionalText(None) => Ok(IsNull::Yes),
        Value::Money(cents) => {
            let mut bytes = Vec::with_capacity(24);
            numeric::put_cents(*cents, &mut bytes);
            out.put_slice(&bytes);
            Ok(IsNull::No)
        }
        Value::Text(text) | Value::OptionalText(Some(text)) => {
            out.put_slice(text.as_bytes());
            Ok(IsNull::No)
        }
        Value::Time(time) => {
            out.put_i64(postgres_micros(*time));
            Ok(IsNull::No)
        }
        // `int[]` has eight bytes in CockroachDB.
        Value::Ints(numbers) => {
            let element = if oid == INT8_ARRAY { INT8 } else { INT4 };
            array(numbers, element, out, |number, out| int(i64::from(*number), element, out))
        }
        Value::Monies(amounts) => array(amounts, NUMERIC, out, |amount, out| {
            let mut bytes = Vec::with_capacity(24);
            numeric::put_cents(*amount, &mut bytes);
            out.put_slice(&bytes);
            Ok(IsNull::No)
        }),
    }
}

fn int(number: i64, oid: Oid, out: &mut BytesMut) -> Encoded {
    match oid {
        INT2 => out.put_i16(i16::try_from(number)?),
        INT4 => out.put_i32(i32::try_from(number)?),
        INT8 => out.put_i64(number),
        other => return Err(format!("a whole number can't be sent as type {other}").into()),
    }
    Ok(IsNull::No)
}

fn array<T>(
    values: &[T],
    element: Oid,
    out: &mut BytesMut,
    put: impl Fn(&T, &mut BytesMut) -> Encoded,
) -> Encoded {
    let dimension = ArrayDimension { len: i32::try_from(values.len())?, lower_bound: 1 };
    array_to_sql(Some(dimension), element, values.iter(), put, out)?;
    Ok(IsNull::No)
}

/// Reads a value. `None` if it does not fit its type.
fn decode(bytes: &[u8], oid: Oid, rows: &mut Rows) -> Option<Field> {
    if ARRAYS.contains(&oid) {
        let array = array_from_sql(bytes).ok()?;
        let element = array.element_type();
        let mut elements = Vec::with_capacity(16);
        let mut values = array.values();
        while let Some(value) = values.next().ok()? {
            elements.push(match value {
                Some(bytes) => scalar(bytes, element, rows)?,
                None => Field::Null,
            });
        }
        return Some(rows.array_field(elements.into_iter()));
    }
    scalar(bytes, oid, rows)
}

fn scalar(bytes: &[u8], oid: Oid, rows: &mut Rows) -> Option<Field> {
    Some(match oid {
        BOOL => Field::Bool(*bytes.first()? != 0),
        INT2 => Field::Int(i64::from(i16::from_be_bytes(bytes.try_into().ok()?))),
        INT4 => Field::Int(i64::from(i32::from_be_bytes(bytes.try_into().ok()?))),
        INT8 => Field::Int(i64::from_be_bytes(bytes.try_into().ok()?)),
        TEXT | BPCHAR | VARCHAR => rows.text_field(std::str::from_utf8(bytes).ok()?),
        // Tables of the user's own may have times without a zone.
        TIMESTAMP | TIMESTAMPTZ => Field::Time(i64::from_be_bytes(bytes.try_into().ok()?) + EPOCH_MICROS),
        NUMERIC => numeric::read(bytes)?,
        _ => return None,
    })
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
