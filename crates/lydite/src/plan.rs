//! From what the user wrote to a validated plan. Nothing is touched here but the plan file.

use crate::cli::RunArgs;
use crate::controls::{self, About, Scale};
use crate::data::{self, Data};
use crate::destination::{Destination, apart};
use crate::exit::Failure;
use crate::gates;
use crate::interrupt::Interrupt;
use crate::micro::{self, MicroWanted};
use crate::phases::{self, Phases, Span, WantedStep};
use crate::raw::Raw;
use crate::values::{MAX_RATE, MAX_SESSIONS, number, time, whole};
use lydite_bench::{Arrival, MicroMode, Mode, RetryPolicy};
use lydite_database::TxMode;
use lydite_families::TargetSpec;
use lydite_report::Requirement;
use lydite_report::figures::plural;
use lydite_tpcc::Mix;
use lydite_tpcc::limits::MAX_WAREHOUSES;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

/// The keys that belong to no control.
const OWN_KEYS: &[&str] = &[
    "target",
    "warehouses",
    "active_warehouses",
    "terminals",
    "sessions",
    "duration",
    "warmup",
    "mode",
    "rate",
    "arrival",
    "mix",
    "tx",
    "seed",
    "jobs",
    "json",
    "report",
    "summary",
    "label",
    "require",
    "check",
    "rte.wait_factor",
    "rte.delivery_log",
    "retry.attempts",
    "retry.backoff_min",
    "retry.backoff_max",
    "phase",
    "workload",
];

/// Those that mean something for TPC-C only.
const TPCC_KEYS: &[&str] =
    &["warehouses", "active_warehouses", "mix", "rte.wait_factor", "rte.delivery_log", "phase"];

/// Every key of a plan file.
pub(crate) static KEYS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let others = controls::keys().chain(data::KEYS.iter().copied()).chain(micro::KEYS.iter().copied());
    OWN_KEYS.iter().copied().chain(others).collect()
});

/// The greatest factor on waiting times.
const MAX_WAIT_FACTOR: f64 = 1_000.0;
/// Characters of a label at most.
pub(crate) const MAX_LABEL: usize = 100;
/// The window when none is asked for.
const DEFAULT_DURATION: Duration = Duration::from_secs(30);
/// Sessions when none are asked for.
const DEFAULT_SESSIONS: u32 = 8;
/// Sessions behind emulated users when none are asked for.
const DEFAULT_POOL: u32 = 16;

/// What the user wants of a run. Numbers that depend on the database are settled by [`Plan::mode`].
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) target: TargetSpec,
    pub(crate) warehouses: Option<u32>,
    /// The first and the last of the warehouses that are used, if not all are.
    pub(crate) active: Option<(u32, u32)>,
    pub(crate) tx: TxMode,
    pub(crate) duration: Duration,
    pub(crate) warmup: Duration,
    /// The mix of all phases that say no other.
    pub(crate) mix: Mix,
    pub(crate) seed: u64,
    pub(crate) jobs: usize,
    pub(crate) retry: RetryPolicy,
    pub(crate) check: bool,
    pub(crate) fresh: bool,
    /// True to list every rule of the standard at the end.
    pub(crate) verbose: bool,
    pub(crate) json: Option<Destination>,
    pub(crate) report: Option<Destination>,
    pub(crate) summary: Option<Destination>,
    /// The user's name for the run.
    pub(crate) label: Option<String>,
    /// What the run must reach.
    pub(crate) requirements: Vec<Requirement>,
    /// The microbenchmark, if that is the workload.
    pub(crate) micro: Option<MicroWanted>,
    /// The phases, at least one.
    pub(crate) phases: Vec<Span>,
    /// What is controlled when, at least one.
    pub(crate) steps: Vec<WantedStep>,
    /// The controls, as far as they do not change.
    pub(crate) controls: controls::Wanted,
    /// The districts and rows that the database is to have.
    pub(crate) data: Data,
    wanted: WantedMode,
}

/// The mode with what was said about it.
#[derive(Debug)]
enum WantedMode {
    Direct { terminals: Option<u32> },
    Rte { terminals: Option<u32>, sessions: u32, wait_factor: f64, delivery_log: Option<PathBuf> },
    Open { rate: f64, arrival: Arrival, sessions: u32 },
}

impl Plan {
    /// Has an impatient user wait for its servers.
    pub(crate) fn wait_for_servers(&mut self, interrupt: &Interrupt) {
        self.target = self.target.clone().waited_for_by(interrupt.waiter());
        self.controls.replicas.wait_for_servers(interrupt);
    }

