//! Lists of addresses in connection strings of MySQL's and MariaDB's drivers for Java: `address=(host=H)(port=P)` and
//! `(host=H,port=P)`.

use super::findings::Findings;

/// Reason for replicas among the addresses.
const REPLICA: &str = "address is one of a replica: name the primary, and its replicas with --replicas";

/// Returns a list of addresses as `HOST:PORT,HOST:PORT`; the text itself if it has no addresses in parentheses.
pub(crate) fn plain(text: &str, findings: &mut Findings) -> String {
    if !text.contains('(') {
        return text.to_owned();
    }
    let list = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(text);
    let hosts = apart(list).into_iter().filter_map(|address| one(address, findings));
    hosts.collect::<Vec<_>>().join(",")
}

/// Splits a text at the commas outside of parentheses.
fn apart(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    text.split(move |letter: char| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        letter == ',' && depth == 0
    })
    .collect()
}

/// Returns one address as `HOST:PORT`; `None` with an error if it can't be read.
fn one(text: &str, findings: &mut Findings) -> Option<String> {
    let unread = "has an address that is not address=(host=HOST)(port=PORT) or (host=HOST,port=PORT)";
    let text = text.trim();
    let text = text.strip_prefix("address=").unwrap_or(text);
    if !text.contains('(') {
        return Some(text.to_owned());
    }
    let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else {
        findings.error(unread);
        return None;
    };
    let (mut host, mut port) = (None, None);
    for part in inner.split(")(").flat_map(|part| part.split(',')) {
        let Some((name, value)) = part.split_once('=') else {
            findings.error(unread);
            return None;
        };
        match (name.trim().to_ascii_lowercase().as_str(), value.trim()) {
            ("host", value) => host = Some(value),
            ("port", value) => port = Some(value),
            ("protocol", value) if value.eq_ignore_ascii_case("tcp") => {}
            ("type", value) if ["source", "primary", "master"].iter().any(|word| value.eq_ignore_ascii_case(word)) => {}
            ("type", _) => findings.error(REPLICA),
            ("user" | "password", _) => {
                findings.error("has user and password in an address: write them once, as parameters: ?user=…&password=…");
            }
            _ => findings.error("has an address with more than host, port and type: write the rest as parameters: ?NAME=VALUE"),
        }
    }
    let host = host.unwrap_or("localhost");
    let host =
        if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
    Some(port.map_or(host.clone(), |port| format!("{host}:{port}")))
}
