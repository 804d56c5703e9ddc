//! The families of databases that are built in, and how a URL chooses one.

use crate::error::TargetError;
use crate::etcd;
use crate::external;
use crate::gemel;
use crate::kv::KvTarget;
use crate::micro::MicroTarget;
use crate::mysql;
use crate::null::{self, Null};
use crate::patience::{self, Patience, Patient, Waiter};
use crate::postgres;
use crate::redis;
use crate::sqlite;
use crate::target::{Target, TxMode};
use crate::templates::Templates;
use lydite_micro::Engines;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A family of databases.
#[derive(Debug)]
pub struct Family {
    /// URL schemes that choose it.
    pub schemes: &'static [&'static str],
    /// The form of its URLs.
    pub url: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// The ways of sending transactions that it has.
    pub modes: &'static [TxMode],
    /// What its transactions are worth, in a few words.
    pub guarantees: &'static str,
    /// Whether it can tell on which node a warehouse is: none for databases of one node.
    pub placement: Option<&'static str>,
    /// On what it is tested with every change.
    pub tested: &'static str,
    /// Options behind `?` in the URL.
    pub options: &'static [OptionSpec],
    /// Those of them that are about TPC-C's tables, and mean nothing to other workloads.
    pub tpcc_options: &'static [&'static str],
    parse: fn(&ParsedUrl, TxMode) -> Result<Spec, Vec<String>>,
}

/// An option in a target's URL.
#[derive(Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// Its name.
    pub name: &'static str,
    /// What may stand behind `=`.
    pub values: &'static str,
    /// The value when it is not given.
    pub default: &'static str,
    /// One line about it.
    pub about: &'static str,
}

