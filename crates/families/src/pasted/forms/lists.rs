//! Connection strings `NAME=VALUE;…`, of drivers for .NET and for ODBC.

use super::file;
use super::server::finished;
use crate::pasted::apply::Parameter;
use crate::pasted::draft::Draft;
use crate::pasted::families::{Families, dialects, family_of, is_server, usual_port};
use crate::pasted::findings::Findings;
use crate::pasted::readers::{self, Quotes};
use crate::pasted::row::{Dialect, Form};
use crate::pasted::trim::plain;
use crate::pasted::words::NAMED;
use crate::schemes::{NOT_DRIVEN, not_driven};

/// Names, without blanks and in lower case, that only a connection string of SQL Server has.
const OF_SQL_SERVER: [&str; 7] = [
    "encrypt",
    "multipleactiveresultsets",
    "trusted_connection",
    "attachdbfilename",
    "applicationintent",
    "multisubnetfailover",
    "failoverpartner",
];

/// Names that SQL Server's connection strings have as well, without blanks and in lower case.
const ALSO_OF_SQL_SERVER: [&str; 29] = [
    "server",
    "datasource",
    "address",
    "addr",
    "networkaddress",
    "database",
    "initialcatalog",
    "userid",
    "user",
    "uid",
    "password",
    "pwd",
    "integratedsecurity",
    "persistsecurityinfo",
    "trustservercertificate",
    "timeout",
    "connecttimeout",
    "connectiontimeout",
    "commandtimeout",
    "connectionlifetime",
    "applicationname",
    "pooling",
    "minpoolsize",
    "maxpoolsize",
    "enlist",
    "packetsize",
    "workstationid",
    "failoverpartner",
    "currentlanguage",
];

/// Reads `NAME=VALUE;…`, whose names or whose driver tell the database.
pub(super) fn read(text: &str, families: Families, findings: &mut Findings) -> Option<Draft> {
    let is_of_odbc = text.split(';').any(|part| {
        let name = plain(part.split_once('=').map_or("", |(name, _)| name));
        name == "driver" || name == "dsn" || name == "filedsn"
    });
    let quotes = if is_of_odbc { Quotes::Braces } else { Quotes::Marks };
    let parameters = readers::semicolons(text, quotes, findings);
    if findings.has_errors() {
        return None;
    }
    if is_of_odbc {
        return odbc(parameters, families, findings);
    }
    if is_of_sql_server(&parameters) {
        findings.error(not_driven("connection string", "SQL Server"));
        return None;
    }
    let dialect = by_names(&parameters, families, findings)?;
    Some(listed(dialect, dialect.schemes[0].1, parameters, families, findings))
}

/// Makes the target of parameters that stand in a list.
fn listed(
    dialect: &'static Dialect,
    scheme: &str,
    parameters: Vec<Parameter>,
    families: Families,
    findings: &mut Findings,
) -> Draft {
    if family_of(scheme, families).is_some_and(|family| !is_server(family)) {
        return file::draft("", parameters, dialect, scheme, findings);
    }
    finished(dialect, Draft::new(scheme), parameters, families, findings)
}

/// Reads a connection string of ODBC, whose driver tells the database.
fn odbc(parameters: Vec<Parameter>, families: Families, findings: &mut Findings) -> Option<Draft> {
    let Some(driver) = value(&parameters, "driver").map(str::to_ascii_lowercase) else {
        findings.error(format!("parameter DSN: {NAMED}"));
        return None;
    };
    let mut known = dialects(families, Form::Odbc)
        .flat_map(|dialect| dialect.schemes.iter().map(move |(part, scheme)| (dialect, *part, *scheme)));
    if let Some((dialect, _, scheme)) = known.find(|(_, part, _)| driver.contains(part)) {
        return Some(listed(dialect, scheme, parameters, families, findings));
    }
    let other = NOT_DRIVEN
        .iter()
        .find(|(name, database)| driver.contains(name) || driver.contains(&database.to_ascii_lowercase()));
    findings.error(match other {
        Some((_, database)) => not_driven("connection string", database),
        None => "driver of ODBC is not known: Lydite takes connection strings of the drivers of PostgreSQL, MySQL, MariaDB \
                 and SQLite"
            .into(),
    });
    None
}

