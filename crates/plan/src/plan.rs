//! The plan of a run: all settings of the user, read and checked. Reading a plan touches no database: only the plan
//! file and the places of its documents.

use crate::controls::faults::{self, Rehearse};
use crate::controls::{self, About, ControlPlans, Loop, Scale, Schedule, phase_keys};
use crate::data::{self, Data};
use crate::destination::{Destination, apart};
use crate::entries::{Entries, Keys};
use crate::error::PlanError;
use crate::key::{Key, names};
use crate::micro::{self, MicroAsked};
use crate::mode::{self, ModeAsked};
use crate::observe::{Observe, Reach};
use crate::own_schema;
use crate::phases::{Phases, WindowLength};
use crate::problem::Problem;
use crate::requirements;
use crate::values::{number, read_mix, time, whole};
use crate::workload::WorkloadName;
use lydite_bench::{MicroMode, Mode, RetryPolicy, STEADY_SECONDS};
use lydite_database::{TxMode, Waiter};
use lydite_families::TargetSpec;
use lydite_report::Requirement;
use lydite_tpcc::Mix;
use lydite_tpcc::limits::MAX_WAREHOUSES;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Keys of the database.
const DATABASE_KEYS: &[Key] = &[
    Key::new("target"),
    Key::new("warehouses")
        .flag(
            "N",
            "Warehouses to load, or that the database must hold [default: what it holds; 2 if it is \
             empty, 10 for null:]",
        )
        .short('w'),
    Key::new("active_warehouses"),
];

/// Keys of no other list.
const OWN_KEYS: &[Key] = &[
    Key::new("duration").flag("TIME", "Length of the measured window [default: 30s]").short('d'),
    Key::new("warmup").flag("TIME", "Time before the window that is not counted [default: 5s]"),
    Key::new("steady")
        .flag(
            "TIME",
            "Warm up until the throughput is steady, for --warmup at least and this TIME at most \
             [default: 10m]",
        )
        .bare("true"),
    Key::new("mix").flag(
        "SHARES",
        "Shares in percent of New-Order, Payment, Order-Status, Delivery, Stock-Level, or deck \
             [default: deck, the standard's shuffled cards]",
    ),
    Key::new("tx")
        .flag("MODE", "statements, batched or procedures: how transactions are sent [default: statements]"),
    Key::new("seed").flag("N", "Seed of rows and inputs [default: 1]"),
    Key::new("jobs").flag("N", "Connections that load [default: 2]"),
    Key::new("json").flag("FILE", "Write the result as JSON; - is the standard output"),
    Key::new("report").flag("FILE", "Write the result as an HTML page; - is the standard output"),
    Key::new("summary")
        .flag("FILE.md", "Write a summary in Markdown, for a pull request; - is the standard output"),
    Key::new("label").flag("TEXT", "Name of the run in tables and pages, instead of the file's"),
    Key::new("require")
        .flag(
            "METRIC < VALUE",
            "Threshold for the result, as 'new_order.p99 < 50ms' or 'tps > 1000', else exit 4; repeat it \
             for more",
        )
        .repeated(","),
    Key::new("check"),
    Key::new("success_log").flag(
        "FILE",
        "Log each acknowledged New-Order and Payment in this file, and look for each in the database \
             after the run",
    ),
    Key::new("retry.attempts"),
    Key::new("retry.backoff_min"),
    Key::new("retry.backoff_max"),
    Key::new("phase").flag(
        "TIME",
        "Length of each phase: --rate, --terminals, --ci and the --dis- flags take a list with a \
             value for each phase (200,1000,200), --mix too (45,43,4,4,4; 40,25,5,15,15), and curves for \
             numbers: ramp(10,50) [default: the window in equal parts]",
    ),
    Key::new("workload")
        .flag("NAME", "tpcc, or micro: uniform accesses to records in memory and on disk [default: tpcc]"),
    Key::new("observe")
        .flag(
            "SOURCE,…",
            "Statistics to sample each second: db, host, host/port:N, host=ssh://HOST[/port:N], \
             prometheus=URL with names of metrics, or off; repeat it for more [default: db]",
        )
        .repeated(";"),
];

/// Keys of the lists above that are for TPC-C only.
const TPCC_KEYS: &[&str] = &[
    "warehouses",
    "active_warehouses",
    "mix",
    "was",
    "display_delay",
    "rte.wait_factor",
    "rte.delivery_log",
    "phase",
    "success_log",
];

