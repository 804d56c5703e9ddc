//! A made-up result that looks like a real one: skewed latencies, noisy seconds, a checkpoint, a few troubles.

mod observed;

use hdrhistogram::Histogram;
use lydite_report::hdr;
use lydite_report::model::{
    CheckResult, CheckedWhen, ClientCost, ComplianceLine, DeliveryReport, ErrorCount, HostInfo, InputFinding,
    Latency, LoadInfo, Outage, Pacing, RunResult, Series, Status, TRANSACTION_TYPES, TargetInfo,
    TransactionResult, Window, WindowVerdict,
};
use lydite_tpcc::limits::MAX_NOPM_PER_WAREHOUSE;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use serde_json::json;

/// What the sample should look like.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    /// Of the random numbers.
    pub(crate) seed: u64,
    /// Measured seconds.
    pub(crate) seconds: usize,
    /// Throughput relative to the usual sample.
    pub(crate) speed: f64,
    /// `direct` or `rte`.
    pub(crate) mode: &'static str,
    /// Failed checks, an outage, errors, a queue that dominates.
    pub(crate) troubled: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self { seed: 1, seconds: 300, speed: 1.0, mode: "direct", troubled: false }
    }
}

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// Share of the mix, median service time in ms at speed 1, spread of its logarithm.
const TYPES: [(f64, f64, f64); 5] =
    [(0.45, 6.2, 0.38), (0.43, 2.9, 0.42), (0.04, 1.4, 0.35), (0.04, 21.0, 0.30), (0.04, 3.7, 0.55)];