/// All families.
#[must_use]
pub fn families() -> &'static [Family] {
    static FAMILIES: [Family; 11] = [
        Family {
            schemes: &["gemel"],
            url: "gemel: (a temporary directory) or gemel:PATH",
            about: "Gemel, built in: memory and disk engine, transactions over both; needs no server",
            modes: &[TxMode::Statements],
            guarantees: "snapshot isolation, serializable or read committed; durable commits",
            placement: None,
            tested: "this version",
            options: gemel::OPTIONS,
            tpcc_options: gemel::TPCC_OPTIONS,
            parse: |url, _| gemel::parse(url).map(|parsed| Spec::Gemel(Box::new(parsed))),
        },
        Family {
            schemes: &["sqlite"],
            url: "sqlite: (a temporary file) or sqlite:PATH",
            about: "SQLite, built in; needs no server",
            modes: &[TxMode::Statements],
            guarantees: "serializable, one writer; durable commits",
            placement: None,
            tested: "the version that is built in",
            options: sqlite::OPTIONS,
            tpcc_options: &["foreign_keys"],
            parse: |url, _| sqlite::parse(url).map(Spec::Sqlite),
        },
        Family {
            schemes: &["postgres", "postgresql"],
            url: "postgres://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE",
            about: "PostgreSQL 12 or later",
            modes: &TxMode::ALL,
            guarantees: "repeatable read (snapshots), serializable or read committed; over shards no common snapshot and no atomic commit",
            placement: Some("over shards"),
            tested: "real servers: PostgreSQL, and PostgreSQL over three shards",
            options: postgres::OPTIONS,
            tpcc_options: &["foreign_keys", "shards", "items", "colocated", "batch"],
            parse: |url, mode| {
                postgres::parse(url, mode, &postgres::POSTGRES).map(|config| Spec::Postgres(Box::new(config)))
            },
        },
        Family {
            schemes: postgres::COCKROACH.schemes,
            url: "cockroach://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE",
            about: "CockroachDB 23 or later",
            modes: postgres::COCKROACH.modes,
            guarantees: "serializable or read committed",
            placement: Some("the leaseholders"),
            tested: "nothing but PostgreSQL in its place: lydite driver test URL tells of a real one",
            options: postgres::COCKROACH_OPTIONS,
            tpcc_options: &["foreign_keys", "split", "zones", "zone_strategy", "batch"],
            parse: |url, mode| {
                postgres::parse(url, mode, &postgres::COCKROACH)
                    .map(|config| Spec::Postgres(Box::new(config)))
            },
        },
        Family {
            schemes: postgres::YUGABYTE.schemes,
            url: "yugabyte://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE",
            about: "YugabyteDB 2.20 or later, its SQL",
            modes: postgres::YUGABYTE.modes,
            guarantees: "repeatable read (snapshots), serializable or read committed",
            placement: Some("the leaders of tablets, from 2025.1"),
            tested: "nothing but PostgreSQL in its place: lydite driver test URL tells of a real one",
            options: postgres::YUGABYTE_OPTIONS,
            tpcc_options: &["foreign_keys", "batch"],
            parse: |url, mode| {
                postgres::parse(url, mode, &postgres::YUGABYTE).map(|config| Spec::Postgres(Box::new(config)))
            },
        },
        Family {
            schemes: postgres::CITUS.schemes,
            url: "citus://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE, the coordinator",
            about: "PostgreSQL with Citus: tables over workers by warehouse, ITEM on each",
            modes: postgres::CITUS.modes,
            guarantees: "as PostgreSQL on one worker; over several no common snapshot",
            placement: Some("the workers"),
            tested: "nothing: lydite driver test URL tells of a real one",
            options: postgres::CITUS_OPTIONS,
            tpcc_options: &["items", "colocated", "batch"],
            parse: |url, mode| {
                postgres::parse(url, mode, &postgres::CITUS).map(|config| Spec::Postgres(Box::new(config)))
            },
        },
        Family {
            schemes: &["mysql", "mariadb", "tidb", "oceanbase", "polardb"],
            url: "mysql://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE",
            about: "MySQL 8 or later, MariaDB 10.6 or later, TiDB (no procedures), OceanBase, PolarDB",
            modes: &TxMode::ALL,
            guarantees: "repeatable read, serializable or read committed, as far as the engine keeps them",
            placement: Some("over shards of Spider"),
            tested: "real servers: MariaDB with InnoDB, with MyRocks, as a Galera cluster, over shards by Spider; seekdb for oceanbase:; not tested: TiDB, PolarDB, MySQL itself",
            options: mysql::OPTIONS,
            tpcc_options: mysql::TPCC_OPTIONS,
            parse: |url, mode| mysql::parse(url, mode).map(|config| Spec::Mysql(Box::new(config))),
        },
        Family {
            schemes: &["redis"],
            url: "redis://[[USER]:PASSWORD@]HOST[:PORT][/NUMBER]",
            about: "Redis 6 or later, as a key-value store with optimistic transactions (WATCH, MULTI, EXEC)",
            modes: &[TxMode::Statements],
            guarantees: "optimistic: what was read is checked at the commit, ranges are not",
            placement: None,
            tested: "a real server",
            options: redis::OPTIONS,
            tpcc_options: &[],
            parse: |url, _| redis::parse(url).map(|config| Spec::Redis(Box::new(config))),
        },
        Family {
            schemes: &["etcd"],
            url: "etcd://HOST[:PORT]",
            about: "etcd 3.4 or later, as a key-value store with transactions that compare revisions",
            modes: &[TxMode::Statements],
            guarantees: "snapshot isolation; durable commits",
            placement: None,
            tested: "a real server",
            options: etcd::OPTIONS,
            tpcc_options: &[],
            parse: |url, _| etcd::parse(url).map(|config| Spec::Etcd(Box::new(config))),
        },
        Family {
            schemes: &["driver"],
            url: "driver:COMMAND, for example driver:./demo or driver:'python3 demo.py'",
            about: "any database, through a program of yours in any language: lydite driver new",
            modes: &[TxMode::Statements],
            guarantees: "what the driver says: none, per-key, atomic, optimistic, serializable",
            placement: None,
            tested: "drivers in Python and Go over SQLite, bbolt, a store in memory, and PostgreSQL by psycopg and pgx",
            options: external::OPTIONS,
            tpcc_options: &[],
            parse: |url, _| external::parse(url).map(|config| Spec::External(Box::new(config))),
        },
        Family {
            schemes: &["null"],
            url: "null:",
            about: "answers at once and stores nothing: measures Lydite itself",
            modes: &TxMode::ALL,
            guarantees: "none",
            placement: Some("as ?nodes= pretends"),
            tested: "itself",
            options: null::OPTIONS,
            tpcc_options: &[],
            parse: |url, _| null::parse(url).map(Spec::Null),
        },
    ];
    &FAMILIES
}