/// Every key of a plan file, the usual ones first, since messages list them in this order.
static PLAN_KEYS: LazyLock<Vec<&str>> = LazyLock::new(|| table().map(|key| key.name).collect());

/// Every key of a table `[[phase]]` that sets a value.
static PHASE_KEYS: LazyLock<Vec<&str>> = LazyLock::new(|| phase_keys().map(|key| key.name).collect());

/// Returns every key of a plan with its flag, the usual ones first.
pub fn table() -> impl Iterator<Item = &'static Key> {
    let usual = DATABASE_KEYS.iter().chain(mode::KEYS).chain(OWN_KEYS);
    usual.chain(controls::keys()).chain(data::KEYS).chain(own_schema::KEYS).chain(micro::KEYS)
}

/// Returns the keys that a plan file may have.
#[must_use]
pub fn keys() -> Keys<'static> {
    Keys { plan: &PLAN_KEYS, phase: &PHASE_KEYS, fault: faults::TABLE_KEYS }
}

/// The most characters of a label.
pub const MAX_LABEL: usize = 100;
/// The default length of the window.
const DEFAULT_DURATION: Duration = Duration::from_secs(30);
/// The default length of the warm-up.
const DEFAULT_WARMUP: Duration = Duration::from_secs(5);

/// The longest warm-up until the throughput is steady, unless the plan sets another one.
const DEFAULT_STEADY: Duration = Duration::from_secs(600);

/// The plan of a run. [`Plan::mode`] settles the numbers that depend on the database.
#[derive(Debug)]
pub struct Plan {
    /// The database.
    pub target: TargetSpec,
    /// Number of warehouses, if the plan sets it.
    pub warehouses: Option<u32>,
    /// The first and the last of the active warehouses, if not all are.
    pub active: Option<(u32, u32)>,
    /// Way of sending transactions.
    pub tx: TxMode,
    /// Length of the window.
    pub duration: Duration,
    /// Length of the warm-up before it.
    pub warmup: Duration,
    /// Longest warm-up, if it lasts until the throughput is steady; at least `warmup`.
    pub steady: Option<Duration>,
    /// The mix of phases that set none.
    pub mix: Mix,
    /// Seed of the inputs, and of a new database.
    pub seed: u64,
    /// Threads that load.
    pub jobs: usize,
    /// Retries of aborted transactions, and their back-offs.
    pub retry: RetryPolicy,
    /// True to check the database before and after the run.
    pub check: bool,
    /// Place of the result document.
    pub json: Option<Destination>,
    /// Place of the report page.
    pub report: Option<Destination>,
    /// Place of the Markdown summary.
    pub summary: Option<Destination>,
    /// File for the acknowledged transactions, which are compared with the database after the run.
    pub success_log: Option<PathBuf>,
    /// The user's name for the run.
    pub label: Option<String>,
    /// Thresholds that the run must reach.
    pub requirements: Vec<Requirement>,
    /// The microbenchmark, if it is the workload.
    pub micro: Option<MicroAsked>,
    /// The phases and the steps of the run.
    pub schedule: Schedule,
    /// The controls, except for the values that change from step to step.
    pub controls: ControlPlans,
    /// Districts and rows of the database.
    pub data: Data,
    /// Sources that are observed beside the transactions.
    pub observe: Observe,
    mode: ModeAsked,
}

impl Plan {
    /// Reads a plan from its entries.
    ///
    /// # Errors
    /// All errors at once, one line each, in the order of the plan file's lines.
    pub fn read(entries: Entries) -> Result<Self, PlanError> {
        Self::read_rehearsed(entries, &|_, _| Vec::new(), &|_| None)
    }

    /// Reads a plan from its entries, and asks `rehearse` for the problems of each fault on this machine, and `reach` for
    /// that of each observed source.
    ///
    /// # Errors
    /// See [`Plan::read`]; the problems of the faults and sources are among them.
    pub fn read_rehearsed(
        mut entries: Entries,
        rehearse: Rehearse<'_>,
        reach: Reach<'_>,
    ) -> Result<Self, PlanError> {
        match Self::read_parts(&mut entries, rehearse, reach) {
            Some(plan) if entries.errors.is_empty() => Ok(plan),
            _ => Err(PlanError::Usage(entries.into_errors())),
        }
    }

