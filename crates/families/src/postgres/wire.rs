//! A blocking connection to a PostgreSQL server: `postgres-protocol` makes and reads the messages, this module moves
//! them.
//!
//! A session is a thread that waits for its answer, so one `write` and one `read` per round trip are the cheapest way.
//! An asynchronous client pays for its scheduler with every statement; a benchmark would count that as the database's
//! time.

use crate::net::{self, Host, Purpose, SslMode, Transport, lost};
use crate::postgres::config::Config;
use crate::postgres::errors;
use crate::postgres::inherited;
use crate::postgres::libpq::ChannelBinding as Binding;
use crate::postgres::unprepared::Leading;
use crate::statement_limit::Line;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::backend::{ErrorFields, Message};
use postgres_protocol::message::frontend;
use std::borrow::Cow;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Error of a server that proves no tie between password and certificate.
const NOT_BOUND: &str = "the server did not bind the password to its certificate: use a user with SCRAM over TLS, or leave \
                         channel_binding=require out";
/// Bytes per read.
const READ_BYTES: usize = 16 * 1024;

/// The server's id of a connection, and the secret key that permits to cancel its work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backend {
    process: i32,
    secret: i32,
}

/// Asks the server to cancel the current work of `backend`, if there is any, and waits until the server has read the
/// request. The request takes a connection of its own, which the server closes as its answer.
pub(crate) fn cancel(config: &Config, backend: Backend) -> Result<(), SqlError> {
    let mut transport = dial(config)?;
    transport.limit(Some(config.connection.connect_timeout)).map_err(lost)?;
    let mut request = BytesMut::new();
    frontend::cancel_request(backend.process, backend.secret, &mut request);
    let stream = transport.stream();
    stream.write_all(&request).and_then(|()| stream.flush()).map_err(lost)?;
    // The answer is the end of the connection, in whatever form. Without one the server may act on the request later.
    match stream.read(&mut [0]) {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Err(lost(error)),
        _ => Ok(()),
    }
}

/// An authenticated connection.
pub(crate) struct Wire {
    transport: Transport,
    pub(crate) out: BytesMut,
    input: BytesMut,
    scratch: Box<[u8; READ_BYTES]>,
    backend: Option<Backend>,
    /// Transaction status of the server: `I` for idle, `T` in a transaction, `E` in a failed one.
    pub(crate) status: u8,
    /// Beginning of each transaction.
    leading: Leading,
}

impl Wire {
    /// Connects, authenticates, and replaces what the session has inherited and must not keep.
    pub(crate) fn connect(config: &Config, purpose: Purpose) -> Result<Self, SqlError> {
        let limit = config.connection.connect_timeout;
        Self::connect_within(config, purpose, limit).map_err(|error| net::within(limit, error))
    }

    fn connect_within(config: &Config, purpose: Purpose, limit: Duration) -> Result<Self, SqlError> {
        let transport = dial(config)?;
        let mut wire = Self {
            transport,
            out: BytesMut::with_capacity(READ_BYTES),
            input: BytesMut::with_capacity(READ_BYTES),
            scratch: Box::new([0; READ_BYTES]),
            backend: None,
            status: b'I',
            leading: Leading::new(config.unprepared),
        };
        wire.transport.limit(Some(limit)).map_err(lost)?;
        wire.start(config, purpose)?;
        let settings = inherited::differing(&mut wire, config, purpose)?;
        wire.keep(&settings).map_err(inherited::with_reason)?;
        wire.transport.limit(None).map_err(lost)?;
        Ok(wire)
    }

