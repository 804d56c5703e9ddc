//! The service file of libpq: named sets of parameters.

use crate::net::url::variable;
use crate::pasted::apply::{Parameter, apply};
use crate::pasted::draft::Draft;
use crate::pasted::findings::Findings;
use crate::pasted::row::{Dialect, Given};
use std::path::PathBuf;

/// Places of the file for all users where `PGSYSCONFDIR` is not set.
const SYSTEM: [&str; 2] = ["/etc/postgresql-common", "/etc"];

/// True if a variable changes a target that does not name it.
pub(super) fn is_set() -> bool {
    variable(&["PGSERVICE", "PGREQUIRESSL", "PGHOSTADDR"]).is_some()
}

/// Gives a draft what its service has, where the draft leaves it out, and a host.
pub(super) fn fill(dialect: &Dialect, given: &Given, draft: &mut Draft, findings: &mut Findings) {
    let named = given.get("service").map(str::to_owned).or_else(|| variable(&["PGSERVICE"]));
    if let Some(name) = named.filter(|name| !name.is_empty()) {
        add(dialect, (&name, given.get("servicefile")), draft, findings);
    }
    if !has_place(draft) {
        match variable(&["PGHOST"]) {
            Some(directory) if directory.starts_with('/') => draft.socket = Some(directory),
            Some(hosts) => draft.take_hosts(&hosts, findings),
            None => draft.hosts.push(("localhost".into(), None)),
        }
    }
}

/// True if a draft names a host or a socket.
fn has_place(draft: &Draft) -> bool {
    !draft.hosts.is_empty() || draft.socket.is_some() || draft.get("host").is_some()
}

/// Adds the parameters of a service, which are those of `dialect`. The file may be named.
pub(super) fn add(
    dialect: &Dialect,
    (name, file): (&str, Option<&str>),
    draft: &mut Draft,
    findings: &mut Findings,
) {
    let Some((path, text)) = section(name, file, findings) else { return };
    let mut parameters = Vec::new();
    for line in text.lines() {
        match line.split_once('=') {
            Some(("service" | "servicefile", _)) | None => findings.error(format!(
                "service {name:?} in {path} has a line that is not NAME=VALUE, or another service: mend the file"
            )),
            Some((name, value)) => {
                parameters.push(Parameter { name: name.to_owned(), value: value.to_owned(), doubtful: false });
            }
        }
    }
    let mut service = Draft::new(&draft.scheme);
    apply(dialect, parameters, &mut service, findings);
    if !has_place(draft) {
        draft.hosts = service.hosts;
        draft.socket = service.socket;
    }
    if draft.ports.is_empty() {
        draft.ports = service.ports;
    }
    draft.user = draft.user.take().or(service.user);
    draft.password = draft.password.take().or(service.password);
    draft.database = draft.database.take().or(service.database);
    for (option, value) in service.options {
        if draft.get(&option).is_none() {
            draft.set(&option, value);
        }
    }
    findings.note(format!("service {name:?} is from {path}"));
}

/// Returns the lines of a service and the path of their file.
fn section(name: &str, file: Option<&str>, findings: &mut Findings) -> Option<(String, String)> {
    let own = file.map(str::to_owned).or_else(|| variable(&["PGSERVICEFILE"]));
    let of_user = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pg_service.conf"));
    let directories =
        variable(&["PGSYSCONFDIR"]).map_or_else(|| SYSTEM.map(str::to_owned).to_vec(), |one| vec![one]);
    let of_all = directories.iter().map(|directory| PathBuf::from(directory).join("pg_service.conf"));
    let is_named = own.is_some();
    let files: Vec<PathBuf> = own.map(PathBuf::from).or(of_user).into_iter().chain(of_all).collect();
    for (number, path) in files.iter().enumerate() {
        match std::fs::read_to_string(path) {
            Ok(text) => {
                if let Some(lines) = lines_of(&text, name) {
                    return Some((path.display().to_string(), lines));
                }
            }
            Err(error) if is_named && number == 0 => {
                findings.error(format!(
                    "names the service {name:?}, and its file {} can't be read: {error}: set PGSERVICEFILE to one that can",
                    path.display()
                ));
                return None;
            }
            Err(_) => {}
        }
    }
    let looked: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    findings.error(format!(
        "names the service {name:?}, and none of {} has it: set PGSERVICEFILE to its file, or name no service",
        looked.join(", ")
    ));
    None
}

/// Returns the lines of a section, without blanks and comments.
fn lines_of(text: &str, name: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim).skip_while(|line| !is_head(line, name));
    lines.next()?;
    let own = lines.take_while(|line| !line.starts_with('['));
    Some(own.filter(|line| !line.is_empty() && !line.starts_with('#')).collect::<Vec<_>>().join("\n"))
}

fn is_head(line: &str, name: &str) -> bool {
    line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) == Some(name)
}
