//! The table of families, and the choice of a family by URL.

use crate::duration::timeout;
use crate::family::{Configured, Family, Home, Scheme};
use crate::grants::{GrantRequest, Grants};
use crate::net::url::has_password;
use crate::own_schema::{OwnSchema, Script, ScriptError, ScriptKind};
use crate::pasted::{self, Families};
use crate::schemes;
use crate::templates::Templates;
use crate::{etcd, external, gemel, mysql, null, postgres, redis, sqlite};
use lydite_database::code::Code;
use lydite_database::patience::{self, Patience, Patient};
use lydite_database::secret;
use lydite_database::target_url::{ParsedUrl, with_lower_scheme};
use lydite_database::{Target, TargetError, TxMode, Waiter};
use lydite_micro::Engines;
use parking_lot::Mutex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Characters that are written as `%` and two hexadecimal digits in an option.
const SPECIAL: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*');

/// All families, in display order.
static FAMILIES: [&Family; 12] = [
    &gemel::FAMILY,
    &gemel::SERVER_FAMILY,
    &sqlite::FAMILY,
    &postgres::POSTGRES_FAMILY,
    &postgres::COCKROACH_FAMILY,
    &postgres::YUGABYTE_FAMILY,
    &postgres::CITUS_FAMILY,
    &mysql::FAMILY,
    &redis::FAMILY,
    &etcd::FAMILY,
    &external::FAMILY,
    &null::FAMILY,
];

/// All families, with the connection strings of other programs that they take.
pub(crate) static PASTED: Families =
    Families { families: &FAMILIES, dialects: &[postgres::DIALECTS, mysql::DIALECTS, sqlite::DIALECTS] };

/// URLs of this process as messages show them, if the password was left out.
static WITHOUT_PASSWORD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// True if a text has a URL of a target of this process without the password that it was given with.
#[must_use]
pub fn leaves_out_password(text: &str) -> bool {
    WITHOUT_PASSWORD.lock().iter().any(|url| text.contains(url.as_str()))
}

/// Returns all families, in display order.
#[must_use]
pub fn families() -> &'static [&'static Family] {
    &FAMILIES
}

/// Returns the family that a scheme chooses.
#[must_use]
pub fn family_of(scheme: &str) -> Option<&'static Family> {
    families().iter().copied().find(|family| family.schemes.iter().any(|known| known.name == scheme))
}

/// Returns the port of servers whose URL of this scheme has none; `None` if there is no usual one.
#[must_use]
pub fn default_port(scheme: &str) -> Option<u16> {
    family_of(scheme)?.schemes.iter().find(|known| known.name == scheme)?.port
}

/// A valid target URL. Nothing has been touched yet.
#[derive(Clone, Debug)]
pub struct TargetSpec {
    config: Arc<dyn Configured>,
    /// Longest silence of the server that is accepted outside of the measured window.
    silence: Duration,
    waiter: Option<Arc<dyn Waiter>>,
    /// Files of the user's statements.
    scripts: Arc<OwnSchema>,
    /// Reading of a connection string that is no URL of Lydite's.
    reading: Arc<Reading>,
}

/// The reading of the text that a target was made from.
#[derive(Default)]
struct Reading {
    /// The URL without the password; `None` if the text was it.
    url: Option<String>,
    /// What was left out or changed.
    notes: Vec<String>,
    /// Number of the text, to find it among other texts, if a password is in it.
    text: Option<u64>,
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("url", &self.url).finish_non_exhaustive()
    }
}

impl TargetSpec {
    /// Returns the URL that the target was made from without a password, for files and messages.
    #[must_use]
    pub fn without_password(&self, url: &str) -> String {
        let shown = self.config.shown_url().or(self.reading.url.as_deref());
        shown.map_or_else(|| with_lower_scheme(url), str::to_owned)
    }

    /// Returns the URL, without its password, that a connection string of another program means; `None` if the target
    /// was made from a URL of Lydite's.
    #[must_use]
    pub fn understood(&self) -> Option<&str> {
        self.reading.url.as_deref()
    }

