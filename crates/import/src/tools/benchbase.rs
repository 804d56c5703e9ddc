//! BenchBase: an XML file with the connection, the scale, and phases with their weights and rates.

use super::mixes::{self, TYPES};
use crate::decimal::{self, Milli};
use crate::draft::{Draft, MOST, MOST_TERMINALS, MOST_WAREHOUSES, json_number};
use crate::fate::Fate;
use crate::given::Given;
use crate::jdbc;
use crate::source::{Source, SourceError};
use crate::syntax::xml::{self, elements, line, text_of};
use crate::table::{Row, Tool};
use roxmltree::Node;
use std::collections::{BTreeMap, BTreeSet};

/// BenchBase.
pub(crate) static TOOL: Tool = Tool {
    name: "BenchBase",
    mark: "XML with `<parameters>`",
    differences: &[
        "BenchBase measures a latency from when a terminal takes a request. Lydite measures it from when the request was due, so \
         the wait for a terminal counts.",
        "BenchBase forgets requests when 10,000 wait. Lydite forgets none: if a rate is more than the database can do, the \
         backlog grows, and the result says so. For a load as fast as the database can, take `mode = \"direct\"` and no `rate`.",
        "BenchBase's terminals keep one warehouse. Lydite's sessions use all warehouses in turn.",
    ],
    rows: ROWS,
    several: false,
    recognizes: |source| xml::has_root(&source.text, "parameters"),
    read,
    normal: str::to_owned,
    defaults: |given| {
        let has_work = given.iter().any(|given| given.name == "work/time");
        let all = [("isolation", "TRANSACTION_SERIALIZABLE"), ("scalefactor", "1"), ("retries", "3")];
        if has_work { all.to_vec() } else { Vec::new() }
    },
    finish,
};

/// Names of the transactions, in Lydite's order.
const NAMES: [&str; 5] = ["NewOrder", "Payment", "OrderStatus", "Delivery", "StockLevel"];
/// The standard's keying and mean think times, in Lydite's order, in milliseconds.
const WAITS_MS: [(u64, u64); 5] =
    [(18_000, 12_000), (3_000, 12_000), (2_000, 10_000), (2_000, 5_000), (2_000, 5_000)];
const WAITS: &str =
    "`mode = \"rte\"` and `rte.wait_factor`, if all waits are the standard's times one factor";

