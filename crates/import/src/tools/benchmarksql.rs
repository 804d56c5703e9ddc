//! BenchmarkSQL: Java properties, of version 5 (terminals without waits) and version 6 (emulated users).

use super::mixes::{keep_share, mix_of_rest};
use crate::decimal::Milli;
use crate::draft::{Draft, MOST, MOST_TERMINALS, MOST_WAREHOUSES, json_number};
use crate::fate::Fate;
use crate::given::Given;
use crate::jdbc;
use crate::syntax::properties;
use crate::table::{Row, Tool};

/// BenchmarkSQL.
pub(crate) static TOOL: Tool = Tool {
    name: "BenchmarkSQL",
    mark: "Java properties with conn=jdbc:…",
    differences: &[
        "Version 5 leaves the isolation level to the server; Lydite's default is the target's, as a rule `repeatable-read`.",
        "Version 6 starts its users over `rampupTerminalMins`. Lydite's start in the steady state.",
    ],
    rows: ROWS,
    several: false,
    recognizes: |source| {
        let names = properties::names(&source.text);
        let has = |name: &str| names.iter().any(|known| known == name);
        has("conn") && (has("db") || has("driver")) && (has("warehouses") || has("runMins") || has("user"))
    },
    read: |source| {
        let mut found = properties::parse(&source.text);
        // Its own files have such comments, which Java reads as properties.
        found.retain(|given| !given.name.starts_with("//"));
        Ok(found)
    },
    normal: str::to_owned,
    defaults: |given| {
        let has = |name: &str| given.iter().any(|given| given.name == name);
        match has("sutThreads") {
            true => vec![
                ("terminalMultiplier", "1"),
                ("keyingTimeMultiplier", "1.0"),
                ("thinkTimeMultiplier", "1.0"),
            ],
            false => Vec::new(),
        }
    },
    finish,
};

/// Shares in the order of Lydite's types, from Payment on.
const SHARES: [&str; 4] = ["paymentWeight", "orderStatusWeight", "deliveryWeight", "stockLevelWeight"];
const COLLECTOR: &str = "`observe` samples the database, this machine and other hosts each second";

static ROWS: &[Row] = &[
    Row::plan("db", "the URL's scheme", Draft::product),
    Row::dropped("driver", "it is a class of Java; the URL's scheme chooses the protocol"),
    Row::plan("conn", "the URL, with its parameters", jdbc::read),
    Row::plan("user", "the URL's user", Draft::user),
    Row::secret("password"),
    Row::plan(
        "application",
        "`tx`: `procedures` for a StoredProc application, else `statements`",
        |draft, given| match given.text().to_ascii_lowercase().as_str() {
            "generic" => draft.set("tx", "statements"),
            name if name.ends_with("storedproc") => draft.set("tx", "procedures"),
            _ => Fate::unknown("must be Generic or a StoredProc application"),
        },
    ),
    Row::plan("useStoredProcedures", "`tx`", |draft, given| {
        draft.either("tx", given, ["procedures", "statements"])
    }),
    Row::warehouses("warehouses", "`warehouses`", |draft, given| {
        draft.count("warehouses", given, 1, MOST_WAREHOUSES)
    }),
    Row::plan("useWarehouseFrom, useWarehouseTo", "`active_warehouses`, unless -1", range_end),
    Row::plan("loadWorkers", "`jobs`", |draft, given| draft.count("jobs", given, 1, MOST)),
    Row::dropped("fileLocation", "`lydite load --csv DIR` writes files of the rows"),
    Row::dropped("nodes", "loads have `jobs` connections"),
    Row::plan("terminals", "`terminals` (version 5)", |draft, given| {
        draft.count("terminals", given, 1, MOST_TERMINALS)
    }),
    Row::only(
        "runTxnsPerTerminal",
        "0",
        "a run ends after a time, not after a number of transactions: set duration",
    ),
    Row::plan("runMins", "`duration`", |draft, given| match given.text() {
        "0" => Fate::none("a run ends after a time, not after a number of transactions: set duration"),
        _ => draft.time("duration", given, 60_000),
    }),
    Row::plan(
        "limitTxnsPerMin",
        "`mode = \"open\"` and `rate`, a sixtieth; `direct` for 0 (version 5)",
        |draft, given| match Draft::whole(given, 0, MOST) {
            Ok(limit) => {
                draft.keep("limit", 0, limit);
                match limit {
                    0 => Fate::translated("mode = \"direct\""),
                    _ => Fate::translated(format!("mode = \"open\", rate = {}", Milli(limit * 1_000 / 60))),
                }
            }
            Err(fate) => fate,
        },
    ),
    Row::dropped(
        "terminalWarehouseFixed",
        "sessions use all warehouses in turn; `homes` sets another distribution",
    ),
    Row::plan("sutThreads", "`mode = \"rte\"` and `sessions` (version 6)", |draft, given| {
        draft.count("sessions", given, 1, MOST_TERMINALS)
    }),
    Row::dropped("monkeys", "one thread has the emulated users"),
    Row::dropped(
        "maxDeliveryBGThreads, maxDeliveryBGPerWarehouse",
        "deliveries wait in the queue of all sessions",
    ),
    Row::plan("rampupMins", "`warmup` (version 6)", |draft, given| draft.time("warmup", given, 60_000)),
    Row::dropped("rampupSUTMins", "all sessions connect before the warm-up"),
    Row::dropped("rampupTerminalMins", "emulated users start in the steady state"),
    Row::dropped("reportIntervalSecs, resultIntervalSecs", "the live view and the result have each second"),
    Row::only(
        "restartSUTThreadProbability",
        "0",
        "`connection_lifetime` in the URL renews connections after a time",
    ),
    Row::plan(
        "keyingTimeMultiplier, thinkTimeMultiplier",
        "`rte.wait_factor`, if both are the same number",
        multiplier,
    ),
    Row::plan(
        "terminalMultiplier",
        "`terminals`: ten times it for each warehouse; at most 1",
        |draft, given| match Milli::parse(given.text(), 1e6) {
            Some(Milli(1_000)) => Fate::translated("terminals = ten per warehouse"),
            Some(factor) if factor.0 < 1_000 => {
                draft.keep("terminals", 0, factor.0);
                Fate::translated("terminals")
            }
            _ => Fate::none("a warehouse has ten users at most: `rte.wait_factor` makes them faster"),
        },
    ),
    Row::dropped("traceTerminalIO", "there is no such trace"),
    Row::anyway("newOrderWeight", "`mix`: BenchmarkSQL itself takes what the other shares leave"),
    Row::plan(
        "paymentWeight, orderStatusWeight, deliveryWeight, stockLevelWeight",
        "`mix`; New-Orders are what these leave",
        |draft, given| keep_share(draft, given, &SHARES),
    ),
    Row::none("rollbackPercent", "the standard's 1 % of New-Orders roll back"),
    Row::dropped("resultDirectory", "`json` and `report` in the plan name the files of the result"),
    Row::dropped("reportScript", "`report` in the plan writes a page"),
    Row::dropped("osCollectorScript, osCollectorInterval, osCollectorSSHAddr, osCollectorDevices", COLLECTOR),
];