    /// Reads all parts, so that all errors are found; none if the target or the mode is wrong.
    fn read_parts(entries: &mut Entries, rehearse: Rehearse<'_>, reach: Reach<'_>) -> Option<Self> {
        let tx = entries.read("tx", tx_mode).unwrap_or_default();
        let workload = WorkloadName::read(entries);
        let target = target(entries, workload, tx);
        let micro = micro_of(entries, workload, target.as_ref(), tx);
        let target = own_schema::read(entries, target);
        let (warehouses, active) = warehouses(entries);
        let duration = entries.read("duration", time);
        if duration.is_some_and(|duration| duration.is_zero()) {
            entries.wrong("duration", "must be more than zero, for example 30s");
        }
        let (base, tables) = (entries.clone(), !entries.phases.is_empty());
        let configured = duration.filter(|duration| !duration.is_zero());
        let window = WindowLength { configured, default: DEFAULT_DURATION };
        let phases = Phases::take(entries, phase_keys().collect(), window);
        let duration = phases.duration;
        let warmup = entries.read("warmup", time).unwrap_or(DEFAULT_WARMUP);
        let steady = steady(entries, warmup);
        let mix = entries.read("mix", read_mix).unwrap_or_default();
        let seed = entries.read("seed", |text| number(text, "must be a whole number from 0")).unwrap_or(1);
        let jobs = entries.read("jobs", |text| whole(text, 1, 1_000)).unwrap_or(2) as usize;
        let retry = retry(entries);
        let check = entries.read("check", |text| number(text, "must be true or false")).unwrap_or(true);
        let mode = ModeAsked::read(entries, warehouses, target.as_ref());
        let rte = mode.as_ref().is_some_and(ModeAsked::is_rte);
        let open = mode.as_ref().is_some_and(ModeAsked::is_open);
        let is_micro = workload == Some(WorkloadName::Micro);
        let about =
            About { target: target.as_ref(), tx, micro: is_micro, rte, open, warehouses, active, duration };
        let controls = ControlPlans::read(entries, &about);
        controls.faults.rehearse(entries, rehearse);
        let schedule = Schedule::read(entries, phases, &base, Loop { open, rte });
        controls.check_steps(entries, &about, &schedule.steps);
        if steady.is_some() && schedule.steps.len() > 1 {
            let problem =
                "needs a run without phases and curves, whose times are known before: leave one of them out";
            entries.wrong("steady", problem);
        }
        if is_micro && (schedule.steps.len() > 1 || tables) {
            entries.errors.push("phases and curves are for --workload tpcc only: leave them out".into());
        }
        let data = Data::read(entries, warehouses);
        if rte {
            data.check_users(entries);
        }
        if is_micro && rte {
            entries.wrong("mode", "is for --workload tpcc only, whose waits it keeps: use direct or open");
        }
        let requirements =
            requirements::read(entries, workload, mode.as_ref().map(ModeAsked::is_rte), &schedule.steps);
        let observe = Observe::read(entries, reach);
        let label = entries.read("label", label);
        let json = output(entries, "json", target.as_ref());
        let report = output(entries, "report", target.as_ref());
        let summary = output(entries, "summary", target.as_ref());
        let success_log = success_log(entries, target.as_ref());
        check_places(entries, &[("json", &json), ("report", &report), ("summary", &summary)]);
        Some(Self {
            target: target?,
            warehouses,
            active,
            tx,
            duration,
            warmup,
            steady,
            mix,
            seed,
            jobs,
            retry,
            check,
            json,
            report,
            summary,
            success_log,
            label,
            requirements,
            micro,
            schedule,
            controls,
            data,
            observe,
            mode: mode?,
        })
    }

    /// Makes `waiter` watch over waits for the database and its replicas, and end them.
    pub fn waited_for_by(&mut self, waiter: &Arc<dyn Waiter>) {
        self.target = self.target.clone().waited_for_by(Arc::clone(waiter));
        self.controls.replicas.waited_for_by(waiter);
    }

    /// Returns the number of sessions, or 1 if it depends on the warehouses.
    #[must_use]
    pub fn sessions(&self) -> u32 {
        self.mode.sessions(self.micro.is_some())
    }

    /// True if think times or a given rate bound the throughput, and not the database alone.
    #[must_use]
    pub fn bounds_throughput(&self) -> bool {
        !matches!(self.mode, ModeAsked::Direct { .. })
    }

