//! Gemel in a process of its own: a server for the sessions of other processes, and `gemel-server:`, the family that
//! reaches it. They speak the protocol of drivers.

use super::{GemelStore, parse};
use crate::external::{Address, Config, Guarantee, Hello, PROTOCOL, Reach, Way, serve};
use crate::family::{Family, Scheme};
use crate::net::Host;
use crate::net::url::{ServerUrl, one_host, variable};
use ::gemel::FullDisk;
use lydite_database::kv::Store;
use lydite_database::patience::TIMEOUT;
use lydite_database::target_url::ParsedUrl;
use lydite_database::{TargetError, TxMode};
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// The scheme of its URLs, and the name of the server.
const SCHEME: &str = "gemel-server";

/// Longest silence of a request. The option `timeout` ends requests outside of the measured window before. Within it a
/// session waits as long as the server takes, as with other servers.
const LONGEST: Duration = Duration::from_hours(1);

/// The entry in the table of families.
pub(crate) static SERVER_FAMILY: Family = Family {
    schemes: &[Scheme::without_port(SCHEME)],
    url: "gemel-server://:PASSWORD@HOST:PORT",
    about: "Gemel in a process of its own, which lydite driver serve or lydite lab up gemel starts",
    modes: &[TxMode::Statements],
    guarantees: "those of the server's database",
    placement: &[],
    tested: "this version",
    options: &[TIMEOUT],
    tpcc_options: &[],
    parse: |url, _| parse_server(url).map(|config| Arc::new(config) as _),
};

/// Reads the URL of a server.
fn parse_server(parsed: &ParsedUrl) -> Result<Config, Vec<String>> {
    one_host(parsed, SCHEME)?;
    let mut errors = Vec::new();
    let url = ServerUrl::parse(parsed, SCHEME, "", &mut errors)?;
    let (host, port) = match (url.host, url.port) {
        (Some(host), Some(port)) => (host, port),
        (host, port) => {
            errors.push(format!("target URL names no host and port: write {SCHEME}://:PASSWORD@HOST:PORT"));
            (host.unwrap_or_default(), port.unwrap_or_default())
        }
    };
    if url.user.is_some() || url.database.is_some() {
        errors.push(format!(
            "target URL names a user or a database, and {SCHEME} has none: write {SCHEME}://:PASSWORD@HOST:PORT"
        ));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Config {
        url: url.shown,
        place: format!("{SCHEME} at {}", Host::Tcp(host.clone()).with_port(port)),
        timeout: LONGEST,
        reach: Reach::Server(Address {
            host,
            port,
            password: url.password.or_else(|| variable(&["LYDITE_PASSWORD"])),
        }),
    })
}

/// An open database that can be served.
pub struct GemelServer {
    store: GemelStore,
    hello: Hello,
}

/// Options of pipelined commits. Each client of the server waits for its commits.
const PIPELINING: [&str; 2] = ["commit", "gather"];

impl GemelServer {
    /// Opens the database of a URL `gemel:PATH`, and makes it if there is none.
    ///
    /// # Errors
    /// The URL is wrong or names no directory, or the database can't be opened.
    pub fn open(url: &str) -> Result<Self, Vec<TargetError>> {
        let usage = |errors: Vec<String>| errors.into_iter().map(TargetError::usage).collect::<Vec<_>>();
        // The table of families checks the options' names.
        crate::TargetSpec::parse(url, TxMode::Statements).map_err(usage)?;
        let parsed = ParsedUrl::new(url, &mut Vec::new());
        let (options, whole) = (&parsed.options, &parsed.whole);
        let scheme = whole.split_once(':').map_or("", |(scheme, _)| scheme);
        if let Some(option) = PIPELINING.into_iter().find(|option| options.contains_key(*option)) {
            let problem =
                format!("target option {option} is for sessions in the database's process: leave it out");
            return Err(vec![TargetError::usage(problem)]);
        }
        let parsed = match scheme {
            "gemel" => parse(&parsed).map_err(usage)?,
            _ => return Err(vec![TargetError::usage(format!("{scheme}: can't be served: use gemel:PATH"))]),
        };
        if parsed.path().is_none() {
            let problem =
                "gemel: names no directory, so nothing would be left after a new start: use gemel:PATH";
            return Err(vec![TargetError::usage(problem)]);
        }
        let mut config =
            parsed.config().map_err(|error| vec![TargetError::usage(format!("gemel: {error}"))])?;
        // Others may make space while it serves.
        config.options.full_disk = FullDisk::Wait;
        config.options.gather = None;
        let place = GemelStore::place(&config);
        let open = || Ok((GemelStore::describe(&config)?, GemelStore::open(&config)?));
        let (description, store) =
            open().map_err(|error: lydite_database::kv::StoreError| vec![error.on_target("open", &place)])?;
        let mut settings = description.settings;
        settings.retain(|name, _| !PIPELINING.contains(&name.as_str()));
        let hello = Hello {
            protocol: PROTOCOL,
            name: SCHEME.into(),
            version: description.version,
            way: Way::KeyValue,
            guarantee: if description.isolation_is_level_3 {
                Guarantee::Optimistic
            } else {
                Guarantee::Atomic
            },
            isolation: Some(description.isolation),
            durable: description.durable,
            sessions: 0,
            settings,
        };
        Ok(Self { store, hello })
    }

    /// Serves the database to clients that give the password, until `enough` returns true.
    ///
    /// # Errors
    /// The listener can't be set up.
    pub fn serve(self, listener: &TcpListener, password: &str, enough: &dyn Fn() -> bool) -> io::Result<()> {
        serve(&self.store, &self.hello, password, listener, enough)
    }
}
