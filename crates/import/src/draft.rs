//! A plan while the settings of a file go into it.

use crate::decimal::{self, Milli};
use crate::fate::Fate;
use crate::given::Given;
use crate::place::{self, Place};
use crate::product::{self, Product};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Display;

/// The most warehouses.
pub(crate) const MOST_WAREHOUSES: u64 = 1_000_000;
/// The most sessions or users.
pub(crate) const MOST_TERMINALS: u64 = 10_000_000;
/// The greatest number of any setting.
pub(crate) const MOST: u64 = u32::MAX as u64;
/// The longest time, in milliseconds: 100 days.
const LONGEST_MS: u64 = 100 * 24 * 3_600_000;
/// The greatest rate, in transactions per second.
const MOST_RATE: f64 = 1e7;

/// A value of the plan, and the setting that it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    pub(crate) origin: String,
}

/// A plan while the settings of a file go into it. A password never does.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// The database.
    pub(crate) place: Place,
    /// Keys of the plan.
    pub(crate) keys: BTreeMap<&'static str, Entry>,
    /// Tables `[[phase]]`.
    pub(crate) phases: Vec<BTreeMap<&'static str, Value>>,
    /// Values that only mean something together, by name and group.
    kept: BTreeMap<(&'static str, usize), String>,
    /// Fates that differ from what the row said, since they depend on several settings.
    pub(crate) amended: BTreeMap<(String, usize), Fate>,
    /// Fates of parts of the setting that is being read.
    pub(crate) parts: Vec<(String, Fate)>,
    /// Sentences for the user.
    pub(crate) notes: Vec<String>,
    /// Name of the setting that is being read, with a remark if it is a default of the program.
    pub(crate) origin: String,
}

impl Draft {
    /// Sets a key of the plan.
    pub(crate) fn set(&mut self, key: &'static str, value: impl Into<Value>) -> Fate {
        let value = value.into();
        let fate = Fate::translated(format!("{key} = {value}"));
        self.keys.insert(key, Entry { value, origin: self.origin.clone() });
        fate
    }

    /// Sets a key that follows from several settings, which `origin` names.
    pub(crate) fn derive(&mut self, key: &'static str, value: impl Into<Value>, origin: impl Into<String>) {
        self.keys.insert(key, Entry { value: value.into(), origin: origin.into() });
    }