/// Makes a sample.
pub(crate) fn sample(look: Look) -> RunResult {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(look.seed));
    let warehouses = 10_u64;
    let rate = if look.mode == "rte" { 4.75 } else { 920.0 * look.speed };
    let mut histograms: Vec<[Histogram<u64>; 3]> =
        (0..5).map(|_| [(); 3].map(|()| Histogram::new(3).unwrap())).collect();
    let warmup = 20;
    let mut series = Series::default();
    let mut warmup_series = Series::default();
    let mut drift = 0.0;
    for i in -warmup..look.seconds as i64 {
        drift = 0.8 * drift + 0.03 * dice.normal();
        let warm = if i < 0 { 1.0 - 0.6 * (-(i + warmup) as f64 / 5.0).exp() } else { 1.0 };
        let checkpoint = (140..152).contains(&i);
        let outage = look.troubled && (201..207).contains(&i);
        let factor = if outage { 0.0 } else { warm * (1.0 + drift) * if checkpoint { 0.72 } else { 1.0 } };
        let to = if i < 0 { &mut warmup_series } else { &mut series };
        to.second.push(i);
        let mut new_order = Histogram::<u64>::new(3).unwrap();
        for (t, (share, median_ms, spread)) in TYPES.iter().enumerate() {
            let n = (rate * share * factor + dice.normal() * (rate * share * factor).sqrt()).round().max(0.0)
                as u64;
            [&mut to.new_order, &mut to.payment, &mut to.order_status, &mut to.delivery, &mut to.stock_level]
                [t]
                .push(n);
            for _ in 0..n {
                let tail = if dice.unit() < 0.004 { 6.0 + 30.0 * dice.unit() } else { 1.0 };
                let slow = if checkpoint { 1.9 } else { 1.0 };
                let service = median_ms / look.speed * (spread * dice.normal()).exp() * tail * slow;
                let queue = -(1.0 - dice.unit()).ln() * if look.troubled { 9.0 } else { 0.35 };
                let ns = |ms: f64| (ms * 1e6) as u64;
                if t == 0 {
                    new_order.record(ns(service + queue)).unwrap();
                }
                if i >= 0 {
                    for (h, ms) in histograms[t].iter_mut().zip([service + queue, queue, service]) {
                        h.record(ns(ms)).unwrap();
                    }
                }
            }
        }
        let quantile = |q| (!new_order.is_empty()).then(|| new_order.value_at_quantile(q) as f64 / 1e6);
        to.new_order_p50_ms.push(quantile(0.5));
        to.new_order_p99_ms.push(quantile(0.99));
        to.aborts.push((dice.unit() * rate * 0.006 * factor).round() as u64);
        to.errors.push(if look.troubled && i == 200 { 17 } else { 0 });
        to.unknown.push(if look.troubled && i == 200 { 3 } else { 0 });
        to.sessions_connected.push(if outage { 3 } else { 16 });
    }

    let mut result = RunResult {
        status: if look.troubled { Status::Partial } else { Status::Complete },
        plan: read(json!({
            "workload": "tpcc", "mode": look.mode, "warehouses": warehouses,
            "terminals": if look.mode == "rte" { 100 } else { 16 }, "tx": "batched", "mix": "45,43,4,4,4",
            "seed": look.seed, "duration_s": look.seconds, "warmup_s": warmup, "rate": null,
        })),
        target: TargetInfo {
            kind: "postgres".to_owned(),
            version: "17.2 (Debian 17.2-1)".to_owned(),
            url: "postgres://bench@db.example:5432/tpcc".to_owned(),
            settings: [
                ("shared_buffers", "4GB"),
                ("synchronous_commit", "on"),
                ("fsync", "on"),
                ("full_page_writes", "on"),
                ("max_wal_size", "16GB"),
                ("wal_level", "replica"),
                (
                    "search_path",
                    "\"$user\", public, a_schema_with_a_rather_long_name, another_one_as_long_as_that",
                ),
            ]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into(),
            changed_settings: [("shared_buffers", "4GB"), ("work_mem", "64MB"), ("random_page_cost", "1.1")]
                .map(|(k, v)| (k.to_owned(), v.to_owned()))
                .into(),
            encrypted: Some(true),
            embedded: false,
            tables: Vec::new(),
        },
        host: HostInfo {
            hostname: "bench-01".to_owned(),
            os: "Debian GNU/Linux 13".to_owned(),
            kernel: "6.12.9".to_owned(),
            cpu: "AMD EPYC 9354 32-Core Processor".to_owned(),
            cores: 16,
            memory_bytes: 64 << 30,
        },
        load: Some(LoadInfo {
            tables: None,
            seconds: 38.4,
            rows: 5_085_410,
            bytes: 702_311_004,
            warehouses,
            jobs: 8,
            rows_per_s: 132_432.6,
            ..LoadInfo::default()
        }),
        window: Window {
            start: "2025-11-03T14:05:20Z".to_owned(),
            warmup_s: warmup as f64,
            measured_s: look.seconds as f64,
        },
        ..RunResult::default()
    };

    let completed: u64 = histograms.iter().map(|h| h[0].len()).sum();
    for (t, key) in TRANSACTION_TYPES.iter().enumerate().take(TYPES.len()) {
        let n = histograms[t][0].len();
        let rolled_back = if t == 0 { n / 100 } else { 0 };
        let deferred = look.mode == "rte" && t == 3;
        let tx = TransactionResult {
            committed: n - rolled_back,
            rolled_back,
            retries: n / 400,
            failed: if look.troubled { 17 * u64::from(t == 0) } else { 0 },
            unknown: if look.troubled { 3 * u64::from(t == 1) } else { 0 },
            share_percent: n as f64 * 100.0 / completed.max(1) as f64,
            latency_ms: Latency::from_histogram(&histograms[t][0]),
            queue_ms: Latency::from_histogram(&histograms[t][1]),
            service_ms: Latency::from_histogram(&histograms[t][2]),
            interactive_ms: deferred.then_some(Latency {
                mean: Some(0.2),
                p50: Some(0.2),
                p90: Some(0.3),
                p95: Some(0.4),
                p99: Some(0.6),
                p999: Some(1.1),
                max: Some(1.4),
            }),
            hdr: hdr::encode(&histograms[t][0]).unwrap(),
        };
        result.transactions.insert((*key).to_owned(), tx);
    }
    let seconds = look.seconds as f64;
    result.nopm = histograms[0][0].len() as f64 * 60.0 / seconds;
    result.tps = completed as f64 / seconds;
    result.efficiency_percent = result.nopm * 100.0 / (MAX_NOPM_PER_WAREHOUSE * warehouses as f64);
    result.client = ClientCost {
        cpu_s: completed as f64 * 41.3e-6,
        peak_rss_bytes: 61 << 20,
        cpu_us_per_transaction: 41.3,
        driver_cpu_s: None,
        driver_cpu_us_per_transaction: None,
        bottleneck: None,
        lateness_ms: (look.mode == "rte").then_some(Latency {
            mean: Some(0.4),
            p50: Some(0.4),
            p90: Some(0.8),
            p95: Some(0.9),
            p99: Some(1.0),
            p999: Some(1.3),
            max: Some(3.9),
        }),
    };
    let aborts: u64 = series.aborts.iter().sum();
    result.aborts =
        [("serialization".to_owned(), aborts * 3 / 4), ("deadlock".to_owned(), aborts - aborts * 3 / 4)]
            .into();
    result.series = series;
    result.warmup_series = warmup_series;
    add_judgements(&mut result, look, completed);
    observed::add_observed(&mut result);
    result
}

