//! Settings in a `redis://` URL, and the sources of the password.

use crate::net;
use crate::net::url::one_host;
use lydite_database::target_url::ParsedUrl;
use redis::io::tcp::TcpSettings;
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo};
use std::fmt;

/// Port of servers whose URL has none.
pub(super) const PORT: u16 = 6379;

/// A target `redis://…`. Its `Debug` shows no password.
#[derive(Clone)]
pub(crate) struct Config {
    pub(super) server: ConnectionInfo,
    pub(super) prefix: String,
    /// The URL without the password.
    pub(crate) url: String,
    /// Host, port and database, for messages.
    pub(super) place: String,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Reads the URL.
pub(crate) fn parse(parsed: &ParsedUrl) -> Result<Config, Vec<String>> {
    one_host(parsed, "redis")?;
    // The URL may hold a password, so messages repeat nothing of an unreadable one.
    let bad = |problem: &dyn fmt::Display| {
        vec![format!(
            "target URL: {problem}: write redis://[[USER]:PASSWORD@]HOST[:PORT][/NUMBER], and in a password %2F for a slash, \
             %40 for @, %3A for a colon, %3F for a question mark, %23 for #"
        )]
    };
    let mut url = url::Url::parse(&parsed.whole).map_err(|error| bad(&error))?;
    if !parsed.rest.starts_with("//") || url.host_str().is_none_or(str::is_empty) {
        return Err(bad(&"it names no host"));
    }
    if url.path().contains('@') || url.fragment().is_some() {
        return Err(bad(&"an @ or # is in the wrong place"));
    }
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let number = match url.path().trim_matches('/') {
        "" => 0,
        number => number.parse::<i64>().ok().filter(|number| *number >= 0).ok_or_else(|| {
            vec![format!("target URL names the database {number:?}: Redis numbers its databases from 0")]
        })?,
    };
    let prefix = parsed.options.get("prefix").map_or("lydite", String::as_str);
    if prefix.is_empty() || prefix.contains([':', '#']) {
        return Err(vec![format!(
            "target option prefix={prefix:?} is not allowed: use a name without : and #"
        )]);
    }
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_string();
    let port = url.port().unwrap_or(PORT);
    let mut access = RedisConnectionInfo::default().set_db(number);
    if !url.username().is_empty() {
        access = access.set_username(decoded(url.username()));
    }
    let variable = std::env::var("LYDITE_PASSWORD").ok().filter(|password| !password.is_empty());
    if let Some(password) = url.password().map(decoded).or(variable) {
        access = access.set_password(password);
    }
    let place = format!("redis at {host}:{port}, database {number}, prefix {prefix:?}");
    let watched = TcpSettings::default().set_nodelay(true).set_keepalive(net::keepalive());
    #[cfg(target_os = "linux")]
    let watched = watched.set_user_timeout(net::GONE);
    let server = ConnectionAddr::Tcp(host, port)
        .into_connection_info()
        .map_err(|error| bad(&error))?
        .set_redis_settings(access)
        .set_tcp_settings(watched);
    if url.set_password(None).is_err() {
        return Err(bad(&"it has a password but no host"));
    }
    Ok(Config { server, prefix: prefix.into(), url: url.to_string(), place })
}