    /// Returns the address of the WAS that terminals have lines to, if they have.
    #[must_use]
    pub fn was(&self) -> Option<&str> {
        self.mode.was()
    }

    /// Returns the first active warehouse and their number, on a database with `loaded` warehouses.
    ///
    /// # Errors
    /// The plan names a warehouse that is not loaded.
    pub fn active(&self, loaded: u32) -> Result<(u32, u32), PlanError> {
        let (first, last) = self.active.unwrap_or((1, loaded));
        if last > loaded {
            return Err(PlanError::usage(format!(
                "active_warehouses: names warehouse {last}, and the database has {loaded}"
            )));
        }
        Ok((first, last - first + 1))
    }

    /// Returns true if a document goes to the standard output.
    #[must_use]
    pub fn writes_stdout(&self) -> bool {
        [&self.json, &self.report, &self.summary].into_iter().flatten().any(Destination::is_stdout)
    }

    /// Returns the mode on a database with `loaded` warehouses.
    ///
    /// # Errors
    /// The plan needs more warehouses or sessions.
    pub fn mode(&self, loaded: u32) -> Result<Mode, PlanError> {
        let active = self.active(loaded)?;
        let (_, warehouses) = active;
        let mode = self.mode.on(warehouses)?;
        self.controls.fit(&self.schedule, &Scale { mode: &mode, active, districts: None })?;
        Ok(mode)
    }

    /// Returns the mode of the microbenchmark.
    ///
    /// # Errors
    /// The mode is `rte`.
    pub fn micro_mode(&self) -> Result<MicroMode, PlanError> {
        self.mode.of_micro()
    }
}

/// Reads the longest warm-up of a run that waits for a steady throughput. Such a run needs some seconds to judge.
fn steady(entries: &mut Entries, warmup: Duration) -> Option<Duration> {
    let limit = entries.read("steady", |text| match text {
        "true" => Ok(Some(DEFAULT_STEADY.max(warmup * 2))),
        "false" => Ok(None),
        text => time(text)
            .map(Some)
            .map_err(|_| Problem::from("must be true, or the longest warm-up, for example 10m")),
    })??;
    let least = Duration::from_secs(STEADY_SECONDS as u64 + 5).max(warmup);
    if limit < least {
        let problem = format!(
            "must be at least {} s: the last {STEADY_SECONDS} s of the warm-up are judged",
            least.as_secs()
        );
        entries.wrong("steady", &problem);
    }
    Some(limit)
}

/// Reads the target; none if its URL is wrong.
fn target(entries: &mut Entries, workload: Option<WorkloadName>, tx: TxMode) -> Option<TargetSpec> {
    let url = entries.text("target").unwrap_or_else(|| "gemel:".into());
    if url.trim().is_empty() {
        // A plan for whatever database the user names, as `lydite import` makes them.
        entries.wrong(
            "target",
            "is empty: write the URL of the database there, or behind the command, as in lydite run URL",
        );
        return None;
    }
    let spec = match workload {
        Some(WorkloadName::Micro) => TargetSpec::parse_micro(&url),
        _ => TargetSpec::parse(&url, tx),
    };
    spec.map_err(|errors| entries.errors.extend(errors)).ok()
}

/// Reads the microbenchmark if it is the workload, and rejects keys of the other workload.
fn micro_of(
    entries: &mut Entries,
    workload: Option<WorkloadName>,
    target: Option<&TargetSpec>,
    tx: TxMode,
) -> Option<MicroAsked> {
    match workload? {
        WorkloadName::Micro => {
            entries.only_for("tpcc", TPCC_KEYS.iter().copied());
            entries.only_for("tpcc", controls::keys().map(|key| key.name));
            entries.only_for("tpcc", names(data::KEYS));
            entries.only_for("tpcc", names(own_schema::KEYS));
            if tx != TxMode::Statements {
                entries.wrong("tx", "is for --workload tpcc only: micro sends statement by statement");
            }
            Some(MicroAsked::read(entries, target))
        }
        WorkloadName::Tpcc => {
            entries.only_for("micro", names(micro::KEYS));
            None
        }
    }
}

