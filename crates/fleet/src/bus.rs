//! The connection to a NATS server, for threads that block.

use crate::error::FleetError;
use crate::messages::encode;
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event};
use futures_util::StreamExt;
use parking_lot::Mutex;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use url::{ParseError, Url};

/// Longest wait for the server when connecting.
const CONNECT: Duration = Duration::from_secs(5);
/// Time between two pings of the server: after two without an answer, the connection is lost.
const PING: Duration = Duration::from_secs(2);

/// Proof that a client may use the server, beside the user, password or token in the URL.
#[derive(Clone, Debug, Default)]
pub struct Login {
    /// File of credentials, as `nsc` writes it.
    pub creds: Option<PathBuf>,
    /// File with the seed of an NKey.
    pub nkey: Option<PathBuf>,
    /// File of CA certificates for the server, instead of the system's.
    pub tls_ca: Option<PathBuf>,
}

/// A connection to a NATS server. It reconnects by itself.
#[derive(Debug)]
pub struct Bus {
    client: Client,
    runtime: Handle,
    /// URL without user, password and token.
    url: String,
    state: Arc<Mutex<State>>,
    /// Ends the thread of the connection when it is dropped.
    _ends: tokio::sync::oneshot::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    disconnected: bool,
    /// Last refusal of the server: missing rights on a subject.
    refusal: Option<String>,
}

impl State {
    /// Notes an error of the server if it is about rights. Others pass, or the connection is lost with them.
    fn refuse(&mut self, error: &str) {
        if error.to_lowercase().contains("permissions violation") {
            self.refusal = Some(error.to_owned());
        }
    }
}

/// Messages of one or more subscriptions, in order of arrival.
pub(crate) struct Inbox {
    sender: Sender<Vec<u8>>,
    pub(crate) messages: Receiver<Vec<u8>>,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        let (sender, messages) = channel();
        Self { sender, messages }
    }

    /// Waits for a message, at most for `longest`. Returns all that have come.
    pub(crate) fn wait(&self, longest: Duration) -> impl Iterator<Item = Vec<u8>> {
        self.messages.recv_timeout(longest).into_iter().chain(self.messages.try_iter())
    }
}

/// Splits a URL into its scheme with `://`, its user, password or token if it has one, and the rest.
fn split_login(url: &str) -> (&str, Option<&str>, &str) {
    let (scheme, rest) = url.split_at(url.find("://").map_or(0, |at| at + "://".len()));
    match rest.rsplit_once('@') {
        Some((login, host)) => (scheme, Some(login), host),
        None => (scheme, None, rest),
    }
}

/// Returns a URL without its user, password and token, for messages.
#[must_use]
pub fn shown(url: &str) -> String {
    let (scheme, _, host) = split_login(url);
    // Hosts have no secrets, but a text that is not a URL may have one anywhere.
    let in_hosts = |letter: char| letter.is_ascii_alphanumeric() || "-._:,/[]".contains(letter);
    let port = |text: &str| {
        text.chars().take_while(|letter| *letter != ',').all(|letter| "0123456789/".contains(letter))
    };
    let ports = host.starts_with('[') || host.split(':').skip(1).all(port);
    if host.chars().all(in_hosts) && ports { format!("{scheme}{host}") } else { format!("{scheme}…") }
}

/// Returns a URL with placeholders for its user, password and token, for commands that a user types.
#[must_use]
pub fn with_placeholders(url: &str) -> String {
    match split_login(url) {
        (scheme, Some(login), host) if login.contains(':') => format!("{scheme}USER:PASSWORD@{host}"),
        (scheme, Some(_), host) => format!("{scheme}TOKEN@{host}"),
        (scheme, None, host) => format!("{scheme}{host}"),
    }
}

/// The parts of a server's URL.
struct Address {
    url: String,
    user: String,
    password: Option<String>,
}

