//! Loading of a database, with its live view.

use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::complain;
use crate::shell::typed;
use lydite_bench::{Left, LoadError, LoadReport, LoadSnapshot, RunControl};
use lydite_database::{Demand, Target};
use lydite_plan::data;
use lydite_report::live::{LoadProgress, LoadView, Style};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::Population;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{DISTRICTS_PER_WAREHOUSE, Timestamp, WarehouseId};

/// Loads the tables of TPC-C, and shows the progress.
pub(crate) fn load(
    target: &dyn Target,
    meta: &DatabaseMeta,
    jobs: usize,
    resume: bool,
    style: Style,
    interrupt: &Interrupt,
) -> Result<LoadReport, Failure> {
    tell_notes(&target.admit(&Demand::Load)?);
    let population = Population::from_meta(meta, now());
    show_load((target, ""), meta, style, interrupt, |control, observer| {
        lydite_bench::load(target, &population, jobs, resume, control, observer)
    })
}

/// Loads the tables of TPC-C with `work`, and shows the progress. After a failure it says how to finish the load, and `who` can do
/// that.
pub(super) fn show_load(
    (target, who): (&dyn Target, &str),
    meta: &DatabaseMeta,
    style: Style,
    interrupt: &Interrupt,
    work: impl FnOnce(&RunControl, &mut dyn FnMut(&LoadSnapshot)) -> Result<LoadReport, LoadError>,
) -> Result<LoadReport, Failure> {
    let title = format!("Loading {}", meta.warehouses_in_words());
    let expected = (expected_rows(meta), u64::from(meta.warehouses));
    let loaded = show(style, &title, expected, interrupt, work);
    loaded.map_err(|LoadError { mut error, left }| {
        let kept = match left {
            None => return error.into(),
            Some(Left::Unusable) => {
                error.message += "; load again with --fresh";
                return error.into();
            }
            Some(Left::Complete(Some(kept))) => {
                format!("{kept} of {} are kept", meta.warehouses_in_words())
            }
            Some(Left::Complete(None)) => "complete warehouses are kept".to_owned(),
        };
        // If the database does not answer, its URL without the password is unknown.
        let url = target.describe().map_or_else(|_| "URL".to_owned(), |description| description.url);
        error.message += &format!("; {kept}: finish the load with `{}`{who}", resume_command(&url, meta));
        error.into()
    })
}

/// Returns the command that resumes the load of a database, whose URL has no password.
pub(crate) fn resume_command(url: &str, meta: &DatabaseMeta) -> String {
    format!("lydite load {} {} --resume", typed(url), data::load_flags(meta))
}

/// Reports the notes of the database about its way of loading.
pub(crate) fn tell_notes(notes: &[String]) {
    for note in notes {
        complain(&format!("note: {note}"));
    }
}

/// Loads with `work`, and shows the progress towards the expected numbers of rows and units.
pub(crate) fn show<E>(
    style: Style,
    title: &str,
    (rows, units): (u64, u64),
    interrupt: &Interrupt,
    work: impl FnOnce(&RunControl, &mut dyn FnMut(&LoadSnapshot)) -> Result<LoadReport, E>,
) -> Result<LoadReport, E> {
    let mut view = LoadView::new(style, title, rows, units);
    let control = RunControl::default();
    let loading = || {
        work(&control, &mut |now| {
            interrupt.take_lines().iter().for_each(|line| view.note(line));
            view.update(&LoadProgress {
                rows: now.rows,
                bytes: now.bytes,
                elapsed: now.elapsed,
                units_done: u64::from(now.units_done),
                total_units: u64::from(now.total_units),
                building: now.building,
                stage: &now.stage,
            });
        })
    };
    let loaded = interrupt.while_loading(|| interrupt.during(&control, loading));
    let report = loaded?;
    let end = LoadProgress {
        rows: report.rows,
        bytes: report.bytes,
        elapsed: std::time::Duration::from_secs_f64(report.seconds),
        units_done: u64::from(report.complete),
        total_units: units,
        building: None,
        stage: if report.interrupted { "interrupted" } else { "done" },
    };
    if report.interrupted {
        view.interrupt(&end)
    } else {
        view.finish(&end)
    }
    Ok(report)
}

/// Returns the expected number of rows: the mean number of order lines, and ten districts for each warehouse, since
/// skew does not change the total. Skewed data have fewer rows of stock.
fn expected_rows(meta: &DatabaseMeta) -> u64 {
    let districts = DISTRICTS_PER_WAREHOUSE.into();
    let lines = 10 * u64::from(districts) * u64::from(meta.size.orders());
    let each: u64 =
        Table::OF_WAREHOUSE.map(|table| meta.size.rows(table, districts).unwrap_or(lines)).into_iter().sum();
    let items = u64::from(meta.size.items());
    let unstocked = |w| items - u64::from(meta.districts.stock(WarehouseId(w), meta.size));
    u64::from(meta.warehouses) * each + items - (1..=meta.warehouses).map(unstocked).sum::<u64>()
}

/// Returns the time of the rows of a load.
pub(super) fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_microsecond())
}