/// Returns the value of a parameter.
fn value<'a>(parameters: &'a [Parameter], name: &str) -> Option<&'a str> {
    parameters
        .iter()
        .find(|parameter| plain(&parameter.name) == name)
        .map(|parameter| parameter.value.as_str())
}

fn is_of_sql_server(parameters: &[Parameter]) -> bool {
    let servers = ["server", "datasource", "address", "addr"];
    let is_instance = |server: &str| server.contains('\\') && !is_file(server);
    let mut named = servers.iter().filter_map(|name| value(parameters, name));
    OF_SQL_SERVER.iter().any(|name| value(parameters, name).is_some())
        || named
            .any(|server| server.starts_with("tcp:") || is_instance(server) || has_port_behind_comma(server))
}

/// True if a server is written as `HOST,PORT`.
fn has_port_behind_comma(server: &str) -> bool {
    server.rsplit_once(',').is_some_and(|(_, port)| port.trim().parse::<u16>().is_ok())
}

/// True if the place of the data is a file, not a server.
fn is_file(place: &str) -> bool {
    let place = place.to_ascii_lowercase();
    let ends = [".db", ".db3", ".sqlite", ".sqlite3", ":memory:"];
    place.contains('/') || place.starts_with("|datadirectory|") || ends.iter().any(|end| place.ends_with(end))
}

/// Returns the dialect whose names fit best. If several fit, the port or typical names decide.
fn by_names(
    parameters: &[Parameter],
    families: Families,
    findings: &mut Findings,
) -> Option<&'static Dialect> {
    let wrong = |dialect: &Dialect| {
        parameters.iter().filter(|parameter| !dialect.takes(&parameter.name, &parameter.value)).count()
    };
    let has_file = ["datasource", "filename"].iter().any(|name| value(parameters, name).is_some_and(is_file));
    let is_of_file = |dialect: &Dialect| {
        family_of(dialect.schemes[0].1, families).is_some_and(|family| !is_server(family))
    };
    let possible = || dialects(families, Form::Ado).filter(|dialect| is_of_file(dialect) == has_file);
    let fewest = possible().map(wrong).min()?;
    let given = value(parameters, "port");
    // Such a string is one of each of these databases, whatever further names a driver has.
    let is_of_all = given.is_none()
        && !has_file
        && parameters.iter().all(|parameter| ALSO_OF_SQL_SERVER.contains(&plain(&parameter.name).as_str()));
    let fit: Vec<_> = possible().filter(|dialect| is_of_all || wrong(dialect) == fewest).collect();
    let port = |dialect: &Dialect| usual_port(dialect.schemes[0].1, families).map(|port| port.to_string());
    let by_port = || fit.iter().find(|dialect| given.is_some() && port(dialect).as_deref() == given);
    let is_typical = |dialect: &&&'static Dialect| {
        let names = dialect.typical;
        !names.is_empty() && names.iter().all(|name| value(parameters, name).is_some())
    };
    let chosen = if fit.len() == 1 { fit.first() } else { by_port().or_else(|| fit.iter().find(is_typical)) };
    if chosen.is_none() {
        // A port that is no usual one tells nothing.
        let way_out = |dialect: &&'static Dialect| match given {
            None => Some(format!("add Port={} for {}", port(dialect)?, dialect.name)),
            Some(port) => Some(format!(
                "write {}://USER@HOST:{port}/DATABASE for {}",
                dialect.schemes[0].1, dialect.name
            )),
        };
        let ways: Vec<String> = fit.iter().filter_map(way_out).collect();
        findings.error(format!("connection string may be one of several databases, also of SQL Server, which Lydite does not have: {}",
            ways.join(", or ")));
    }
    chosen.copied()
}