    /// Reads the file and the flags.
    pub(crate) fn new(args: &RunArgs) -> Result<Self, Failure> {
        let mut raw = Raw::default();
        if args.resume {
            raw.errors.push("--resume: is for `lydite load`: finish the load with it, then run".into());
        }
        if let Some(path) = &args.config {
            raw.file(path, &KEYS);
        }
        for setting in &args.set {
            raw.set(setting, &KEYS);
        }
        for (key, value) in [
            ("target", &args.target),
            ("warehouses", &args.warehouses),
            ("size", &args.size),
            ("data_skew", &args.data_skew),
            ("terminals", &args.terminals),
            ("sessions", &args.sessions),
            ("duration", &args.duration),
            ("warmup", &args.warmup),
            ("mode", &args.mode),
            ("rate", &args.rate),
            ("arrival", &args.arrival),
            ("mix", &args.mix),
            ("tx", &args.tx),
            ("seed", &args.seed),
            ("jobs", &args.jobs),
            ("json", &args.json),
            ("report", &args.report),
            ("summary", &args.summary),
            ("label", &args.label),
            ("require", &(!args.require.is_empty()).then(|| args.require.join(","))),
            ("workload", &args.workload),
            ("dis_ratio", &args.dis_ratio),
            ("dis_degree", &args.dis_degree),
            ("dis_strategy", &args.dis_strategy),
            ("nodes", &args.nodes),
            ("replicas", &args.replicas),
            ("staleness", &args.staleness),
            ("ci", &args.ci),
            ("phase", &args.phase),
        ] {
            raw.flag(key, value.clone());
        }
        let plan = Self::of(raw)?;
        Ok(Self { check: plan.check && !args.no_check, fresh: args.fresh, verbose: args.verbose, ..plan })
    }

    /// The plan of what was given, wherever it was written.
    pub(crate) fn of(mut raw: Raw) -> Result<Self, Failure> {
        let tx = raw.read("tx", tx_mode).unwrap_or_default();
        let target = raw.text("target").unwrap_or_else(|| "gemel:".into());
        let workload = workload(&mut raw);
        let target = match workload {
            Some(Name::Micro) => TargetSpec::parse_micro(&target),
            _ => TargetSpec::parse(&target, tx),
        };
        let target = match target {
            Ok(spec) => Some(spec),
            Err(errors) => {
                raw.errors.extend(errors);
                None
            }
        };
        let micro = match workload {
            Some(Name::Micro) => {
                raw.only_for("tpcc", TPCC_KEYS);
                raw.only_for("tpcc", &controls::keys().collect::<Vec<_>>());
                raw.only_for("tpcc", data::KEYS);
                if tx != TxMode::Statements {
                    raw.wrong("tx", "is for --workload tpcc only: micro sends statement by statement");
                }
                micro::wanted(&mut raw, target.as_ref())
            }
            Some(Name::Tpcc) => {
                raw.only_for("micro", micro::KEYS);
                None
            }
            None => None,
        };
        let warehouses = raw.read("warehouses", |text| whole(text, 1, MAX_WAREHOUSES));
        let active = raw.read("active_warehouses", active);
        if let (Some(all), Some((_, last))) = (warehouses, active)
            && last > all
        {
            raw.wrong("active_warehouses", &format!("names warehouse {last}, and warehouses is {all}"));
        }
        let duration = raw.read("duration", time);
        if duration.is_some_and(|duration| duration.is_zero()) {
            raw.wrong("duration", "must be more than zero, for example 30s");
        }
        let (base, tables) = (raw.clone(), !raw.phases.is_empty());
        let phases =
            Phases::take(&mut raw, duration.filter(|duration| !duration.is_zero()), DEFAULT_DURATION);
        let warmup = raw.read("warmup", time).unwrap_or(Duration::from_secs(5));
        let mix = raw.read("mix", phases::read_mix).unwrap_or_default();
        let seed = raw.read("seed", |text| number(text, "must be a whole number from 0")).unwrap_or(1);
        let jobs = raw.read("jobs", |text| whole(text, 1, 1_000)).unwrap_or(2) as usize;
        let retry = retry(&mut raw);
        let check = raw.read("check", |text| number(text, "must be true or false")).unwrap_or(true);
        let wanted = wanted(&mut raw, warehouses, target.as_ref());
        let rte = matches!(wanted, Some(WantedMode::Rte { .. }));
        let open = matches!(wanted, Some(WantedMode::Open { .. }));
        let micro_asked = workload == Some(Name::Micro);
        let about = About { target: target.as_ref(), tx, micro: micro_asked, rte, open, warehouses, active };
        let controls = controls::Wanted::read(&mut raw, &about);
        let steps = phases.steps(&mut raw, &base, (open, rte));
        controls.check_steps(&mut raw, &about, &steps);
        if micro_asked && (steps.len() > 1 || tables) {
            raw.errors.push("phases and curves are for --workload tpcc only: leave them out".into());
        }
        let Phases { spans: phases, duration, .. } = phases;
        let data = Data::read(&mut raw, warehouses);
        if rte {
            data.check_users(&mut raw);
        }
        if micro_asked && matches!(wanted, Some(WantedMode::Rte { .. })) {
            raw.wrong("mode", "is for --workload tpcc only, whose waits it keeps: use direct or open");
        }
        let requirements = gates::wanted(&mut raw, workload, wanted.as_ref().map(|_| rte), &steps);
        let label = raw.read("label", label);
        let json = output(&mut raw, "json", target.as_ref());
        let report = output(&mut raw, "report", target.as_ref());
        let summary = output(&mut raw, "summary", target.as_ref());
        let log = raw.text("rte.delivery_log").map(Destination::new);
        let places =
            [("json", &json), ("report", &report), ("summary", &summary), ("rte.delivery_log", &log)];
        for (number, (key, own)) in places.iter().enumerate() {
            for (other, place) in &places[..number] {
                if let (Some(own), Some(place)) = (own, place)
                    && own.is(place)
                {
                    let shown = place.shown();
                    raw.wrong(
                        key,
                        &format!(
                            "{shown} is where {other} goes: one of them would be lost, so give each its own"
                        ),
                    );
                }
            }
        }
        match (target, wanted) {
            (Some(target), Some(wanted)) if raw.errors.is_empty() => Ok(Self {
                target,
                warehouses,
                active,
                tx,
                duration,
                warmup,
                mix,
                seed,
                jobs,
                retry,
                check,
                fresh: false,
                verbose: false,
                json,
                report,
                summary,
                label,
                requirements,
                micro,
                phases,
                steps,
                controls,
                data,
                wanted,
            }),
            _ => Err(Failure::Usage(raw.into_errors())),
        }
    }

