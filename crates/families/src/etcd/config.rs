//! Settings in an `etcd://` URL.

use crate::net::url::{ServerUrl, one_host};
use lydite_database::target_url::ParsedUrl;

/// Port of servers whose URL has none.
pub(super) const PORT: u16 = 2379;

/// A target `etcd://…`.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Address of its interface: `http://HOST:PORT`.
    pub(super) server: String,
    pub(super) prefix: String,
    pub(crate) url: String,
    /// Host, port and prefix, for messages.
    pub(super) place: String,
}

/// Reads the URL.
pub(crate) fn parse(parsed: &ParsedUrl) -> Result<Config, Vec<String>> {
    one_host(parsed, "etcd")?;
    let mut errors = Vec::new();
    let url = ServerUrl::parse(parsed, "etcd", "socket", &mut errors)?;
    if url.user.is_some() || url.password.is_some() {
        errors.push(
            "target URL: users of etcd are not supported: leave user and password out, and use one without authentication"
                .into(),
        );
    }
    if url.database.is_some() {
        errors.push("target URL: etcd has no databases: leave the path out, and use ?prefix=".into());
    }
    let prefix = parsed.options.get("prefix").map_or("lydite", String::as_str);
    if prefix.is_empty() || prefix.contains(['/', '#']) {
        errors.push(format!("target option prefix={prefix:?} is not allowed: use a name without / and #"));
    }
    let Some(host) = url.host else {
        errors.push("target URL names no host: write etcd://HOST[:PORT]".into());
        return Err(errors);
    };
    if !errors.is_empty() {
        return Err(errors);
    }
    let port = url.port.unwrap_or(PORT);
    let address = if host.contains(':') { format!("[{host}]") } else { host };
    Ok(Config {
        server: format!("http://{address}:{port}"),
        prefix: prefix.into(),
        url: url.shown,
        place: format!("etcd at {address}:{port}, prefix {prefix:?}"),
    })
}
