//! Prepared statements over the wire protocol, for the SQL text of the transactions.

use crate::mysql::packet::Reader;
use crate::mysql::product::Product;
use crate::mysql::wire::{Head, Wire, database_error, unexpected};
use crate::mysql::{binary, errors};
use crate::per_transaction::{Preparing, to_prepare};
use crate::statement_limit::Watched;
use lydite_database::sql::connection::{Connection, Step};
use lydite_database::sql::meta::Admin;
use lydite_database::sql::prepared::{Prepared, StatementRole};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::sql::value::{Rows, Value};
use lydite_database::{AbortReason, Positions};
use std::fmt::Debug;
use std::sync::Arc;

const STMT_PREPARE: u8 = 0x16;
const STMT_EXECUTE: u8 = 0x17;

/// Prepare requests that are sent before answers are read. With more of them both sides' buffers may fill up, and each
/// side would wait for the other.
const PREPARED_AT_ONCE: usize = 40;

/// Statements after a cancelled one that may be hit by a cancel that came too late.
const CANCELS_AWAITED: usize = 3;

/// Texts of the statements of a session, by the numbers of the statements.
pub(crate) struct Texts {
    all: Vec<Text>,
    /// True if statements are procedures, which commit by themselves.
    calls: bool,
}

/// A statement. It is empty if the session does not have a statement of this number.
#[derive(Clone, Default)]
struct Text {
    name: String,
    sql: String,
    /// Index of the parameter for each `?`. A statement without parameters is sent as text, because some servers can't
    /// prepare all of them.
    order: Vec<u8>,
}

impl Texts {
    pub(crate) fn of<S: Prepared>(statements: &[(S, String)], calls: bool) -> Self {
        let count = statements.iter().map(|(statement, _)| statement.index() + 1).max().unwrap_or(0);
        let mut all = vec![Text::default(); count];
        for (statement, text) in statements {
            let (sql, order) = positional(text);
            all[statement.index()] = Text { name: format!("{statement:?}"), sql, order };
        }
        Self { all, calls }
    }
}

/// A connection with prepared statements.
pub(crate) struct MysqlConnection {
    wire: Wire,
    texts: Arc<Texts>,
    /// Number that the server gave each statement, once it is prepared.
    prepared: Vec<Option<u32>>,
    /// Types of the columns of the current rows.
    kinds: Vec<u8>,
    /// True if the current transaction is read-only.
    reading: bool,
    /// Limit of the round trips.
    watched: Option<Arc<Watched>>,
}

/// Replaces the parameters `$1`, `$2` … by `?`, MySQL's form, which has no number. Returns the text and the parameter's
/// index at each place.
fn positional(text: &str) -> (String, Vec<u8>) {
    let mut parts = text.split('$');
    let mut positional = parts.next().unwrap_or_default().to_string();
    let mut order = Vec::new();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let number: u8 = part[..digits].parse().unwrap_or(0);
        order.push(number.wrapping_sub(1));
        positional.push('?');
        positional += &part[digits..];
    }
    (positional, order)
}

