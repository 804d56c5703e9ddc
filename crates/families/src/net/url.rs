//! The parts of `scheme://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE`.

use crate::duration::time_option;
use crate::net::Host;
use lydite_database::secret;
use lydite_database::target_url::{OptionSpec, ParsedUrl};
use lydite_database::{TargetError, TargetErrorKind};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// Problem of a database's name that is a connection string. It may have a password, so it is not shown.
pub(crate) const IS_CONNECTION_STRING: &str =
    "the name of the database is a connection string itself: give that one as the target";

/// A URL of a server, cut and decoded.
pub(crate) struct ServerUrl {
    /// Name or address, if given; the first one of several.
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    /// Further hosts, with their ports if given.
    pub(crate) more: Vec<(String, Option<u16>)>,
    pub(crate) user: Option<String>,
    /// Password. It must never be shown.
    pub(crate) password: Option<String>,
    /// Path after the host, without the slash.
    pub(crate) database: Option<String>,
    /// The URL without the password.
    pub(crate) shown: String,
}

impl ServerUrl {
    /// Splits the URL of a family with the scheme `scheme`. Errors in a part go to `errors`. The host may be missing
    /// after a user if the option `socket` names a Unix socket.
    ///
    /// # Errors
    /// The URL can't be split.
    pub(crate) fn parse(
        parsed: &ParsedUrl,
        scheme: &str,
        socket: &str,
        errors: &mut Vec<String>,
    ) -> Result<Self, Vec<String>> {
        // The URL may hold a password, so messages repeat nothing of an unreadable one.
        let bad = |problem: &dyn fmt::Display| {
            vec![format!(
                "target URL: {problem}: write {scheme}://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE, and in a password %2F \
                 for a slash, %40 for @, %3A for a colon, %3F for a question mark, %23 for #"
            )]
        };
        let (whole, others) = first_host(&parsed.whole).map_err(|problem| vec![problem])?;
        // libpq accepts a user without a host. Without a socket it is a typing error.
        let (url, no_host) = match url::Url::parse(&whole) {
            Err(url::ParseError::EmptyHost)
                if whole.contains("@/") && parsed.options.contains_key(socket) =>
            {
                (url::Url::parse(&whole.replacen("@/", "@localhost/", 1)), true)
            }
            parsed => (parsed, false),
        };
        let mut url = url.map_err(|error| bad(&error))?;
        if !parsed.rest.starts_with("//") {
            return Err(bad(&"two slashes are missing after the scheme"));
        }
        // The apparent path may be the rest of a password with an unescaped special character.
        if url.path().contains('@') || url.fragment().is_some() {
            return Err(bad(&"an @ or # is in the wrong place"));
        }
        let given = |text: &str| (!text.is_empty()).then(|| percent_decode(text));
        let host = url.host_str().filter(|host| !host.is_empty() && !no_host);
        let host = host.map(|name| name.trim_start_matches('[').trim_end_matches(']').to_string());
        let user = given(url.username());
        let database = given(url.path().trim_start_matches('/'));
        let password = url.password().map(percent_decode);
        match database.as_deref() {
            Some(name) if secret::is_connection_string(name) => {
                errors.push(format!("target URL: {}", IS_CONNECTION_STRING));
            }
            Some(name) if name.contains('/') => errors.push(format!(
                "target URL names the database {:?}: a slash can't be part of it",
                secret::shown(name)
            )),
            _ => {}
        }
        if url.set_password(None).is_err() && password.is_some() {
            errors.push("target URL has a password but no host".into());
        }
        let more = others.iter().flat_map(|list| list.split(',')).filter_map(|text| {
            let server = host_and_port(text);
            if text.is_empty() {
                errors.push(EMPTY_HOST.into());
            } else if server.is_none() {
                errors.push(format!("target URL: {text:?} is not HOST or HOST:PORT"));
            }
            server
        });
        let more = more.collect();
        let mut shown = url.to_string();
        if no_host {
            shown = shown.replacen("@localhost/", "@/", 1);
        }
        if let Some(others) = others {
            let end = authority(&shown).end;
            shown.insert_str(end, &format!(",{others}"));
        }
        Ok(Self { host, port: url.port(), more, user, password, database, shown })
    }
}

