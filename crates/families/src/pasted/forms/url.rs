//! URLs with schemes, hosts and options that are not Lydite's.

use super::file::{self, in_memory};
use super::meant::Meant;
use super::server::finished;
use crate::net::url::{ServerUrl, authority, percent_decode};
use crate::pasted::apply::{Parameter, variables};
use crate::pasted::draft::{DIRECTORY, Draft};
use crate::pasted::families::{Families, family_of, is_server, with_scheme};
use crate::pasted::findings::Findings;
use crate::pasted::readers;
use crate::pasted::row::{Decoding, Dialect, Form, Given};
use lydite_database::target_url::ParsedUrl;

/// Reads a URL with options that are not Lydite's.
pub(super) fn read(scheme: &str, rest: &str, families: Families, findings: &mut Findings) -> Option<Meant> {
    let (base, driver) = scheme.split_once('+').map_or((scheme, None), |(base, driver)| (base, Some(driver)));
    let (dialect, name) = with_scheme(base, families, Form::Url)?;
    if driver == Some("srv") {
        findings.error(format!(
            "scheme {scheme} finds its hosts by DNS, which Lydite does not: write {name}://HOST:PORT/DATABASE"
        ));
        return None;
    }
    let family = family_of(name, families)?;
    if !is_server(family) {
        return Some(file_url(name, driver, rest, dialect, findings));
    }
    let text = with_socket(format!("{name}://{rest}"), dialect.socket);
    let is_other = text != format!("{scheme}://{rest}");
    let renamed = || is_other.then(|| Meant::Url(text.clone()));
    let mut errors = Vec::new();
    let query = text.split_once('?').map_or("", |(_, query)| query);
    let authority = &text[authority(&text)];
    let has_host = !authority.is_empty() && !authority.ends_with('@');
    // A parameter may name the host of a user.
    let hosted = if authority.ends_with('@') { text.replacen("@/", "@localhost/", 1) } else { text.clone() };
    let parsed = ParsedUrl::new(&hosted, &mut errors);
    let has_socket = parsed.options.get(dialect.socket).is_some_and(|path| path.starts_with('/'));
    let is_own = |Parameter { name, value, .. }: &Parameter| {
        let is_option = family.options.iter().any(|option| option.name == name);
        // The family reads a socket where the URL has no host.
        let of_socket = name == dialect.socket && value.starts_with('/') || name == "port" && has_socket;
        let is_socket = !has_host && of_socket;
        is_option && (is_socket || !dialect.translates(name, value))
    };
    let parameters = readers::query(query, Decoding::Percent).into_iter();
    let (own, others): (Vec<_>, Vec<_>) = parameters.partition(is_own);
    let is_translated = others.iter().any(|parameter| dialect.entry(&parameter.name).is_some());
    let is_set = dialect.surroundings.is_some_and(|surroundings| (surroundings.are_set)());
    if !errors.is_empty() || !(is_translated || is_set) {
        variables(dialect, &Given::default(), &mut Draft::default(), findings);
        return renamed();
    }
    // Errors of the other parts are the family's.
    let Ok(server) = ServerUrl::parse(&parsed, name, dialect.socket, &mut errors) else { return renamed() };
    if !errors.is_empty() {
        return renamed();
    }
    let mut draft = Draft::new(name);
    if has_host {
        draft.hosts.extend(server.host.map(|host| (host, server.port)));
        draft.hosts.extend(server.more);
    }
    (draft.user, draft.password, draft.database) = (server.user, server.password, server.database);
    draft.options = own.into_iter().map(|parameter| (parameter.name, parameter.value)).collect();
    Some(Meant::place(finished(dialect, draft, others, families, findings)))
}

/// Returns a URL whose host is the encoded path of a Unix socket, as libpq takes it, with the option that Lydite's own
/// URLs have for it; other URLs as they are.
fn with_socket(url: String, option: &str) -> String {
    let range = authority(&url);
    let authority = &url[range.clone()];
    let (login, host) = authority.rsplit_once('@').map_or(("", authority), |(login, host)| (login, host));
    if !host.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("%2F")) {
        return url;
    }
    let (path, port) = host.split_once(':').map_or((host, None), |(path, port)| (path, Some(port)));
    let at = if login.is_empty() { "" } else { "@" };
    let (database, query) = url[range.end..].split_once('?').unwrap_or((&url[range.end..], ""));
    let database = if database.is_empty() { "/" } else { database };
    // Only a socket that is named by its directory has a number.
    let port = port.filter(|_| option == DIRECTORY).map(|port| format!("&port={port}")).unwrap_or_default();
    let more = if query.is_empty() { String::new() } else { format!("&{query}") };
    format!("{}{login}{at}{database}?{option}={path}{port}{more}", &url[..range.start])
}

/// Reads the URL of a file. With the name of a driver it is SQLAlchemy's, where three slashes come before a path in this
/// directory; else it is Lydite's with another name of the scheme.
fn file_url(
    name: &str,
    driver: Option<&str>,
    rest: &str,
    dialect: &'static Dialect,
    findings: &mut Findings,
) -> Meant {
    if driver.is_none() {
        return Meant::Url(format!("{name}://{rest}"));
    }
    let path = rest.strip_prefix('/').unwrap_or(rest);
    if path.is_empty() || path.starts_with('?') {
        findings.error(in_memory(name));
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parameters = readers::query(query, dialect.decoding);
    Meant::place(file::draft(&percent_decode(path), parameters, dialect, name, findings))
}
