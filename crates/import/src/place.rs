//! The place of a database, from the parts that other programs have, to a URL without a password.

use crate::product::{Product, Protocol};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeMap;

/// Characters that are written as `%` and two hexadecimal digits in a part of a URL.
const SPECIAL: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*');
/// The same in an option, where paths are readable.
const IN_OPTION: AsciiSet = SPECIAL.remove(b'/').remove(b',').remove(b':');
/// Longest part of a URL.
const LONGEST: usize = 250;

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) port: Option<u16>,
}

impl Host {
    /// Reads a name or an address.
    pub(crate) fn named(text: &str) -> Option<Self> {
        let text = text.trim();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
        let is_name = !text.is_empty() && text.len() <= LONGEST && text.chars().all(plain);
        let address = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        let is_v6 = address.parse::<std::net::Ipv6Addr>().is_ok();
        let name = if is_v6 { format!("[{address}]") } else { text.to_owned() };
        (is_name || is_v6).then_some(Self { name, port: None })
    }

    /// Reads `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(host) = Self::named(text) {
            return Some(host);
        }
        let (name, port) = text.rsplit_once(':')?;
        Some(Self { port: Some(port.parse().ok().filter(|port| *port > 0)?), ..Self::named(name)? })
    }
}

/// The place of a database. It has no field for a password.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// The database; none if the file does not name one that Lydite drives.
    pub(crate) product: Option<&'static Product>,
    /// The name of a database that Lydite does not drive.
    pub(crate) undriven: Option<&'static str>,
    pub(crate) hosts: Vec<Host>,
    /// Port of the hosts without one.
    pub(crate) port: Option<u16>,
    pub(crate) user: Option<String>,
    pub(crate) database: Option<String>,
    /// File of an embedded database.
    pub(crate) file: Option<String>,
    /// Options of the URL.
    pub(crate) options: BTreeMap<String, String>,
}

impl Place {
    /// Returns the protocol of the database; none if the file does not name one that Lydite drives.
    pub(crate) fn protocol(&self) -> Option<Protocol> {
        self.product.map(|product| product.protocol)
    }

    /// Returns the scheme of the URL; none if the file does not name a database that Lydite drives.
    pub(crate) fn scheme(&self) -> Option<&'static str> {
        self.product.map(|product| product.scheme)
    }

    /// Sets the hosts from names with or without ports, and commas between them; false if one is no host.
    pub(crate) fn set_hosts(&mut self, text: &str) -> bool {
        let hosts: Option<Vec<Host>> = text.split(',').map(Host::parse).collect();
        match hosts {
            Some(hosts) => {
                self.hosts = hosts;
                true
            }
            None => false,
        }
    }

    /// Returns the URL; none if the file does not say enough for one.
    pub(crate) fn url(&self) -> Option<String> {
        self.written(&self.hosts)
    }

    /// Returns the URL with `HOST` as its host; none if the file does not name a database that Lydite drives.
    pub(crate) fn url_of_unknown_host(&self) -> Option<String> {
        self.written(&[Host { name: "HOST".to_owned(), port: None }])
    }

    fn written(&self, hosts: &[Host]) -> Option<String> {
        let product = self.product?;
        let encoded = |text: &str| utf8_percent_encode(text, &SPECIAL).to_string();
        let mut url = match product.protocol {
            Protocol::File => format!("{}:{}", product.scheme, self.file.as_ref()?),
            _ => {
                let is_socket = ["socket", "host"].iter().any(|option| self.options.contains_key(*option));
                if hosts.is_empty() && !is_socket {
                    return None;
                }
                let user = self.user.as_deref().filter(|user| !user.is_empty());
                let user = user.map(|user| format!("{}@", encoded(user))).unwrap_or_default();
                let host = |host: &Host| match host.port.or(self.port) {
                    Some(port) => format!("{}:{port}", host.name),
                    None => host.name.clone(),
                };
                let hosts = hosts.iter().map(host).collect::<Vec<_>>().join(",");
                let database = self.database.as_deref().map(encoded).unwrap_or_default();
                format!("{}://{user}{hosts}/{database}", product.scheme)
            }
        };
        let options = self
            .options
            .iter()
            .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, &IN_OPTION)))
            .collect::<Vec<_>>();
        if !options.is_empty() {
            url += "?";
            url += &options.join("&");
        }
        Some(url)
    }
}

/// Returns a name of a user, a database or a schema; none for one that is too long, or has letters that no name has.
pub(crate) fn name(text: &str) -> Option<String> {
    let text = text.trim();
    let good = !text.is_empty()
        && text.len() <= LONGEST
        && !text.contains(|letter: char| letter.is_control() || "/?;&=\"'".contains(letter));
    good.then(|| text.to_owned())
}

/// Returns the path of a file; none for one that a URL can't have.
pub(crate) fn path(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()
        && text.len() <= 4_096
        && !text.contains(|letter: char| letter.is_control() || "?%#".contains(letter)))
    .then(|| text.to_owned())
}

/// Returns the name of a database, as [`name`] does. A login that stands in the wrong place has an `@` or a colon.
pub(crate) fn database(text: &str) -> Option<String> {
    name(text).filter(|text| !text.contains(['@', ':']))
}