/// The place of a database, as far as the URL tells.
#[derive(PartialEq, Eq)]
enum Home<'a> {
    /// On a server, in a program, or nowhere.
    Elsewhere,
    /// Built in, and gone when it is closed.
    Temporary,
    /// Built in, in this file or directory.
    Path(&'a Path),
}

/// A target URL that has been found good; nothing has been touched yet.
#[derive(Clone, Debug)]
pub struct TargetSpec {
    spec: Spec,
    /// Longest silence of its server outside of the measured window.
    silence: Duration,
    waiter: Option<Arc<dyn Waiter>>,
}

#[derive(Clone, Debug)]
enum Spec {
    Null(Null),
    Gemel(Box<gemel::Parsed>),
    Sqlite(sqlite::Config),
    Postgres(Box<postgres::Config>),
    Mysql(Box<mysql::Config>),
    External(Box<external::Config>),
    Redis(Box<redis::Config>),
    Etcd(Box<etcd::Config>),
}

impl TargetSpec {
    /// The URL that it was made from, without a password: fit for files and messages.
    #[must_use]
    pub fn without_password(&self, url: &str) -> String {
        match &self.spec {
            Spec::Postgres(config) => config.url.clone(),
            Spec::Mysql(config) => config.url.clone(),
            Spec::External(config) => config.url.clone(),
            Spec::Redis(config) => config.url.clone(),
            Spec::Etcd(config) => config.url.clone(),
            Spec::Null(_) | Spec::Gemel(_) | Spec::Sqlite(_) => url.to_string(),
        }
    }

    /// A URL with one more option behind `?`.
    ///
    /// # Errors
    /// If the URL has that option already; what is wrong, in words that follow its name.
    pub fn with_option(url: &str, name: &str, value: &str) -> Result<String, String> {
        let parsed = ParsedUrl::new(url, &mut Vec::new());
        if parsed.options.contains_key(name) {
            return Err("is in the URL of the target already: leave it in one place".into());
        }
        let option = url::form_urlencoded::Serializer::new(String::new()).append_pair(name, value).finish();
        let between = match url.split_once('?') {
            None => "?",
            Some((_, "")) => "",
            Some(_) => "&",
        };
        Ok(format!("{url}{between}{option}"))
    }

    /// Whether it stores anything at all.
    #[must_use]
    pub fn stores(&self) -> bool {
        !matches!(self.spec, Spec::Null(_))
    }

    /// Checks a URL and whether the target can talk in `mode`.
    ///
    /// # Errors
    /// Everything that is wrong, one line each, none with a password in it.
    pub fn parse(url: &str, mode: TxMode) -> Result<Self, Vec<String>> {
        let (scheme, _) = url.split_once(':').ok_or_else(|| {
            vec![format!(
                "target {url:?} is not a URL: write for example sqlite:PATH or postgres://HOST/DATABASE"
            )]
        })?;
        let Some(family) = families().iter().find(|family| family.schemes.contains(&scheme)) else {
            let known: Vec<&str> = families().iter().flat_map(|family| family.schemes).copied().collect();
            return Err(vec![format!(
                "target scheme {scheme:?} is not known: use one of {} (see lydite targets)",
                known.join(", ")
            )]);
        };
        let mut errors = Vec::new();
        let parsed = ParsedUrl::new(url, &mut errors);
        for name in parsed.options.keys() {
            if !family.options.iter().any(|option| option.name == name) {
                let known: Vec<&str> = family.options.iter().map(|option| option.name).collect();
                let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
                // What does not look like a name may be the rest of a password with a question mark in it.
                let named =
                    name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
                let name = if named { format!("{name:?}") } else { "behind the question mark".to_string() };
                errors.push(format!("target option {name} is not known: {scheme}: takes {known}"));
            }
        }
        if !family.modes.contains(&mode) {
            let modes: Vec<&str> = family.modes.iter().map(|mode| mode.name()).collect();
            errors.push(format!("--tx {mode} is not offered by {scheme}: use --tx {}", modes.join(" or ")));
        }
        // A driver's option of this name is its own.
        let waits = family.options.contains(&patience::TIMEOUT);
        let silence = match parsed.options.get(patience::TIMEOUT.name).filter(|_| waits) {
            None => patience::SILENCE,
            Some(text) => external::seconds(text).unwrap_or_else(|| {
                errors
                    .push(format!("target option timeout={text:?}: must be a time from 1s to 3600s, as 90s"));
                patience::SILENCE
            }),
        };
        match (family.parse)(&parsed, mode) {
            Ok(spec) if errors.is_empty() => Ok(Self { spec, silence, waiter: None }),
            Ok(_) => Err(errors),
            Err(more) => {
                errors.extend(more);
                Err(errors)
            }
        }
    }

