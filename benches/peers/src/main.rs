//! TPC-C-derived load on one embedded database: loads it, runs it, checks the twelve consistency conditions, and prints
//! one line of numbers with tabs between: transactions/s, NOPM, p99 of New-Order in ms, µs of processor per transaction,
//! aborts, transactions.
//!
//! usage: lydite-peers redb|surrealkv relaxed|full CACHE_MB WAREHOUSES SESSIONS SECONDS
//!        lydite-peers URL WAREHOUSES SESSIONS SECONDS
//!
//! A URL is one that `lydite run` takes. It sets durability and cache.

mod options;
mod redb;
mod surrealkv;

use lydite_bench::{Mode, RunControl, RunPlan, Status};
use lydite_database::kv::KvTarget;
use lydite_database::{LoadRows, Target, TxMode};
use lydite_families::TargetSpec;
use lydite_tpcc::consistency::CONDITIONS;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::nurand::RunConstants;
use lydite_tpcc::population::Population;
use lydite_tpcc::{StandardKind, Timestamp};
use options::{Config, Durability};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// That of the program `lydite`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SEED: u64 = 1;
const WARMUP: Duration = Duration::from_secs(3);
const USAGE: &str = "usage: lydite-peers redb|surrealkv relaxed|full CACHE_MB WAREHOUSES SESSIONS SECONDS, \
                     or lydite-peers URL WAREHOUSES SESSIONS SECONDS";

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{text:?} is no number: {USAGE}"))
}

/// Opens the database that the arguments name.
fn target(arguments: &[String]) -> Result<Arc<dyn Target>, Box<dyn Error>> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let [url] = arguments.as_slice() {
        let spec = TargetSpec::parse(url, TxMode::Statements).map_err(|errors| errors.join("; "))?;
        return Ok(spec.open()?);
    }
    let [name, durability, cache_mb] = arguments.as_slice() else { return Err(USAGE.into()) };
    let durability = match *durability {
        "relaxed" => Durability::Relaxed,
        "full" => Durability::Full,
        _ => return Err(USAGE.into()),
    };
    let config = Config::new(durability, number(cache_mb)? as usize * 1_000_000)?;
    Ok(match *name {
        "redb" => Arc::new(KvTarget::<redb::Redb>::new(config)),
        "surrealkv" => Arc::new(KvTarget::<surrealkv::SurrealKv>::new(config)),
        _ => return Err(USAGE.into()),
    })
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [database @ .., warehouses, sessions, seconds] = arguments.as_slice() else {
        return Err(USAGE.into());
    };
    let (warehouses, sessions, seconds) = (number(warehouses)?, number(sessions)?, number(seconds)?);
    let target = target(database)?;
    let name = database.join(" ");
    let meta = DatabaseMeta::uniform(warehouses, SEED, env!("CARGO_PKG_VERSION"));
    let rows = LoadRows::from(&Population::from_meta(&meta, Timestamp(1_700_000_000_000_000)));
    let control = RunControl::default();
    lydite_bench::load(&*target, &rows, 1, false, &control, &mut |_| ())?;
    let constants = RunConstants::new(SEED, meta.c_load);
    let plan = RunPlan {
        warmup: WARMUP,
        duration: Duration::from_secs(u64::from(seconds)),
        ..RunPlan::new(Mode::Direct { terminals: sessions }, warehouses, SEED, constants)
    };
    let found = lydite_bench::run(&target, &plan, &control, &mut |_| ())?;
    if found.status != Status::Complete || found.lost.is_some() {
        return Err(format!("{name}: the run did not end well: {:?}, {:?}", found.status, found.lost).into());
    }
    let broken: Vec<String> = target
        .check(&CONDITIONS, &|_| ())?
        .into_iter()
        .filter(|finding| !finding.holds())
        .map(|finding| format!("condition {}: {}", finding.condition.number, finding.examples.join("; ")))
        .collect();
    if !broken.is_empty() {
        return Err(format!("{name}: {}", broken.join(", ")).into());
    }
    let new_order = found.kind(StandardKind::NewOrder);
    println!(
        "{:.0}\t{:.0}\t{:.3}\t{:.1}\t{}\t{}",
        found.tps(),
        found.nopm(),
        new_order.latency.value_at_quantile(0.99) as f64 / 1e6,
        found.client.cpu.as_secs_f64() * 1e6 / found.completed().max(1) as f64,
        found.aborts.iter().sum::<u64>(),
        found.completed(),
    );
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
