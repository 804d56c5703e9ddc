//! A blocking connection to a server with MySQL's protocol.
//!
//! A session is a thread that waits for its answer, as with PostgreSQL, so one `write` and one `read` per round trip
//! are the cheapest way. Commands may be sent together: the server runs them one after the other, and continues after a
//! failed one.

use crate::mysql::auth::{self, Challenge, Method, Safe};
use crate::mysql::config::Config;
use crate::mysql::errors;
use crate::mysql::inherited;
use crate::mysql::packet::{Done, Reader};
use crate::mysql::product::{self, Product};
use crate::net::{self, CONNECT_TIMEOUT, Host, Purpose, SslMode, Transport, lost};
use crate::statement_limit::Line;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use std::io;
use std::net::TcpStream;
use std::ops::Range;
use std::time::Duration;

/// Bytes per read.
const READ_BYTES: usize = 16 * 1024;
/// Bytes of a packet's header: length and sequence number.
const HEADER: usize = 4;
/// Longest packet that is sent or read, in bytes.
const MAX_PACKET: usize = 0xff_ffff;

/// Capabilities of the client, as bits of the protocol.
mod capability {
    pub(super) const LONG_PASSWORD: u32 = 1;
    /// Rows that a statement found count as changed, even if their values stay the same.
    pub(super) const FOUND_ROWS: u32 = 1 << 1;
    pub(super) const LONG_FLAG: u32 = 1 << 2;
    pub(super) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(super) const LOCAL_FILES: u32 = 1 << 7;
    pub(super) const PROTOCOL_41: u32 = 1 << 9;
    pub(super) const TLS: u32 = 1 << 11;
    pub(super) const TRANSACTIONS: u32 = 1 << 13;
    pub(super) const SECURE_CONNECTION: u32 = 1 << 15;
    pub(super) const MULTI_STATEMENTS: u32 = 1 << 16;
    pub(super) const MULTI_RESULTS: u32 = 1 << 17;
    pub(super) const PS_MULTI_RESULTS: u32 = 1 << 18;
    pub(super) const PLUGIN_AUTH: u32 = 1 << 19;
    /// Rows end with a packet of the same form as other answers.
    pub(super) const DEPRECATE_EOF: u32 = 1 << 24;

    /// Capabilities that are used if the server has them.
    pub(super) const WANTED: u32 = LONG_PASSWORD
        | FOUND_ROWS
        | LONG_FLAG
        | CONNECT_WITH_DB
        | LOCAL_FILES
        | PROTOCOL_41
        | TRANSACTIONS
        | SECURE_CONNECTION
        | MULTI_STATEMENTS
        | MULTI_RESULTS
        | PS_MULTI_RESULTS
        | PLUGIN_AUTH
        | DEPRECATE_EOF;
}

/// utf8mb4 with binary comparison, as in the other families.
const COLLATION: u8 = 46;

const QUIT: u8 = 1;
const QUERY: u8 = 3;

/// Beginning of an answer.
pub(crate) enum Head {
    /// The whole answer.
    Done(Done),
    /// The number of columns of the rows that follow.
    Columns(usize),
    /// A request for the rows of `LOAD DATA LOCAL`.
    WantsFile,
}

/// An authenticated connection.
pub(crate) struct Wire {
    transport: Transport,
    /// Bytes to send.
    pub(crate) out: Vec<u8>,
    input: Vec<u8>,
    /// Bytes of `input` that have been processed.
    read: usize,
    scratch: Box<[u8; READ_BYTES]>,
    /// Sequence number of the next packet of this exchange.
    sequence: u8,
    capabilities: u32,
    /// Product of the server.
    pub(crate) product: &'static Product,
    /// Version, as the server reports it.
    pub(crate) version: String,
    /// Connection id of the server.
    pub(crate) id: u32,
}

/// First packet of a server.
struct Greeting {
    id: u32,
    random: Vec<u8>,
    capabilities: u32,
    method: Vec<u8>,
}