    /// The mode of a run of the microbenchmark.
    pub(crate) fn micro_mode(&self) -> Result<MicroMode, Failure> {
        match &self.wanted {
            WantedMode::Direct { terminals } => {
                Ok(MicroMode::Direct { terminals: terminals.unwrap_or(DEFAULT_SESSIONS) })
            }
            WantedMode::Open { rate, arrival, sessions } => {
                Ok(MicroMode::Open { rate: *rate, arrival: *arrival, sessions: *sessions })
            }
            WantedMode::Rte { .. } => Err(Failure::usage("--mode rte is for --workload tpcc only")),
        }
    }

    /// The sessions that are asked for; 1 where they are as many as the warehouses, up to [`DEFAULT_SESSIONS`].
    pub(crate) fn sessions(&self) -> u32 {
        match &self.wanted {
            WantedMode::Direct { terminals: None } if self.micro.is_some() => DEFAULT_SESSIONS,
            WantedMode::Direct { terminals } => terminals.unwrap_or(1),
            WantedMode::Rte { sessions, .. } | WantedMode::Open { sessions, .. } => *sessions,
        }
    }

    /// The first of the warehouses that are used, and how many are, on a database with `loaded`.
    pub(crate) fn active(&self, loaded: u32) -> Result<(u32, u32), Failure> {
        let (first, last) = self.active.unwrap_or((1, loaded));
        if last > loaded {
            return Err(Failure::usage(format!(
                "active_warehouses: names warehouse {last}, and the database has {loaded}"
            )));
        }
        Ok((first, last - first + 1))
    }

    /// True if a document goes to the standard output.
    pub(crate) fn writes_stdout(&self) -> bool {
        [&self.json, &self.report, &self.summary].into_iter().flatten().any(Destination::is_stdout)
    }

    /// Whether anything changes while the run lasts.
    pub(crate) fn changes(&self) -> bool {
        self.phases.len() > 1 || self.phases.iter().any(|phase| !phase.asked.is_empty())
    }

