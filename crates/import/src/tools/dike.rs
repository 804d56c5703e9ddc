//! Dike: Java properties of the Dike paper's program.

use super::mixes::{TYPES, keep_share};
use crate::decimal::{self, Milli, to_hundred};
use crate::draft::{Draft, MOST, MOST_TERMINALS, MOST_WAREHOUSES, json_number};
use crate::fate::Fate;
use crate::given::Given;
use crate::options;
use crate::product::Protocol;
use crate::syntax::properties;
use crate::table::{Row, Tool};
use std::collections::BTreeMap;

/// Dike.
pub(crate) static TOOL: Tool = Tool {
    name: "Dike",
    mark: "Java properties with db=, host= and set=",
    differences: &[
        "Dike has no warm-up. Lydite's plan gets none either; set `warmup` for one.",
        "Dike's faults have their amounts in scripts beside the file. Lydite names them in `fault`, see [Faults](faults.md).",
    ],
    rows: ROWS,
    several: false,
    recognizes: |source| {
        let names = properties::names(&source.text);
        let has = |name: &str| names.iter().any(|known| known == name);
        has("db") && has("host") && has("set") && !has("conn")
    },
    read: |source| Ok(properties::parse(&source.text)),
    normal: |name| match name {
        "readWriteSeparation" => "readWriteSeperation".to_owned(),
        name => name.to_owned(),
    },
    defaults: |_| {
        vec![
            ("warehouses", "60"),
            ("terminals", "60"),
            ("runMins", "5"),
            ("physicalNode", "1"),
            ("transactionIsolation", "1"),
            ("rollbackRetry", "false"),
            ("transactions", "45,43,4,4,4,0,0,0,0"),
            ("statisticsCalc", "false"),
        ]
    },
    finish,
};

const JDBC: &str = "it corrects JDBC; `tx` in the plan sets how transactions are sent";
const COLLECTOR: &str = "`observe` samples the database, this machine and other hosts each second";
const FAULT: &str =
    "the file says no amount: `fault` in the plan injects such a fault, with its amount and place";
const OF_ITEMS: &str =
    "it shapes dUpdateItem alone: `update_item_rounds` in the plan is the number of its pairs";

/// Weights in the order of Lydite's types.
const WEIGHTS: [&str; 5] =
    ["newOrderWeight", "paymentWeight", "orderStatusWeight", "deliveryWeight", "stockLevelWeight"];