impl Greeting {
    fn of(packet: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(packet);
        if reader.u8()? != 10 {
            return None;
        }
        let _version = reader.until_zero()?;
        let id = reader.u32()?;
        let mut random = reader.take(8)?.to_vec();
        reader.take(1)?;
        let low = reader.u16()?;
        reader.take(3)?;
        let capabilities = u32::from(low) | u32::from(reader.u16()?) << 16;
        let length = usize::from(reader.u8()?);
        reader.take(10)?;
        random.extend_from_slice(reader.take(length.saturating_sub(8).max(13))?);
        // Servers that are older than plugins name none.
        let method = reader.until_zero().unwrap_or(b"mysql_native_password").to_vec();
        Some(Self { id, random, capabilities, method })
    }
}

impl Wire {
    /// Connects, authenticates, and sets the session up in the same way on all servers.
    pub(crate) fn connect(config: &Config, purpose: Purpose) -> Result<Self, SqlError> {
        let mut wire = Self::open(config, CONNECT_TIMEOUT)?;
        inherited::begin(&mut wire)?;
        // Some servers greet with the version of the MySQL that they resemble.
        let mut comment = String::new();
        let mut version = String::new();
        wire.query_each("SELECT version(), @@version_comment", &mut |row| {
            if let [Some(first), Some(second)] = row {
                (version, comment) = ((*first).to_string(), (*second).to_string());
            }
        })?;
        wire.product = product::of(&version, &comment);
        wire.version = version;
        let sql_mode = wire.product.sql_mode;
        inherited::replace(&mut wire, sql_mode, config.isolation, purpose)?;
        if let Some(mode) = config.transactions.filter(|_| !wire.product.set_transactions.is_empty()) {
            wire.execute(&format!("{}'{mode}'", wire.product.set_transactions))?;
        }
        wire.transport.limit(None).map_err(lost)?;
        Ok(wire)
    }

    /// Ends the current statement of another connection of the same server, if there is one. Each step may take
    /// `longest`.
    pub(crate) fn kill_query(config: &Config, connection: u32, longest: Duration) -> Result<(), SqlError> {
        Self::open(config, longest)?.execute(&format!("KILL QUERY {connection}"))
    }

    /// Connects and authenticates. Each step may take `longest`, also of what follows.
    fn open(config: &Config, longest: Duration) -> Result<Self, SqlError> {
        let transport = match &config.host {
            Host::Unix(path) => Transport::Unix(net::dial_unix(path)?),
            Host::Tcp(name) => Transport::Tcp(net::dial_tcp(name, config.port, longest)?),
        };
        let mut wire = Self {
            transport,
            out: Vec::with_capacity(READ_BYTES),
            input: Vec::with_capacity(READ_BYTES),
            read: 0,
            scratch: Box::new([0; READ_BYTES]),
            sequence: 0,
            capabilities: 0,
            product: product::of("", ""),
            version: String::new(),
            id: 0,
        };
        wire.transport.limit(Some(longest)).map_err(lost)?;
        wire.start(config)?;
        Ok(wire)
    }

    fn start(&mut self, config: &Config) -> Result<(), SqlError> {
        let packet = self.packet()?;
        let packet = &self.input[packet];
        if packet.first() == Some(&0xff) {
            return Err(database_error(None, packet));
        }
        let greeting = Greeting::of(packet).ok_or_else(|| unexpected("no greeting"))?;
        self.id = greeting.id;
        self.capabilities = capability::WANTED & greeting.capabilities;
        if greeting.capabilities & capability::PROTOCOL_41 == 0 {
            return Err(unexpected("a greeting of MySQL 4.0 or older"));
        }
        self.secure(config, greeting.capabilities)?;
        let password = config.password().unwrap_or_default();
        // TLS without a checked certificate does not prove who listens. Yet clients of MySQL send passwords for
        // caching_sha2_password over it. The method that always sends the password requires more.
        let safe = Safe {
            encrypted: !matches!(self.transport, Transport::Tcp(_)),
            verified: matches!(self.transport, Transport::Unix(_)) || config.tls.mode == SslMode::VerifyFull,
        };
        let method = Method::of(&greeting.method).unwrap_or(Method::Native);
        let proof = method.proof(&password, &greeting.random, safe)?;
        self.hello();
        self.out.extend_from_slice(config.user.as_bytes());
        self.out.push(0);
        self.out.push(proof.len() as u8);
        self.out.extend_from_slice(&proof);
        self.out.extend_from_slice(config.database.as_bytes());
        self.out.push(0);
        self.out.extend_from_slice(method.name());
        self.out.push(0);
        self.finish_packet(0)?;
        self.flush()?;
        self.authenticate(&password, safe).map_err(|error| self.denied(error, config))
    }