    /// Whether transactions are to go over several nodes.
    pub(crate) fn distributes(&self) -> bool {
        self.steps.iter().any(|step| step.controls.distribution.is_some())
    }

    /// Whether transactions are to compete for rows.
    pub(crate) fn contends(&self) -> bool {
        self.steps.iter().any(|step| !step.controls.contention.is_empty())
    }

    /// The curve, or whatever else was written, that a key has over all of the window, if that is one phase.
    pub(crate) fn whole_curve(&self, key: &str) -> Option<String> {
        let [only] = &self.phases[..] else { return None };
        only.asked(key).map(str::to_owned)
    }

    /// The mode on a database with this many warehouses.
    pub(crate) fn mode(&self, loaded: u32) -> Result<Mode, Failure> {
        let active = self.active(loaded)?;
        let (_, warehouses) = active;
        let all = warehouses.saturating_mul(10);
        let mode = match &self.wanted {
            WantedMode::Direct { terminals } => {
                // More would fight for the rows of the same warehouses.
                Mode::Direct { terminals: terminals.unwrap_or(DEFAULT_SESSIONS.min(warehouses)) }
            }
            WantedMode::Rte { terminals, sessions, wait_factor, delivery_log } => {
                if let Some(problem) =
                    terminals.and_then(|terminals| too_many_terminals(terminals, warehouses))
                {
                    return Err(Failure::usage(format!("terminals: {problem}")));
                }
                Mode::Rte {
                    terminals: terminals.unwrap_or(all),
                    sessions: *sessions,
                    wait_factor: *wait_factor,
                    delivery_log: delivery_log.clone(),
                }
            }
            WantedMode::Open { rate, arrival, sessions } => {
                Mode::Open { rate: *rate, arrival: *arrival, sessions: *sessions }
            }
        };
        self.controls.fit(self, &Scale { mode: &mode, active, districts: None })?;
        Ok(mode)
    }
}

/// Reads `LAST` or `FIRST-LAST`.
fn active(text: &str) -> Result<(u32, u32), String> {
    let (first, last) = text.split_once('-').unwrap_or(("1", text));
    let (first, last) = (whole(first.trim(), 1, MAX_WAREHOUSES)?, whole(last.trim(), 1, MAX_WAREHOUSES)?);
    if first > last {
        return Err("begins behind its end: write FIRST-LAST, as 3-6".into());
    }
    Ok((first, last))
}

/// The workload's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Tpcc,
    Micro,
}

/// The workload; none if what was given is none.
pub(crate) fn workload(raw: &mut Raw) -> Option<Name> {
    match raw.text("workload") {
        None => Some(Name::Tpcc),
        Some(_) => raw.read("workload", |text| match text {
            "tpcc" => Ok(Name::Tpcc),
            "micro" => Ok(Name::Micro),
            _ => Err("is not known: use tpcc or micro".into()),
        }),
    }
}

/// Reads a label: one line for the head of a column.
fn label(text: &str) -> Result<String, String> {
    if text.is_empty() || text.chars().count() > MAX_LABEL || text.chars().any(char::is_control) {
        return Err(format!("must be one line of 1 to {MAX_LABEL} characters"));
    }
    Ok(text.to_owned())
}

/// The place of a document that the run will write. That it can be written is made sure before anything runs.
fn output(raw: &mut Raw, key: &str, target: Option<&TargetSpec>) -> Option<Destination> {
    let place = Destination::new(raw.text(key)?);
    if let Err(problem) = place.check().and_then(|()| apart(&place, target, raw.config.as_deref())) {
        raw.wrong(key, &format!("{} {problem}", place.shown()));
    }
    Some(place)
}

/// The file of deferred deliveries, which is written while the run lasts.
fn delivery_log(raw: &mut Raw, target: Option<&TargetSpec>) -> Option<PathBuf> {
    let path = raw.text("rte.delivery_log")?;
    let place = Destination::new(&path);
    if let Err(problem) = place.check_log().and_then(|()| apart(&place, target, raw.config.as_deref())) {
        raw.wrong("rte.delivery_log", &format!("{} {problem}", place.shown()));
    }
    Some(path.into())
}

