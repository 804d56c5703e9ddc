//! The parts of `scheme://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE`.

use lydite_database::target_url::ParsedUrl;
use std::fmt;

/// A URL of a server, cut and decoded.
pub(crate) struct ServerUrl {
    /// Name or address, if given.
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
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
        // libpq accepts a user without a host. Without a socket it is a typing error.
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

/// Returns the first of these environment variables that is set and not empty.
pub(crate) fn variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

/// Reads an option that lists servers, `HOST:PORT,HOST:PORT`. Rejects duplicates.
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

/// Reads the option `sslmode`.
pub(crate) fn sslmode(parsed: &ParsedUrl, errors: &mut Vec<String>) -> crate::net::SslMode {
    use crate::net::SslMode;
    match parsed.choice("sslmode", &["prefer", "disable", "require", "verify-full"], errors) {
        "disable" => SslMode::Disable,
        "require" => SslMode::Require,
        "verify-full" => SslMode::VerifyFull,
        _ => SslMode::Prefer,
    }
}
