//! `lydite export`: writes results as tables for other programs.

mod inputs;
mod outputs;

use crate::cli::ExportArgs;
use inputs::Source;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::{print, reserve_stdout};
use lydite_export::{Format, Run, TABLES, Table, TableKind};
use outputs::{Outputs, usage};

/// Runs `lydite export`.
pub(crate) fn command(args: &ExportArgs) -> Outcome {
    let format = Format::named(&args.to).ok_or_else(|| Failure::usage("--to: this format is not known"))?;
    format.require().map_err(|error| usage(&error))?;
    let kinds = kinds(&args.what);
    let outputs = Outputs::new(format, &kinds, args.output.as_deref())?;
    let sources = inputs::read(&args.results)?;
    if outputs.uses_stdout() {
        reserve_stdout();
    }
    let runs: Vec<Run<'_>> = sources.iter().map(Source::run).collect();
    let tables = kinds.iter().map(|kind| Table::of(kind, &runs)).collect::<Result<Vec<_>, _>>();
    let tables = tables.map_err(|error| usage(&error))?;
    print(&outputs.write(&tables)?)
}

/// Returns the tables of these names, in their own order; all without a name.
fn kinds(names: &[String]) -> Vec<&'static TableKind> {
    TABLES.iter().filter(|kind| names.is_empty() || names.iter().any(|name| name == kind.name)).collect()
}