    /// Adds to the error of a user that may not connect what the server does not say: the user may have to use TLS.
    fn denied(&self, mut error: SqlError, config: &Config) -> SqlError {
        if errors::has_code(&error, errors::DENIED)
            && let SqlError::Database { message, .. } = &mut error
        {
            *message += match &self.transport {
                Transport::Tcp(_) if config.tls.mode == SslMode::Disable => {
                    " (a user with REQUIRE SSL needs TLS: leave sslmode=disable out)"
                }
                Transport::Tcp(_) => " (a user with REQUIRE SSL needs TLS, which this server does not offer)",
                Transport::Tls(_) if config.tls.identity.is_none() => {
                    " (a user with REQUIRE X509 needs a certificate: ?ssl-cert=FILE&ssl-key=FILE)"
                }
                Transport::Tls(_) | Transport::Unix(_) => "",
            };
        }
        error
    }

    /// Writes the beginning of the first two packets of a client.
    fn hello(&mut self) {
        self.out.clear();
        self.out.extend_from_slice(&[0; HEADER]);
        self.out.extend_from_slice(&self.capabilities.to_le_bytes());
        self.out.extend_from_slice(&(MAX_PACKET as u32).to_le_bytes());
        self.out.push(COLLATION);
        self.out.extend_from_slice(&[0; 23]);
    }

    /// Begins TLS as `sslmode` requires.
    fn secure(&mut self, config: &Config, offered: u32) -> Result<(), SqlError> {
        let Transport::Tcp(stream) = &self.transport else { return Ok(()) };
        if config.tls.mode == SslMode::Disable {
            return Ok(());
        }
        if offered & capability::TLS == 0 {
            if config.tls.mode == SslMode::Prefer {
                return Ok(());
            }
            return Err(net::tls::not_offered());
        }
        let stream: TcpStream = stream.try_clone().map_err(lost)?;
        self.capabilities |= capability::TLS;
        self.hello();
        self.finish_packet(0)?;
        self.flush()?;
        let tls = net::tls::handshake(&config.host, &config.tls, stream)?;
        self.transport = Transport::Tls(Box::new(tls));
        Ok(())
    }

    fn authenticate(&mut self, password: &str, safe: Safe) -> Result<(), SqlError> {
        loop {
            let packet = self.packet()?;
            let packet = &self.input[packet];
            let answer = match packet.first() {
                Some(0x00) => return Ok(()),
                Some(0xff) => return Err(database_error(None, packet)),
                _ => match auth::challenge(packet)? {
                    Challenge::Enough => continue,
                    Challenge::Switch(method, random) => method.proof(password, random, safe)?,
                    Challenge::Password => auth::clear(password.as_bytes(), safe.encrypted)?,
                },
            };
            self.reply(&answer)?;
            self.flush()?;
        }
    }

    /// Appends a packet to `out` that continues an exchange.
    fn reply(&mut self, payload: &[u8]) -> Result<(), SqlError> {
        let at = self.out.len();
        self.out.extend_from_slice(&[0; HEADER]);
        self.out.extend_from_slice(payload);
        self.finish_packet(at)
    }

