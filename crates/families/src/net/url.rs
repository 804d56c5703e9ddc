//! The parts of `scheme://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE`.

use lydite_database::target_url::ParsedUrl;
use std::fmt;

/// A URL of a server, cut and decoded.
pub(crate) struct ServerUrl {
    /// A name or an address; none if there is none.
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) user: Option<String>,
    /// Never to be shown.
    pub(crate) password: Option<String>,
    /// What stands behind the host, without the slash.
    pub(crate) database: Option<String>,
    /// The URL without the password.
    pub(crate) shown: String,
}

impl ServerUrl {
    /// Cuts the URL of a family whose scheme is `scheme`. What is wrong with a part goes to `errors`. The host may
    /// be missing behind a user if the option `socket` names a Unix socket.
    ///
    /// # Errors
    /// It can't be cut.
    pub(crate) fn parse(
        parsed: &ParsedUrl,
        scheme: &str,
        socket: &str,
        errors: &mut Vec<String>,
    ) -> Result<Self, Vec<String>> {
        // The URL may hold a password, so nothing of one that can't be read is repeated.
        let bad = |problem: &dyn fmt::Display| {
            vec![format!(
                "target URL: {problem}: write {scheme}://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE, and in a password %2F \
                 for a slash, %40 for @, %3A for a colon, %3F for a question mark, %23 for #"
            )]
        };
        // A user and no host, as libpq takes it. Without a socket it is a slip of the pen.
        let (url, no_host) = match url::Url::parse(&parsed.whole) {
            Err(url::ParseError::EmptyHost)
                if parsed.whole.contains("@/") && parsed.options.contains_key(socket) =>
            {
                (url::Url::parse(&parsed.whole.replacen("@/", "@localhost/", 1)), true)
            }
            parsed => (parsed, false),
        };
        let mut url = url.map_err(|error| bad(&error))?;
        if !parsed.rest.starts_with("//") {
            return Err(bad(&"two slashes are missing behind the scheme"));
        }
        // What looks like a path may be the rest of a password, cut by a character that must be written otherwise.
        if url.path().contains('@') || url.fragment().is_some() {
            return Err(bad(&"an @ or # stands where none can be"));
        }
        let given = |text: &str| (!text.is_empty()).then(|| percent_decode(text));
        let host = url.host_str().filter(|host| !host.is_empty() && !no_host);
        let host = host.map(|name| name.trim_start_matches('[').trim_end_matches(']').to_string());
        let user = given(url.username());
        let database = given(url.path().trim_start_matches('/'));
        let password = url.password().map(percent_decode);
        if database.as_ref().is_some_and(|name| name.contains('/')) {
            let name = database.clone().unwrap_or_default();
            errors.push(format!("target URL names the database {name:?}: a slash can't be part of it"));
        }
        if url.set_password(None).is_err() && password.is_some() {
            errors.push("target URL has a password but no host".into());
        }
        let shown = url.to_string();
        let shown = if no_host { shown.replacen("@localhost/", "@/", 1) } else { shown };
        Ok(Self { host, port: url.port(), user, password, database, shown })
    }
}

fn percent_decode(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The first of these environment variables that is set and not empty.
pub(crate) fn variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

/// Reads an option that lists servers, `HOST:PORT,HOST:PORT`, none of them twice.
pub(crate) fn servers(parsed: &ParsedUrl, option: &str, errors: &mut Vec<String>) -> Vec<(String, u16)> {
    let mut servers = Vec::new();
    for text in parsed.options.get(option).iter().flat_map(|list| list.split(',')) {
        let server = text
            .rsplit_once(':')
            .and_then(|(host, port)| Some((host, port.parse::<u16>().ok().filter(|&port| port > 0)?)))
            .filter(|(host, _)| !host.is_empty());
        match server {
            Some((host, port)) if servers.contains(&(host.to_string(), port)) => {
                errors.push(format!("target option {option} names {host}:{port} twice"));
            }
            Some((host, port)) => servers.push((host.to_string(), port)),
            None => errors.push(format!("target option {option}: {text:?} is not HOST:PORT")),
        }
    }
    servers
}

/// How the option `sslmode` is read.
pub(crate) fn sslmode(parsed: &ParsedUrl, errors: &mut Vec<String>) -> crate::net::SslMode {
    use crate::net::SslMode;
    match parsed.choice("sslmode", &["prefer", "disable", "require", "verify-full"], errors) {
        "disable" => SslMode::Disable,
        "require" => SslMode::Require,
        "verify-full" => SslMode::VerifyFull,
        _ => SslMode::Prefer,
    }
}