    /// As [`TargetSpec::parse`], for the microbenchmark: options about TPC-C's tables are refused.
    ///
    /// # Errors
    /// As [`TargetSpec::parse`].
    pub fn parse_micro(url: &str) -> Result<Self, Vec<String>> {
        let mut errors = Vec::new();
        let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
        if let Some(family) = families().iter().find(|family| family.schemes.contains(&scheme)) {
            for name in ParsedUrl::new(url, &mut Vec::new()).options.keys() {
                if family.tpcc_options.contains(&name.as_str()) {
                    errors.push(format!(
                        "target option {name:?} is about TPC-C's tables: leave it out with --workload micro"
                    ));
                }
            }
        }
        match Self::parse(url, TxMode::Statements) {
            Ok(spec) if !spec.plays_micro() => {
                errors
                    .push(format!("{scheme}: does not play the microbenchmark: leave out --workload micro"));
                Err(errors)
            }
            Ok(spec) if errors.is_empty() => Ok(spec),
            Ok(_) => Err(errors),
            Err(more) => Err(errors.into_iter().chain(more).collect()),
        }
    }

    /// Refuses, without touching anything, what can't be a replica of `primary`; what is wrong, in words that follow its URL.
    ///
    /// # Errors
    /// See above.
    pub fn can_follow(&self, primary: &Self) -> Result<(), String> {
        match (&self.spec, &primary.spec) {
            (Spec::Postgres(own), Spec::Postgres(of)) => postgres::can_follow(own, of),
            (Spec::Mysql(own), Spec::Mysql(of)) => mysql::can_follow(own, of),
            (_, Spec::Postgres(_) | Spec::Mysql(_)) => {
                Err("is of another family than the target: a replica speaks the protocol of its primary"
                    .into())
            }
            _ => Err("is for a target that has replicas, a server of SQL: leave it out".into()),
        }
    }

    /// Whether it plays the microbenchmark.
    fn plays_micro(&self) -> bool {
        match &self.spec {
            Spec::External(_) | Spec::Redis(_) | Spec::Etcd(_) => false,
            Spec::Postgres(config) => config.product.heap,
            Spec::Null(_) | Spec::Gemel(_) | Spec::Sqlite(_) | Spec::Mysql(_) => true,
        }
    }

    /// How many engines the database spreads tables over.
    #[must_use]
    pub fn engines(&self) -> Engines {
        match &self.spec {
            Spec::Null(_) | Spec::Gemel(_) => Engines::Two,
            Spec::Sqlite(_)
            | Spec::Postgres(_)
            | Spec::Mysql(_)
            | Spec::External(_)
            | Spec::Redis(_)
            | Spec::Etcd(_) => Engines::One,
        }
    }