    /// Returns what was left out of a connection string or of the environment, and why: a line for each reason.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.reading.notes
    }

    /// True if the target was made from this text, and it has a password.
    #[must_use]
    pub fn is_secret_of(&self, text: &str) -> bool {
        self.reading.text == Some(number_of(text))
    }

    /// Returns the URL, with its password, that a connection string of another program means, or the text if it means none.
    #[must_use]
    pub fn url_of(text: &str) -> String {
        url_of(text).into_owned()
    }

    /// True if a part of a list of targets begins one: with a scheme, or as a connection string of another program does.
    #[must_use]
    pub fn begins(part: &str) -> bool {
        part.contains("://") || pasted::begins(part, PASTED)
    }

    /// Returns a URL with one more option after `?`.
    ///
    /// # Errors
    /// The URL has that option already. The text follows the option's name.
    pub fn with_option(url: &str, name: &str, value: &str) -> Result<String, String> {
        let url = url_of(url);
        let parsed = ParsedUrl::new(&url, &mut Vec::new());
        if parsed.options.contains_key(name) {
            return Err("is in the URL of the target already: leave it in one place".into());
        }
        let encoded = |text| utf8_percent_encode(text, &SPECIAL);
        let option = format!("{}={}", encoded(name), encoded(value));
        let between = match url.split_once('?') {
            None => "?",
            Some((_, "")) => "",
            Some(_) => "&",
        };
        Ok(format!("{url}{between}{option}"))
    }

    /// True if the database stores any data.
    #[must_use]
    pub fn stores(&self) -> bool {
        self.config.stores()
    }

    /// Returns a number that identifies a driver: its command, and the contents of the files that the command names.
    /// `None` for targets that are a part of Lydite.
    #[must_use]
    pub fn fingerprint(&self) -> Option<u64> {
        self.config.fingerprint()
    }

    /// Parses a URL, or a connection string of another program, and checks that the target supports `mode`.
    ///
    /// # Errors
    /// All errors in the URL, one line each, without the password.
    pub fn parse(text: &str, mode: TxMode) -> Result<Self, Vec<String>> {
        let pasted = pasted::read(text, PASTED)?;
        let spec = Self::parse_url(&pasted.url, mode)?;
        let url = pasted.is_other().then(|| spec.without_password(&pasted.url));
        let in_text = spec.config.has_server() && pasted.has_password;
        let text = in_text.then(|| number_of(text));
        Ok(Self { reading: Arc::new(Reading { url, notes: pasted.notes, text }), ..spec })
    }

    /// Parses a URL of Lydite's.
    fn parse_url(url: &str, mode: TxMode) -> Result<Self, Vec<String>> {
        let lower = with_lower_scheme(url.trim_start());
        if let Some(family) = schemes::of(&lower).and_then(family_of)
            && let Some(problem) = schemes::blank(url, family.schemes == external::FAMILY.schemes)
        {
            return Err(vec![problem]);
        }
        let lower = with_lower_scheme(url);
        let url = lower.as_str();
        let scheme = schemes::of(url).ok_or_else(|| vec![schemes::not_a_url(url)])?;
        let Some(family) = family_of(scheme) else {
            let known: Vec<Scheme> = families().iter().flat_map(|family| family.schemes).copied().collect();
            return Err(vec![schemes::not_known(url, scheme, &known)]);
        };
        // A special character in a password moves its rest into any other part, so every error may repeat it.
        Self::read(url, scheme, family, mode)
            .map_err(|errors| errors.iter().map(|error| masked(error, url, family)).collect())
    }

    /// Parses a URL of a family. The errors may repeat parts of the password.
    fn read(url: &str, scheme: &str, family: &Family, mode: TxMode) -> Result<Self, Vec<String>> {
        let mut errors = Vec::new();
        let parsed = ParsedUrl::new(url, &mut errors);
        for name in parsed.options.keys() {
            if !family.options.iter().any(|option| option.name == name) {
                let known: Vec<&str> = family.options.iter().map(|option| option.name).collect();
                let near = known.iter().map(|known| (strsim::damerau_levenshtein(known, name), *known));
                let near = near.min().filter(|(letters, _)| *letters <= 2).map(|(_, known)| known);
                let meant = near.map_or_else(String::new, |near| format!(" did you mean {near}?"));
                let known = match known.as_slice() {
                    [] => format!("{scheme}: takes none"),
                    few if few.len() <= FEW_OPTIONS => format!("{scheme}: takes {}", few.join(", ")),
                    _ => "all are listed by 'lydite targets'".into(),
                };
                // Text that is not a name may be the rest of a password that contains a question mark.
                let named =
                    name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
                let name = if named { format!("{name:?}") } else { "after the question mark".to_string() };
                errors.push(format!("target option {name} is not known:{meant} {known}"));
            }
        }
        if !family.modes.contains(&mode) {
            let modes: Vec<&str> = family.modes.iter().map(|mode| mode.name()).collect();
            errors.push(format!("--tx {mode} is not offered by {scheme}: use --tx {}", modes.join(" or ")));
        }
        // A driver may have its own option of this name.
        let waits = family.options.contains(&patience::TIMEOUT);
        let silence = match parsed.options.get(patience::TIMEOUT.name).filter(|_| waits) {
            None => patience::SILENCE,
            Some(text) => timeout(text).unwrap_or_else(|problem| {
                errors.push(problem);
                patience::SILENCE
            }),
        };
        match (family.parse)(&parsed, mode) {
            Ok(config) if errors.is_empty() => {
                if let Some(shown) = config.shown_url().filter(|_| config.has_server() && has_password(url)) {
                    WITHOUT_PASSWORD.lock().insert(shown.to_owned());
                }
                let (scripts, reading) = (Arc::default(), Arc::default());
                Ok(Self { config, silence, waiter: None, scripts, reading })
            }
            Ok(_) => Err(errors),
            Err(more) => {
                errors.extend(more);
                Err(errors)
            }
        }
    }

    /// Parses a URL as [`TargetSpec::parse`] does, for the microbenchmark: options about TPC-C's tables are rejected.
    ///
    /// # Errors
    /// See [`TargetSpec::parse`].
    pub fn parse_micro(text: &str) -> Result<Self, Vec<String>> {
        let mut errors = Vec::new();
        let url = url_of(text);
        let lower = with_lower_scheme(&url);
        let scheme = lower.split_once(':').map_or(&*url, |(scheme, _)| scheme);
        if let Some(family) = family_of(scheme) {
            for name in ParsedUrl::new(&url, &mut Vec::new()).options.keys() {
                if family.tpcc_options.contains(&name.as_str()) {
                    errors.push(format!(
                        "target option {name:?} is about TPC-C's tables: leave it out with --workload micro"
                    ));
                }
            }
        }
        match Self::parse(text, TxMode::Statements) {
            Ok(spec) if !spec.config.plays_micro() => {
                errors
                    .push(format!("{scheme}: does not play the microbenchmark: leave out --workload micro"));
                Err(errors)
            }
            Ok(spec) if errors.is_empty() => Ok(spec),
            Ok(_) => Err(errors),
            Err(more) => Err(errors.into_iter().chain(more).collect()),
        }
    }

    /// Checks, without touching anything, that this target can be a replica of `primary`.
    ///
    /// # Errors
    /// It can't. The text follows the replica's URL.
    pub fn can_follow(&self, primary: &Self) -> Result<(), String> {
        if !primary.config.may_lead() {
            return Err("needs a target that has replicas, such as an SQL server: leave it out".into());
        }
        self.config.can_follow(&*primary.config)
    }

    /// Returns the engines that the database spreads tables over.
    #[must_use]
    pub fn engines(&self) -> Engines {
        self.config.engines()
    }

    /// True for a database that is made when it is opened and deleted when it is closed.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        self.config.home() == Home::Temporary
    }

    /// Returns the file or directory of an embedded database. `None` for a temporary database or one on a server.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self.config.home() {
            Home::Path(path) => Some(path),
            Home::Temporary | Home::Elsewhere => None,
        }
    }

    /// True if all loaded data is on one node, as far as the URL says.
    #[must_use]
    pub fn loads_one_node(&self) -> bool {
        self.config.loads_one_node()
    }

    /// Returns the number of servers that sessions are spread over.
    #[must_use]
    pub fn endpoints(&self) -> usize {
        self.config.endpoints()
    }

    /// True if a session has one connection for many transactions.
    #[must_use]
    pub fn keeps_connections(&self) -> bool {
        self.config.keeps_connections()
    }

    /// Returns the same database on one server alone, if the URL names one of this port, and each server has all rows.
    #[must_use]
    pub fn on_port(&self, port: u16) -> Option<Self> {
        Some(Self { config: self.config.on_port(port)?, ..self.clone() })
    }

    /// True if the target has a server. See [`TargetSpec::waited_for_by`].
    #[must_use]
    pub fn has_server(&self) -> bool {
        self.config.has_server()
    }

    /// Gives the target a waiter. Requests to its server then have a limit, report what they wait for, and can be
    /// interrupted. Without a waiter a request lasts as long as the server takes.
    #[must_use]
    pub fn waited_for_by(self, waiter: Arc<dyn Waiter>) -> Self {
        Self { waiter: Some(waiter), ..self }
    }

    /// Returns the waiter if the target has a server. It is not needed elsewhere: a database within this process is
    /// closed before the process ends, and a driver's requests have a timeout of their own.
    fn waiter(&self) -> Option<&Arc<dyn Waiter>> {
        self.waiter.as_ref().filter(|_| self.has_server())
    }

    fn patience(&self, waiter: &Arc<dyn Waiter>, tried: Arc<dyn Target>) -> Patience {
        let place = self.without_password("");
        Patience::new((place, self.silence), Arc::clone(waiter), move || tried.capabilities().answers())
    }

    /// Reads a file of statements for this database.
    ///
    /// # Errors
    /// The database takes none, or the file can't be read, or it has statements that it may not have: all of them.
    pub fn read_script(&self, path: &str, kind: ScriptKind) -> Result<Script, ScriptError> {
        match self.config.script_form() {
            Some(form) => Script::read(path, kind, &form),
            None => Err(ScriptError::Wrong(vec![
                "is of SQL statements, which this database does not take: leave it out, or name PostgreSQL, MySQL, \
                 MariaDB, SQLite or one alike"
                    .into(),
            ])),
        }
    }

    /// Gives the target files of statements. `url` is the one that it was made from.
    ///
    /// # Errors
    /// An option of the URL shapes tables that a file makes.
    pub fn with_scripts(self, url: &str, scripts: OwnSchema) -> Result<Self, ScriptError> {
        let Some(form) = self.config.script_form() else { return Ok(self) };
        let parsed = ParsedUrl::new(&url_of(url), &mut Vec::new());
        if scripts.schema.is_some()
            && let Some(name) = parsed.options.keys().find(|name| (form.shapes)(name))
        {
            return Err(ScriptError::Wrong(vec![format!(
                "makes the tables, and the target option {name} shapes Lydite's own: leave one of them out"
            )]));
        }
        let scripts = Arc::new(scripts);
        let config = self.config.with_scripts(&scripts).unwrap_or_else(|| Arc::clone(&self.config));
        Ok(Self { config, scripts, ..self })
    }

    /// Returns the files of the user's statements.
    #[must_use]
    pub fn scripts(&self) -> &OwnSchema {
        &self.scripts
    }

    /// Returns the templates of the database. `None` if it has no way to copy a database that is quicker than loading,
    /// or if it stores no data.
    #[must_use]
    pub fn templates(&self) -> Option<Templates> {
        self.config.templates(&|tried| self.waiter().map(|waiter| self.patience(waiter, tried)))
    }

    /// Returns the SQL that lets an account work with the database. Connects to nothing.
    ///
    /// # Errors
    /// The database has no accounts in SQL, or the account can't be one.
    pub fn grants(&self, asked: &GrantRequest<'_>) -> Result<Grants, TargetError> {
        self.config.grants(asked)
    }

    /// Returns the code of tables and transactions that a server of this version gets. `None` if the code is not
    /// Lydite's, as that of a driver, or if there is none.
    #[must_use]
    pub fn code(&self, version: &str) -> Option<Code> {
        self.config.code(version)
    }

    /// Makes the target. Connects to nothing yet; a temporary database gets its directory.
    ///
    /// # Errors
    /// The temporary directory can't be made, or the program of a driver is not found.
    pub fn open(&self) -> Result<Arc<dyn Target>, TargetError> {
        let target = self.config.open()?;
        let Some(waiter) = self.waiter() else { return Ok(target) };
        let patience = self.patience(waiter, Arc::clone(&target));
        Ok(Arc::new(Patient::new(target, patience)))
    }
}