static ROWS: &[Row] = &[
    Row::plan("db", "the URL's scheme", Draft::product),
    Row::plan("host", "the URL's host", Draft::hosts),
    Row::plan("port", "the URL's port", Draft::port),
    Row::plan("set", "the URL's database", Draft::database),
    Row::plan("user", "the URL's user", Draft::user),
    Row::secret("password"),
    Row::plan(
        "transactionIsolation",
        "the URL's `isolation`: 0 is serializable, 3 read uncommitted",
        |draft, given| match given.text() {
            "0" => draft.isolation(Some("serializable")),
            "1" => draft.isolation(Some("repeatable-read")),
            "2" => draft.isolation(Some("read-committed")),
            "3" => Fate::none("TPC-C's transactions do not tolerate it: the target's default holds"),
            _ => Fate::unknown("must be a number from 0 to 3"),
        },
    ),
    Row::plan("sslmode", "the URL's `sslmode` (PostgreSQL's protocol)", |draft, given| {
        match draft.place.protocol() {
            Some(Protocol::Postgres) => options::ssl_mode(draft, given),
            _ => Fate::dropped("it is for PostgreSQL's protocol"),
        }
    }),
    Row::plan("useSSL", "the URL's `sslmode` (MySQL's protocol)", |draft, given| {
        match draft.place.protocol() {
            Some(Protocol::MySql) => {
                given.switched(|on| draft.option("sslmode", if on { "prefer" } else { "disable" }))
            }
            _ => Fate::dropped("it is for MySQL's protocol"),
        }
    }),
    Row::dropped(
        "rewriteBatchedStatements, reWriteBatchedInserts, allowMultiQueries, useLocalSessionState, useServerPrepStmts, \
         useConfigs",
        JDBC,
    ),
    Row::dropped("allowLoadLocalInfile", "a load uses LOAD DATA LOCAL or COPY where the server has it"),
    Row::anyway("autoReconnect", "lost sessions always reconnect"),
    Row::dropped("socketTimeout, queryTimeout", "`statement_timeout` in the URL limits statements"),
    Row::warehouses("warehouses", "`warehouses`", |draft, given| {
        draft.count("warehouses", given, 1, MOST_WAREHOUSES)
    }),
    Row::plan("terminals", "`terminals`", |draft, given| draft.count("terminals", given, 1, MOST_TERMINALS)),
    Row::plan("terminalRange", "`active_warehouses`, if not all", |draft, given| {
        let ends: Option<Vec<u64>> = given.text().split(',').map(|end| end.trim().parse().ok()).collect();
        match (ends.as_deref(), draft.number("warehouses")) {
            (Some([1, to]), Some(all)) if *to == all => Fate::translated("all warehouses are in use"),
            (Some([from, to]), Some(all)) if (1..=*to).contains(from) && *to <= all => {
                draft.set("active_warehouses", format!("{from}-{to}"))
            }
            _ => Fate::unknown("must be two warehouses"),
        }
    }),
    Row::plan(
        "physicalNode",
        "`nodes`, for a database that does not report its placement",
        |draft, given| draft.keep_count("nodes", given, (1, 10_000), "nodes, where a control needs it"),
    ),
    Row::plan("runMins", "`duration`", |draft, given| match Draft::read_time(given, 60_000) {
        Ok(ms) => {
            draft.keep("end", 0, ms);
            draft.set("duration", decimal::time(ms))
        }
        Err(fate) => fate,
    }),
    Row::plan("transactions", "`mix`", |draft, given| match shares(given.text()) {
        Ok(mix) => draft.set("mix", mix),
        Err(fate) => fate,
    }),
    Row::plan(
        "newOrderWeight, paymentWeight, orderStatusWeight, deliveryWeight, stockLevelWeight",
        "`mix`, all five together",
        |draft, given| keep_share(draft, given, &WEIGHTS),
    ),
    Row::plan("rollbackRetry", "`retry.attempts = 1` for false", |draft, given| {
        given.switched(|on| match on {
            true => Fate::translated("aborted transactions are retried"),
            false => draft.set("retry.attempts", 1),
        })
    }),
    Row::plan("newOrderDistributedRate", "`dis_ratio`", |draft, given| percent(draft, "dis_ratio", given)),
    Row::plan("newOrderSpanNode", "`dis_degree`, if dis_ratio is above 0", |draft, given| {
        draft.keep_count("degree", given, (1, 10_000), "dis_degree, if dis_ratio is above 0")
    }),
    Row::plan("stockLevelDistributedRate", "`dis_stock_level`, if above 0", |draft, given| {
        match given.text() {
            "0" => Fate::translated("Stock-Levels read one warehouse"),
            _ => percent(draft, "dis_stock_level", given),
        }
    }),
    Row::plan(
        "stockLevelWIDNode",
        "`dis_stock_level_degree`, if dis_stock_level is above 0",
        |draft, given| {
            draft.keep_count(
                "stock_degree",
                given,
                (1, 10_000),
                "dis_stock_level_degree, if dis_stock_level is above 0",
            )
        },
    ),
    Row::plan("statisticsCalc", "`dis_strategy`: `paper` for true, `placed` for false", |draft, given| {
        given.switched(|by_statistics| {
            draft.keep("strategy", 0, if by_statistics { "paper" } else { "placed" });
            Fate::translated("dis_strategy, where transactions are distributed")
        })
    }),
    Row::plan("warehouseDistribution", "`homes`: `zipf(k)` for zipfian:k", |draft, given| {
        match given.text() {
            "uniform" => Fate::translated("homes are uniform"),
            text => match text.strip_prefix("zipfian:").and_then(|factor| Milli::parse(factor, 100.0)) {
                Some(factor) => draft.set("homes", format!("zipf({factor})")),
                None => Fate::unknown("must be uniform or zipfian:NUMBER"),
            },
        }
    }),
    Row::dropped(
        "terminalWarehouseFixed",
        "sessions use all warehouses in turn; `homes` sets another distribution",
    ),
    Row::only("broadcastTest", "false", "a share of update_item in the mix updates items"),
    Row::dropped("batchUpdate, accesssUpdateItemRate", OF_ITEMS),
    Row::only(
        "readWriteSeperation",
        "false",
        "name the servers that answer read-only transactions as `replicas`",
    ),
    Row::only(
        "bandTransaction",
        "false",
        "each terminal enters all types; `staleness` is the permitted age of reads on replicas",
    ),
    Row::plan("dynamicDistrict", "`data_skew = \"zipf(1.5)\"` for true", |draft, given| {
        given.switched(|on| match on {
            true => draft.set("data_skew", "zipf(1.5)"),
            false => Fate::translated("ten districts for each warehouse"),
        })
    }),
    Row::only(
        "dynamicLoad",
        "false",
        "Dike's threads sleep; `mode = \"open\"` and `rate = \"gaussian(…)\"` offer such a load at a rate of yours",
    ),
    Row::plan("dynamicConflict", "`ci` and `phase`, for true", |draft, given| {
        draft.keep_switch("conflict", given, ["ci", "no contention beyond TPC-C's"])
    }),
    Row::plan("cilist", "`ci`, if dynamicConflict is true", |draft, given| {
        let numbers: Option<Vec<u32>> =
            given.text().split(',').map(|number| number.trim().parse().ok()).collect();
        match numbers {
            Some(numbers) => {
                let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
                draft.keep("cilist", 0, list.join(","));
                Fate::translated("ci, if dynamicConflict is true")
            }
            None => Fate::unknown("must be whole numbers with commas between them"),
        }
    }),
    Row::plan("conflictChangeInterval", "`phase`, in minutes, if dynamicConflict is true", |draft, given| {
        match Draft::read_time(given, 60_000) {
            Ok(ms) => {
                draft.keep("interval", 0, ms);
                Fate::translated("phase, if dynamicConflict is true")
            }
            Err(fate) => fate,
        }
    }),
    Row::plan("dynamicTransaction", "`[[phase]]` tables with their `mix`, for true", |draft, given| {
        draft.keep_switch("mixes", given, ["[[phase]] tables", "one mix"])
    }),
    Row::plan(
        "changeTransactions",
        "`mix` of `[[phase]]` tables, if dynamicTransaction is true",
        |draft, given| list(draft, "change_mixes", given),
    ),
    Row::plan(
        "changePoints",
        "`from` of `[[phase]]` tables, if dynamicTransaction is true",
        |draft, given| list(draft, "change_points", given),
    ),
    Row::plan(
        "coaccessNumber",
        "`update_stock_rounds` and `coaccess`, if the mix has update_stock",
        |draft, given| {
            draft.keep_count("coaccess", given, (1, 7), "update_stock_rounds, if the mix has update_stock")
        },
    ),
    Row::none("snapshotTimes", "`lydite verify --global-snapshot` makes this test"),
    Row::none("deadlockTimes", "`lydite verify --global-deadlock --updates N` makes this test"),
    Row::none("chaosNode", "`fault` in the plan has the place, as ssh://HOST"),
    Row::none("chaosTime, chaosTimes", "`fault` in the plan has its time"),
    Row::none("chaosType", "`fault` in the plan has the kind"),
    Row::only("cpuLoad, stressMemory, diskRead, diskWrite, networkDelay, shutdown, datafile", "false", FAULT),
    Row::dropped("resultDirectory", "`json` and `report` in the plan name the files of the result"),
    Row::dropped(
        "osCollector, osCollectorScript, osCollectorSSHAddr, osCollectorDevices, osCollectorInterval",
        COLLECTOR,
    ),
    Row::dropped("txnReportInterval", "series are by second"),
    Row::none(
        "schemaScript",
        "the tables are Lydite's; `items` and `colocated` in the URL are Dike's variants",
    ),
    Row::none("indexScript", "`after_load` in the plan is a file of your own statements"),
    Row::plan("partitions", "the URL's `partitions`, where the server has them", |draft, given| {
        let scheme = draft.place.scheme();
        match scheme {
            Some("postgres") => draft.partitions(given, 128),
            Some("mysql" | "mariadb" | "tidb" | "oceanbase" | "polardb") => draft.partitions(given, 8_192),
            _ => Fate::none("the database distributes its tables by itself"),
        }
    }),
    Row::plan("loadWorkers", "`jobs`", |draft, given| draft.count("jobs", given, 1, MOST)),
    Row::dropped("writeCSV, fileLocation", "`lydite load --csv DIR` writes files of the rows"),
    Row::only("dataSource", "insert", "`lydite load TARGET --from DIR` loads files"),
];