    /// Fills in the header of the packet that begins at `at` in `out`.
    fn finish_packet(&mut self, at: usize) -> Result<(), SqlError> {
        let length = self.out.len() - at - HEADER;
        if length >= MAX_PACKET {
            return Err(SqlError::Decode(format!("a packet of {length} bytes is too long to be sent")));
        }
        self.out[at..at + 3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
        self.out[at + 3] = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        Ok(())
    }

    /// Appends a command to `out`. `write` appends its contents.
    pub(crate) fn command(
        &mut self,
        command: u8,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let at = self.out.len();
        self.out.extend_from_slice(&[0; HEADER]);
        self.out.push(command);
        self.sequence = 0;
        let written = write(&mut self.out).and_then(|()| self.finish_packet(at));
        if written.is_err() {
            self.out.truncate(at);
        }
        written
    }

    /// Sets the timeout of reads and writes; `None` for no timeout.
    pub(crate) fn limit(&self, longest: Option<Duration>) -> Result<(), SqlError> {
        self.transport.limit(longest).map_err(lost)
    }

    /// Returns a second handle of the connection.
    pub(crate) fn line(&self) -> Result<Line, SqlError> {
        self.transport.line().map_err(lost)
    }

    /// Returns true if the connection is in a transaction.
    pub(crate) fn in_transaction(&mut self) -> Result<bool, SqlError> {
        self.query("DO 0")?;
        self.flush()?;
        match self.head()? {
            Head::Done(done) => Ok(done.in_transaction),
            Head::Columns(_) | Head::WantsFile => Err(unexpected("rows without a query")),
        }
    }

    /// True if the bytes on the connection are encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self.transport, Transport::Tls(_))
    }

    /// Appends a text statement to `out`.
    pub(crate) fn query(&mut self, sql: &str) -> Result<(), SqlError> {
        self.command(QUERY, |out| {
            out.extend_from_slice(sql.as_bytes());
            Ok(())
        })
    }

    /// Sends all bytes in `out`.
    pub(crate) fn flush(&mut self) -> Result<(), SqlError> {
        let stream = self.transport.stream();
        let sent = stream.write_all(&self.out).and_then(|()| stream.flush());
        self.out.clear();
        // The server's last message before it closed the connection says more than the lost connection.
        sent.map_err(|error| self.last_words().unwrap_or_else(|| lost(error)))
    }

    fn last_words(&mut self) -> Option<SqlError> {
        loop {
            let packet = self.packet().ok()?;
            if self.input[packet.clone()].first() == Some(&0xff) {
                return Some(database_error(Some(self.product), &self.input[packet]));
            }
        }
    }

