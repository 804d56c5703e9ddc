//! The subject of an experiment: a validated plan with the words that make it, so that other processes can run it.

use lydite_console::exit::Failure;
use lydite_database::secret;
use lydite_families::TargetSpec;
use lydite_lab::LabTarget;
use lydite_lab::places::rehearse;
use lydite_observe::SourceSpec;
use lydite_plan::controls::faults::Rehearse;
use lydite_plan::entries::Entries;
use lydite_plan::{Plan, keys};
use std::collections::BTreeMap;

/// URL of the target of an experiment without one.
pub const DEFAULT_TARGET: &str = "gemel:";

/// Keys of a plan that are for single runs, with the reason.
const OF_SINGLE_RUNS: [(&str, &str); 6] = [
    ("json", FILE),
    ("report", FILE),
    ("summary", "each run would write the same file: leave it out"),
    ("rte.delivery_log", "each run would write the same file: leave it out"),
    ("success_log", "each run would write the same file: leave it out"),
    ("label", "each run has a name of its own: name the experiment with --label"),
];
const FILE: &str = "each run would write the same file: use the flag of this command";
/// Keys that identify an experiment even with their defaults: runs make function tests only if `verify` is named.
const IDENTIFYING: [&str; 2] = ["target", "verify"];

/// True for a key that experiments over several runs reject, or replace by a flag of their own.
#[must_use]
pub fn is_for_single_runs(key: &str) -> bool {
    key == "require" || OF_SINGLE_RUNS.iter().any(|(of, _)| *of == key)
}

/// Rejects keys that are for single runs: each run of an experiment would write the same file.
pub fn reject_keys_of_single_runs(entries: &mut Entries) {
    for (key, why) in OF_SINGLE_RUNS {
        if entries.text(key).is_some() {
            entries.wrong(key, why);
        }
    }
}

/// A validated plan with its keys.
pub struct Subject {
    /// The plan. If the target is a lab, it has a URL where nothing listens.
    pub plan: Plan,
    /// The keys of the plan. They may contain a password and are never written to a file.
    pub given: BTreeMap<String, String>,
    /// Tables of the plan, as text of a plan file.
    pub tables: String,
    /// The lab that is the target, if the experiment starts it.
    pub lab: Option<LabTarget>,
    /// The keys of the plan without passwords.
    pub shown: BTreeMap<String, String>,
}

impl Subject {
    /// Validates a plan. `url` is that of its target, or of its lab.
    ///
    /// # Errors
    /// Everything that is wrong, one line each.
    pub fn read(mut entries: Entries, url: &str) -> Result<Self, Failure> {
        let lab = match LabTarget::parse(url).transpose() {
            Ok(lab) => lab,
            Err(problem) => {
                entries.errors.push(format!("TARGET: {problem}"));
                return Err(Failure::Usage(entries.into_errors()));
            }
        };
        // Errors of the whole URL name the target, whatever wrote its options.
        if entries.text("target").as_deref() != Some(url) || lab.is_some() {
            let opened = lab.as_ref().map_or_else(|| url.to_owned(), LabTarget::example);
            entries.set_by("TARGET", "target", opened);
        }
        let mut given = entries.texts();
        given.insert("target".to_owned(), url.to_owned());
        let tables = entries.written_tables();
        // The servers of a lab run only later, and so do exporters of this machine; each run looks itself.
        let rehearse: Rehearse<'_> = if lab.is_some() { &|_, _| Vec::new() } else { &rehearse };
        let reach = |source: &SourceSpec| match source {
            SourceSpec::Host(Some(_)) => None,
            _ => source.reach(),
        };
        let plan = Plan::read_rehearsed(entries, rehearse, &reach)?;
        // Rules that depend on the scale need the number of warehouses.
        if let Some(warehouses) = plan.warehouses.filter(|_| plan.micro.is_none()) {
            plan.mode(warehouses)?;
        }
        if lab.is_none() {
            // Each run gets the URL that a connection string of another program means.
            given.insert("target".to_owned(), TargetSpec::url_of(url));
        }
        let mut shown = given.clone();
        // A lab is the same target each time, whatever its ports and its password.
        if lab.is_none() {
            shown.insert("target".to_owned(), plan.target.without_password(url));
        }
        if let Some(replicas) = plan.controls.replicas.without_passwords() {
            shown.insert("replicas".to_owned(), replicas);
        }
        if let Some(fault) = shown.get_mut("fault") {
            *fault = secret::shown_fault(fault);
        }
        Ok(Self { plan, given, tables, lab, shown })
    }

    /// Returns the keys of the plan that change it, without passwords: a key with its default says nothing. Subjects with
    /// equal ones and equal tables have the same plan.
    #[must_use]
    pub fn effective(&self) -> BTreeMap<String, String> {
        let mut all = self.shown.clone();
        let mut given = self.given.clone();
        let Some(plan) = self.plan_of(&given) else { return all };
        for (key, value) in self.given.iter().filter(|(key, _)| !IDENTIFYING.contains(&key.as_str())) {
            // Two keys may have one meaning, so each is tried without those that were left out before.
            given.remove(key);
            if self.plan_of(&given).as_ref() == Some(&plan) {
                all.remove(key);
            } else {
                given.insert(key.clone(), value.clone());
            }
        }
        all
    }

    /// Returns all that a plan of these keys and of the own tables says; `None` if they make no plan.
    fn plan_of(&self, given: &BTreeMap<String, String>) -> Option<String> {
        let mut entries = Entries::default();
        entries.toml("plan", &self.tables, keys());
        for (key, value) in given {
            entries.put(key, value.clone());
        }
        if let Some(lab) = &self.lab {
            entries.put("target", lab.example());
        }
        Some(format!("{:?}", Plan::read(entries).ok()?))
    }

    /// Returns the URL of the target, with its password.
    #[must_use]
    pub fn url(&self) -> &str {
        self.given.get("target").map_or("", String::as_str)
    }

    /// Returns the URL without password and options, for messages.
    #[must_use]
    pub fn url_without_options(&self) -> &str {
        self.shown.get("target").and_then(|url| url.split('?').next()).unwrap_or_default()
    }
}
