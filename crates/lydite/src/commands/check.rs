//! `lydite check`: checks the consistency conditions, or the microbenchmark's records.

use super::findings::{failed, lines};
use super::foreign;
use crate::cli::CheckArgs;
use crate::signals::{watch, watched};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::{complain, print};
use lydite_console::shell::typed;
use lydite_database::{ConditionFinding, DatabaseState, TableChecksum, Target, TxMode};
use lydite_families::TargetSpec;
use lydite_micro::Meta;
use lydite_report::live::Style;
use lydite_report::model::CheckedWhen;
use lydite_run::checks::{evaluate, evaluate_until};
use lydite_run::readiness::unusable;
use lydite_run::records;
use lydite_tpcc::consistency::{CONDITION_COUNT, conditions_of};
use lydite_verify::conditions::Checked;
use std::sync::Arc;
use std::time::Instant;

/// Runs `lydite check`.
pub(crate) fn command(args: CheckArgs) -> Outcome {
    let spec = TargetSpec::parse(&args.target, TxMode::Statements).map_err(Failure::Usage)?;
    if spec.is_temporary() {
        return Err(Failure::usage(format!(
            "{} is a temporary database, and has nothing to check: name the path of one that is loaded; `lydite run` \
             checks the temporary one that it makes",
            args.target
        )));
    }
    if args.foreign {
        return foreign::command(&args, &spec);
    }
    let style = Style::detect(args.quiet);
    let (spec, interrupt) = watched(spec, style)?;
    let interrupt = || interrupt.clone().map_or_else(|| watch(style), Ok);
    let target: Arc<dyn Target> = spec.open()?;
    let description = target.describe()?;
    let url = description.url;
    if let Some(mode) = description.settings.get("pooler").filter(|_| !args.quiet) {
        complain(&format!(
            "{url}: a pooler in {mode} is between: each transaction sets what it needs by itself"
        ));
    }
    let meta = match target.state()? {
        DatabaseState::Micro { meta, ready: true } => {
            drop(target);
            if args.extra {
                return Err(Failure::usage(
                    "--extra: is about ITEM and STOCK, and this database has neither: leave it out",
                ));
            }
            return check_micro(&args, &*spec.open()?, &meta, &url, &interrupt()?);
        }
        DatabaseState::Ready { meta } => {
            if !args.quiet {
                print(&format!("{url}: {}, loaded by Lydite {}\n", meta.warehouses_in_words(), meta.lydite))?;
            }
            meta
        }
        DatabaseState::Empty => {
            return Err(Failure::usage(format!(
                "{url} is empty: load it first with `lydite load {} --warehouses 2`",
                typed(&url)
            )));
        }
        DatabaseState::AnyScale => return Err(Failure::usage(format!("{url} stores nothing to check"))),
        state => {
            let never = || Failure::usage(format!("{url} is not loaded"));
            return Err(unusable(&state, &url).unwrap_or_else(never));
        }
    };
    let conditions = conditions_of(&meta);
    if conditions.len() == CONDITION_COUNT {
        let made = if meta.is_foreign() {
            "another program made its rows, so they".to_owned()
        } else {
            format!("Lydite {} loaded the database, and its rows", meta.lydite)
        };
        complain(&format!("{url}: {made} are not known: only the conditions of the standard are evaluated"));
    }
    let begun = Instant::now();
    // An embedded database ends with this process, so an interrupt needs no care. All conditions then share a snapshot.
    let (findings, stopped) = if description.embedded {
        (evaluate(&*target, style, &conditions)?, false)
    } else {
        match evaluate_until(&interrupt()?, &target, false, style, &conditions)? {
            Checked::All(findings) => (findings, false),
            Checked::Stopped(findings) => (findings, true),
        }
    };
    // Measured as a whole: some conditions run in parallel.
    let seconds = begun.elapsed().as_secs_f64();
    let mut text = lines(&findings, args.quiet);
    let broken = findings.iter().filter(|finding| !finding.holds()).count();
    let nothing_done = stopped && findings.is_empty();
    if !args.quiet && !nothing_done {
        let (standard, own): (Vec<_>, Vec<_>) = findings
            .iter()
            .partition::<Vec<_>, _>(|finding| usize::from(finding.condition.number) <= CONDITION_COUNT);
        let held = |findings: &[&ConditionFinding]| findings.iter().filter(|finding| finding.holds()).count();
        text += &format!("{} of {} consistency conditions hold", held(&standard), standard.len());
        if !own.is_empty() {
            text += &format!(", {} of {} own conditions hold", held(&own), own.len());
        }
        text += &format!(" ({seconds:.1} s)\n");
    }
    let mut failures = Vec::new();
    if broken > 0 {
        failures.extend(failed(&findings));
    }
    failures.extend(print(&text).err());
    if stopped {
        let message =
            format!("interrupted: {} of {} conditions were evaluated", findings.len(), conditions.len());
        failures.push(Failure::Interrupted(message));
    } else if args.checksums {
        match target.checksums() {
            Ok(checksums) => {
                let line = |sum: &TableChecksum| {
                    format!("{:<12} {:>12} rows  {:016x}\n", sum.table.name(), sum.rows, sum.sum)
                };
                failures.extend(print(&checksums.iter().map(line).collect::<String>()).err());
            }
            Err(error) => failures.push(error.into()),
        }
    }
    Failure::all(failures)
}

/// Checks a database of the microbenchmark.
fn check_micro(
    args: &CheckArgs,
    target: &dyn Target,
    meta: &Meta,
    url: &str,
    interrupt: &Interrupt,
) -> Outcome {
    if args.checksums {
        return Err(Failure::usage("--checksums is for TPC-C's tables: leave it out"));
    }
    if !args.quiet {
        print(&format!("{url}: microbenchmark, {}, loaded by Lydite {}\n", meta.data, meta.lydite))?;
    }
    let Some((totals, seconds)) = records::sum(target, meta, interrupt)? else {
        return Err(Failure::Interrupted("interrupted: not all records were checked".into()));
    };
    let check = records::records_check(
        &totals,
        meta,
        target.capabilities().micro()?.engines(),
        CheckedWhen::Check,
        seconds,
    );
    let verdict = if check.ok { "ok    " } else { "FAILED" };
    if !args.quiet || !check.ok {
        print(&format!("{verdict} {}: {} ({seconds:.1} s)\n", check.id, check.detail))?;
    }
    if !args.quiet {
        print(&format!("{} records, {} updates so far\n", totals.records, totals.counters))?;
    }
    if check.ok { Ok(()) } else { Err(Failure::checks("checks", [check.id.as_str()])) }
}
