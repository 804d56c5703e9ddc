//! A side of the experiment: its plan, the settings of its server, and the command before its runs.

use lydite_console::exit::Failure;
use lydite_database::secret;
use lydite_decide::Side;
use lydite_families::TargetSpec;
use lydite_lab::{LabTarget, Trial};
use lydite_plan::controls::faults::addresses_of;
use lydite_plan::entries::{Entries, unknown_key};
use lydite_plan::keys;
use lydite_sweep::{DEFAULT_TARGET, ShellCommand, Subject, reject_keys_of_single_runs};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64;

/// The prefix of keys that set an option of the target's URL.
const OPTION_PREFIX: &str = "target.";

/// The user's words for one side.
#[derive(Debug, Default)]
pub struct SideAsked {
    /// Keys of the plan, or `target.OPTION`, each as `KEY=VALUE`.
    pub set: Vec<String>,
    /// Settings of the lab's servers, each as `NAME=VALUE`.
    pub server: Vec<String>,
    /// Shell command before each run.
    pub before: Option<String>,
}

/// A validated side.
pub(crate) struct Variant {
    pub(crate) side: Side,
    /// The plan of its runs.
    pub(crate) subject: Subject,
    /// Shell command before each run.
    pub(crate) before: Option<String>,
    /// Everything that identifies it, without passwords.
    pub(crate) known: Known,
}

/// Everything that identifies a side, without passwords.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Known {
    /// The keys that change the plan: a default may be said or not.
    pub(crate) plan: BTreeMap<String, String>,
    /// Settings of the lab's servers.
    pub(crate) server: Vec<String>,
    /// Command before each run, as far as it has no secret.
    pub(crate) before: Option<String>,
    /// Digest of the plan's tables and of the whole command.
    pub(crate) digest: String,
}

/// Returns the letter of a side.
pub(crate) fn letter(side: Side) -> &'static str {
    match side {
        Side::A => "A",
        Side::B => "B",
    }
}

/// Returns the flag of a side: `--a-set`.
pub(crate) fn flag(side: Side, name: &str) -> String {
    format!("--{}-{name}", letter(side).to_ascii_lowercase())
}

/// Validates a side. `common` are the keys of both.
///
/// # Errors
/// Everything that is wrong, one line each.
pub(crate) fn read(
    side: Side,
    common: &Entries,
    target: Option<String>,
    asked: SideAsked,
) -> Result<Variant, Failure> {
    let mut entries = common.clone();
    entries.flag("target", target);
    let set = flag(side, "set");
    let mut options = Vec::new();
    for setting in &asked.set {
        match setting.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            None => {
                let shown = secret::shown(setting);
                entries
                    .errors
                    .push(format!("{set} {shown}: must be KEY=VALUE, for example {set} tx=batched"));
            }
            Some((key, value)) if key.len() > OPTION_PREFIX.len() && key.starts_with(OPTION_PREFIX) => {
                options.push((key.to_owned(), value.to_owned()));
            }
            Some((key, value)) if keys().plan.contains(&key) => {
                let origin = if key == "target" { set.clone() } else { format!("{set} {key}") };
                entries.set_by(&origin, key, value.to_owned());
            }
            Some((key, _)) => {
                let as_option = |key: &str| format!("{set} {OPTION_PREFIX}{key}=VALUE");
                let problem = unknown_key(key, keys().plan, as_option);
                let key = secret::shown(key);
                entries.errors.push(format!("{set} {key}: {problem}"));
            }
        }
    }
    reject_keys_of_single_runs(&mut entries);
    if entries.text("require").is_some() {
        entries.wrong("require", "is for single runs: leave it out");
    }
    let mut url = entries.text("target").unwrap_or_else(|| DEFAULT_TARGET.to_owned());
    for (key, value) in options {
        match TargetSpec::with_option(&url, &key[OPTION_PREFIX.len()..], &value) {
            Ok(longer) => url = longer,
            Err(problem) => entries.errors.push(format!("{set} {key}: {problem}")),
        }
    }
    let lab = match LabTarget::parse(&url).transpose() {
        Ok(lab) => lab,
        Err(problem) => {
            entries.errors.push(format!("TARGET: {problem}"));
            return Err(Failure::Usage(entries.into_errors()));
        }
    };
    if let Some(command) = &asked.before
        && let Err(problem) = ShellCommand::check(&flag(side, "before"), command)
    {
        entries.errors.push(problem.line());
    }
    check_server(side, &asked.server, lab.as_ref(), &url, &mut entries.errors);
    let subject = Subject::read(entries, &url)?;
    let known = Known {
        plan: subject.effective(),
        server: asked.server,
        before: asked.before.as_deref().map(secret::shown_fault),
        digest: format!("{:016x}", xxh3_64(format!("{}\n{:?}", subject.tables, asked.before).as_bytes())),
    };
    Ok(Variant { side, subject, before: asked.before, known })
}

/// Rejects settings of servers that the target has not.
fn check_server(side: Side, server: &[String], lab: Option<&LabTarget>, url: &str, errors: &mut Vec<String>) {
    if server.is_empty() {
        return;
    }
    let flag = flag(side, "server");
    if let Err(problem) = Trial::check(&flag, server) {
        errors.extend(problem.lines().into_iter().map(str::to_owned));
    }
    let able = match lab {
        Some(lab) => lab.trial().map(drop),
        None => Trial::of(&addresses_of(url)).map(drop),
    };
    if let Err(problem) = able {
        errors.push(format!("{flag}: {}", problem.line()));
    }
}