/// Most options that an error lists.
const FEW_OPTIONS: usize = 6;

/// Returns the URL that a text means, or the text if it means none.
fn url_of(text: &str) -> Cow<'_, str> {
    pasted::read(text, PASTED).map_or(Cow::Borrowed(text), |pasted| pasted.url)
}

/// Returns a number that a text has alone.
fn number_of(text: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(text.as_bytes())
}

/// Returns an error about a URL without what may be a secret. The name of an option at its beginning is none, even if a
/// part of the URL that may be a password has the same text.
fn masked(error: &str, url: &str, family: &Family) -> String {
    let name_of = |text: &str| text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let own = ["target option ", "target options "].iter().find_map(|begin| {
        let rest = error.strip_prefix(begin)?;
        let name = &rest[..name_of(rest).unwrap_or(rest.len())];
        family.options.iter().any(|option| option.name == name).then_some(begin.len() + name.len())
    });
    let (own, rest) = error.split_at(own.unwrap_or_default());
    format!("{own}{}", secret::mask(rest, url))
}

/// Returns the programs and drivers whose connection strings mean a database of a family.
#[must_use]
pub fn strings_of(family: &Family) -> Vec<&'static str> {
    pasted::names_of(family, PASTED)
}

/// Returns the tables of the parameters of connection strings, for the book.
#[must_use]
pub fn parameters_page() -> String {
    pasted::page(PASTED)
}