static ROWS: &[Row] = &[
    Row::plan("type", "the URL's scheme", Draft::product),
    Row::dropped("driver", "it is a class of Java; the URL's scheme chooses the protocol"),
    Row::plan("url", "the URL, with its parameters", jdbc::read),
    Row::plan("username", "the URL's user", Draft::user),
    Row::secret("password"),
    Row::anyway("reconnectOnConnectionFailure", "lost sessions always reconnect"),
    Row::plan("newConnectionPerTxn", "the URL's `connection=per-transaction`", |draft, given| {
        given.switched(|on| match on {
            true => draft.option("connection", "per-transaction"),
            false => Fate::translated("connections are kept"),
        })
    }),
    Row::plan("isolation", "the URL's `isolation`", |draft, given| {
        match given.text().to_ascii_uppercase().trim_start_matches("TRANSACTION_") {
            "SERIALIZABLE" => draft.isolation(Some("serializable")),
            "REPEATABLE_READ" => draft.isolation(Some("repeatable-read")),
            "READ_COMMITTED" => draft.isolation(Some("read-committed")),
            "READ_UNCOMMITTED" | "NONE" => {
                Fate::none("TPC-C's transactions do not tolerate it: the target's default holds")
            }
            _ => Fate::unknown("must be a level as TRANSACTION_SERIALIZABLE"),
        }
    }),
    Row::dropped(
        "batchsize",
        "loads use the server's bulk loading; `batch` in the URL is the rows of a transaction there",
    ),
    Row::warehouses(
        "scalefactor",
        "`warehouses`; BenchBase cuts it to a whole number, at least 1",
        |draft, given| match Milli::parse(given.text(), MOST_WAREHOUSES as f64) {
            Some(factor) => draft.set("warehouses", (factor.0 / 1_000).max(1)),
            None => Fate::unknown("must be a number of warehouses"),
        },
    ),
    Row::plan("terminals", "`terminals`", |draft, given| draft.count("terminals", given, 1, MOST_TERMINALS)),
    Row::plan("loaderThreads", "`jobs`", |draft, given| draft.count("jobs", given, 1, MOST)),
    Row::plan("randomSeed", "`seed`", |draft, given| match given.text() {
        "-1" => Fate::dropped("is another seed in each run; Lydite's is 1 unless set"),
        _ => draft.count("seed", given, 0, MOST),
    }),
    Row::plan("retries", "`retry.attempts`", |draft, given| draft.count("retry.attempts", given, 1, MOST)),
    Row::none(
        "sessionsetupfile",
        "there are no statements before a session: options of the URL set what a session needs",
    ),
    Row::dropped("datadir", "no file is read for TPC-C"),
    Row::none(
        "ddlpath",
        "the tables are Lydite's; `schema` in the plan is a file of your own statements, in its own form",
    ),
    Row::none(
        "afterload",
        "`after_load` in the plan is such a file: name yours there if its statements fit Lydite's tables",
    ),
    Row::dropped("selectivity", "TPC-C has no such choice"),
    Row::none("anonymization", "rows are never changed"),
    Row::none("groupings", "results have each type of transaction alone"),
    Row::plan("transactiontype/name", "the order of `mix`", |draft, given| match place_of(given.text()) {
        Some(_) => {
            draft.keep("name", given.group, given.text());
            Fate::translated("the order of the shares in mix")
        }
        None => Fate::unknown("must be a transaction of TPC-C, as NewOrder"),
    }),
    Row::dropped("transactiontype/id", "the names say it"),
    Row::plan("transactiontype/preExecutionWait", WAITS, |draft, given| {
        draft.keep_count("before", given, (0, MOST), "a wait of emulated users")
    }),
    Row::plan("transactiontype/postExecutionWait", WAITS, |draft, given| {
        draft.keep_count("after", given, (0, MOST), "a wait of emulated users")
    }),
    Row::plan("work/time", "`duration`, or `lasts` of a phase", |draft, given| {
        draft.keep_count("time", given, (0, 8_640_000), "the length of the window")
    }),
    Row::plan("work/warmup", "`warmup`; `0s` without it", |draft, given| {
        draft.keep_count("warmup", given, (0, 8_640_000), "warmup")
    }),
    Row::plan(
        "work/rate",
        "`mode = \"open\"` and `rate`; `direct` for unlimited",
        |draft, given| match given.text() {
            word @ ("unlimited" | "disabled") => {
                draft.keep("rate", given.group, word);
                Fate::translated(if word == "disabled" { "rate = 0" } else { "mode = \"direct\"" })
            }
            _ => match Draft::rate(given) {
                Ok(rate) => {
                    draft.keep("rate", given.group, rate.0);
                    Fate::translated(format!("mode = \"open\", rate = {rate}"))
                }
                Err(fate) => fate,
            },
        },
    ),
    Row::plan("work/@arrival", "`arrival`: `poisson`, else `constant`", |draft, given| {
        let arrival = if given.text().eq_ignore_ascii_case("poisson") { "poisson" } else { "constant" };
        draft.keep("arrival", given.group, arrival);
        Fate::translated(format!("arrival = \"{arrival}\""))
    }),
    Row::plan("work/weights", "`mix`, scaled to a sum of 100", |draft, given| {
        match Milli::list(given.text(), 1e6) {
            Some(_) => {
                draft.keep("weights", given.group, given.text());
                Fate::translated("mix")
            }
            None => Fate::unknown("must be numbers with commas between them"),
        }
    }),
    Row::plan("work/active_terminals", "`terminals` of a phase", |draft, given| {
        draft.keep_count("active", given, (1, MOST_TERMINALS), "terminals")
    }),
    Row::only("work/serial", "false", "transactions are drawn, not played in an order"),
    Row::dropped("[bench]", "it is for another benchmark than tpcc"),
];

fn place_of(name: &str) -> Option<usize> {
    NAMES.iter().position(|known| known.eq_ignore_ascii_case(name.trim()))
}

