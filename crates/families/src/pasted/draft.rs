//! The parts of a target while they are gathered, and the URL that they make.

use super::findings::Findings;
use lydite_database::target_url::encoded;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt;
use std::path::Path;

/// Characters that are written as `%` and two hexadecimal digits in a user, a password or a database.
const PART: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Characters that are encoded in an option: readers of messages want to see paths and lists as they are.
const OPTION: AsciiSet =
    PART.remove(b'/').remove(b':').remove(b',').remove(b'=').remove(b'*').remove(b'[').remove(b']');

/// Option of a socket's directory.
pub(super) const DIRECTORY: &str = "host";

/// The parts of a target.
#[derive(Clone, Default)]
pub(crate) struct Draft {
    pub(crate) scheme: String,
    pub(crate) user: Option<String>,
    /// Password. It must never be shown.
    pub(crate) password: Option<String>,
    /// True if the password stands in the string itself, not in a file that it names or in the environment.
    pub(crate) password_in_text: bool,
    pub(crate) hosts: Vec<(String, Option<u16>)>,
    /// Ports of the hosts without one: one for all, or one for each. Zero is the usual port.
    pub(crate) ports: Vec<u16>,
    /// Directory or path of the server's Unix socket.
    pub(crate) socket: Option<String>,
    pub(crate) database: Option<String>,
    /// Path of a database without a server; empty for a temporary file.
    pub(crate) path: Option<String>,
    /// True if the URL has no host, since an option names a Unix socket.
    pub(crate) is_socket: bool,
    /// Options of the URL.
    pub(crate) options: Vec<(String, String)>,
}

impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

impl Draft {
    pub(crate) fn new(scheme: &str) -> Self {
        Self { scheme: scheme.to_owned(), ..Self::default() }
    }

    /// Returns the value of an option.
    pub(crate) fn get(&self, option: &str) -> Option<&str> {
        self.options.iter().find(|(name, _)| name == option).map(|(_, value)| value.as_str())
    }

    /// Sets an option.
    pub(crate) fn set(&mut self, option: &str, value: impl Into<String>) {
        self.unset(option);
        self.options.push((option.to_owned(), value.into()));
    }

    /// Takes an option back.
    pub(crate) fn unset(&mut self, option: &str) {
        self.options.retain(|(name, _)| name != option);
    }

    /// Takes hosts with their ports, `HOST:PORT,HOST`. An address of IPv6 may stand in brackets.
    pub(crate) fn take_hosts(&mut self, list: &str, findings: &mut Findings) {
        for text in list.split(',').map(str::trim) {
            match host_and_port(text) {
                Some((host, port)) => self.hosts.push((host, port)),
                None => findings.error(
                    "host is not HOST or HOST:PORT (if a part of the password stands there: write %2F in it for a slash, \
                     %40 for @, %3A for a colon, %3F for a question mark, %23 for #)",
                ),
            }
        }
    }

    /// Gives hosts their ports, and a Unix socket its place. `option` names the option of the socket.
    pub(crate) fn settle(&mut self, option: &str, findings: &mut Findings) {
        let usual = |port: u16| (port > 0).then_some(port);
        match (self.ports.as_slice(), self.hosts.len()) {
            ([], _) => {}
            ([port], _) => {
                for (_, own) in &mut self.hosts {
                    *own = own.or(usual(*port));
                }
            }
            (ports, hosts) if ports.len() == hosts => {
                for ((_, own), port) in self.hosts.iter_mut().zip(ports) {
                    *own = own.or(usual(*port));
                }
            }
            (ports, hosts) => findings.error(format!(
                "port has {} numbers for {hosts} hosts: give one for all, or one for each host",
                ports.len()
            )),
        }
        if let Some(socket) = self.socket.clone() {
            if self.hosts.iter().any(|(host, _)| host != "localhost") {
                findings.error("names a host twice, a name and a Unix socket: leave one of them out");
            }
            self.hosts.clear();
            self.set(option, socket);
            // The socket of a directory has the number of the port in its name.
            if let (DIRECTORY, [port]) = (option, self.ports.as_slice()) {
                self.set("port", port.to_string());
            }
        }
    }

    /// Returns an option as the URL has it, `NAME=VALUE`.
    pub(crate) fn written(&self, option: &str) -> Option<String> {
        self.get(option).map(|value| written(option, value))
    }

    /// Returns the URL. It has the password.
    pub(crate) fn url(&self) -> String {
        let options: Vec<String> = self.options.iter().map(|(name, value)| written(name, value)).collect();
        let options = options.join("&");
        let mark = if options.is_empty() { "" } else { "?" };
        if let Some(path) = &self.path {
            return format!("{}:{}{mark}{options}", self.scheme, encoded(Path::new(path)));
        }
        let part = |text: &str| utf8_percent_encode(text, &PART).to_string();
        let mut login = self.user.as_deref().map(part).unwrap_or_default();
        if let Some(password) = self.password.as_deref().filter(|password| !password.is_empty()) {
            login += &format!(":{}", part(password));
        }
        if !login.is_empty() {
            login.push('@');
        }
        let host = |(name, port): &(String, Option<u16>)| {
            let name = if name.contains(':') { format!("[{name}]") } else { name.clone() };
            port.map_or(name.clone(), |port| format!("{name}:{port}"))
        };
        let mut hosts = self.hosts.iter().map(host).collect::<Vec<_>>().join(",");
        if hosts.is_empty() && !self.is_socket {
            hosts = "localhost".into();
        }
        let database = self.database.as_deref().map(part).unwrap_or_default();
        format!("{}://{login}{hosts}/{database}{mark}{options}", self.scheme)
    }
}

/// Returns an option as a URL has it.
fn written(name: &str, value: &str) -> String {
    format!("{}={}", utf8_percent_encode(name, &OPTION), utf8_percent_encode(value, &OPTION))
}

/// Splits `HOST` or `HOST:PORT`; a bare address of IPv6 has no port.
fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
    let inner = match text.strip_prefix('[') {
        Some(inner) => Some(inner.split_once(']')?),
        None if text.matches(':').count() > 1 => Some((text, "")),
        None => None,
    };
    let (host, rest) = inner.unwrap_or_else(|| text.split_at(text.find(':').unwrap_or(text.len())));
    let port = match rest.strip_prefix(':') {
        Some("") => None,
        Some(port) => Some(port.parse().ok().filter(|&port: &u16| port > 0)?),
        None => rest.is_empty().then_some(None)?,
    };
    let in_name = |letter: char| letter.is_alphanumeric() || "-._:%".contains(letter);
    (!host.is_empty() && host.chars().all(in_name)).then(|| (host.to_owned(), port))
}