/// True if a URL of a server has a password.
pub(crate) fn has_password(url: &str) -> bool {
    password(url).is_some()
}

/// Returns the password of a server's URL as it stands there, if it has one. It must never be shown.
pub(crate) fn password(url: &str) -> Option<&str> {
    let (login, _) = url[authority(url)].rsplit_once('@')?;
    login.split_once(':').map(|(_, password)| password).filter(|password| !password.is_empty())
}

/// Returns the bytes of a URL between the two slashes and the path.
pub(crate) fn authority(url: &str) -> Range<usize> {
    let begin = url.find("//").map_or(url.len(), |slashes| slashes + 2);
    let end = url[begin..].find(['/', '?', '#']).map_or(url.len(), |length| begin + length);
    begin..end
}

/// Error of a URL with nothing before, between or after the commas of its hosts.
const EMPTY_HOST: &str =
    "target URL has an empty host beside a comma: name a host there, or leave out the comma";

/// Returns a URL with the first of its hosts alone, and the list of the others.
///
/// # Errors
/// User and password may stand before another host than the first one, or the first host is empty.
fn first_host(url: &str) -> Result<(String, Option<String>), String> {
    let authority = authority(url);
    let (login, begin) = match url[authority.clone()].rfind('@') {
        None => ("", authority.start),
        Some(at) => (&url[authority.start..authority.start + at], authority.start + at + 1),
    };
    if repeats_login(login) {
        return Err(
            "target URL names user and password again before another host: name user and password once, \
                    before the first host (in a password write %40 for @ and %2C for a comma)"
                .into(),
        );
    }
    match url[begin..authority.end].split_once(',') {
        None => Ok((url.to_owned(), None)),
        Some(("", _)) => Err(EMPTY_HOST.into()),
        Some((first, others)) => {
            Ok((format!("{}{first}{}", &url[..begin], &url[authority.end..]), Some(others.to_owned())))
        }
    }
}

/// True if the text before the last `@` looks like hosts with another login: `USER:PASSWORD@HOST,USER:PASSWORD` or
/// `HOST:PORT,USER:PASSWORD`. A comma alone may be a part of the password.
fn repeats_login(login: &str) -> bool {
    let Some((hosts, _)) = login.rsplit_once(',') else { return false };
    let in_user = login.find(':').is_none_or(|colon| hosts.len() < colon);
    let has_port = hosts.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    hosts.contains('@') || in_user || has_port
}

/// Rejects a URL with several hosts, for a family of one server with the scheme `scheme`.
///
/// # Errors
/// The URL has several hosts.
pub(crate) fn one_host(parsed: &ParsedUrl, scheme: &str) -> Result<(), Vec<String>> {
    match first_host(&parsed.whole) {
        Ok((_, None)) => Ok(()),
        Ok(_) => Err(vec![format!(
            "target URL names several hosts, but {scheme}: takes one: leave out the others"
        )]),
        Err(problem) => Err(vec![problem]),
    }
}