fn percent(draft: &mut Draft, key: &'static str, given: &Given) -> Fate {
    match Milli::parse(given.text(), 100.0) {
        Some(percent) => draft.set(key, json_number(percent)),
        None => Fate::unknown("must be a number of percent"),
    }
}

/// Keeps numbers for the phases.
fn list(draft: &mut Draft, name: &'static str, given: &Given) -> Fate {
    let text = given.text();
    if text.contains(|letter: char| !letter.is_ascii_digit() && !",;. ".contains(letter)) {
        return Fate::unknown("must be numbers with commas and semicolons between them");
    }
    draft.keep(name, 0, text);
    Fate::translated("[[phase]] tables, if dynamicTransaction is true")
}

/// Reads nine shares, or five.
fn shares(text: &str) -> Result<String, Fate> {
    let shares = Milli::list(text, 100.0).filter(|shares| [5, 9].contains(&shares.len()));
    let shares = shares.and_then(|shares| to_hundred(&shares));
    let shares = shares.ok_or_else(|| Fate::unknown("must be nine shares in percent"))?;
    let share = |at: usize| shares.get(at).copied().unwrap_or_default();
    if share(7).0 + share(8).0 > 0 {
        return Err(Fate::none(
            "the tests of snapshots and deadlocks are `lydite verify`: give the five types and update_item and update_stock \
             all shares",
        ));
    }
    if share(5).0 + share(6).0 == 0 {
        return Ok(shares.iter().take(5).map(ToString::to_string).collect::<Vec<_>>().join(","));
    }
    let names = TYPES.into_iter().chain(["update_item", "update_stock"]);
    let named =
        names.zip(&shares).filter(|(_, share)| share.0 > 0).map(|(name, share)| format!("{name}={share}"));
    Ok(named.collect::<Vec<_>>().join(","))
}

