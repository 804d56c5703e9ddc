//! Measures Lydite itself: runs on `null:`, which answers at once.
//!
//! `cargo run --release -p lydite-bench --example null -- direct SESSIONS`
//! `cargo run --release -p lydite-bench --example null -- rte TERMINALS SESSIONS [WAIT_FACTOR]`
//! `cargo run --release -p lydite-bench --example null -- open RATE SESSIONS`

use lydite_bench::{Arrival, Measurement, Mode, RunControl, RunPlan, run};
use lydite_database::{Target, TxMode};
use lydite_families::TargetSpec;
use lydite_tpcc::StandardKind;
use lydite_tpcc::nurand::{CLoad, RunConstants};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: f64| match arguments.get(index) {
        Some(text) => text.parse::<f64>(),
        None => Ok(default),
    };
    let (mode, warehouses) = match arguments.first().map(String::as_str) {
        Some("rte") => {
            let terminals = number(1, 100_000.0)? as u32;
            let sessions = number(2, 4.0)? as u32;
            let wait_factor = number(3, 1.0)?;
            let mode = Mode::Rte {
                terminals,
                sessions,
                wait_factor,
                display_delay: Duration::ZERO,
                lines: false,
                delivery_log: None,
            };
            (mode, terminals.div_ceil(10))
        }
        Some("open") => {
            let (rate, sessions) = (number(1, 10_000.0)?, number(2, 2.0)? as u32);
            (Mode::Open { rate, arrival: Arrival::Poisson, sessions }, 100)
        }
        _ => (Mode::Direct { terminals: number(1, 2.0)? as u32 }, 100),
    };
    let target: Arc<dyn Target> =
        TargetSpec::parse("null:", TxMode::Statements).map_err(|errors| errors.join("; "))?.open()?;
    let plan = RunPlan {
        warmup: Duration::from_secs(3),
        duration: Duration::from_secs(10),
        ..RunPlan::new(mode, warehouses, 1, RunConstants::new(1, CLoad(100)))
    };
    let found = run(&target, &plan, &RunControl::default(), &mut |_| {})?;
    show(&plan, &found);
    Ok(())
}

fn show(plan: &RunPlan, found: &Measurement) {
    let us = |nanos: u64| nanos as f64 / 1_000.0;
    println!("{:?}", plan.mode);
    println!("{:.0} transactions/s, {:.0} new orders/min", found.tps(), found.nopm());
    let per_transaction = found.client.cpu.as_secs_f64() * 1e6 / found.completed() as f64;
    println!("client {:.2?} = {per_transaction:.2} µs per transaction", found.client.cpu);
    println!("peak memory {:.1} MB", found.client.peak_rss_bytes as f64 / 1e6);
    let new_order = found.kind(StandardKind::NewOrder);
    for (name, histogram) in [
        ("latency", &new_order.latency),
        ("queue", &new_order.queue),
        ("service", &new_order.service),
        ("lateness", &found.lateness),
    ] {
        println!(
            "{name}: mean {:.1} p50 {:.1} p99 {:.1} p99.9 {:.1} max {:.1} µs",
            histogram.mean() / 1_000.0,
            us(histogram.value_at_quantile(0.5)),
            us(histogram.value_at_quantile(0.99)),
            us(histogram.value_at_quantile(0.999)),
            us(histogram.max())
        );
    }
    println!("backlog {}, straddling {}, open {:?}", found.backlog, found.straddling, found.open);
    if let Some(waits) = &found.facts.waits {
        println!("think {:?} s", waits.map(|wait| wait.think.mean_s()));
        println!("keying {:?} s", waits.map(|wait| wait.keying.mean_s()));
    }
    for second in &found.series {
        println!("{:?}", second.completed);
    }
}
