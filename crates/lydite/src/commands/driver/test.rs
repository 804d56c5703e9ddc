//! `lydite driver test`: runs the kit against any target and prints a table.

use crate::cli::DriverTestArgs;
use crate::signals::watch;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::{complain, print};
use lydite_database::{TargetError, TxMode};
use lydite_families::{TargetSpec, family_of};
use lydite_plan::values::whole;
use lydite_report::live::Style;
use lydite_run::proven;
use lydite_verify::kit::{Kit, KitError, Proved, Step, StepVerdict, prove};

/// The reference database. Its rows are not needed after a crash.
const REFERENCE: &str = "sqlite:?synchronous=off";
/// Maximum number of warehouses: more would only take longer.
const WAREHOUSES_MAX: u32 = 100;

/// Runs `lydite driver test`.
pub(super) fn command(args: &DriverTestArgs) -> Outcome {
    let warehouses = whole(args.warehouses.as_deref().unwrap_or("1"), 1, WAREHOUSES_MAX)
        .map_err(|problem| Failure::usage(format!("--warehouses: {problem}")))?;
    let scheme = args.target.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    let modes = family_of(&scheme).map_or(&[TxMode::Statements][..], |family| family.modes);
    let first = TargetSpec::parse(&args.target, modes[0]).map_err(Failure::Usage)?;
    if !first.stores() {
        return Err(Failure::usage(format!("{} stores nothing: there is nothing to prove", args.target)));
    }
    let reference = TargetSpec::parse(REFERENCE, TxMode::Statements).map_err(Failure::Usage)?.open()?;
    let interrupt = watch(Style::Plain)?;
    let open = |mode| {
        let spec =
            TargetSpec::parse(&args.target, mode).map_err(|errors| TargetError::usage(errors.join("; ")))?;
        spec.waited_for_by(interrupt.waiter()).open()
    };
    let kit = Kit {
        url: &args.target,
        open: &open,
        temporary: first.is_temporary(),
        modes,
        reference: &*reference,
        warehouses,
        fresh: args.fresh,
    };
    let mut unprinted = Ok(());
    let mut skipped = Skipped::default();
    let mut show = |text: &str| {
        let shown = print(text);
        if unprinted.is_ok() {
            unprinted = shown;
        }
    };
    let proved = prove(kit, &|| interrupt.asked(), &mut |step| {
        if step.verdict != StepVerdict::Skipped {
            show(&format!("{}{}", skipped.take(), line(step)));
        } else if skipped.why == step.detail {
            skipped.names.push(step.name.clone());
        } else {
            show(&skipped.take());
            skipped = Skipped { names: vec![step.name.clone()], why: step.detail.clone() };
        }
    });
    show(&skipped.take());
    let Proved { description, steps } = proved.map_err(|error| match error {
        KitError::Usage(errors) => Failure::Usage(errors),
        KitError::Reference(error) => {
            Failure::usage(format!("the reference can't be made: {}", error.message))
        }
    })?;
    let count = |verdict| steps.iter().filter(|step| step.verdict == verdict).count();
    let (failed, skipped) = (count(StepVerdict::Failed), count(StepVerdict::Skipped));
    let mut failures = vec![];
    failures.extend(unprinted.err());
    failures.extend(
        print(&format!(
            "{} passed, {} not supported, {failed} failed, {skipped} skipped\n",
            count(StepVerdict::Passed),
            count(StepVerdict::NotSupported),
        ))
        .err(),
    );
    if failed > 0 {
        let failed = steps.iter().filter(|step| step.verdict == StepVerdict::Failed);
        failures.push(Failure::checks("steps", failed.map(|step| step.name.as_str())));
    } else if !interrupt.asked()
        && let Some(Err(error)) = description.map(|description| proven::note(&first, &description))
    {
        complain(&format!("that the driver passed can't be noted: {error}: runs will warn about it"));
    }
    if interrupt.asked() {
        failures.push(Failure::Interrupted("interrupted: the steps that are left were skipped".into()));
    }
    Failure::all(failures)
}

/// Consecutive steps that were skipped for one reason and not printed yet.
#[derive(Default)]
struct Skipped {
    names: Vec<String>,
    why: String,
}

impl Skipped {
    /// Returns one line for all steps, or an empty text, and clears the list.
    fn take(&mut self) -> String {
        let Self { names, why } = std::mem::take(self);
        match &names[..] {
            [] => String::new(),
            [name] => format!("{:<13}  {name:<21} {:>6.1} s  {why}\n", "skipped", 0.0),
            names => format!("{:<13}  {} steps: {why}: {}\n", "skipped", names.len(), names.join(", ")),
        }
    }
}

/// Formats a step as a line.
fn line(step: &Step) -> String {
    let verdict = match step.verdict {
        StepVerdict::Passed => "passed",
        StepVerdict::NotSupported => "not supported",
        StepVerdict::Failed => "FAILED",
        StepVerdict::Skipped => "skipped",
    };
    format!("{verdict:<13}  {:<21} {:>6.1} s  {}\n", step.name, step.seconds, step.detail)
}