fn read(source: &Source) -> Result<Vec<Given>, SourceError> {
    let document = xml::parse(source)?;
    let mut found = Vec::new();
    let root = document.root_element();
    for element in elements(root) {
        let list = |name: &str| elements(element).filter(|node| node.has_tag_name(name)).collect::<Vec<_>>();
        match element.tag_name().name() {
            "works" => {
                for (at, work) in list("work").into_iter().enumerate() {
                    let arrival =
                        work.attribute("arrival").map(|text| Given::new("work/@arrival", text, line(work)));
                    found.extend(arrival.map(|given| given.in_group(at + 1)));
                    elements(work).for_each(|node| leaf(&mut found, "work/", node, at + 1));
                }
            }
            "transactiontypes" if !is_of_another(element) => {
                for (at, of) in list("transactiontype").into_iter().enumerate() {
                    elements(of).for_each(|node| leaf(&mut found, "transactiontype/", node, at + 1));
                }
                let groupings = list("groupings");
                found.extend(groupings.iter().map(|node| Given::new("groupings", "", line(*node))));
            }
            _ => leaf(&mut found, "", element, 0),
        }
    }
    let named = |given: &&Given| given.name == "transactiontype/name";
    let has_types = elements(root).any(|node| node.has_tag_name("transactiontypes"));
    if has_types && found.iter().filter(named).all(|given| place_of(given.text()).is_none()) {
        return Err(SourceError::OtherWorkload("another benchmark of BenchBase than TPC-C"));
    }
    Ok(found)
}

/// True if an element is for another benchmark than TPC-C.
fn is_of_another(node: Node<'_, '_>) -> bool {
    node.attribute("bench").is_some_and(|bench| !bench.eq_ignore_ascii_case("tpcc"))
}

fn leaf(found: &mut Vec<Given>, prefix: &str, node: Node<'_, '_>, group: usize) {
    let name = match is_of_another(node) {
        true => "[bench]".to_owned(),
        false => format!("{prefix}{}", node.tag_name().name()),
    };
    found.push(Given::new(name, text_of(node), line(node)).in_group(group));
}

/// The pace of a work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// The file says none that is understood.
    Unknown,
    Unlimited,
    /// A rate; zero for a work that is disabled.
    Rate(Milli),
}

/// A phase.
struct Work {
    group: usize,
    seconds: u64,
    pace: Pace,
    mix: Option<String>,
    active: Option<u64>,
}

impl Work {
    fn rate(&self) -> Option<Milli> {
        match self.pace {
            Pace::Rate(rate) => Some(rate),
            Pace::Unknown | Pace::Unlimited => None,
        }
    }

    fn is_disabled(&self) -> bool {
        self.pace == Pace::Rate(Milli(0))
    }

    /// True if the work sends transactions at a rate.
    fn is_rated(&self) -> bool {
        self.rate().is_some() && !self.is_disabled()
    }
}

fn finish(draft: &mut Draft, given: &[Given]) {
    let of_works = given.iter().filter(|given| given.name.starts_with("work/"));
    let groups: BTreeSet<usize> = of_works.map(|given| given.group).collect();
    let works: Vec<Work> = groups.into_iter().map(|group| work(draft, given, group)).collect();
    let Some(first) = works.first().map(|work| work.group) else { return };
    let warmup = draft.kept_number("warmup", first).unwrap_or(0);
    draft.derive("warmup", decimal::time(warmup * 1_000), "warmup of the first work");
    for group in draft.groups("warmup").into_iter().filter(|group| *group != first) {
        draft.amend("work/warmup", group, Fate::dropped("BenchBase warms up before the first work alone"));
    }
    if works.iter().all(Work::is_disabled) {
        // A run refuses the rate, so nobody measures at full speed by accident.
        draft.derive("mode", "open", "rate");
        draft.note(
            "every work is disabled, so BenchBase sends no transaction: set rate to one that it shall have, or set mode = \
             \"direct\" without a rate",
        );
        settle_arrivals(draft, &works, true);
        return settle_works(draft, works, true);
    }
    let factor = wait_factor(draft);
    let is_rated = works.iter().any(Work::is_rated);
    let is_unlimited = works.iter().any(|work| work.pace == Pace::Unlimited);
    let has_rate = factor.is_none() && is_rated && !is_unlimited;
    settle_arrivals(draft, &works, has_rate);
    let works = match factor {
        Some(factor) => {
            draft.derive("mode", "rte", "preExecutionWait, postExecutionWait");
            draft.derive("rte.wait_factor", json_number(factor), "the same, of the standard's");
            if let Some(terminals) = draft.number("terminals") {
                draft.derive("sessions", terminals, "a connection for each terminal");
            }
            drop_rates(draft, &works);
            works
        }
        None if is_rated && is_unlimited => {
            draft.derive("mode", "direct", "rate");
            without_rated(draft, works)
        }
        None if is_rated => {
            draft.derive("mode", "open", "rate");
            draft.note(
                "an open loop forgets no request: if the rate stands for \"as fast as possible\", set mode = \"direct\", and \
                 take out rate and arrival",
            );
            works
        }
        None => {
            if is_unlimited {
                draft.derive("mode", "direct", "rate");
            }
            works
        }
    };
    let works = if has_rate { works } else { without_disabled(draft, works) };
    settle_works(draft, works, has_rate);
}