impl MysqlConnection {
    pub(crate) fn product(&self) -> &'static Product {
        self.wire.product
    }

    /// Makes a session of a connection.
    pub(crate) fn new(
        mut wire: Wire,
        texts: &Arc<Texts>,
        preparing: Preparing,
        watched: Option<Arc<Watched>>,
    ) -> Result<Self, SqlError> {
        // After a statement that ended the transaction (a deadlock), the server still runs those that were sent with
        // it. Without autocommit they are rolled back too.
        wire.execute("SET SESSION autocommit = 0")?;
        let prepared = vec![None; texts.all.len()];
        let mut connection = Self {
            wire,
            texts: Arc::clone(texts),
            prepared,
            kinds: Vec::new(),
            reading: false,
            watched: None,
        };
        if preparing == Preparing::AtOnce {
            let all = (0..texts.all.len()).filter(|at| !texts.all[*at].order.is_empty());
            connection.prepare_all(&all.collect::<Vec<usize>>())?;
        }
        // A lock on a table lets nobody prepare statements on it. Like all connecting, that has a patience of its own.
        connection.watched = watched;
        Ok(connection)
    }

    /// Prepares the statements of these numbers.
    fn prepare_all(&mut self, numbers: &[usize]) -> Result<(), SqlError> {
        let at_once = if self.wire.product.pipelines { PREPARED_AT_ONCE } else { 1 };
        numbers
            .chunks(at_once)
            .try_for_each(|numbers| self.trip(true, |connection| connection.prepare(numbers)))
    }

    /// Makes a round trip, under the limit if there is one. See [`Watched::trip`].
    fn trip(
        &mut self,
        spared: bool,
        run: impl FnOnce(&mut Self) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let Some(watched) = self.watched.clone() else { return run(self) };
        let trip = watched.trip(spared, is_cancel, || run(self));
        if !trip.cancelled || matches!(trip.result, Err(SqlError::Lost(_))) {
            return trip.result;
        }
        match (self.after_cancel(&watched), trip.result) {
            // A procedure that has ended its transaction may have committed before the cancel came.
            (Ok(false), Err(error)) if self.texts.calls && is_cancel(&error) => {
                Err(SqlError::Lost(format!("{}: the procedure may have committed before", error.line())))
            }
            (Ok(_), result) => result,
            (Err(error), result) => {
                watched.give_up();
                // The outcome of a commit that was answered is known, whatever came of the connection.
                result.map_err(|_| error)
            }
        }
    }

    /// Lets a cancel that came too late hit nothing of the session's. Returns true if a transaction is open.
    fn after_cancel(&mut self, watched: &Watched) -> Result<bool, SqlError> {
        let mut open = Ok(false);
        for _ in 0..CANCELS_AWAITED {
            let asked = watched.trip(true, is_cancel, || {
                open = self.wire.in_transaction();
                open.as_ref().map(drop).map_err(Clone::clone)
            });
            match asked.result {
                Err(error) if is_cancel(&error) => {}
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        open
    }

    fn prepare(&mut self, numbers: &[usize]) -> Result<(), SqlError> {
        let Self { wire, texts, prepared, .. } = self;
        for number in numbers {
            wire.command(STMT_PREPARE, |out| {
                out.extend_from_slice(texts.all[*number].sql.as_bytes());
                Ok(())
            })?;
        }
        wire.flush()?;
        for number in numbers {
            let Text { name, order, .. } = &texts.all[*number];
            prepared[*number] = Some(prepared_id(wire, name, order.len())?);
        }
        Ok(())
    }

    fn send<S: Prepared>(&mut self, statement: S, params: &[Value<'_>]) -> Result<(), SqlError> {
        match statement.role() {
            StatementRole::BeginRead => self.reading = true,
            StatementRole::BeginWrite => self.reading = false,
            StatementRole::Commit | StatementRole::Other => {}
        }
        let text = &self.texts.all[statement.index()];
        let Some(id) = self.prepared[statement.index()] else { return self.wire.query(&text.sql) };
        self.wire.command(STMT_EXECUTE, |out| {
            out.extend_from_slice(&id.to_le_bytes());
            // No cursor; the iteration count is always one.
            out.extend_from_slice(&[0, 1, 0, 0, 0]);
            binary::put_params(&text.order, params, out)
        })
    }

    /// Reads the answer to a statement to its end, unless the connection is lost.
    fn answer<S: Prepared>(&mut self, statement: S, rows: &mut Rows) -> Result<(), SqlError> {
        let mut failed = None;
        rows.reset(0);
        loop {
            let done = match self.wire.head()? {
                Head::Done(done) => done,
                Head::WantsFile => {
                    self.wire.send_part(&[])?;
                    failed = Some(unexpected("a request for a file"));
                    continue;
                }
                Head::Columns(columns) => {
                    self.columns(columns)?;
                    rows.reset(columns);
                    loop {
                        match self.wire.row()? {
                            Err(done) => break done,
                            Ok(packet) if failed.is_none() => {
                                let read = binary::read_row(self.wire.bytes(packet), &self.kinds, rows);
                                failed = read.err().map(|error| of_statement(&statement, error));
                            }
                            Ok(_) => {}
                        }
                    }
                }
            };
            if rows.is_empty() {
                rows.set_affected(done.affected);
            }
            if !done.more {
                return failed.map_or(Ok(()), Err);
            }
        }
    }

    /// Reads the column descriptions of a result.
    fn columns(&mut self, count: usize) -> Result<(), SqlError> {
        self.kinds.clear();
        for _ in 0..count {
            let packet = self.wire.packet()?;
            let kind = column_kind(self.wire.bytes(packet));
            self.kinds.push(kind.ok_or_else(|| unexpected("a broken column"))?);
        }
        self.wire.end_of_columns()
    }

    /// Sends statements together and reads all answers. Returns the first error.
    fn together<S: Prepared>(&mut self, steps: &[Step<'_, S>], rows: &mut [Rows]) -> Result<(), SqlError> {
        let missing = to_prepare(steps, |statement| {
            let number = statement.index();
            self.prepared[number].is_none() && !self.texts.all[number].order.is_empty()
        });
        self.prepare_all(&missing)?;
        let commit_alone = matches!(steps, [(statement, _)] if statement.role() == StatementRole::Commit);
        self.trip(commit_alone, |connection| connection.send_and_read(steps, rows))
    }

    fn send_and_read<S: Prepared>(
        &mut self,
        steps: &[Step<'_, S>],
        rows: &mut [Rows],
    ) -> Result<(), SqlError> {
        for (statement, params) in steps {
            if let Err(error) = self.send(*statement, params) {
                self.wire.out.clear();
                return Err(error);
            }
        }
        self.wire.flush()?;
        let mut first = Ok(());
        for ((statement, _), rows) in steps.iter().zip(rows) {
            let mut answered = self.answer(*statement, rows);
            // A commit waits for no lock, so this deadlock is a conflict in a cluster: another node was first.
            if statement.role() == StatementRole::Commit
                && let Err(SqlError::Database { retry: Some(reason @ AbortReason::Deadlock), .. }) =
                    &mut answered
            {
                *reason = AbortReason::Serialization;
            }
            let gone =
                matches!(answered, Err(SqlError::Lost(_) | SqlError::Database { unavailable: true, .. }));
            first = first.and(answered);
            if gone {
                break;
            }
        }
        first
    }
}

/// True for the error of a statement that was cancelled.
fn is_cancel(error: &SqlError) -> bool {
    errors::has_code(error, errors::CANCELLED)
}

fn of_statement(statement: &impl Debug, error: SqlError) -> SqlError {
    SqlError::Decode(format!("{statement:?}: {}", error.line()))
}

/// Reads the answer to a prepare request. Returns the server's number of the statement.
fn prepared_id(wire: &mut Wire, statement: &str, wanted: usize) -> Result<u32, SqlError> {
    let packet = wire.packet()?;
    let bytes = wire.bytes(packet);
    if bytes.first() == Some(&0xff) {
        return Err(database_error(Some(wire.product), bytes));
    }
    let (id, columns, params) = prepared_numbers(bytes).ok_or_else(|| unexpected("a broken answer"))?;
    for count in [params, columns] {
        for _ in 0..count {
            wire.packet()?;
        }
        if count > 0 {
            wire.end_of_columns()?;
        }
    }
    if usize::from(params) != wanted {
        return Err(SqlError::Decode(format!(
            "the server counts {params} parameters in {statement} instead of {wanted}: please report this"
        )));
    }
    Ok(id)
}

/// Reads a statement's number, its columns and its parameters.
fn prepared_numbers(packet: &[u8]) -> Option<(u32, u16, u16)> {
    let mut reader = Reader::new(packet);
    reader.u8()?;
    Some((reader.u32()?, reader.u16()?, reader.u16()?))
}

/// Reads the type of a column.
fn column_kind(packet: &[u8]) -> Option<u8> {
    let mut reader = Reader::new(packet);
    // Catalogue, schema, then table and column with two names each.
    for _ in 0..6 {
        reader.bytes()?;
    }
    // The length of the next fields, the collation, and the width.
    reader.take(1 + 2 + 4)?;
    reader.u8()
}

impl<S: Prepared> Connection<S> for MysqlConnection {
    fn positions(&mut self) -> Option<&mut dyn Positions> {
        self.wire.product.gtids.then_some(&mut self.wire as &mut dyn Positions)
    }

    fn run(&mut self, statement: S, params: &[Value<'_>], rows: &mut Rows) -> Result<(), SqlError> {
        self.together(&[(statement, params)], std::slice::from_mut(rows))
    }

    /// The server continues after a failed statement, so a commit after changes is sent only once they have been
    /// answered.
    fn pipeline(&mut self, steps: &[Step<'_, S>], rows: &mut [Rows]) -> Result<(), SqlError> {
        let at_once = if self.wire.product.pipelines { steps.len() } else { 1 };
        let begins = |role| steps.iter().any(|(statement, _)| statement.role() == role);
        let reading = begins(StatementRole::BeginRead) || self.reading && !begins(StatementRole::BeginWrite);
        let mut done = 0;
        while done < steps.len() {
            let mut end = (done + at_once).min(steps.len());
            let commits = steps[end - 1].0.role() == StatementRole::Commit;
            if commits && !reading && end - done > 1 {
                end -= 1;
            }
            self.together(&steps[done..end], &mut rows[done..end])?;
            done = end;
        }
        Ok(())
    }

    fn roll_back(&mut self) -> Result<(), SqlError> {
        self.trip(true, |connection| connection.wire.execute("ROLLBACK"))
    }
}

#[cfg(test)]
mod tests {
    use super::positional;

    #[test]
    fn parameters_keep_their_numbers_when_they_lose_them() {
        let (text, order) = positional("SELECT $2 + $1, f($12) WHERE a = $2");
        assert_eq!(text, "SELECT ? + ?, f(?) WHERE a = ?");
        assert_eq!(order, [1, 0, 11, 1]);
        assert_eq!(positional("COMMIT"), ("COMMIT".to_string(), vec![]));
    }
}
