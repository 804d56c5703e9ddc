//! The forms of connection strings: recognised, cut, and turned into a URL.

use super::apply::{Parameter, conclude, variables};
use super::draft::Draft;
use super::families::{Families, dialects, family_of, is_server, usual_port, with_scheme};
use super::findings::Findings;
use super::readers;
use super::row::{Decoding, Dialect, Form, Given};
use super::trim::plain;
use crate::net::url::{ServerUrl, authority, percent_decode};
use lydite_database::target_url::{ParsedUrl, with_lower_scheme};

/// Databases with a driver for Java that Lydite does not drive.
const OTHERS: [(&str, &str); 12] = [
    ("oracle", "Oracle"),
    ("sqlserver", "SQL Server"),
    ("jtds", "SQL Server"),
    ("microsoft", "SQL Server"),
    ("db2", "Db2"),
    ("h2", "H2"),
    ("hsqldb", "HSQLDB"),
    ("derby", "Derby"),
    ("sap", "SAP HANA"),
    ("ignite", "Ignite"),
    ("clickhouse", "ClickHouse"),
    ("snowflake", "Snowflake"),
];

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

/// Error of a password whose special characters cut the string in the wrong place.
const MISPLACED: &str = "has an @ or # in the wrong place: in a password write %2F for a slash, %40 for @, %3A for a colon, %3F \
                         for a question mark, %23 for #";

/// Meaning of a connection string of another program.
pub(crate) enum Meant {
    /// The text with a scheme of Lydite's.
    Url(String),
    Place(Box<Draft>),
}

impl Meant {
    fn place(draft: Draft) -> Self {
        Self::Place(Box::new(draft))
    }
}

/// Returns what a connection string means; `None` for other text, and for a URL of Lydite's.
pub(crate) fn read(text: &str, families: Families, findings: &mut Findings) -> Option<Meant> {
    if let Some(rest) = behind_jdbc(text) {
        return jdbc(rest, families, findings).map(Meant::place);
    }
    let lower = with_lower_scheme(text);
    if let Some((scheme, rest)) = lower.split_once("://")
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-._".contains(letter))
    {
        return url(scheme, rest, families, findings);
    }
    // The first name decides before a slash or an @ does, which a value may have.
    let name = plain(text.split_once('=').map_or("", |(name, _)| name));
    let known = |form| dialects(families, form).find(|dialect| dialect.entry(&name).is_some());
    if text.contains(';') && known(Form::Ado).is_some() && !is_keywords_before_semicolon(text, families) {
        return semicolons(text, families, findings).map(Meant::place);
    }
    if let Some(dialect) = known(Form::Keywords) {
        let parameters = readers::keywords(text, findings);
        let draft = Draft::new(dialect.schemes[0].1);
        return Some(Meant::place(finished(dialect, draft, parameters, families, findings)));
    }
    let go = readers::go(text).filter(|go| family_of(go.user, families).is_none())?;
    let draft = from_go(&go, dialects(families, Form::Go).next()?, families, findings);
    Some(Meant::place(draft))
}

/// Returns the text behind `jdbc:`.
fn behind_jdbc(text: &str) -> Option<&str> {
    let (begin, rest) = text.split_at_checked(5)?;
    begin.eq_ignore_ascii_case("jdbc:").then_some(rest)
}

/// True if text begins as `jdbc:`, with the name of a parameter before `=`, or is of Go's form.
pub(crate) fn begins(text: &str, families: Families) -> bool {
    let has_name = text.split_once('=').is_some_and(|(name, _)| {
        let forms = [Form::Keywords, Form::Ado].into_iter();
        forms.flat_map(|form| dialects(families, form)).any(|dialect| dialect.entry(name).is_some())
    });
    behind_jdbc(text).is_some() || has_name || readers::go(text).is_some_and(|go| !go.user.is_empty())
}

/// Gives the parameters their meaning, and returns the parts of the URL. They are of no use if there are errors.
fn finished(
    dialect: &'static Dialect,
    mut draft: Draft,
    parameters: Vec<Parameter>,
    families: Families,
    findings: &mut Findings,
) -> Draft {
    if let Some(password) = &draft.password {
        findings.secret(password);
    }
    let given = conclude(dialect, parameters, &mut draft, findings);
    draft.password_in_text = draft.password.as_ref().is_some_and(|password| !password.is_empty());
    if let Some(surroundings) = dialect.surroundings {
        (surroundings.fill)(&given, &mut draft, findings);
        variables(dialect, &given, &mut draft, findings);
    }
    draft.settle(dialect.socket, findings);
    if matches!(dialect.form, Form::Jdbc | Form::Ado | Form::Go) {
        // These drivers read no variables of the environment, where the family would find host and port.
        if draft.hosts.is_empty() && draft.get(dialect.socket).is_none() {
            draft.hosts.push(("localhost".into(), None));
        }
        let usual = usual_port(&draft.scheme, families);
        draft.hosts.iter_mut().for_each(|(_, port)| *port = port.or(usual));
    }
    draft.is_socket = draft.get(dialect.socket).is_some();
    draft
}

