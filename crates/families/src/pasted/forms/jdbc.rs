//! Connection strings of drivers for Java.

use super::file::{self, in_memory};
use super::server::finished;
use crate::net::url::percent_decode;
use crate::pasted::addresses;
use crate::pasted::apply::Parameter;
use crate::pasted::draft::Draft;
use crate::pasted::families::{Families, dialects, family_of, is_server, with_scheme};
use crate::pasted::findings::Findings;
use crate::pasted::readers;
use crate::pasted::row::Form;
use crate::schemes::{NOT_DRIVEN, not_driven};

/// Error of a password whose special characters cut the string in the wrong place.
const MISPLACED: &str = "has an @ or # in the wrong place: in a password write %2F for a slash, %40 for @, %3A for a colon, %3F \
                         for a question mark, %23 for #";

/// Reads a connection string of a driver for Java, behind `jdbc:`.
pub(super) fn read(text: &str, families: Families, findings: &mut Findings) -> Option<Draft> {
    // AWS' wrapper takes the parameters of the driver in it.
    let text = text.strip_prefix("aws-wrapper:").unwrap_or(text);
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let name = name.to_ascii_lowercase();
    let Some((dialect, scheme)) = with_scheme(&name, families, Form::Jdbc) else {
        let known: Vec<&str> = dialects(families, Form::Jdbc)
            .flat_map(|dialect| dialect.schemes)
            .map(|(name, _)| *name)
            .collect();
        let is_name =
            name.len() < 20 && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
        findings.error(match NOT_DRIVEN.iter().find(|(other, _)| *other == name) {
            Some((_, database)) => not_driven(&format!("jdbc:{name}"), database),
            None => format!(
                "jdbc:{}: is not known: Lydite takes those of {}",
                if is_name { &name } else { "…" },
                known.join(", ")
            ),
        });
        return None;
    };
    if family_of(scheme, families).is_some_and(|family| !is_server(family)) {
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let parameters = readers::query(query, dialect.decoding);
        if parameters.iter().any(|parameter| parameter.name == "mode" && parameter.value == "memory") {
            findings.error(in_memory(scheme));
        }
        return Some(file::draft(path, parameters, dialect, scheme, findings));
    }
    let (begin, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (mode, server) = begin.split_once("//").unwrap_or(("", begin));
    let (authority, path) = match (begin.contains("//"), server.split_once('/')) {
        (false, _) => ("", server),
        (true, None) => (server, ""),
        (true, Some(parts)) => parts,
    };
    if path.contains(['@', '#']) || authority.contains('#') || dialect.has_fragments && query.contains('#') {
        findings.error(MISPLACED);
        return None;
    }
    let mut draft = Draft::new(scheme);
    let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    draft.user = (!user.is_empty()).then(|| percent_decode(user));
    draft.password = (!password.is_empty()).then(|| percent_decode(password));
    draft.database = (!path.is_empty()).then(|| percent_decode(path));
    if !hosts.is_empty() {
        draft.take_hosts(&addresses::plain(hosts, findings), findings);
    }
    // The parameters may be the rest of a password.
    if findings.has_errors() {
        return None;
    }
    let mut parameters = readers::query(query, dialect.decoding);
    if !mode.is_empty() {
        parameters.push(Parameter { name: mode.to_owned(), value: String::new(), doubtful: true });
    }
    Some(finished(dialect, draft, parameters, families, findings))
}