fn multiplier(draft: &mut Draft, given: &Given) -> Fate {
    match Milli::parse(given.text(), 1_000.0) {
        Some(factor) => {
            draft.keep("factor", usize::from(given.name.starts_with("think")), factor.0);
            Fate::translated("rte.wait_factor")
        }
        None => Fate::unknown("must be a number up to 1000"),
    }
}

fn range_end(draft: &mut Draft, given: &Given) -> Fate {
    if given.text() == "-1" {
        return Fate::dropped("all warehouses are in use");
    }
    let name = if given.name == "useWarehouseFrom" { "from" } else { "to" };
    draft.keep_count(name, given, (1, MOST_WAREHOUSES), "active_warehouses")
}

fn finish(draft: &mut Draft, given: &[Given]) {
    let of = |name: &str| given.iter().rev().find(|given| given.name == name);
    if let (Some(from), Some(to)) = (draft.kept("from", 0), draft.kept("to", 0)) {
        let range = format!("{from}-{to}");
        draft.derive("active_warehouses", range, "useWarehouseFrom, useWarehouseTo");
    }
    mix(draft);
    if of("sutThreads").is_some() {
        users(draft);
    } else if of("terminals").is_some() || of("runMins").is_some() {
        terminals(draft, of("limitTxnsPerMin"));
    }
    if of("runTxnsPerTerminal").is_some_and(|count| !count.is("0"))
        && of("runMins").is_none_or(|minutes| minutes.is("0"))
    {
        draft.note(
            "BenchmarkSQL ends after runTxnsPerTerminal transactions; Lydite's window is 30 s unless duration says more",
        );
    }
}

/// Version 5: a closed loop, or a rate if `limit` says one.
fn terminals(draft: &mut Draft, limit: Option<&Given>) {
    draft.derive("warmup", "0s", "BenchmarkSQL 5 has none");
    match draft.kept_number("limit", 0) {
        // A limit that is not understood says nothing.
        None if limit.is_some() => {}
        None | Some(0) => draft.derive("mode", "direct", "limitTxnsPerMin"),
        Some(limit) => {
            draft.open(Milli(limit * 1_000 / 60), "constant", "limitTxnsPerMin");
            draft.note(
                "limitTxnsPerMin only slows terminals down; Lydite sends at this rate whatever the database does, so a rate that \
                 is too high shows as a backlog",
            );
        }
    }
}

/// Version 6: emulated users.
fn users(draft: &mut Draft) {
    draft.derive("mode", "rte", "sutThreads");
    let warehouses = draft.number("warehouses");
    if let (Some(warehouses), Some(factor)) = (warehouses, draft.kept_number("terminals", 0)) {
        draft.derive("terminals", (warehouses * factor / 100).max(1), "terminalMultiplier");
    }
    let factor = |at| draft.kept_number("factor", at).map(Milli);
    match (factor(0), factor(1)) {
        (Some(keying), Some(think)) if keying == think => {
            draft.derive("rte.wait_factor", json_number(keying), "keyingTimeMultiplier, thinkTimeMultiplier");
        }
        (Some(_), Some(_)) => {
            let reason = "keying and think times have one factor, and these are two: set rte.wait_factor";
            for row in ["keyingTimeMultiplier", "thinkTimeMultiplier"] {
                draft.amend(row, 0, Fate::none(reason));
            }
        }
        _ => {}
    }
}

fn mix(draft: &mut Draft) {
    let mut shares = [43_478, 4_348, 4_348, 4_348].map(Milli);
    if draft.groups("share").is_empty() {
        return;
    }
    for (at, share) in shares.iter_mut().enumerate() {
        share.0 = draft.kept_number("share", at).unwrap_or(share.0);
    }
    match mix_of_rest(shares) {
        Some(mix) => draft.derive("mix", mix, "the weights"),
        None => {
            for name in SHARES {
                draft.amend(name, 0, Fate::unknown("sums to more than 100 with the other shares"));
            }
        }
    }
}
