//! Values of the server, the machine and exporters, second by second.

use super::{at, series};
use crate::column::{Column, Kind};
use crate::error::ExportError;
use crate::run::Run;
use crate::table::Rows;

pub(super) const COLUMNS: [Column; 5] = [
    Column::key("source", "`db`, `db:HOST:PORT`, `host`, or the address of an exporter"),
    Column::key("name", "name that the source uses, with the labels of an exporter's sample"),
    Column::key(
        "unit",
        "unit of the value: `/s`, `bytes`, `bytes/s`, `percent`, …; empty for a plain number",
    ),
    Column::place("second", Kind::Whole, "seconds from the start of the window"),
    Column::real("value", "value of the second; null without a sample"),
];

pub(super) fn fill<'a>(run: &'a Run<'a>, rows: &mut Rows<'_, 'a>) -> Result<(), ExportError> {
    let spans = series::spans(run);
    for of in &run.result.observed {
        for (index, (second, span)) in spans.iter().enumerate() {
            let [source, name, unit] = [&of.source, &of.name, &of.unit].map(Into::into);
            rows.push(*span, [source, name, unit, (*second).into(), at(&of.values, index)])?;
        }
    }
    Ok(())
}