/// Reads a URL with options that are not Lydite's.
fn url(scheme: &str, rest: &str, families: Families, findings: &mut Findings) -> Option<Meant> {
    let (base, driver) = scheme.split_once('+').map_or((scheme, None), |(base, driver)| (base, Some(driver)));
    let (dialect, name) = with_scheme(base, families, Form::Url)?;
    if driver == Some("srv") {
        findings.error(format!(
            "scheme {scheme} finds its hosts by DNS, which Lydite does not: write {name}://HOST:PORT/DATABASE"
        ));
        return None;
    }
    let text = format!("{name}://{rest}");
    let renamed = || (name != scheme).then(|| Meant::Url(text.clone()));
    let family = family_of(name, families)?;
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

/// Reads a connection string of a driver for Java, behind `jdbc:`.
fn jdbc(text: &str, families: Families, findings: &mut Findings) -> Option<Draft> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let name = name.to_ascii_lowercase();
    let Some((dialect, scheme)) = with_scheme(&name, families, Form::Jdbc) else {
        let known: Vec<&str> = dialects(families, Form::Jdbc)
            .flat_map(|dialect| dialect.schemes)
            .map(|(name, _)| *name)
            .collect();
        let is_name =
            name.len() < 20 && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
        findings.error(match OTHERS.iter().find(|(other, _)| *other == name) {
            Some((_, database)) => format!(
                "jdbc:{name}: Lydite has no {database}: write a driver, which may use JDBC: 'lydite driver new --help'"
            ),
            None => format!(
                "jdbc:{}: is not known: Lydite takes those of {}",
                if is_name { &name } else { "…" },
                known.join(", ")
            ),
        });
        return None;
    };
    if family_of(scheme, families).is_some_and(|family| !is_server(family)) {
        return Some(file(rest, dialect, scheme, findings));
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
        draft.take_hosts(hosts, findings);
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

/// Reads the path of a database without a server, and its parameters.
fn file(text: &str, dialect: &'static Dialect, scheme: &str, findings: &mut Findings) -> Draft {
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let path = path.strip_prefix("file:").unwrap_or(path);
    if path == ":memory:" || query.contains("mode=memory") {
        findings.error(format!(
            "jdbc:{scheme}: a database in memory is for one session alone: write {scheme}: for a temporary file"
        ));
    }
    let mut draft = Draft { path: Some(path.to_owned()), ..Draft::new(scheme) };
    conclude(dialect, readers::query(query, dialect.decoding), &mut draft, findings);
    draft
}

/// Turns a Go connection string into the parts of a URL.
fn from_go(
    go: &readers::Go<'_>,
    dialect: &'static Dialect,
    families: Families,
    findings: &mut Findings,
) -> Draft {
    let mut draft = Draft::new(dialect.schemes[0].1);
    draft.user = (!go.user.is_empty()).then(|| go.user.to_owned());
    draft.password = go.password.map(str::to_owned);
    draft.database = (!go.database.is_empty()).then(|| percent_decode(go.database));
    match (go.protocol, go.address.filter(|address| !address.is_empty())) {
        ("unix", Some(path)) => draft.socket = Some(path.to_owned()),
        ("unix", None) => findings.error("unix() names no socket: write unix(/PATH)"),
        (_, Some(address)) => draft.take_hosts(address, findings),
        (_, None) => draft.hosts.push(("127.0.0.1".into(), None)),
    }
    let parameters = readers::query(go.query, dialect.decoding);
    finished(dialect, draft, parameters, families, findings)
}

/// True if keywords with blanks between them come before the first semicolon, which is then a part of a value.
fn is_keywords_before_semicolon(text: &str, families: Families) -> bool {
    let begin = text.split(';').next().unwrap_or_default();
    let names = begin.match_indices('=').filter_map(|(at, _)| {
        let before = begin[..at].trim_end();
        before.contains(char::is_whitespace).then(|| before.rsplit(char::is_whitespace).next())?
    });
    let mut names = names.map(plain);
    names.any(|name| dialects(families, Form::Keywords).any(|dialect| dialect.entry(&name).is_some()))
}

/// Reads `NAME=VALUE;…`, whose names tell the database.
fn semicolons(text: &str, families: Families, findings: &mut Findings) -> Option<Draft> {
    let parameters = readers::semicolons(text, findings);
    if findings.has_errors() {
        return None;
    }
    if is_of_sql_server(&parameters) {
        findings.error(
            "connection string is one of SQL Server, which Lydite does not have: write a driver: 'lydite driver new --help'",
        );
        return None;
    }
    let dialect = by_names(&parameters, families, findings)?;
    Some(finished(dialect, Draft::new(dialect.schemes[0].1), parameters, families, findings))
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
    let mut named = servers.iter().filter_map(|name| value(parameters, name));
    OF_SQL_SERVER.iter().any(|name| value(parameters, name).is_some())
        || named
            .any(|server| server.starts_with("tcp:") || server.contains('\\') || server.ends_with(",1433"))
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
    let fewest = dialects(families, Form::Ado).map(wrong).min()?;
    let fit: Vec<_> = dialects(families, Form::Ado).filter(|dialect| wrong(dialect) == fewest).collect();
    let port = |dialect: &Dialect| usual_port(dialect.schemes[0].1, families).map(|port| port.to_string());
    let given = value(parameters, "port");
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
        findings.error(format!("connection string may be one of several databases: {}", ways.join(", or ")));
    }
    chosen.copied()
}
