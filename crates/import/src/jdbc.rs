//! JDBC URLs: hosts, database, and the parameters that mean something to Lydite.

use crate::draft::{Draft, undriven};
use crate::fate::Fate;
use crate::given::Given;
use crate::place::{self, Host};
use crate::product::{Product, Protocol, other};
use crate::setting::named as shown;
use crate::table::Row;

/// Modes of TLS in URLs, and their names in drivers.
const SSL_MODES: [(&str, &[&str]); 5] = [
    ("disable", &["disabled", "off", "false"]),
    ("prefer", &["preferred"]),
    ("require", &["required", "trust", "on", "skip-verify"]),
    ("verify-ca", &[]),
    ("verify-full", &["verify-identity", "true"]),
];

/// Sets the mode of TLS by its name in a driver.
pub(crate) fn ssl_mode(draft: &mut Draft, given: &Given) -> Fate {
    let text = given.text().to_ascii_lowercase().replace('_', "-");
    let is_it = |(mode, names): &&(&str, &[&str])| *mode == text || names.contains(&text.as_str());
    match SSL_MODES.iter().find(is_it) {
        Some((mode, _)) => draft.option("sslmode", *mode),
        None if text == "allow" => Fate::none("Lydite has no mode allow: `sslmode=prefer` tries TLS first"),
        None => Fate::unknown("must be a mode of TLS, as disable, require or verify-full"),
    }
}

/// Sets an option to a path.
pub(crate) fn file(draft: &mut Draft, option: &'static str, given: &Given) -> Fate {
    match place::path(given.text()) {
        Some(path) => draft.option(option, path),
        None => Fate::unknown("must be the path of a file"),
    }
}

/// Sets an option to a name.
pub(crate) fn named(draft: &mut Draft, option: &'static str, given: &Given) -> Fate {
    match place::name(given.text()) {
        Some(name) => draft.option(option, name),
        None => Fate::unknown("must be a name"),
    }
}

/// Sets the mode of TLS by a switch. It changes a mode before it only if this is one of `weaker`.
fn ssl(
    draft: &mut Draft,
    given: &Given,
    (on, off): (&'static str, Option<&'static str>),
    weaker: &[&str],
) -> Fate {
    let before = draft.place.options.get("sslmode");
    if before.is_some_and(|before| !weaker.contains(&before.as_str())) {
        return Fate::dropped("another parameter sets the mode of TLS");
    }
    let is_on = if given.text().is_empty() { Some(true) } else { given.switch() };
    match (is_on, off) {
        (Some(true), _) => draft.option("sslmode", on),
        (Some(false), Some(off)) => draft.option("sslmode", off),
        (Some(false), None) => Fate::dropped("is off"),
        (None, _) => Fate::unknown("must be true or false"),
    }
}

/// Parameters of `jdbc:postgresql:`, `jdbc:mysql:` and `jdbc:mariadb:`.
pub static PARAMETERS: &[Row] = &[
    Row::plan("user", "the URL's user", Draft::user),
    Row::secret(
        "password, sslpassword, trustCertificateKeyStorePassword, clientCertificateKeyStorePassword, keyStorePassword, \
         trustStorePassword",
    ),
    Row::plan("sslmode", "the URL's `sslmode`", ssl_mode),
    Row::plan("ssl", "the URL's `sslmode=verify-full` for true, as the driver does", |draft, given| {
        ssl(draft, given, ("verify-full", None), &[])
    }),
    Row::plan(
        "useSSL",
        "the URL's `sslmode`: `prefer` for true, as the driver does, else `disable`",
        |draft, given| ssl(draft, given, ("prefer", Some("disable")), &[]),
    ),
    Row::plan("requireSSL", "the URL's `sslmode=require` for true", |draft, given| {
        ssl(draft, given, ("require", None), &["prefer"])
    }),
    Row::plan("verifyServerCertificate", "the URL's `sslmode=verify-ca` for true", |draft, given| {
        ssl(draft, given, ("verify-ca", None), &["prefer", "require"])
    }),
    Row::plan("sslrootcert", "the URL's `sslrootcert`", |draft, given| file(draft, "sslrootcert", given)),
    Row::plan("sslcert", "the URL's `sslcert`", |draft, given| file(draft, "sslcert", given)),
    Row::plan("serverSslCert", "the URL's `ssl-ca`", |draft, given| file(draft, "ssl-ca", given)),
    Row::plan("ApplicationName", "the URL's `application_name`", |draft, given| {
        named(draft, "application_name", given)
    }),
    Row::plan("currentSchema", "the URL's `schema`", |draft, given| named(draft, "schema", given)),
    Row::none(
        "sslkey, trustCertificateKeyStoreUrl, clientCertificateKeyStoreUrl",
        "keys and key stores of Java are not read: name PEM files in the URL",
    ),
    Row::none(
        "targetServerType, loadBalanceHosts",
        "sessions go to all hosts of the URL: name those alone that shall have some",
    ),
    Row::dropped("connectTimeout, loginTimeout", "connecting has at most 10 s"),
    Row::dropped("socketTimeout", "`statement_timeout` in the URL limits statements"),
    Row::dropped(
        "reWriteBatchedInserts, rewriteBatchedStatements, useBulkStmts, prepareThreshold, preparedStatementCacheQueries, \
         preparedStatementCacheSizeMiB, preferQueryMode, useServerPrepStmts, cachePrepStmts, prepStmtCacheSize, \
         prepStmtCacheSqlLimit, cacheCallableStmts, defaultRowFetchSize, binaryTransfer, autosave, allowMultiQueries",
        "it is about how the driver for Java sends statements; `tx` in the plan sets how Lydite does",
    ),
    Row::dropped(
        "useUnicode, characterEncoding, serverTimezone, connectionTimeZone, useLegacyDatetimeCode, zeroDateTimeBehavior, \
         stringtype",
        "texts are UTF-8, and times are UTC",
    ),
    Row::dropped(
        "tcpKeepAlive, autoReconnect, assumeMinServerVersion, loggerLevel, loggerFile, allowPublicKeyRetrieval, \
         allowLoadLocalInfile, useLocalSessionState, elideSetAutoCommits, cacheServerConfiguration, useConfigs, \
         maintainTimeStats",
        "it is about the driver for Java",
    ),
];