    /// Returns a whole number of the plan.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.keys.get(key).and_then(|entry| entry.value.as_u64())
    }

    /// Keeps a value for [`Tool::finish`](crate::table::Tool).
    pub(crate) fn keep(&mut self, name: &'static str, group: usize, value: impl Display) {
        self.kept.insert((name, group), value.to_string());
    }

    /// Returns a value that was kept.
    pub(crate) fn kept(&self, name: &'static str, group: usize) -> Option<&str> {
        self.kept.get(&(name, group)).map(String::as_str)
    }

    /// Returns a kept number.
    pub(crate) fn kept_number(&self, name: &'static str, group: usize) -> Option<u64> {
        self.kept(name, group)?.parse().ok()
    }

    /// Returns the groups that have a kept value of this name, in order.
    pub(crate) fn groups(&self, name: &'static str) -> Vec<usize> {
        self.kept.keys().filter(|(kept, _)| *kept == name).map(|(_, group)| *group).collect()
    }

    /// Replaces the fate of a setting.
    pub(crate) fn amend(&mut self, setting: &str, group: usize, fate: Fate) {
        self.amended.insert((setting.to_owned(), group), fate);
    }

    /// Adds a sentence for the user.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Reads a whole number from `low` to `high`.
    pub(crate) fn whole(given: &Given, low: u64, high: u64) -> Result<u64, Fate> {
        match given.text().parse::<u64>() {
            Ok(number) if (low..=high).contains(&number) => Ok(number),
            _ => Err(Fate::unknown(format!("must be a whole number from {low} to {high}"))),
        }
    }

    /// Sets a key to a whole number.
    pub(crate) fn count(&mut self, key: &'static str, given: &Given, low: u64, high: u64) -> Fate {
        match Self::whole(given, low, high) {
            Ok(number) => self.set(key, number),
            Err(fate) => fate,
        }
    }

    /// Keeps a whole number for later.
    pub(crate) fn keep_count(
        &mut self,
        name: &'static str,
        given: &Given,
        (low, high): (u64, u64),
        becomes: &str,
    ) -> Fate {
        match Self::whole(given, low, high) {
            Ok(number) => {
                self.keep(name, given.group, number);
                Fate::translated(becomes)
            }
            Err(fate) => fate,
        }
    }

    /// Keeps a switch for later. It becomes the first text for true, and the other one for false.
    pub(crate) fn keep_switch(&mut self, name: &'static str, given: &Given, [yes, no]: [&str; 2]) -> Fate {
        given.switched(|on| {
            self.keep(name, 0, on);
            Fate::translated(if on { yes } else { no })
        })
    }

    /// Reads a time in units of `unit_ms`.
    pub(crate) fn read_time(given: &Given, unit_ms: u64) -> Result<u64, Fate> {
        let most = (LONGEST_MS / unit_ms) as f64;
        Milli::parse(given.text(), most)
            .and_then(|time| time.0.checked_mul(unit_ms))
            .map(|thousandths| thousandths / 1_000)
            .ok_or_else(|| Fate::unknown("must be a number, of at most 100 days"))
    }

    /// Sets a key to a time in units of `unit_ms`.
    pub(crate) fn time(&mut self, key: &'static str, given: &Given, unit_ms: u64) -> Fate {
        match Self::read_time(given, unit_ms) {
            Ok(ms) => self.set(key, decimal::time(ms)),
            Err(fate) => fate,
        }
    }

    /// Reads a rate in transactions per second.
    pub(crate) fn rate(given: &Given) -> Result<Milli, Fate> {
        Milli::parse(given.text(), MOST_RATE)
            .ok_or_else(|| Fate::unknown("must be a number of transactions per second, at most 10000000"))
    }

    /// Sets an option of the URL.
    pub(crate) fn option(&mut self, name: &'static str, value: impl Into<String>) -> Fate {
        let value = value.into();
        let fate = Fate::translated(format!("the URL's {name}={value}"));
        self.place.options.insert(name.to_owned(), value);
        fate
    }

    /// Sets an option of the URL to `on` or `off`.
    pub(crate) fn on_off(&mut self, name: &'static str, given: &Given) -> Fate {
        given.switched(|on| self.option(name, if on { "on" } else { "off" }))
    }

    /// Sets the number of partitions of a table.
    pub(crate) fn partitions(&mut self, given: &Given, most: u64) -> Fate {
        match Self::whole(given, 1, most) {
            Ok(1) => Fate::dropped("one part is none"),
            Ok(parts) => self.option("partitions", parts.to_string()),
            Err(fate) => fate,
        }
    }

    /// Sets a key to the first value for true, and to the other one for false.
    pub(crate) fn either(&mut self, key: &'static str, given: &Given, [yes, no]: [&str; 2]) -> Fate {
        given.switched(|on| self.set(key, if on { yes } else { no }))
    }

    /// Sets the database by its name.
    pub(crate) fn product(&mut self, given: &Given) -> Fate {
        let text = given.text();
        if let Some(product) = Product::named(text) {
            self.place.product = Some(product);
            self.place.undriven = None;
            return Fate::translated(format!("the URL's scheme {}", product.scheme));
        }
        match product::other(text) {
            Some(other) => {
                self.place.product = None;
                self.place.undriven = Some(other);
                Fate::none(undriven(other))
            }
            None => Fate::unknown("is a database that Lydite does not know: write the URL yourself"),
        }
    }

    /// Sets the hosts.
    pub(crate) fn hosts(&mut self, given: &Given) -> Fate {
        if self.place.set_hosts(given.text()) {
            Fate::translated("the URL's host")
        } else {
            Fate::unknown("must be names or addresses of hosts: write the URL yourself")
        }
    }

    /// Sets the port.
    pub(crate) fn port(&mut self, given: &Given) -> Fate {
        match given.text().parse::<u16>() {
            Ok(port) if port > 0 => {
                self.place.port = Some(port);
                Fate::translated("the URL's port")
            }
            _ => Fate::unknown("must be a port from 1 to 65535"),
        }
    }

    /// Sets the user.
    pub(crate) fn user(&mut self, given: &Given) -> Fate {
        match place::name(given.text()) {
            Some(user) => {
                self.set_user(user);
                Fate::translated("the URL's user")
            }
            None if given.text().is_empty() => Fate::dropped("is empty"),
            None => Fate::unknown("is no name of a user: write the URL yourself"),
        }
    }

    /// Sets the user, and notes if another one was named before.
    pub(crate) fn set_user(&mut self, user: String) {
        if self.place.user.as_ref().is_some_and(|before| *before != user) {
            self.note(
                "two users are named, one in the connection's URL and one in a setting, and drivers differ in which \
                 one they take: check the user of `target`",
            );
        }
        self.place.user = Some(user);
    }

    /// Sets the database's name on its server.
    pub(crate) fn database(&mut self, given: &Given) -> Fate {
        match place::database(given.text()) {
            Some(database) => {
                self.place.database = Some(database);
                Fate::translated("the URL's database")
            }
            None if given.text().is_empty() => Fate::dropped("is empty"),
            None => Fate::unknown("is no name of a database: write the URL yourself"),
        }
    }

    /// Sets the isolation level by its name in URLs; none for the server's own.
    pub(crate) fn isolation(&mut self, level: Option<&'static str>) -> Fate {
        let Some(level) = level else {
            return Fate::dropped("is the server's own level: `isolation` in the URL sets one");
        };
        let Some(product) = self.place.product else {
            return Fate::none("there is no URL that could set it");
        };
        match product.level(level) {
            Some(level) if product.has_levels() => self.option("isolation", level),
            Some(_) => Fate::translated(format!("every transaction is {level} there")),
            None => Fate::none(format!("{}: has {} alone", product.scheme, product.levels.join(" and "))),
        }
    }

    /// Lets the run be in open mode at a rate.
    pub(crate) fn open(&mut self, rate: Milli, arrival: &'static str, origin: &str) {
        self.derive("mode", "open", origin);
        self.derive("rate", json_number(rate), origin);
        self.derive("arrival", arrival, origin);
    }
}

/// Returns the advice for a database that Lydite does not drive.
pub(crate) fn undriven(name: &str) -> String {
    format!("Lydite has no driver for {name}: `lydite driver new` makes one of your own")
}

/// Returns a number as JSON and TOML have it.
pub(crate) fn json_number(number: Milli) -> Value {
    if number.0.is_multiple_of(1_000) { json!(number.0 / 1_000) } else { json!(number.0 as f64 / 1e3) }
}