    fn start(&mut self, config: &Config, purpose: Purpose) -> Result<(), SqlError> {
        // Poolers reject most other parameters here, so the other settings follow as statements.
        let mut parameters = vec![
            ("user", config.user.as_str()),
            ("database", config.database.as_str()),
            ("application_name", config.connection.application_name.as_str()),
            ("client_encoding", "UTF8"),
        ];
        let mut options = config.connection.options.clone();
        if purpose == Purpose::Administration
            && let Some(options) = &mut options
        {
            // Their limits are for transactions, and would end the first queries.
            let limits: Vec<&str> = inherited::asked_limits(options).collect();
            limits.iter().for_each(|limit| *options += &format!(" -c {limit}=0"));
        }
        if let Some(options) = &options {
            parameters.push(("options", options));
        }
        let binding = config.connection.channel_binding;
        frontend::startup_message(parameters, &mut self.out).map_err(encoding)?;
        self.flush().map_err(of_another_kind)?;
        let mut scram: Option<ScramSha256> = None;
        let mut bound = false;
        let mut first = Some(self.message().map_err(of_another_kind)?);
        loop {
            let message = match first.take() {
                Some(message) => message,
                None => self.message()?,
            };
            match message {
                Message::AuthenticationOk if !bound && binding == Binding::Require => {
                    return Err(SqlError::Lost(NOT_BOUND.into()));
                }
                Message::AuthenticationOk => {}
                Message::AuthenticationCleartextPassword => {
                    let password = password(config)?;
                    frontend::password_message(password.as_bytes(), &mut self.out).map_err(encoding)?;
                    self.flush()?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let password = password(config)?;
                    let hash = md5_hash(config.user.as_bytes(), password.as_bytes(), body.salt());
                    frontend::password_message(hash.as_bytes(), &mut self.out).map_err(encoding)?;
                    self.flush()?;
                }
                Message::AuthenticationSasl(body) => {
                    let offered: Vec<String> =
                        body.mechanisms().map(|name| Ok(name.to_string())).collect().map_err(encoding)?;
                    if !offered.iter().any(|name| name == SCRAM_SHA_256) {
                        return Err(SqlError::Lost(format!(
                            "the server wants {}, which is not supported: use a user with a password by SCRAM, MD5 or in \
                             clear text",
                            offered.join(", ")
                        )));
                    }
                    let end_point = match &self.transport {
                        Transport::Tls(stream) if binding != Binding::Disable => net::tls::end_point(stream),
                        _ => None,
                    };
                    let (mechanism, channel) = match end_point {
                        Some(hash) if offered.iter().any(|name| name == SCRAM_SHA_256_PLUS) => {
                            bound = true;
                            (SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash))
                        }
                        Some(_) => (SCRAM_SHA_256, ChannelBinding::unrequested()),
                        None => (SCRAM_SHA_256, ChannelBinding::unsupported()),
                    };
                    if !bound && binding == Binding::Require {
                        return Err(SqlError::Lost(NOT_BOUND.into()));
                    }
                    let password = password(config)?;
                    let first = ScramSha256::new(password.as_bytes(), channel);
                    frontend::sasl_initial_response(mechanism, first.message(), &mut self.out)
                        .map_err(encoding)?;
                    scram = Some(first);
                    self.flush()?;
                }
                Message::AuthenticationSaslContinue(body) => {
                    let exchange = scram.as_mut().ok_or_else(|| unexpected("SASL"))?;
                    exchange.update(body.data()).map_err(encoding)?;
                    frontend::sasl_response(exchange.message(), &mut self.out).map_err(encoding)?;
                    self.flush()?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    scram
                        .as_mut()
                        .ok_or_else(|| unexpected("SASL"))?
                        .finish(body.data())
                        .map_err(encoding)?;
                }
                Message::BackendKeyData(body) => {
                    self.backend = Some(Backend { process: body.process_id(), secret: body.secret_key() });
                }
                Message::ParameterStatus(_) | Message::NoticeResponse(_) => {}
                Message::ErrorResponse(body) => return Err(database_error(body.fields())),
                Message::ReadyForQuery(body) => {
                    self.status = body.status();
                    return Ok(());
                }
                _ => return Err(unexpected("an authentication method that is not supported")),
            }
        }
    }

    /// True if the session of the server may change with each transaction.
    pub(crate) fn is_unprepared(&self) -> bool {
        self.leading.is_unprepared()
    }

    /// Gives the connection settings, by names and values in SQL: once for the session, or in each transaction if the
    /// session of the server may change.
    pub(crate) fn keep(&mut self, settings: &[(&str, String)]) -> Result<(), SqlError> {
        if settings.is_empty() {
            return Ok(());
        }
        let sql = self.leading.keep(settings);
        self.query(&sql, 0, &mut |_| {})
    }

    /// Makes each transaction begin with a statement, whose rows are not read.
    pub(crate) fn lead(&mut self, sql: String) {
        self.leading.add(sql);
    }

    /// Returns the number of statements behind the BEGIN of the next transaction; 0 within a transaction.
    pub(crate) fn leading(&self) -> usize {
        if self.status == b'I' { self.leading.behind_begin() } else { 0 }
    }

    /// Returns SQL with the statements that its transaction begins with, and their number.
    pub(crate) fn led<'a>(&self, sql: &'a str) -> (Cow<'a, str>, usize) {
        if self.status == b'I' { self.leading.before(sql) } else { (Cow::Borrowed(sql), 0) }
    }

    /// Adds the statements behind the BEGIN of a transaction to those that will be sent.
    pub(crate) fn write_leading(&mut self) -> Result<(), SqlError> {
        self.leading.write(&mut self.out).map_err(encoding)
    }

    /// Reads the answers to so many of these statements.
    pub(crate) fn read_leading(&mut self, count: usize) -> Result<(), SqlError> {
        let mut left = count;
        while left > 0 {
            match self.message()? {
                Message::CommandComplete(_) => left -= 1,
                Message::ErrorResponse(body) => return Err(self.fail(body.fields())),
                _ => {}
            }
        }
        Ok(())
    }

    /// Sets the timeout of reads and writes; `None` for no timeout.
    pub(crate) fn limit(&self, longest: Option<Duration>) -> Result<(), SqlError> {
        self.transport.limit(longest).map_err(lost)
    }

    /// True if the bytes on the connection are encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self.transport, Transport::Tls(_))
    }

    /// Returns a second handle of the connection.
    pub(crate) fn line(&self) -> Result<Line, SqlError> {
        self.transport.line().map_err(lost)
    }

    /// Returns the id and key for [`cancel`]. A proxy may withhold them.
    pub(crate) fn backend(&self) -> Option<Backend> {
        self.backend
    }

    /// Returns the number of the server's process, as the server's first messages have it.
    pub(crate) fn process(&self) -> Option<i32> {
        self.backend.map(|backend| backend.process)
    }

    /// Sends all bytes in `out`.
    pub(crate) fn flush(&mut self) -> Result<(), SqlError> {
        let sent = self.transport.stream().write_all(&self.out);
        self.out.clear();
        match sent {
            Ok(()) => self.transport.stream().flush().map_err(lost),
            Err(error) => Err(self.last_words().unwrap_or_else(|| lost(error))),
        }
    }

    /// Returns the server's last message before it closed the connection, if there is one.
    fn last_words(&mut self) -> Option<SqlError> {
        loop {
            match self.message() {
                Ok(Message::ErrorResponse(body)) => return Some(database_error(body.fields())),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }

    /// Reads the next message.
    pub(crate) fn message(&mut self) -> Result<Message, SqlError> {
        loop {
            if let Some(message) = Message::parse(&mut self.input).map_err(lost)? {
                return Ok(message);
            }
            match self.transport.stream().read(&mut self.scratch[..]) {
                Ok(0) => return Err(SqlError::Lost("the server closed the connection".into())),
                Ok(count) => self.input.extend_from_slice(&self.scratch[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(error)),
            }
        }
    }

    /// Reads until the server is ready. Returns an error that came before, if there was one.
    pub(crate) fn until_ready(&mut self) -> Result<(), SqlError> {
        let mut result = Ok(());
        loop {
            match self.message()? {
                Message::ReadyForQuery(body) => {
                    self.status = body.status();
                    return result;
                }
                Message::ErrorResponse(body) => result = Err(database_error(body.fields())),
                _ => {}
            }
        }
    }

    /// Converts an error that the server sent, and reads on until the server is ready again.
    pub(crate) fn fail(&mut self, fields: ErrorFields<'_>) -> SqlError {
        let error = database_error(fields);
        if matches!(error, SqlError::Database { unavailable: true, .. }) {
            // The server closes the connection now, so there is nothing more to read.
            return error;
        }
        match self.until_ready() {
            Ok(()) => error,
            Err(lost) => lost,
        }
    }

    /// Sends data in the course of `COPY … FROM STDIN`.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), SqlError> {
        self.transport
            .stream()
            .write_all(bytes)
            .map_err(|error| self.last_words().unwrap_or_else(|| lost(error)))
    }
}

impl Admin for Wire {
    fn query_each(&mut self, sql: &str, row: &mut dyn FnMut(&[Option<&str>])) -> Result<(), SqlError> {
        let (sql, leading) = self.led(sql);
        self.query(&sql, leading, row)
    }
}

impl Wire {
    /// Runs SQL, and calls `row` with each row but those of the first `leading` statements.
    fn query(
        &mut self,
        sql: &str,
        mut leading: usize,
        row: &mut dyn FnMut(&[Option<&str>]),
    ) -> Result<(), SqlError> {
        frontend::query(sql, &mut self.out).map_err(encoding)?;
        self.flush()?;
        loop {
            match self.message()? {
                Message::CommandComplete(_) => leading = leading.saturating_sub(1),
                Message::DataRow(_) if leading > 0 => {}
                Message::DataRow(body) => {
                    let buffer = body.buffer();
                    let mut fields = Vec::new();
                    let mut ranges = body.ranges();
                    while let Some(range) = ranges.next().map_err(encoding)? {
                        fields.push(match range {
                            Some(range) => Some(std::str::from_utf8(&buffer[range]).map_err(|_| {
                                SqlError::Decode("the server sent text that is not UTF-8".into())
                            })?),
                            None => None,
                        });
                    }
                    row(&fields);
                }
                Message::ErrorResponse(body) => return Err(self.fail(body.fields())),
                Message::ReadyForQuery(body) => {
                    self.status = body.status();
                    return Ok(());
                }
                _ => {}
            }
        }
    }
}

fn dial(config: &Config) -> Result<Transport, SqlError> {
    match &config.host {
        Host::Unix(directory) => {
            net::dial_unix(&format!("{directory}/.s.PGSQL.{}", config.port)).map(Transport::Unix)
        }
        Host::Tcp(name) => {
            secure(config, net::dial_tcp(name, config.port, config.connection.connect_timeout)?)
        }
    }
}

/// Begins TLS as `sslmode` requires.
fn secure(config: &Config, mut stream: TcpStream) -> Result<Transport, SqlError> {
    let tls = &config.connection.tls;
    if tls.mode == SslMode::Disable {
        return Ok(Transport::Tcp(stream));
    }
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    let unread = |error| of_another_kind(lost(error));
    stream.write_all(&request).map_err(unread)?;
    let mut answer = [0];
    stream.read_exact(&mut answer).map_err(unread)?;
    match answer[0] {
        b'S' => net::tls::handshake(&config.host, tls, stream).map(|tls| Transport::Tls(Box::new(tls))),
        _ if tls.mode == SslMode::Prefer => Ok(Transport::Tcp(stream)),
        _ => Err(net::tls::not_offered()),
    }
}

/// Returns the error of a server whose first answer could not be read.
fn of_another_kind(error: SqlError) -> SqlError {
    match error {
        SqlError::Lost(detail) if !detail.contains('?') => {
            SqlError::Lost(format!("{detail}: is it a PostgreSQL server?"))
        }
        other => other,
    }
}

fn password(config: &Config) -> Result<String, SqlError> {
    config.password().ok_or_else(|| {
        SqlError::Lost(format!(
            "the server wants a password for user {:?}: give it in the URL, in LYDITE_PASSWORD or in ~/.pgpass",
            config.user
        ))
    })
}

pub(crate) fn encoding(error: io::Error) -> SqlError {
    SqlError::Decode(error.to_string())
}

pub(crate) fn unexpected(what: &str) -> SqlError {
    SqlError::Decode(format!("the server sent {what}: is it PostgreSQL?"))
}

fn database_error(mut fields: ErrorFields<'_>) -> SqlError {
    let (mut code, mut message, mut detail) = (String::new(), String::new(), None);
    let (mut table, mut column) = (String::new(), None);
    while let Ok(Some(field)) = fields.next() {
        let value = String::from_utf8_lossy(field.value_bytes());
        match field.type_() {
            b'C' => code = value.into_owned(),
            b'M' => message = value.replace('\n', " "),
            b'D' => detail = Some(value.into_owned()),
            b't' => table = value.into_owned(),
            b'c' => column = Some(value.into_owned()),
            _ => {}
        }
    }
    if errors::DETAILED.contains(&code.as_str()) {
        message.extend(column.map(|column| format!(" (column {table}.{column})")));
        message.extend(detail.as_deref().map(|detail| format!(": {}", errors::beginning(detail))));
    }
    if let Some(advice) = errors::advice_always(&code, &message) {
        message = format!("{message}: {advice}");
    }
    SqlError::Database {
        retry: errors::retryable(&code),
        unavailable: errors::unavailable(&code),
        doubtful: false,
        code,
        message,
        detail: detail.map(|detail| detail.replace('\n', " ")),
    }
}