/// Sets the arrivals of works with a rate. A plan has one kind.
fn settle_arrivals(draft: &mut Draft, works: &[Work], has_rate: bool) {
    let is_any_rated = works.iter().any(Work::is_rated);
    let (rated, others): (Vec<&Work>, Vec<&Work>) =
        works.iter().partition(|work| has_rate && (work.is_rated() || !is_any_rated));
    for work in others {
        draft.amend("work/@arrival", work.group, Fate::dropped("the plan has no rate that it could shape"));
    }
    let of = |work: &&Work| draft.kept("arrival", work.group).unwrap_or("constant").to_owned();
    let arrivals: Vec<String> = rated.iter().map(of).collect();
    let Some(first) = arrivals.first() else { return };
    draft.derive("arrival", first.as_str(), "arrival");
    if arrivals.iter().any(|arrival| arrival != first) {
        for work in rated {
            let fate = Fate::unknown(format!(
                "differs between the works, and a plan has one kind, here {first}: make a plan of each work"
            ));
            draft.amend("work/@arrival", work.group, fate);
        }
    }
}

/// Takes out works with a rate, which a plan with unlimited works can't have.
fn without_rated(draft: &mut Draft, works: Vec<Work>) -> Vec<Work> {
    let (rated, works): (Vec<Work>, Vec<Work>) = works.into_iter().partition(Work::is_rated);
    for work in &rated {
        leave_out(draft, work, "the work is left out: its rate needs a plan of its own");
        let fate = Fate::unknown(
            "needs a plan of its own, since another work is unlimited: the work is left out; make a plan with \
             `mode = \"open\"` of it",
        );
        draft.amend("work/rate", work.group, fate);
    }
    draft.note(
        "works with a rate and unlimited ones need two plans, and this one is of the unlimited ones: make one with `mode = \
         \"open\"` of the others",
    );
    works
}

/// Takes out works that are disabled: without a rate of their own they would run at full speed.
fn without_disabled(draft: &mut Draft, works: Vec<Work>) -> Vec<Work> {
    let (disabled, works): (Vec<Work>, Vec<Work>) = works.into_iter().partition(Work::is_disabled);
    for work in &disabled {
        leave_out(draft, work, "a pause needs mode = \"open\": the work is left out");
    }
    if !disabled.is_empty() {
        draft.note("works that are disabled are left out: a pause is a phase with rate = 0, which needs mode = \"open\"");
    }
    works
}

/// Says of each setting of a work that the plan leaves it out.
fn leave_out(draft: &mut Draft, work: &Work, reason: &'static str) {
    for name in ["work/rate", "work/@arrival", "work/time", "work/weights", "work/active_terminals"] {
        draft.amend(name, work.group, Fate::none(reason));
    }
}

/// Sets the keys of a plan with one work, or makes a phase of each of several.
fn settle_works(draft: &mut Draft, works: Vec<Work>, has_rate: bool) {
    match works.as_slice() {
        [work] => single(draft, work, has_rate),
        _ => phases(draft, works, has_rate),
    }
}

fn drop_rates(draft: &mut Draft, works: &[Work]) {
    for work in works.iter().filter(|work| work.rate().is_some()) {
        draft.amend("work/rate", work.group, Fate::none("emulated users set the pace by their waits"));
    }
}