fn finish(draft: &mut Draft, _: &[Given]) {
    draft.derive("mode", "direct", "terminals wait for nothing");
    draft.derive("warmup", "0s", "Dike has none");
    weights(draft);
    distribution(draft);
    conflicts(draft);
    changes(draft);
    if draft.kept_number("nodes", 0).is_some_and(|nodes| nodes > 1)
        && draft.place.scheme() == Some("postgres")
    {
        draft.note("physicalNode is above 1: if the servers are Citus, write citus:// instead of postgres:// in the URL");
    }
    let mix = draft.keys.get("mix").and_then(|entry| entry.value.as_str());
    let updates_stock = mix.is_some_and(|mix| mix.contains("update_stock"));
    if let Some(rounds) = draft.kept_number("coaccess", 0).filter(|rounds| updates_stock && *rounds > 1) {
        draft.derive("update_stock_rounds", rounds, "coaccessNumber");
        draft.derive("coaccess", 100, "coaccessNumber");
    }
}

/// Takes the five weights for the mix, if the file has them.
fn weights(draft: &mut Draft) {
    if draft.groups("share").is_empty() {
        return;
    }
    let weights: Vec<String> =
        (0..TYPES.len()).map(|at| Milli(draft.kept_number("share", at).unwrap_or(0)).to_string()).collect();
    match shares(&weights.join(",")) {
        Ok(mix) => {
            draft.derive("mix", mix, "the weights");
            draft.amend("transactions", 0, Fate::dropped("the weights set the mix"));
        }
        Err(fate) => draft.amend("newOrderWeight", 0, fate),
    }
}