    /// True for a database that is made when it is opened and gone with it.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        self.home() == Home::Temporary
    }

    /// The file or the directory of a database that is built in, unless that is temporary.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self.home() {
            Home::Path(path) => Some(path),
            Home::Temporary | Home::Elsewhere => None,
        }
    }

    fn home(&self) -> Home<'_> {
        let path = match &self.spec {
            Spec::Gemel(parsed) => parsed.path(),
            Spec::Sqlite(config) => config.path(),
            Spec::Null(_)
            | Spec::Postgres(_)
            | Spec::Mysql(_)
            | Spec::External(_)
            | Spec::Redis(_)
            | Spec::Etcd(_) => return Home::Elsewhere,
        };
        path.map_or(Home::Temporary, Home::Path)
    }

    /// Whether what is loaded there is on one node, as far as the URL tells.
    #[must_use]
    pub fn loads_one_node(&self) -> bool {
        match &self.spec {
            Spec::Gemel(_) | Spec::Sqlite(_) | Spec::Redis(_) | Spec::Etcd(_) => true,
            Spec::Postgres(config) => config.product.placement.is_none() && config.shards.is_empty(),
            Spec::Mysql(config) => config.scheme == "mariadb" && config.shards.is_empty(),
            Spec::Null(_) | Spec::External(_) => false,
        }
    }

    /// True if the target has a server, which [`TargetSpec::waited_for_by`] is about.
    #[must_use]
    pub fn has_server(&self) -> bool {
        match &self.spec {
            Spec::Null(_) | Spec::Gemel(_) | Spec::Sqlite(_) | Spec::External(_) => false,
            Spec::Postgres(_) | Spec::Mysql(_) | Spec::Redis(_) | Spec::Etcd(_) => true,
        }
    }

    /// Gives the target a waiter: requests to its server have a limit, report what they wait for, and can be interrupted.
    /// Without a waiter a request lasts as long as the server takes.
    #[must_use]
    pub fn waited_for_by(self, waiter: Arc<dyn Waiter>) -> Self {
        Self { waiter: Some(waiter), ..self }
    }

    /// The waiter, if the target has a server. A database within this process is closed before the process ends, and a
    /// driver's requests have a timeout of their own.
    fn waiter(&self) -> Option<&Arc<dyn Waiter>> {
        self.waiter.as_ref().filter(|_| self.has_server())
    }

    fn patience(&self, waiter: &Arc<dyn Waiter>, tried: Arc<dyn Target>) -> Patience {
        let place = self.without_password("");
        Patience::new((place, self.silence), Arc::clone(waiter), move || tried.answers())
    }

    /// Its templates; none if it has no way to copy a database that is quicker than loading, or nothing to keep.
    #[must_use]
    pub fn templates(&self) -> Option<Templates> {
        match &self.spec {
            Spec::Gemel(parsed) => parsed.path().map(|path| Templates::of_gemel(path, parsed)),
            Spec::Sqlite(config) => config.path().map(Templates::of_sqlite),
            Spec::Postgres(config) if config.product.copies_databases && config.shards.is_empty() => {
                let patience =
                    |waiter| self.patience(waiter, Arc::new(postgres::Postgres::new((**config).clone())));
                Some(Templates::of_postgres((**config).clone(), self.waiter().map(patience)))
            }
            Spec::Null(_)
            | Spec::Postgres(_)
            | Spec::Mysql(_)
            | Spec::External(_)
            | Spec::Redis(_)
            | Spec::Etcd(_) => None,
        }
    }

    /// The target itself. Connects to nothing yet; `sqlite:` without a path makes its temporary directory.
    ///
    /// # Errors
    /// The temporary directory can't be made.
    pub fn open(&self) -> Result<Box<dyn Target>, TargetError> {
        Ok(self.open_micro()?)
    }

    /// The same, for the microbenchmark.
    ///
    /// # Errors
    /// As [`TargetSpec::open`].
    pub fn open_micro(&self) -> Result<Box<dyn MicroTarget>, TargetError> {
        let target = self.open_impatient()?;
        let Some(waiter) = self.waiter() else { return Ok(target) };
        let target: Arc<dyn MicroTarget> = Arc::from(target);
        let patience = self.patience(waiter, Arc::<dyn MicroTarget>::clone(&target));
        Ok(Box::new(Patient::new(target, patience)))
    }

    fn open_impatient(&self) -> Result<Box<dyn MicroTarget>, TargetError> {
        Ok(match &self.spec {
            Spec::Null(null) => Box::new(null.clone()),
            Spec::Gemel(parsed) => {
                let config = parsed.config().map_err(|error| {
                    TargetError::usage(format!("a temporary directory can't be made: {error}: set TMPDIR"))
                })?;
                Box::new(gemel::GemelTarget::new(config))
            }
            Spec::Sqlite(config) => Box::new(sqlite::Sqlite::new(config.clone())?),
            Spec::Postgres(config) => Box::new(postgres::Postgres::new((**config).clone())),
            Spec::Mysql(config) => Box::new(mysql::Mysql::new((**config).clone())),
            Spec::Redis(config) => Box::new(KvTarget::<redis::RedisStore>::new((**config).clone())),
            Spec::Etcd(config) => Box::new(KvTarget::<etcd::EtcdStore>::new((**config).clone())),
            Spec::External(config) => Box::new(external::External::new((**config).clone())),
        })
    }
}