/// Reads the URL of a server.
fn address(text: &str) -> Result<Address, FleetError> {
    let wrong = |problem: String| {
        FleetError::Usage(format!(
            "--join {}: {problem}: write nats://HOST:4222 or tls://HOST:4222",
            shown(text)
        ))
    };
    let mut url = Url::parse(text).map_err(|error| match error {
        ParseError::RelativeUrlWithoutBase => wrong("has no scheme".into()),
        other => wrong(other.to_string()),
    })?;
    if !["nats", "tls"].contains(&url.scheme()) {
        return Err(wrong(format!("{}: is no scheme of NATS", url.scheme())));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("has no host".into()));
    }
    // Else a part of the token is taken for the host, and messages show it.
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong(
            "has more than a host and a port (in a token write %2F for /, %3F for ?, %23 for #)".into(),
        ));
    }
    let (user, password) = (percent(url.username()), url.password().map(percent));
    let no_host = |()| wrong("has no host".into());
    url.set_username("").map_err(no_host)?;
    url.set_password(None).map_err(no_host)?;
    Ok(Address { url: url.to_string(), user, password })
}

/// Decodes `%40` and the like.
fn percent(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

impl Bus {
    /// Connects to the server at `url`. A user and a password, or a token alone, may stand before the host.
    ///
    /// # Errors
    /// The URL is wrong, or the server can't be reached or refuses the login.
    pub fn connect(url: &str, login: &Login) -> Result<Self, FleetError> {
        let address = address(url)?;
        let state = Arc::new(Mutex::new(State::default()));
        let options = options(&address, login, &state)?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| FleetError::Usage(format!("the system gives no thread for NATS: {error}")))?;
        let server = address.url.clone();
        let connected = runtime.block_on(async {
            let options = match &login.creds {
                None => options,
                Some(file) => options.credentials_file(file).await.map_err(|error| {
                    FleetError::Usage(format!(
                        "--creds {}: {error}: name a file of credentials",
                        file.display()
                    ))
                })?,
            };
            options.connect(server).await.map_err(|error| unreachable_at(&address.url, &error))
        });
        let client = connected?;
        let handle = runtime.handle().clone();
        let (ends, ended) = tokio::sync::oneshot::channel::<()>();
        std::thread::Builder::new()
            .name("nats".to_owned())
            .spawn(move || {
                // An error means that the bus was dropped.
                let _ = runtime.block_on(ended);
            })
            .map_err(|error| FleetError::Usage(format!("the system gives no thread for NATS: {error}")))?;
        Ok(Self { client, runtime: handle, url: address.url, state, _ends: ends })
    }

    /// Returns the URL without user, password and token.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the problem of the connection in one line, if there is one.
    pub(crate) fn problem(&self) -> Option<FleetError> {
        let state = self.state.lock();
        if let Some(refusal) = &state.refusal {
            return Some(FleetError::Usage(format!(
                "{}: {refusal}: allow the user to publish and subscribe to lydite.>",
                self.url
            )));
        }
        state.disconnected.then(|| FleetError::Lost(format!("{}: the connection to NATS was lost", self.url)))
    }

    /// Returns the greatest size of a message.
    pub(crate) fn max_message(&self) -> usize {
        self.client.max_payload()
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The client is closed, or the message is too large.
    pub(crate) fn send<T: Serialize>(&self, subject: String, message: &T) -> Result<(), FleetError> {
        self.send_bytes(subject, encode(message)?)
    }

    /// Sends an encoded message, as [`Bus::send`] does.
    pub(crate) fn send_bytes(&self, subject: String, bytes: Vec<u8>) -> Result<(), FleetError> {
        let sent = self.runtime.block_on(self.client.publish(subject, bytes.into()));
        sent.map_err(|error| FleetError::Lost(format!("{}: {error}", self.url)))
    }

    /// Waits until the server has everything that was sent, at most as long as connecting may take.
    pub(crate) fn flush(&self) {
        // If it fails, the other side notices the silence.
        let _ = self.runtime.block_on(async { tokio::time::timeout(CONNECT, self.client.flush()).await });
    }

    /// Subscribes to a subject. The messages go to `inbox` until it or the bus is dropped.
    ///
    /// # Errors
    /// The client is closed.
    pub(crate) fn subscribe(&self, subject: String, inbox: &Inbox) -> Result<Subscription, FleetError> {
        let subscribed = self.runtime.block_on(self.client.subscribe(subject));
        let mut messages = subscribed.map_err(|error| FleetError::Lost(format!("{}: {error}", self.url)))?;
        let sender = inbox.sender.clone();
        let task = self.runtime.spawn(async move {
            while let Some(message) = messages.next().await {
                if sender.send(message.payload.to_vec()).is_err() {
                    return;
                }
            }
        });
        // The server must know the subscription before anybody answers.
        self.flush();
        Ok(Subscription(task))
    }
}

/// A subscription, until it is dropped.
pub(crate) struct Subscription(tokio::task::JoinHandle<()>);

impl Drop for Subscription {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns the options of a connection.
fn options(
    address: &Address,
    login: &Login,
    state: &Arc<Mutex<State>>,
) -> Result<ConnectOptions, FleetError> {
    let state = Arc::clone(state);
    let mut options = ConnectOptions::new()
        .name("lydite")
        .connection_timeout(CONNECT)
        .ping_interval(PING)
        .event_callback(move |event| {
            let mut state = state.lock();
            match event {
                Event::Connected => state.disconnected = false,
                Event::Disconnected | Event::Closed => state.disconnected = true,
                Event::ServerError(error) => state.refuse(&error.to_string()),
                Event::SlowConsumer(_) | Event::LameDuckMode | Event::Draining | Event::ClientError(_) => {}
            }
            async {}
        });
    options = match (&address.user, &address.password) {
        (user, Some(password)) => options.user_and_password(user.clone(), password.clone()),
        (user, None) if !user.is_empty() => options.token(user.clone()),
        _ => options,
    };
    if let Some(file) = &login.nkey {
        let wrong =
            |error| FleetError::Usage(format!("--nkey {}: {error}: name a file with a seed", file.display()));
        options = options.nkey(std::fs::read_to_string(file).map_err(wrong)?.trim().to_owned());
    }
    if let Some(file) = &login.tls_ca {
        options = options.add_root_certificates(file.clone());
    }
    Ok(options)
}

/// Returns an error with its causes in one line.
fn causes(error: &dyn std::error::Error) -> String {
    let more = std::iter::successors(error.source(), |cause| cause.source());
    let mut words = error.to_string();
    for cause in more.map(ToString::to_string) {
        // Some errors repeat their cause.
        if !words.contains(&cause) {
            words += &format!(": {cause}");
        }
    }
    words
}

/// Returns the error of a server that can't be used.
fn unreachable_at(url: &str, error: &async_nats::ConnectError) -> FleetError {
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            FleetError::Usage(format!(
                "{url}: NATS refuses the login: give USER:PASSWORD@ or TOKEN@ before the host, or --creds or --nkey"
            ))
        }
        kind => {
            let words = causes(error);
            if words.contains("InvalidContentType") {
                return FleetError::Lost(format!(
                    "{url}: the server speaks no TLS: write nats:// instead of tls://"
                ));
            }
            // The client reports a rejected certificate as an error of input and output.
            if kind == ConnectErrorKind::Tls || words.contains("certificate") {
                return FleetError::Lost(format!(
                    "{url}: no connection by TLS: {words}: name the CA of NATS's certificate with --tls-ca, and the host \
                     as in the certificate"
                ));
            }
            let advice = match kind {
                ConnectErrorKind::Dns => "check the name of the host",
                ConnectErrorKind::TimedOut => "check the address, and the firewall between",
                _ => "start one with nats-server",
            };
            FleetError::Lost(format!("{url}: no NATS server can be reached: {error}: {advice}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_show_no_password_and_no_token() {
        assert_eq!(shown("nats://me:secret@host:4222"), "nats://host:4222");
        assert_eq!(shown("tls://token@host"), "tls://host");
        assert_eq!(shown("nats://host"), "nats://host");
        assert_eq!(with_placeholders("nats://me:secret@host:4222"), "nats://USER:PASSWORD@host:4222");
        assert_eq!(with_placeholders("tls://token@host"), "tls://TOKEN@host");
        assert_eq!(with_placeholders("nats://host"), "nats://host");
        let address = address("nats://me:s%40cret@host:4222").unwrap();
        assert_eq!((address.user.as_str(), address.password.as_deref()), ("me", Some("s@cret")));
        assert_eq!(address.url, "nats://host:4222");
    }

    #[test]
    fn a_wrong_url_is_rejected_without_its_password() {
        let tokens = [
            "nats://secret/x@host:4222",
            "nats://x/secret@host",
            "nats://x?secret@host",
            "nats://x#secret@host",
        ];
        for url in
            ["http://me:secret@host", "nats://", "host:4222", "127.0.0.1:4222"].into_iter().chain(tokens)
        {
            let error = address(url).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains("write nats://HOST:4222"), "{url}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
