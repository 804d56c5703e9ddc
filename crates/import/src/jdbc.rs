//! JDBC URLs: hosts, database and parameters, each by its row.

use crate::draft::Draft;
use crate::fate::Fate;
use crate::given::Given;
use crate::place::{self, Host};
use crate::product::{Product, Protocol, other};
use crate::table::Row;

const SSL_MODES: [&str; 5] = ["disable", "prefer", "require", "verify-ca", "verify-full"];

/// Sets the mode of TLS by its name in libpq.
pub(crate) fn ssl_mode(draft: &mut Draft, given: &Given) -> Fate {
    let text = given.text().to_ascii_lowercase();
    match SSL_MODES.iter().find(|mode| **mode == text) {
        Some(mode) => draft.option("sslmode", *mode),
        None if text == "allow" => Fate::none("the mode allow does not exist: `prefer` tries TLS first"),
        None => Fate::unknown(format!("must be {}", SSL_MODES.join(", "))),
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

const PREPARED: &str =
    "statements are always prepared on the server; `tx` in the plan sets how they are sent";
const BATCHES: &str =
    "it corrects JDBC's batches: loads use the server's bulk loading, and `tx = \"batched\"` sends lists";
const TIMES_OUT: &str =
    "a server that stays silent for 30 s counts as away; `statement_timeout` in the URL limits statements";

/// Parameters of `jdbc:postgresql:`.
pub static POSTGRES_ROWS: &[Row] = &[
    Row::plan("user", "the URL's user", Draft::user),
    Row::secret("password"),
    Row::secret("sslpassword"),
    Row::plan("sslmode", "the URL's `sslmode`", ssl_mode),
    Row::plan(
        "ssl",
        "the URL's `sslmode=verify-full`, which is what the driver makes of `true`",
        |draft, given| match given.switch() {
            _ if draft.place.options.contains_key("sslmode") => Fate::dropped("sslmode wins"),
            Some(true) => draft.option("sslmode", "verify-full"),
            Some(false) => Fate::dropped("is off, and `prefer` is the default of both"),
            None if given.text().is_empty() => draft.option("sslmode", "verify-full"),
            None => Fate::unknown("must be true or false"),
        },
    ),
    Row::plan("sslrootcert", "the URL's `sslrootcert`", |draft, given| file(draft, "sslrootcert", given)),
    Row::plan("sslcert", "the URL's `sslcert`", |draft, given| file(draft, "sslcert", given)),
    Row::dropped(
        "sslkey",
        "Java's keys are DER, and Lydite reads PEM: convert it, and name it as `sslkey` in the URL",
    ),
    Row::plan("ApplicationName", "the URL's `application_name`", |draft, given| {
        named(draft, "application_name", given)
    }),
    Row::plan("currentSchema", "the URL's `schema`", |draft, given| named(draft, "schema", given)),
    Row::plan("connectTimeout", "the URL's `connect_timeout`", |draft, given| {
        match Draft::whole(given, 1, 10) {
            Ok(seconds) => draft.option("connect_timeout", seconds.to_string()),
            Err(_) => Fate::dropped("connecting has at most 10 s"),
        }
    }),
    Row::dropped("reWriteBatchedInserts", BATCHES),
    Row::dropped("prepareThreshold", PREPARED),
    Row::dropped("preparedStatementCacheQueries", PREPARED),
    Row::dropped("preparedStatementCacheSizeMiB", PREPARED),
    Row::none("preferQueryMode", PREPARED),
    Row::dropped("binaryTransfer", "values are always binary"),
    Row::dropped("defaultRowFetchSize", "answers are read whole"),
    Row::dropped("socketTimeout", TIMES_OUT),
    Row::dropped("loginTimeout", "connecting has at most 10 s"),
    Row::dropped("tcpKeepAlive", "connections are watched anyway"),
    Row::dropped("autosave", "a failed transaction is repeated as a whole"),
    Row::none("targetServerType", "sessions go to the hosts of the URL as they are: name the primary alone"),
    Row::none(
        "loadBalanceHosts",
        "`nodes` in the URL spreads the sessions over more servers of one database",
    ),
    Row::dropped("stringtype", "values have the types of their columns"),
    Row::dropped("assumeMinServerVersion", "the server is asked for its version"),
    Row::dropped("loggerLevel", "there is no log of a driver"),
    Row::dropped("loggerFile", "there is no log of a driver"),
];

/// Sets the mode of TLS by its name in Connector/J or MariaDB's connector.
fn mysql_ssl_mode(draft: &mut Draft, given: &Given) -> Fate {
    let mode = match given.text().to_ascii_lowercase().replace('_', "-").as_str() {
        "disabled" | "disable" => "disable",
        "preferred" => "prefer",
        "required" | "trust" => "require",
        "verify-ca" => "verify-ca",
        "verify-identity" | "verify-full" => "verify-full",
        _ => return Fate::unknown("must be a mode of the driver, as DISABLED, REQUIRED or VERIFY_IDENTITY"),
    };
    draft.option("sslmode", mode)
}

const CHARACTERS: &str = "texts are always UTF-8";
const TIMES: &str = "times are always UTC";

/// Parameters of `jdbc:mysql:` and `jdbc:mariadb:`.
pub static MYSQL_ROWS: &[Row] = &[
    Row::plan("user", "the URL's user", Draft::user),
    Row::secret("password"),
    Row::plan("sslMode", "the URL's `sslmode`", mysql_ssl_mode),
    Row::plan(
        "useSSL",
        "the URL's `sslmode`: `prefer` for true, as the driver does, `disable` for false",
        |draft, given| match given.switch() {
            _ if draft.place.options.contains_key("sslmode") => Fate::dropped("sslMode wins"),
            Some(true) => draft.option("sslmode", "prefer"),
            Some(false) => draft.option("sslmode", "disable"),
            None => Fate::unknown("must be true or false"),
        },
    ),
    Row::plan("requireSSL", "the URL's `sslmode=require`", |draft, given| match given.switch() {
        Some(true) if draft.place.options.get("sslmode").is_none_or(|mode| mode == "prefer") => {
            draft.option("sslmode", "require")
        }
        Some(_) => Fate::dropped("another parameter sets the mode of TLS"),
        None => Fate::unknown("must be true or false"),
    }),
    Row::plan("verifyServerCertificate", "the URL's `sslmode=verify-ca`", |draft, given| {
        match given.switch() {
            Some(true) if draft.place.options.get("sslmode").is_none_or(|mode| mode != "disable") => {
                draft.option("sslmode", "verify-ca")
            }
            Some(_) => Fate::dropped("no certificate is checked without TLS"),
            None => Fate::unknown("must be true or false"),
        }
    }),
    Row::plan("serverSslCert", "the URL's `ssl-ca`", |draft, given| file(draft, "ssl-ca", given)),
    Row::secret("trustCertificateKeyStorePassword"),
    Row::secret("clientCertificateKeyStorePassword"),
    Row::none(
        "trustCertificateKeyStoreUrl",
        "Java's key stores are not read: name a PEM file as `ssl-ca` in the URL",
    ),
    Row::none(
        "clientCertificateKeyStoreUrl",
        "Java's key stores are not read: name PEM files as `ssl-cert` and `ssl-key` in the URL",
    ),
    Row::dropped("rewriteBatchedStatements", BATCHES),
    Row::dropped("useBulkStmts", BATCHES),
    Row::dropped("useServerPrepStmts", PREPARED),
    Row::dropped("cachePrepStmts", PREPARED),
    Row::dropped("prepStmtCacheSize", PREPARED),
    Row::dropped("prepStmtCacheSqlLimit", PREPARED),
    Row::dropped("cacheCallableStmts", PREPARED),
    Row::dropped(
        "allowPublicKeyRetrieval",
        "the password goes over TLS or a Unix socket only, if the server asks for it",
    ),
    Row::dropped("allowMultiQueries", "transactions never need it"),
    Row::dropped("allowLoadLocalInfile", "a load uses LOAD DATA LOCAL where the server has it"),
    Row::dropped("useLocalSessionState", "it saves JDBC's own statements, and there are none"),
    Row::dropped("elideSetAutoCommits", "it saves JDBC's own statements, and there are none"),
    Row::dropped("cacheServerConfiguration", "it saves JDBC's own statements, and there are none"),
    Row::dropped("useConfigs", "it corrects JDBC"),
    Row::dropped("useUnicode", CHARACTERS),
    Row::dropped("characterEncoding", CHARACTERS),
    Row::dropped("serverTimezone", TIMES),
    Row::dropped("connectionTimeZone", TIMES),
    Row::dropped("useLegacyDatetimeCode", TIMES),
    Row::dropped("zeroDateTimeBehavior", "there are no such dates"),
    Row::dropped("autoReconnect", "lost sessions always reconnect, and their transactions are counted"),
    Row::dropped("socketTimeout", TIMES_OUT),
    Row::dropped("connectTimeout", "connecting has at most 10 s"),
    Row::dropped("tcpKeepAlive", "connections are watched anyway"),
    Row::dropped("maintainTimeStats", "there is no such statistics"),
];

/// Reads a JDBC URL into the place of the database. Parameters become parts of the setting.
pub(crate) fn read(draft: &mut Draft, given: &Given) -> Fate {
    const NO_JDBC: &str = "is no JDBC URL of a form that Lydite knows: write the URL yourself";
    let text = given.text();
    let Some(rest) =
        text.get(..5).filter(|begin| begin.eq_ignore_ascii_case("jdbc:")).and_then(|_| text.get(5..))
    else {
        return Fate::unknown(NO_JDBC);
    };
    let Some((word, rest)) = rest.split_once(':') else { return Fate::unknown(NO_JDBC) };
    let Some(product) = Product::named(word) else {
        return match other(word) {
            Some(name) => {
                draft.place.product = None;
                draft.place.undriven = Some(name);
                Fate::none(crate::draft::undriven(name))
            }
            None => Fate::unknown(NO_JDBC),
        };
    };
    // The type of the database says more than the URL of the driver, unless it speaks another protocol.
    let product = draft.place.product.filter(|known| known.protocol == product.protocol).unwrap_or(product);
    if draft.place.undriven.is_some() {
        return Fate::dropped("there is no URL for that database");
    }
    draft.place.product = Some(product);
    match product.protocol {
        Protocol::File => match place::path(rest.split('?').next().unwrap_or_default()) {
            Some(path) => {
                draft.place.file = Some(path);
                Fate::translated("the URL's path")
            }
            None => Fate::unknown(NO_JDBC),
        },
        _ => server(draft, given, rest).unwrap_or_else(|| Fate::unknown(NO_JDBC)),
    }
}

/// Reads `//[USER[:PASSWORD]@]HOST[:PORT],…/DATABASE?PARAMETERS`, or the database alone.
fn server(draft: &mut Draft, given: &Given, rest: &str) -> Option<Fate> {
    let (path, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = match path.strip_prefix("//") {
        Some(path) => path.split_once('/').unwrap_or((path, "")),
        None => ("", path.trim_start_matches('/')),
    };
    let (login, hosts) =
        authority.rsplit_once('@').map_or((None, authority), |(login, hosts)| (Some(login), hosts));
    let hosts: Vec<Host> = match hosts {
        "" => vec![Host { name: "localhost".to_owned(), port: None }],
        hosts => hosts.split(',').map(Host::parse).collect::<Option<_>>()?,
    };
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let database = decoded(database.trim_end_matches('/'));
    let database = if database.is_empty() { None } else { Some(place::database(&database)?) };
    draft.place.hosts = hosts;
    draft.place.database = database.or(draft.place.database.take());
    if let Some(login) = login {
        let (user, password) =
            login.split_once(':').map_or((login, None), |(user, password)| (user, Some(password)));
        draft.place.user = place::name(&decoded(user));
        draft.has_password |= password.is_some();
        draft.parts.extend(password.map(|_| ("password".to_owned(), Fate::secret())));
    }
    let rows = match draft.place.product?.protocol {
        Protocol::Postgres => POSTGRES_ROWS,
        _ => MYSQL_ROWS,
    };
    let mut parameters: Vec<(&str, String)> = parameters
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")))
        .map(|(name, value)| (name, decoded(value)))
        .collect();
    // Behind a password an unknown name may be a part of it.
    let is_secret = |name: &str| name.to_ascii_lowercase().contains("password");
    let may_be_named = |name: &str| {
        let before = parameters.iter().take_while(|(other, _)| *other != name);
        !before.into_iter().any(|(other, _)| is_secret(other))
    };
    let hidden: Vec<&str> =
        parameters.iter().map(|(name, _)| *name).filter(|name| !may_be_named(name)).collect();
    // In the order of the rows, since some depend on others.
    let row_of = |name: &str| rows.iter().position(|row| row.name.eq_ignore_ascii_case(name));
    parameters.sort_by_key(|(name, _)| row_of(name));
    for (name, value) in parameters {
        let fate = match row_of(name).and_then(|at| rows.get(at)) {
            Some(row) => row.apply(
                draft,
                &Given { name: given.name.clone(), ..Given::new("", value, given.line.max(1)) },
            ),
            None => Fate::unknown("is a parameter that Lydite does not know"),
        };
        draft.has_password |= fate.kind == crate::fate::Kind::Secret;
        let is_known = row_of(name).is_some();
        let shown =
            if is_known || !hidden.contains(&name) { crate::setting::named(name) } else { "…".to_owned() };
        draft.parts.push((shown, fate));
    }
    Some(Fate::translated("the URL's host and database"))
}