/// A part of a path that looks like an option, and what stands before it.
fn option_in<'a>(path: &'a str, known: &[OptionSpec]) -> Option<(&'a str, &'a str)> {
    path.match_indices('=').find_map(|(equals, _)| {
        let in_name = |letter: char| letter.is_ascii_alphanumeric() || "_-.%".contains(letter);
        let name = path[..equals].rsplit(|letter| !in_name(letter)).next()?;
        let before = &path[..equals - name.len()];
        let between = before.chars().next_back();
        let separated = matches!(between, None | Some('&' | ';'));
        let looks = name.starts_with(|letter: char| letter.is_ascii_alphabetic()) && separated;
        (looks || known.iter().any(|option| option.name == name)).then(|| {
            (before.strip_suffix(|letter| !in_name(letter)).unwrap_or(before), &path[before.len()..])
        })
    })
}

fn decoded(path: &str) -> PathBuf {
    OsString::from_vec(percent_encoding::percent_decode_str(path).collect()).into()
}

/// A path as URLs have it: bytes that mean something else there are written as `%` and two hexadecimal digits.
pub(crate) fn encoded(path: &Path) -> String {
    let mut text = String::new();
    for part in path.as_os_str().as_bytes().utf8_chunks() {
        for letter in part.valid().chars() {
            match letter {
                '%' | '?' | '=' => text += &format!("%{:02X}", u32::from(letter)),
                other => text.push(other),
            }
        }
        part.invalid().iter().for_each(|byte| text += &format!("%{byte:02X}"));
    }
    text
}

/// A URL cut into its parts; the part between scheme and `?` is left to the family.
#[derive(Clone, Debug)]
pub(crate) struct ParsedUrl {
    /// The whole URL as given. May hold a password: never print it.
    pub(crate) whole: String,
    /// Between the scheme's colon and the question mark.
    pub(crate) rest: String,
    /// Options, decoded.
    pub(crate) options: BTreeMap<String, String>,
}

impl ParsedUrl {
    pub(crate) fn new(url: &str, errors: &mut Vec<String>) -> Self {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let rest = base.split_once(':').map_or("", |(_, rest)| rest).to_string();
        let mut options = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            if options.insert(name.to_string(), value.to_string()).is_some() {
                errors.push(format!("target option {name:?} is given twice"));
            }
        }
        Self { whole: url.to_string(), rest, options }
    }

    /// The path behind the scheme, none if it is left out. `%` and two hexadecimal digits stand for a byte.
    ///
    /// # Errors
    /// A part of it looks like an option, which belongs behind a question mark.
    pub(crate) fn path(&self, known: &[OptionSpec]) -> Result<Option<PathBuf>, String> {
        let rest = self.rest.strip_prefix("//").unwrap_or(&self.rest);
        if rest.is_empty() {
            return Ok(None);
        }
        if let Some((before, option)) = option_in(rest, known) {
            let scheme = self.whole.split_once(':').map_or("", |(scheme, _)| scheme);
            return Err(format!(
                "target {scheme}:{rest} has the option {option:?} in its path: write {scheme}:{before}?{option}, or \
                 {scheme}:{} for a file of that name",
                encoded(&decoded(rest))
            ));
        }
        Ok(Some(decoded(rest)))
    }

    /// The option `name` read as a whole number within `range`.
    pub(crate) fn number(
        &self,
        name: &str,
        range: RangeInclusive<u32>,
        errors: &mut Vec<String>,
    ) -> Option<u32> {
        let given = self.options.get(name)?;
        let number = given.parse().ok().filter(|number| range.contains(number));
        if number.is_none() {
            errors.push(format!(
                "target option {name}={given:?} must be a whole number from {} to {}",
                range.start(),
                range.end()
            ));
        }
        number
    }

    /// The option `name` read as one of `values`, or `values[0]`.
    pub(crate) fn choice(
        &self,
        name: &str,
        values: &[&'static str],
        errors: &mut Vec<String>,
    ) -> &'static str {
        let Some(given) = self.options.get(name) else { return values[0] };
        match values.iter().find(|value| *value == given) {
            Some(value) => value,
            None => {
                errors
                    .push(format!("target option {name}={given:?} is not known: use {}", values.join(", ")));
                values[0]
            }
        }
    }
}
