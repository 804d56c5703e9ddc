//! The settings of a connection that libpq has too: options of the URL, and environment variables where the URL leaves
//! them out.

use crate::net::tls_config::{Files, Named, Tls};
use crate::net::url::variable;
use crate::net::{CONNECT_TIMEOUT, SslMode};
use lydite_database::target_url::{OptionSpec, ParsedUrl};
use std::time::Duration;

pub(super) const SSLMODE: OptionSpec = OptionSpec {
    name: "sslmode",
    values: "prefer, disable, require, verify-ca, verify-full",
    default: "PGSSLMODE, else prefer",
    about: "TLS, as in libpq",
};
pub(super) const SSLROOTCERT: OptionSpec = OptionSpec {
    name: "sslrootcert",
    values: "a file (PEM), or system",
    default: "PGSSLROOTCERT, else the system's CAs",
    about: "CAs that may have signed the server's certificate; a file makes require check it as verify-ca does",
};
pub(super) const SSLCERT: OptionSpec = OptionSpec {
    name: "sslcert",
    values: "a file (PEM)",
    default: "PGSSLCERT, else none",
    about: "the client's certificate",
};
pub(super) const SSLKEY: OptionSpec = OptionSpec {
    name: "sslkey",
    values: "a file (PEM)",
    default: "PGSSLKEY, else none",
    about: "key of the client's certificate, without a passphrase",
};
pub(super) const CHANNEL_BINDING: OptionSpec = OptionSpec {
    name: "channel_binding",
    values: "prefer, disable, require",
    default: "PGCHANNELBINDING, else prefer",
    about: "whether the password's proof is tied to the server's certificate",
};
pub(super) const APPLICATION_NAME: OptionSpec = OptionSpec {
    name: "application_name",
    values: "a name",
    default: "PGAPPNAME, else lydite",
    about: "name of the sessions in the server's views and log",
};
pub(super) const CONNECT_TIMEOUT_S: OptionSpec = OptionSpec {
    name: "connect_timeout",
    values: "1 to 10",
    default: "PGCONNECT_TIMEOUT, else 10",
    about: "seconds that each step of a connection may take",
};
pub(super) const SERVER_OPTIONS: OptionSpec = OptionSpec {
    name: "options",
    values: "-c NAME=VALUE …",
    default: "PGOPTIONS, else none",
    about: "settings of the sessions, as the server's command line has them",
};

pub(super) const PASSFILE: OptionSpec = OptionSpec {
    name: "passfile",
    values: "a file",
    default: "PGPASSFILE, else ~/.pgpass",
    about: "file of passwords, for a URL without one",
};

/// Value of `sslrootcert` that stands for the system's CAs.
const SYSTEM: &str = "system";

/// Tie of a password's proof to the server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelBinding {
    Prefer,
    Disable,
    Require,
}

/// Settings of a connection.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) tls: Tls,
    pub(crate) channel_binding: ChannelBinding,
    pub(crate) application_name: String,
    pub(crate) connect_timeout: Duration,
    pub(crate) options: Option<String>,
}

/// Returns the value of an option, else of an environment variable, with the name to use in messages.
pub(super) fn setting(parsed: &ParsedUrl, option: &str, name: &str) -> Option<Named> {
    let given = parsed.options.get(option).map(|value| (format!("target option {option}"), value.clone()));
    given.or_else(|| variable(&[name]).map(|value| (name.to_owned(), value)))
}

/// Returns the place of a setting's value in a list of values, the first without a setting.
fn choice(given: Option<Named>, values: &[&str], errors: &mut Vec<String>) -> usize {
    let Some((place, text)) = given else { return 0 };
    values.iter().position(|value| *value == text).unwrap_or_else(|| {
        errors.push(format!("{place}={text:?} is not known: use {}", values.join(", ")));
        0
    })
}

impl Connection {
    /// Reads the settings from the URL and the environment.
    pub(super) fn read(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Self {
        let root = setting(parsed, "sslrootcert", "PGSSLROOTCERT");
        let mode = ssl_mode(setting(parsed, "sslmode", "PGSSLMODE"), root.as_ref(), errors);
        let root = root.filter(|(_, path)| path != SYSTEM);
        let checks = !matches!(mode, SslMode::Disable | SslMode::Prefer);
        if !checks && parsed.options.contains_key("sslrootcert") {
            errors.push("target option sslrootcert needs sslmode=verify-full or verify-ca: add one".into());
        }
        let files = Files {
            root: root.filter(|_| checks),
            certificate: setting(parsed, "sslcert", "PGSSLCERT"),
            key: setting(parsed, "sslkey", "PGSSLKEY"),
        };
        let bindings = ["prefer", "disable", "require"];
        let channel_binding = [ChannelBinding::Prefer, ChannelBinding::Disable, ChannelBinding::Require]
            [choice(setting(parsed, "channel_binding", "PGCHANNELBINDING"), &bindings, errors)];
        if channel_binding == ChannelBinding::Require && mode == SslMode::Disable {
            errors.push("target option channel_binding=require needs TLS: leave sslmode=disable out".into());
        }
        let application_name = setting(parsed, "application_name", "PGAPPNAME");
        Self {
            tls: Tls::read(mode, files, errors),
            channel_binding,
            application_name: application_name.map_or_else(|| "lydite".into(), |(_, name)| name),
            connect_timeout: connect_timeout(parsed, errors),
            options: setting(parsed, "options", "PGOPTIONS").map(|(_, options)| options),
        }
    }
}

/// Returns the mode of TLS. Anybody can get a certificate from a CA of the system, so with them libpq and Lydite check the
/// host.
fn ssl_mode(given: Option<Named>, root: Option<&Named>, errors: &mut Vec<String>) -> SslMode {
    const MODES: [(&str, SslMode); 5] = [
        ("prefer", SslMode::Prefer),
        ("disable", SslMode::Disable),
        ("require", SslMode::Require),
        ("verify-ca", SslMode::VerifyCa),
        ("verify-full", SslMode::VerifyFull),
    ];
    let system = root.filter(|(_, path)| path == SYSTEM);
    if given.is_none() && system.is_some() {
        return SslMode::VerifyFull;
    }
    let (_, mode) = MODES[choice(given, &MODES.map(|(name, _)| name), errors)];
    if let Some((place, _)) = system
        && matches!(mode, SslMode::Require | SslMode::VerifyCa)
    {
        errors
            .push(format!("{place}=system needs sslmode=verify-full, which checks the host too: write that"));
    }
    mode
}

fn connect_timeout(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Duration {
    let Some((place, text)) = setting(parsed, "connect_timeout", "PGCONNECT_TIMEOUT") else {
        return CONNECT_TIMEOUT;
    };
    let longest = CONNECT_TIMEOUT.as_secs();
    let seconds = text.parse().ok().filter(|seconds| (1..=longest).contains(seconds));
    if seconds.is_none() {
        errors.push(format!("{place}={text:?} must be a whole number of seconds from 1 to {longest}"));
    }
    seconds.map_or(CONNECT_TIMEOUT, Duration::from_secs)
}