/// Reads a JDBC URL into the place of the database. Parameters become parts of the setting.
pub(crate) fn read(draft: &mut Draft, given: &Given) -> Fate {
    if draft.place.undriven.is_some() {
        return Fate::dropped("there is no URL for that database");
    }
    let text = given.text();
    let jdbc = text.split_at_checked(5).filter(|(begin, _)| begin.eq_ignore_ascii_case("jdbc:"));
    let parts = jdbc.and_then(|(_, rest)| rest.split_once(':'));
    let fate = parts.and_then(|(word, rest)| match Product::named(word) {
        Some(product) => database(draft, given, product, rest),
        None => other(word).map(|name| {
            draft.place.undriven = Some(name);
            Fate::none(undriven(name))
        }),
    });
    fate.unwrap_or_else(|| {
        Fate::unknown("is no JDBC URL of a form that Lydite knows: write the URL yourself")
    })
}

/// Reads what stands behind `jdbc:NAME:`. None if it has another form.
fn database(draft: &mut Draft, given: &Given, product: &'static Product, rest: &str) -> Option<Fate> {
    // The type of the database says more than the URL of the driver, unless it speaks another protocol.
    let product = draft.place.product.filter(|known| known.protocol == product.protocol).unwrap_or(product);
    draft.place.product = Some(product);
    let (path, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    if product.protocol == Protocol::File {
        draft.place.file = Some(place::path(path)?);
        return Some(Fate::translated("the URL's path"));
    }
    server(draft, path)?;
    apply(draft, given, pairs(parameters).map(|(name, value)| (name, decoded(value))).collect());
    Some(Fate::translated("the URL's host and database"))
}

/// Splits parameters of the form `NAME=VALUE&NAME=VALUE`.
pub(crate) fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let parameters = text.split('&').filter(|parameter| !parameter.is_empty());
    parameters.map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")))
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Reads `//[USER[:PASSWORD]@]HOST[:PORT],…/DATABASE`, or the database alone.
fn server(draft: &mut Draft, path: &str) -> Option<()> {
    let (authority, database) = match path.strip_prefix("//") {
        Some(path) => path.split_once('/').unwrap_or((path, "")),
        None => ("", path.trim_start_matches('/')),
    };
    let (login, hosts) =
        authority.rsplit_once('@').map_or((None, authority), |(login, hosts)| (Some(login), hosts));
    let hosts = if hosts.is_empty() { "localhost" } else { hosts };
    let hosts: Vec<Host> = hosts.split(',').map(Host::parse).collect::<Option<_>>()?;
    let database = decoded(database.trim_end_matches('/'));
    let database = if database.is_empty() { None } else { Some(place::database(&database)?) };
    draft.place.hosts = hosts;
    draft.place.database = database.or(draft.place.database.take());
    if let Some(login) = login {
        let (user, password) =
            login.split_once(':').map_or((login, None), |(user, password)| (user, Some(password)));
        draft.place.user = place::name(&decoded(user));
        draft.parts.extend(password.map(|_| ("password".to_owned(), Fate::secret())));
    }
    Some(())
}

/// Applies parameters in the order of the rows, since some depend on others.
fn apply(draft: &mut Draft, given: &Given, mut parameters: Vec<(&str, String)>) {
    // Behind a password an unknown name may be a part of it.
    let is_secret = |name: &str| name.to_ascii_lowercase().contains("password");
    let secret = parameters.iter().position(|(name, _)| is_secret(name)).unwrap_or(parameters.len());
    let hidden: Vec<&str> = parameters.iter().skip(secret).map(|(name, _)| *name).collect();
    let row_of = |name: &str| {
        PARAMETERS.iter().position(|row| row.each().any(|known| known.eq_ignore_ascii_case(name)))
    };
    parameters.sort_by_key(|(name, _)| row_of(name));
    for (name, value) in parameters {
        let row = row_of(name).and_then(|at| PARAMETERS.get(at));
        let fate = match row {
            Some(row) => row.apply(draft, &given.part(value)),
            None => Fate::unknown("is a parameter that Lydite does not know"),
        };
        let name = if row.is_some() || !hidden.contains(&name) { shown(name) } else { "…".to_owned() };
        draft.parts.push((name, fate));
    }
}