    /// Reads the next packet. Returns its range in [`Wire::bytes`], valid until the next call.
    pub(crate) fn packet(&mut self) -> Result<Range<usize>, SqlError> {
        loop {
            if let Some([a, b, c, sequence]) = self.input.get(self.read..self.read + HEADER) {
                let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
                let begin = self.read + HEADER;
                if length >= MAX_PACKET {
                    return Err(unexpected("a row of 16 MiB"));
                }
                if self.input.len() >= begin + length {
                    self.sequence = sequence.wrapping_add(1);
                    self.read = begin + length;
                    return Ok(begin..begin + length);
                }
            }
            if self.read > 0 {
                self.input.drain(..self.read);
                self.read = 0;
            }
            match self.transport.stream().read(&mut self.scratch[..]) {
                Ok(0) => return Err(SqlError::Lost("the server closed the connection".into())),
                Ok(count) => self.input.extend_from_slice(&self.scratch[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(error)),
            }
        }
    }

    /// Returns the bytes of a packet.
    pub(crate) fn bytes(&self, packet: Range<usize>) -> &[u8] {
        &self.input[packet]
    }

    /// Reads the beginning of the next answer.
    pub(crate) fn head(&mut self) -> Result<Head, SqlError> {
        let packet = self.packet()?;
        let packet = &self.input[packet];
        match packet.first() {
            Some(0x00) => Done::of(packet).map(Head::Done),
            Some(0xff) => return Err(database_error(Some(self.product), packet)),
            Some(0xfb) => Some(Head::WantsFile),
            _ => Reader::new(packet).length().map(|columns| Head::Columns(columns as usize)),
        }
        .ok_or_else(|| unexpected("a broken answer"))
    }

    /// Skips the end of column or parameter descriptions, if the server sends one.
    pub(crate) fn end_of_columns(&mut self) -> Result<(), SqlError> {
        if self.capabilities & capability::DEPRECATE_EOF == 0 {
            self.packet()?;
        }
        Ok(())
    }

    /// Reads the next row, or the end of the rows.
    pub(crate) fn row(&mut self) -> Result<Result<Range<usize>, Done>, SqlError> {
        let packet = self.packet()?;
        let bytes = &self.input[packet.clone()];
        match bytes.first() {
            Some(0xff) => Err(database_error(Some(self.product), bytes)),
            // A row of more than 16 MiB could begin so too, but such rows are not read.
            Some(0xfe) if self.capabilities & capability::DEPRECATE_EOF != 0 => {
                Done::of(bytes).map(Err).ok_or_else(|| unexpected("a broken end of rows"))
            }
            Some(0xfe) if bytes.len() < 9 => {
                Done::of_eof(bytes).map(Err).ok_or_else(|| unexpected("a broken end of rows"))
            }
            _ => Ok(Ok(packet)),
        }
    }

    /// Sends a part of the file that a server requested. An empty part is the end.
    pub(crate) fn send_part(&mut self, part: &[u8]) -> Result<(), SqlError> {
        self.reply(part)?;
        self.flush()
    }

    /// Reads the text answers of one command to the last one.
    fn answers(&mut self, row: &mut dyn FnMut(&[Option<&str>])) -> Result<(), SqlError> {
        loop {
            let done = match self.head()? {
                Head::Done(done) => done,
                Head::WantsFile => {
                    self.send_part(&[])?;
                    continue;
                }
                Head::Columns(columns) => {
                    for _ in 0..columns {
                        self.packet()?;
                    }
                    self.end_of_columns()?;
                    let mut broken = None;
                    loop {
                        match self.row()? {
                            Err(done) => break broken.map_or(Ok(done), Err)?,
                            Ok(packet) => {
                                match text_row(&self.input[packet], columns) {
                                    Ok(fields) => row(&fields),
                                    // Read on, so that the next statement finds its own answer.
                                    Err(error) => broken = Some(error),
                                }
                            }
                        }
                    }
                }
            };
            if !done.more {
                return Ok(());
            }
        }
    }
}

impl Drop for Wire {
    /// Sends a quit command, because servers count a connection that ends without it as broken, and some keep its locks
    /// for a while.
    fn drop(&mut self) {
        self.out.clear();
        let quit = self.command(QUIT, |_| Ok(()));
        // A frozen server must not block the drop.
        let limited = self.transport.limit(Some(CONNECT_TIMEOUT));
        if quit.is_ok() && limited.is_ok() {
            let stream = self.transport.stream();
            // The connection ends in any case.
            let _sent = stream.write_all(&self.out).and_then(|()| stream.flush());
        }
    }
}

fn text_row(packet: &[u8], columns: usize) -> Result<Vec<Option<&str>>, SqlError> {
    let mut reader = Reader::new(packet);
    (0..columns)
        .map(|_| {
            let field = reader.nullable().ok_or_else(|| unexpected("a short row"))?;
            field
                .map(std::str::from_utf8)
                .transpose()
                .map_err(|_| SqlError::Decode("the server sent text that is not UTF-8".into()))
        })
        .collect()
}

impl Admin for Wire {
    fn query_each(&mut self, sql: &str, row: &mut dyn FnMut(&[Option<&str>])) -> Result<(), SqlError> {
        self.query(sql)?;
        self.flush()?;
        self.answers(row)
    }
}

pub(crate) fn unexpected(what: &str) -> SqlError {
    // The stream is out of step from here on, so the connection is unusable.
    SqlError::Lost(format!("the server sent {what}: does it speak MySQL's protocol?"))
}

/// Reads an error packet.
pub(crate) fn database_error(product: Option<&Product>, packet: &[u8]) -> SqlError {
    let mut reader = Reader::new(packet);
    let _mark = reader.u8();
    let code = reader.u16().unwrap_or_default();
    let rest = reader.rest();
    // Before authentication the SQLSTATE may be missing.
    let (state, message) = match rest.split_first() {
        Some((b'#', rest)) if rest.len() >= 5 => rest.split_at(5),
        _ => (&b"HY000"[..], rest),
    };
    errors::error(product, code, &String::from_utf8_lossy(state), &String::from_utf8_lossy(message))
}