/// Splits `HOST` or `HOST:PORT`. An address of IPv6 stands in brackets.
fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => Some(port.parse().ok().filter(|&port| port > 0)?),
        None => rest.is_empty().then_some(None)?,
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// Decodes `%` and two hexadecimal digits.
pub(crate) fn percent_decode(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Returns the first of these environment variables that is set and not empty.
pub(crate) fn variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

/// Reads an option that lists servers, `HOST:PORT,HOST:PORT`. Rejects duplicates.
pub(crate) fn servers(parsed: &ParsedUrl, option: &str, errors: &mut Vec<String>) -> Vec<(String, u16)> {
    let mut servers = Vec::new();
    for text in parsed.options.get(option).iter().flat_map(|list| list.split(',')) {
        match host_and_port(text) {
            Some((host, Some(port))) if has(&servers, &host, port) => {
                errors.push(format!("target option {option} names {text} twice"));
            }
            Some((host, Some(port))) => servers.push((host, port)),
            _ if text.contains('@') => errors.push(format!(
                "target option {option} names a user: leave it out, all servers get the user of the URL"
            )),
            _ if text.is_empty() => errors.push(format!(
                "target option {option} has an empty server beside a comma: write HOST:PORT,HOST:PORT"
            )),
            _ => errors.push(format!("target option {option}: {text:?} is not HOST:PORT")),
        }
    }
    servers
}

/// True if the list has the server. Names of hosts have no case.
fn has(servers: &[(String, u16)], host: &str, port: u16) -> bool {
    servers.iter().any(|(known, its)| known.eq_ignore_ascii_case(host) && *its == port)
}

/// Option of the servers beside the URL's.
pub(crate) const NODES: OptionSpec = OptionSpec {
    name: "nodes",
    values: "HOST:PORT,HOST:PORT,…",
    default: "none",
    about: "more servers of the same database: sessions are spread over all",
};

/// Option of the life time of connections.
pub(crate) const CONNECTION_LIFETIME: OptionSpec = OptionSpec {
    name: "connection_lifetime",
    values: "a time from 1s to 24h",
    default: "none",
    about: "time after which a session opens its connection anew",
};

/// Reads the servers beside the first one: more hosts in the URL, and the option `nodes`. Rejects duplicates. `first` is
/// the address of the first server, and `port` that of servers without one.
pub(crate) fn nodes(
    parsed: &ParsedUrl,
    (first, more): (&Host, &[(String, Option<u16>)]),
    (first_port, port): (u16, u16),
    errors: &mut Vec<String>,
) -> Vec<(String, u16)> {
    let mut nodes: Vec<(String, u16)> = Vec::new();
    let hosts = more.iter().map(|(host, own)| (host.clone(), own.unwrap_or(port)));
    for (host, port) in hosts.chain(servers(parsed, NODES.name, errors)) {
        let is_first = match first {
            Host::Tcp(first) => first.eq_ignore_ascii_case(&host) && first_port == port,
            Host::Unix(_) => false,
        };
        if is_first || has(&nodes, &host, port) {
            errors.push(format!("target names the server {host}:{port} twice: name each once"));
        } else {
            nodes.push((host, port));
        }
    }
    nodes
}

/// Reads the option `connection_lifetime`.
pub(crate) fn connection_lifetime(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Option<Duration> {
    let bounds = [Duration::from_secs(1), Duration::from_secs(24 * 3600)];
    let must = "a time from 1s to 24h, for example 30m";
    time_option(parsed, CONNECTION_LIFETIME.name, bounds, must, errors)
}

/// Opens something on the first server that can be reached.
pub(crate) fn on_any<C, T>(
    servers: &[C],
    open: impl Fn(&C) -> Result<T, TargetError>,
) -> Result<T, TargetError> {
    let mut first = TargetError::usage("the target has no server");
    for (number, server) in servers.iter().enumerate() {
        match open(server) {
            Err(error) if error.kind == TargetErrorKind::Unreachable => {
                if number == 0 {
                    first = error;
                }
            }
            done => return done,
        }
    }
    Err(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_name_several_hosts_and_shows_them_without_the_password() {
        let mut errors = Vec::new();
        let parsed =
            ParsedUrl::new("postgres://me:a,b@h1:5433,[::1]:7,h3/db?nodes=h4:1,h3:5432", &mut errors);
        let url =
            ServerUrl::parse(&parsed, "postgres", "host", &mut errors).map_err(|errors| errors.join("; "));
        let Ok(url) = url else { panic!("a good URL was refused") };
        assert_eq!(url.shown, "postgres://me@h1:5433,[::1]:7,h3/db?nodes=h4:1,h3:5432");
        assert_eq!(
            (url.host.as_deref(), url.port, url.password.as_deref()),
            (Some("h1"), Some(5433), Some("a,b"))
        );
        assert_eq!(url.more, [("::1".to_owned(), Some(7)), ("h3".to_owned(), None)]);
        assert!(errors.is_empty(), "{errors:?}");
        let found = nodes(&parsed, (&Host::Tcp("h1".into()), &url.more), (5433, 5432), &mut errors);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(errors, ["target names the server h3:5432 twice: name each once"]);
    }

    #[test]
    fn hosts_and_ports_are_read_as_they_are_or_not_at_all() {
        for bad in ["", ":1", "h:0", "h:", "h:99999", "[::1", "[::1]x", "[]:1"] {
            assert_eq!(host_and_port(bad), None, "{bad}");
        }
    }
}