/// Sets what transactions over several nodes need.
fn distribution(draft: &mut Draft) {
    let nodes = draft.kept_number("nodes", 0).unwrap_or(1);
    let reports = draft.place.product.is_some_and(|product| product.reports_placement);
    if nodes < 2 && draft.keys.get("dis_ratio").is_some_and(|entry| entry.value == 0) {
        draft.keys.remove("dis_ratio");
        let reason = "on one node no order is distributed; TPC-C's 1 % of remote lines stays";
        draft.amend("newOrderDistributedRate", 0, Fate::none(reason));
    }
    let is_above = |draft: &Draft, key: &str| draft.keys.get(key).is_some_and(|entry| entry.value != 0);
    let (orders, reads) = (is_above(draft, "dis_ratio"), is_above(draft, "dis_stock_level"));
    let has_ratio = draft.keys.contains_key("dis_ratio") || reads;
    if !has_ratio {
        return;
    }
    if !reports {
        draft.derive("nodes", nodes, "physicalNode");
    }
    let degree = |draft: &Draft, name| draft.kept_number(name, 0).filter(|degree| *degree > 1);
    if let Some(degree) = degree(draft, "degree").filter(|_| orders) {
        draft.derive("dis_degree", degree, "newOrderSpanNode");
    }
    if let Some(degree) = degree(draft, "stock_degree").filter(|_| reads) {
        draft.derive("dis_stock_level_degree", degree, "stockLevelWIDNode");
    }
    if let Some(strategy) = draft.kept("strategy", 0).filter(|_| orders || reads).map(str::to_owned) {
        draft.derive("dis_strategy", strategy, "statisticsCalc");
    }
}

/// Sets the contention over time.
fn conflicts(draft: &mut Draft) {
    if draft.kept("conflict", 0) != Some("true") {
        return;
    }
    let Some(list) = draft.kept("cilist", 0).map(str::to_owned) else {
        return draft.amend("dynamicConflict", 0, Fate::unknown("needs cilist"));
    };
    if draft.keys.remove("dis_ratio").is_some() {
        for key in ["dis_degree", "dis_strategy"] {
            draft.keys.remove(key);
        }
        let reason = "can't be together with ci, which also chooses the warehouses of an order";
        draft.amend("newOrderDistributedRate", 0, Fate::none(reason));
    }
    let several = list.contains(',');
    draft.derive("ci", list, "cilist");
    if let Some(interval) = draft.kept_number("interval", 0).filter(|_| several) {
        draft.derive("phase", decimal::time(interval), "conflictChangeInterval");
    }
}

/// Makes phases of the changes of the mix.
fn changes(draft: &mut Draft) {
    if draft.kept("mixes", 0) != Some("true") {
        return;
    }
    if draft.keys.contains_key("phase") {
        let reason = "changes of the mix and of the contention have their own times: make a plan of each";
        return draft.amend("dynamicTransaction", 0, Fate::none(reason));
    }
    match phases(draft) {
        Some(phases) => {
            draft.phases = phases;
            draft.keys.remove("duration");
        }
        None => draft.amend(
            "dynamicTransaction",
            0,
            Fate::unknown(
                "needs as many changeTransactions as changePoints, in minutes that rise up to runMins",
            ),
        ),
    }
}

fn phases(draft: &Draft) -> Option<Vec<BTreeMap<&'static str, serde_json::Value>>> {
    let minutes = |text: &str| Some(Milli::parse(text, 144_000.0)?.0 * 60);
    let end = draft.kept_number("end", 0)?;
    let points: Vec<u64> = draft.kept("change_points", 0)?.split(',').map(minutes).collect::<Option<_>>()?;
    let changes: Vec<String> =
        draft.kept("change_mixes", 0)?.split(';').map(|text| shares(text).ok()).collect::<Option<_>>()?;
    let first = draft.keys.get("mix")?.value.as_str()?.to_owned();
    if points.len() != changes.len() {
        return None;
    }
    let begins = std::iter::once(0).chain(points);
    let begins: Vec<u64> = begins.chain([end]).collect();
    let mixes = std::iter::once(first).chain(changes);
    let phase = |(span, mix): (&[u64], String)| {
        let length = span.get(1)?.checked_sub(*span.first()?).filter(|length| *length > 0)?;
        Some(BTreeMap::from([("lasts", decimal::time(length).into()), ("mix", mix.into())]))
    };
    begins.windows(2).zip(mixes).map(phase).collect()
}
