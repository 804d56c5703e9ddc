//! Reads a plan and runs it on a database in this process: `cargo run -p lydite-run --example embed`.

use lydite_console::interrupt::Interrupt;
use lydite_plan::entries::Entries;
use lydite_plan::{Plan, keys};
use lydite_report::live::Style;
use lydite_run::{Request, run};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    // `entries.file(path, keys())` would read a plan file.
    let mut entries = Entries::default();
    for setting in ["target=gemel:", "warehouses=2", "warmup=1s", "duration=3s", "seed=7"] {
        entries.set(setting, keys().plan);
    }
    let request = Request::new(Plan::read(entries)?, Style::Quiet, Interrupt::default());
    let concluded = run(&request)?;
    for failure in &concluded.failures {
        eprintln!("{failure}");
    }
    let result = concluded.result.ok_or("the run has no result")?;
    let passed = result.checks.iter().filter(|check| check.ok).count();
    println!("{:.0} NOPM, {passed} of {} checks passed", result.nopm, result.checks.len());
    Ok(())
}
