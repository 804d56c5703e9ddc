//! Transport of bytes to a server over TCP, a Unix socket or TLS, for families with a protocol implementation of their
//! own.

pub(crate) mod tls;
pub(crate) mod tls_config;
mod tls_verifiers;
pub(crate) mod url;

use crate::statement_limit::Line;
pub(crate) use lydite_database::connecting::{CONNECT_TIMEOUT, connecting};
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Longest time without any acknowledged packet before a host's connections count as lost.
pub(crate) const GONE: Duration = Duration::from_secs(30);
/// Purpose of a connection. It decides which limits of the server hold for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Transactions of a workload. They keep the limits that an application may rely on.
    Transactions,
    /// Reading the settings of a session for transactions, without the limits of time that the URL sets.
    Description,
    /// Loads, checks, observers and all other work, whose statements may take hours.
    Administration,
}

/// Address of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// A name or an address.
    Tcp(String),
    /// The directory of its socket.
    Unix(String),
}

impl Host {
    /// Returns the server of a port, as `HOST:PORT`, or the directory of its socket.
    pub(crate) fn with_port(&self, port: u16) -> String {
        match self {
            Self::Tcp(name) if name.contains(':') => format!("[{name}]:{port}"),
            Self::Tcp(name) => format!("{name}:{port}"),
            Self::Unix(directory) => directory.clone(),
        }
    }
}

/// Use of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SslMode {
    /// No TLS.
    Disable,
    /// TLS if the server offers it. The certificate is not checked.
    Prefer,
    /// TLS always. The certificate is not checked.
    Require,
    /// TLS always. A trusted CA must have signed the certificate, for whatever host.
    VerifyCa,
    /// TLS always. The certificate must be valid for the host.
    VerifyFull,
}

/// An open byte stream to the server.
pub(crate) enum Transport {
    /// TCP without encryption.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
    /// TCP with TLS.
    Tls(Box<tls::TlsStream>),
}

impl Transport {
    /// Returns the byte stream.
    pub(crate) fn stream(&mut self) -> &mut dyn ReadWrite {
        match self {
            Self::Tcp(stream) => stream,
            Self::Unix(stream) => stream,
            Self::Tls(stream) => stream.as_mut(),
        }
    }

    /// Returns a second handle of the connection.
    pub(crate) fn line(&self) -> io::Result<Line> {
        match self {
            Self::Tcp(stream) => stream.try_clone().map(Line::Tcp),
            Self::Unix(stream) => stream.try_clone().map(Line::Unix),
            Self::Tls(stream) => stream.sock.try_clone().map(Line::Tcp),
        }
    }

    /// Sets the timeout of reads and writes; `None` for no timeout.
    pub(crate) fn limit(&self, longest: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => limit(stream, longest),
            Self::Unix(stream) => {
                stream.set_read_timeout(longest).and_then(|()| stream.set_write_timeout(longest))
            }
            Self::Tls(stream) => limit(&stream.sock, longest),
        }
    }
}

fn limit(stream: &TcpStream, longest: Option<Duration>) -> io::Result<()> {
    stream.set_read_timeout(longest)?;
    stream.set_write_timeout(longest)
}

/// A byte stream in both directions.
pub(crate) trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

/// Connects to a port of a host. Each step may take `longest`.
pub(crate) fn dial_tcp(name: &str, port: u16, longest: Duration) -> Result<TcpStream, SqlError> {
    let addresses = (name, port)
        .to_socket_addrs()
        .map_err(|error| SqlError::Lost(format!("{}: check the host's name", os_text(&error))))?;
    let mut last = SqlError::Lost(format!("{name} has no address"));
    for address in addresses {
        match TcpStream::connect_timeout(&address, longest) {
            Ok(stream) => {
                stream.set_nodelay(true).map_err(lost)?;
                watch(&stream).map_err(lost)?;
                // The kernel of a frozen server accepts connections, but the server does not answer on them.
                limit(&stream, Some(longest)).map_err(lost)?;
                return Ok(stream);
            }
            Err(error) => {
                last = SqlError::Lost(format!(
                    "{}: is the server running, and does it listen there?",
                    os_text(&error)
                ));
            }
        }
    }
    Err(last)
}

/// Connects to a Unix socket.
pub(crate) fn dial_unix(path: &str) -> Result<UnixStream, SqlError> {
    UnixStream::connect(path)
        .map_err(|error| SqlError::Lost(format!("{}: is the server running?", os_text(&error))))
}

/// Returns the times after which the kernel probes a silent host.
pub(crate) fn keepalive() -> socket2::TcpKeepalive {
    socket2::TcpKeepalive::new().with_time(GONE / 2).with_interval(GONE / 6)
}

/// Lets the kernel notice a host that vanished without closing its connections, so that the session can reconnect.
fn watch(stream: &TcpStream) -> io::Result<()> {
    let socket = socket2::SockRef::from(stream);
    socket.set_tcp_keepalive(&keepalive())?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(GONE))?;
    Ok(())
}

/// Returns the operating system's message without Rust's "(os error N)".
fn os_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text).to_string();
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

/// Returns the error of a broken connection, or of an unanswered connection attempt.
pub(crate) fn lost(error: io::Error) -> SqlError {
    SqlError::Lost(match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => no_answer(CONNECT_TIMEOUT),
        // The library of TLS has a text of its own for this, with the address of its manual.
        io::ErrorKind::UnexpectedEof => "the server closed the connection".into(),
        _ => os_text(&error),
    })
}

fn no_answer(limit: Duration) -> String {
    format!(
        "no answer within {} s: is the server frozen or overloaded, or of another kind than the URL says?",
        limit.as_secs()
    )
}

/// Sets settings by SQL. An error says why Lydite sets the one that the server names. `reasons` has names and reasons.
pub(crate) fn set(
    admin: &mut impl Admin,
    sql: &str,
    reasons: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> Result<(), SqlError> {
    admin.execute(sql).map_err(|error| with_reason(error, reasons))
}

/// Returns the error of setting settings with the reason why Lydite sets the one that the server names.
pub(crate) fn with_reason(
    mut error: SqlError,
    reasons: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> SqlError {
    if let SqlError::Database { message, .. } = &mut error
        && let Some((name, why)) = reasons.into_iter().find(|(name, _)| message.contains(name))
    {
        *message += &format!(" (a session of Lydite sets {name}: {why})");
    }
    error
}

/// True for the error of an answer that did not come in time.
pub(crate) fn is_no_answer(error: &SqlError) -> bool {
    matches!(error, SqlError::Lost(text) if *text == no_answer(CONNECT_TIMEOUT))
}

/// Returns the error of a connection attempt that had this limit.
pub(crate) fn within(limit: Duration, error: SqlError) -> SqlError {
    if is_no_answer(&error) { SqlError::Lost(no_answer(limit)) } else { error }
}
