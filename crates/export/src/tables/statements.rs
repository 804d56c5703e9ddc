//! The statements on which servers spent the most time.

use crate::column::{Column, Kind, Role};
use crate::error::ExportError;
use crate::run::Run;
use crate::table::Rows;

pub(super) const COLUMNS: [Column; 9] = [
    Column::key("source", "the server: `db`, or `db:HOST:PORT` for further ones"),
    Column::number("rank", "place by the time spent, from 1 at each server"),
    Column::fact("statement", "text, with placeholders for values"),
    Column::count("calls", "number of times that it ran"),
    Column::real("mean_ms", "mean time on the server"),
    Column { name: "time_s", role: Role::Count, kind: Kind::Real, about: "total time on the server" },
    Column::count("rows", "rows that it returned or changed"),
    Column::count("blocks_read", "blocks from outside of the server's cache; null if it does not count them"),
    Column::count("blocks_hit", "blocks from its cache; null likewise"),
];

pub(super) fn fill<'a>(run: &'a Run<'a>, rows: &mut Rows<'_, 'a>) -> Result<(), ExportError> {
    let all = &run.result.statements;
    for (index, of) in all.iter().enumerate() {
        // By server, the most time first: the result has them in this order.
        let rank = 1 + all.iter().take(index).filter(|other| other.source == of.source).count();
        rows.push(
            run.window(),
            [
                (&of.source).into(),
                rank.into(),
                (&of.text).into(),
                of.calls.into(),
                of.mean_ms.into(),
                of.total_s().into(),
                of.rows.into(),
                of.blocks_read.into(),
                of.blocks_hit.into(),
            ],
        )?;
    }
    Ok(())
}