fn wanted(raw: &mut Raw, warehouses: Option<u32>, target: Option<&TargetSpec>) -> Option<WantedMode> {
    let mode = match raw.read("mode", |text| match text {
        "direct" | "rte" | "open" => Ok(text.to_string()),
        _ => Err("is not known: use direct, rte or open".into()),
    }) {
        Some(mode) => mode,
        None if raw.text("mode").is_none() => "direct".into(),
        // What the other options mean is open then, but each can still be wrong in itself.
        None => String::new(),
    };
    let most = if mode == "rte" { u32::MAX } else { MAX_SESSIONS };
    let terminals = raw.read("terminals", |text| whole(text, 1, most));
    let sessions = raw.read("sessions", |text| whole(text, 1, MAX_SESSIONS));
    let rate = raw.read("rate", |text| {
        let rate: f64 = number(text, "must be a number of transactions per second")?;
        if rate > 0.0 && rate <= MAX_RATE {
            Ok(rate)
        } else {
            Err(format!("must be more than 0 and at most {MAX_RATE}"))
        }
    });
    let arrival = raw.read("arrival", |text| match text {
        "poisson" => Ok(Arrival::Poisson),
        "constant" => Ok(Arrival::Constant),
        _ => Err("is not known: use poisson or constant".into()),
    });
    let wait_factor = raw.read("rte.wait_factor", |text| {
        let factor: f64 = number(text, "must be a number, 1 for the standard's waits")?;
        if (0.0..=MAX_WAIT_FACTOR).contains(&factor) {
            Ok(factor)
        } else {
            Err(format!("must be from 0 to {MAX_WAIT_FACTOR}"))
        }
    });
    let delivery_log = delivery_log(raw, target);
    let only = |raw: &mut Raw, keys: &[&str], mode: &str, hint: &str| {
        for key in keys {
            if raw.text(key).is_some() {
                raw.wrong(key, &format!("is for --mode {mode} only{hint}"));
            }
        }
    };
    match mode.as_str() {
        "direct" => {
            only(raw, &["rate", "arrival"], "open", "");
            only(raw, &["rte.wait_factor", "rte.delivery_log"], "rte", "");
            only(raw, &["sessions"], "rte or open", ": in direct mode --terminals are sessions");
            Some(WantedMode::Direct { terminals })
        }
        "rte" => {
            only(raw, &["rate", "arrival"], "open", "");
            if let (Some(terminals), Some(warehouses)) = (terminals, warehouses)
                && let Some(problem) = too_many_terminals(terminals, warehouses)
            {
                raw.wrong("terminals", &problem);
            }
            Some(WantedMode::Rte {
                terminals,
                sessions: sessions.unwrap_or(DEFAULT_POOL),
                wait_factor: wait_factor.unwrap_or(1.0),
                delivery_log,
            })
        }
        "open" => {
            only(raw, &["rte.wait_factor", "rte.delivery_log"], "rte", "");
            if terminals.is_some() && sessions.is_some() {
                raw.wrong("sessions", "and --terminals mean the same in open mode: give one");
            }
            if raw.text("rate").is_none() {
                raw.errors.push("--mode open needs --rate, in transactions per second".into());
            }
            Some(WantedMode::Open {
                rate: rate?,
                arrival: arrival.unwrap_or(Arrival::Poisson),
                sessions: sessions.or(terminals).unwrap_or(DEFAULT_SESSIONS),
            })
        }
        _ => None,
    }
}

/// Clause 4.2.1: ten terminals for each warehouse.
fn too_many_terminals(terminals: u32, warehouses: u32) -> Option<String> {
    let most = warehouses.saturating_mul(10);
    (terminals > most).then(|| {
        format!(
            "{terminals} emulated users are more than ten for each of {} (clause 4.2.1): ask for at most {most}, or load \
             more warehouses",
            plural(warehouses.into(), "warehouse")
        )
    })
}

fn retry(raw: &mut Raw) -> RetryPolicy {
    let usual = RetryPolicy::default();
    let policy = RetryPolicy {
        attempts: raw.read("retry.attempts", |text| whole(text, 1, 1_000_000)).unwrap_or(usual.attempts),
        backoff_min: raw.read("retry.backoff_min", time).unwrap_or(usual.backoff_min),
        backoff_max: raw.read("retry.backoff_max", time).unwrap_or(usual.backoff_max),
    };
    if policy.backoff_max < policy.backoff_min {
        raw.wrong("retry.backoff_max", "must not be below retry.backoff_min");
    }
    policy
}

fn tx_mode(text: &str) -> Result<TxMode, String> {
    TxMode::from_name(text).ok_or_else(|| "is not known: use statements, batched or procedures".into())
}