/// Reads the number of warehouses, and the first and the last active one.
fn warehouses(entries: &mut Entries) -> (Option<u32>, Option<(u32, u32)>) {
    let warehouses = entries.read("warehouses", |text| whole(text, 1, MAX_WAREHOUSES));
    let active = entries.read("active_warehouses", active);
    if let (Some(all), Some((_, last))) = (warehouses, active)
        && last > all
    {
        entries.wrong("active_warehouses", &format!("names warehouse {last}, and warehouses is {all}"));
    }
    (warehouses, active)
}

/// Reads `LAST` or `FIRST-LAST`.
fn active(text: &str) -> Result<(u32, u32), Problem> {
    let (first, last) = text.split_once('-').unwrap_or(("1", text));
    let (first, last) = (whole(first.trim(), 1, MAX_WAREHOUSES)?, whole(last.trim(), 1, MAX_WAREHOUSES)?);
    if first > last {
        return Err("begins behind its end: write FIRST-LAST, as 3-6".into());
    }
    Ok((first, last))
}

/// Reads a label, one line that fits the head of a column.
pub(crate) fn label(text: &str) -> Result<String, Problem> {
    if text.is_empty() || text.chars().count() > MAX_LABEL || text.chars().any(char::is_control) {
        return Err(format!("must be one line of 1 to {MAX_LABEL} characters").into());
    }
    Ok(text.to_owned())
}

/// Reads the place of a document, and checks that it can be written.
pub(crate) fn output(entries: &mut Entries, key: &str, target: Option<&TargetSpec>) -> Option<Destination> {
    let place = Destination::new(entries.text(key)?);
    if let Err(problem) = place.check().and_then(|()| apart(&place, target, entries.config.as_deref())) {
        entries.wrong(key, &format!("{} {problem}", place.shown()));
    }
    Some(place)
}

/// Reads the path of the success log, which is written during the run and read after it.
fn success_log(entries: &mut Entries, target: Option<&TargetSpec>) -> Option<PathBuf> {
    let path = entries.text("success_log")?;
    let place = Destination::new(&path);
    let is_file = || place.file().map(drop).ok_or_else(|| Problem::from("is no file: name one for it alone"));
    let checked = place.check_log().and_then(|()| is_file());
    if let Err(problem) = checked.and_then(|()| apart(&place, target, entries.config.as_deref())) {
        entries.wrong("success_log", &format!("{} {problem}", place.shown()));
    }
    Some(path.into())
}

/// Rejects documents and logs that share a place.
pub(crate) fn check_places(entries: &mut Entries, documents: &[(&str, &Option<Destination>)]) {
    let logs = ["rte.delivery_log", "success_log"].map(|key| (key, entries.text(key).map(Destination::new)));
    let logs = logs.iter().map(|(key, place)| (*key, place));
    let places: Vec<_> = documents.iter().copied().chain(logs).collect();
    for (number, (key, own)) in places.iter().enumerate() {
        for (other, place) in &places[..number] {
            if let (Some(own), Some(place)) = (own, place)
                && own.is(place)
            {
                let shown = place.shown();
                entries.wrong(
                    key,
                    &format!(
                        "{shown} is where {other} goes: one of them would be lost, so give each its own"
                    ),
                );
            }
        }
    }
}

/// Reads the retries of aborted transactions.
fn retry(entries: &mut Entries) -> RetryPolicy {
    let usual = RetryPolicy::default();
    let policy = RetryPolicy {
        attempts: entries.read("retry.attempts", |text| whole(text, 1, 1_000_000)).unwrap_or(usual.attempts),
        backoff_min: entries.read("retry.backoff_min", time).unwrap_or(usual.backoff_min),
        backoff_max: entries.read("retry.backoff_max", time).unwrap_or(usual.backoff_max),
    };
    if policy.backoff_max < policy.backoff_min {
        // The defaults fit each other, so at least one of the keys was set.
        let (min, max) = (policy.backoff_min.as_secs_f64(), policy.backoff_max.as_secs_f64());
        if entries.text("retry.backoff_max").is_some() {
            let problem = format!("must not be below retry.backoff_min ({min} s): raise it, or lower that");
            entries.wrong("retry.backoff_max", &problem);
        } else {
            let problem =
                format!("is above retry.backoff_max ({max} s by default): lower it, or raise that too");
            entries.wrong("retry.backoff_min", &problem);
        }
    }
    policy
}

fn tx_mode(text: &str) -> Result<TxMode, Problem> {
    TxMode::from_name(text).ok_or_else(|| "is not known: use statements, batched or procedures".into())
}