fn add_judgements(result: &mut RunResult, look: Look, completed: u64) {
    for (when, n) in [(CheckedWhen::Before, 12), (CheckedWhen::After, 12)] {
        for id in 1..=n {
            let broken = look.troubled && when == CheckedWhen::After && (id == 3 || id == 10);
            result.checks.push(CheckResult {
                id: format!("C{id}"),
                ok: !broken,
                detail: match (broken, id) {
                    (true, 3) => "W=4 D=7: NO_O_ID 2101 to 3120 but 1019 rows".to_owned(),
                    (true, _) => {
                        "W=4 D=7 C=1893: C_BALANCE -411.20, orders and payments say -10.00".to_owned()
                    }
                    (false, 1) => "W_YTD = sum(D_YTD) in 10 warehouses".to_owned(),
                    _ => "100 districts".to_owned(),
                },
                when,
                seconds: 0.04 * f64::from(id),
            });
        }
    }
    if look.troubled {
        result.errors = vec![
            ErrorCount {
                message: "connection to server was lost: <script>alert(1)</script> \"x\" & 'y'".to_owned(),
                count: 14,
            },
            ErrorCount {
                message: "\u{1b}[31mFATAL\u{1b}[0m: the database system is in recovery mode".to_owned(),
                count: 3,
            },
        ];
        result.outages = vec![Outage { from_s: 201.0, to_s: 207.0, ..Outage::default() }];
    }
    let finding =
        |quantity: &str, clause: &str, window: (f64, f64), actual: f64, samples, unit: &str, verdict| {
            InputFinding {
                quantity: quantity.to_owned(),
                clause: clause.to_owned(),
                low: window.0,
                high: window.1,
                actual,
                samples,
                unit: unit.to_owned(),
                verdict,
                note: String::new(),
            }
        };
    let orders = completed * 45 / 100;
    result.inputs = vec![
        finding("New-Order rollbacks", "5.5.1.5", (0.9, 1.1), 1.013, orders, "%", WindowVerdict::Inside),
        finding("Lines per order", "5.5.1.5", (9.5, 10.5), 9.991, orders, "", WindowVerdict::Inside),
        finding(
            "Remote order-lines",
            "5.5.1.5",
            (0.95, 1.05),
            1.062,
            orders * 10,
            "%",
            WindowVerdict::Outside,
        ),
        finding(
            "Remote payments",
            "5.5.1.5",
            (14.0, 16.0),
            15.08,
            completed * 43 / 100,
            "%",
            WindowVerdict::Inside,
        ),
        finding(
            "Payments by last name",
            "5.5.1.5",
            (57.0, 63.0),
            59.87,
            completed * 43 / 100,
            "%",
            WindowVerdict::Inside,
        ),
        finding(
            "Order-Status by last name",
            "5.5.1.5",
            (57.0, 63.0),
            64.1,
            312,
            "%",
            WindowVerdict::TooFewSamples,
        ),
    ];
    let line = |rule: &str, clause: &str, met, note: &str| ComplianceLine {
        rule: rule.to_owned(),
        clause: clause.to_owned(),
        met,
        note: note.to_owned(),
    };
    let paced = look.mode == "rte";
    result.compliance = vec![
        line("Mix of transactions at or above its minimum", "5.2.3", Some(true), ""),
        line(
            "Keying and think times kept",
            "5.2.5",
            Some(paced),
            if paced { "" } else { "mode direct does not wait" },
        ),
        line("90th percentile response times", "5.2.5.3", Some(true), "New-Order 11 ms of 5 s"),
        line("Measurement interval of 120 minutes", "5.5.2", Some(false), "measured 5 min"),
        line("Four checkpoints in the interval", "5.5.2.2", None, "the target does not tell its checkpoints"),
        line("ACID tests", "3", None, "not part of this run"),
    ];
    result.controls = read(json!({
        "distribution": {
            "asked": {"ratio_percent": 10, "degree": 3, "strategy": "expected"},
            "actual": {"ratio_percent": 9.97, "degree": 2.99, "degree_stddev": 0.06},
        },
        "contention": {"phases": [
            {"asked": 10, "actual": 10.3, "settling_s": 2.1},
            {"asked": 40, "actual": 38.8, "settling_s": 3.0},
        ]},
    }));
    if paced {
        result.delivery = Some(DeliveryReport {
            queued: 57,
            completed: 57,
            skipped_districts: 0,
            within_80s_percent: 100.0,
            log: Some("delivery.log".to_owned()),
        });
        let pacing = |keying: f64, think: f64| Pacing {
            keying_mean_s: keying,
            think_mean_s: think * 1.004,
            keying_min_s: keying,
            think_max_s: think * 7.1,
            think_hdr: String::new(),
        };
        let times = [(18.0, 12.05), (3.0, 12.05), (2.0, 10.05), (2.0, 5.05), (2.0, 5.05)];
        let of_type =
            |(key, (keying, think)): (&&str, (f64, f64))| ((*key).to_owned(), pacing(keying, think));
        let mut pacing: std::collections::BTreeMap<String, Pacing> =
            TRANSACTION_TYPES.iter().zip(times).map(of_type).collect();
        if let Some(new_order) = pacing.get_mut("new_order") {
            new_order.think_hdr = thinking(new_order.think_mean_s);
        }
        result.pacing = Some(pacing);
    }
}

/// A part of a result, from its JSON.
pub(crate) fn read<T: serde::de::DeserializeOwned>(part: serde_json::Value) -> T {
    serde_json::from_value(part).unwrap()
}

/// Returns a histogram of think times with this mean in seconds: negative exponential ones, cut at ten means.
fn thinking(mean_s: f64) -> String {
    let mut histogram = Histogram::<u64>::new(3).unwrap();
    for step in 0..1_000 {
        let cut = -(1.0 - (f64::from(step) + 0.5) / 1_000.0).ln();
        histogram.record((cut.min(10.0) * mean_s * 1e9) as u64).unwrap();
    }
    hdr::encode(&histogram).unwrap()
}