/// Sets the keys of a plan with one work.
fn single(draft: &mut Draft, work: &Work, has_rate: bool) {
    if work.seconds > 0 {
        draft.derive("duration", decimal::time(work.seconds * 1_000), "time");
    }
    if let Some(rate) = work.rate().filter(|_| has_rate) {
        draft.derive("rate", json_number(rate), "rate");
    }
    if let Some(mix) = &work.mix {
        draft.derive("mix", mix.clone(), "weights");
    }
    if let Some(active) = work.active {
        draft.derive("terminals", active, "active_terminals");
    }
}

/// Makes a phase of each work.
fn phases(draft: &mut Draft, works: Vec<Work>, has_rate: bool) {
    let highest = works.iter().filter_map(Work::rate).max();
    if let Some(rate) = highest.filter(|_| has_rate) {
        draft.derive("rate", json_number(rate), "the highest rate; phases have their own");
    }
    for work in works.into_iter().filter(|work| work.seconds > 0) {
        let mut phase = BTreeMap::new();
        phase.insert("lasts", decimal::time(work.seconds * 1_000).into());
        if let Some(rate) = work.rate().filter(|_| has_rate) {
            phase.insert("rate", json_number(rate));
        }
        if let Some(mix) = work.mix {
            phase.insert("mix", mix.into());
        }
        if let Some(active) = work.active {
            phase.insert("terminals", active.into());
        }
        draft.phases.push(phase);
    }
}

/// Reads a work from what was kept.
fn work(draft: &mut Draft, given: &[Given], group: usize) -> Work {
    let seconds = draft.kept_number("time", group);
    let has_time = given.iter().any(|given| given.group == group && given.name == "work/time");
    // A time that is not understood says nothing.
    if seconds == Some(0) || !has_time {
        draft.note("a work has no time: set duration, or make it a phase that lasts");
        draft.amend(
            "work/time",
            group,
            Fate::none("a work without a time plays each transaction once, and Lydite plays for a time: set duration"),
        );
    }
    let seconds = seconds.unwrap_or(0);
    let pace = match draft.kept("rate", group) {
        Some("unlimited") => Pace::Unlimited,
        Some("disabled") => Pace::Rate(Milli(0)),
        Some(rate) => rate.parse().map_or(Pace::Unknown, |rate| Pace::Rate(Milli(rate))),
        None => Pace::Unknown,
    };
    let mix = mix(draft, group);
    if mix.is_none() && draft.kept("weights", group).is_some() {
        draft.amend(
            "work/weights",
            group,
            Fate::unknown("needs a share for each transactiontype, and one above zero"),
        );
    }
    Work { group, seconds, pace, mix, active: draft.kept_number("active", group) }
}

/// Returns the mix of a work's weights, which stand in the order of the transaction types.
fn mix(draft: &Draft, group: usize) -> Option<String> {
    let weights = Milli::list(draft.kept("weights", group)?, 1e6)?;
    let groups = draft.groups("name");
    let names: Vec<&str> = match groups.is_empty() {
        true => NAMES.to_vec(),
        false => groups.iter().filter_map(|group| draft.kept("name", *group)).collect(),
    };
    let mut shares = [Milli(0); TYPES.len()];
    if names.len() != weights.len() {
        return None;
    }
    for (name, weight) in names.iter().zip(weights) {
        *shares.get_mut(place_of(name)?)? = weight;
    }
    mixes::mix(&shares)
}

/// Returns the factor of all waits on the standard's; none without waits, or if there is no such factor.
fn wait_factor(draft: &mut Draft) -> Option<Milli> {
    let mut factors = Vec::new();
    for group in draft.groups("name") {
        let Some(at) = draft.kept("name", group).and_then(place_of) else { continue };
        let Some((before, after)) = WAITS_MS.get(at) else { continue };
        let waits = ["before", "after"].map(|name| draft.kept_number(name, group).unwrap_or(0));
        factors.extend(waits.into_iter().zip([before, after]).map(|(wait, of)| Milli(wait * 1_000 / of)));
    }
    let first = *factors.first()?;
    if factors.iter().all(|factor| factor.0 == 0) {
        return None;
    }
    if factors.iter().all(|factor| *factor == first) {
        return Some(first);
    }
    let reason =
        "emulated users wait the standard's times by one factor (rte.wait_factor), and these have none";
    for (row, name) in
        [("transactiontype/preExecutionWait", "before"), ("transactiontype/postExecutionWait", "after")]
    {
        for group in draft.groups(name) {
            draft.amend(row, group, Fate::none(reason));
        }
    }
    None
}
