//! Loading of a database, with its live view and the observation beside it.

use crate::load_watch::{LoadSeen, LoadWatch};
use crate::sources::Sought;
use lydite_bench::{Kept, LoadError, LoadReport, LoadSnapshot, RunControl};
use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_console::output::complain;
use lydite_console::shell::typed;
use lydite_database::{Demand, LoadRows, Target, TargetErrorKind};
use lydite_plan::data;
use lydite_report::live::{LoadProgress, LoadView, Style};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::Population;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{DISTRICTS_PER_WAREHOUSE, Timestamp, WarehouseId};

/// A load of TPC-C's tables.
pub struct TpccLoad<'a> {
    pub(crate) target: &'a dyn Target,
    pub(crate) meta: &'a DatabaseMeta,
    style: Style,
    interrupt: &'a Interrupt,
    /// Command that resumes it; `None` if the database ends with this program.
    resume_command: Option<String>,
    /// URL without its password.
    url: String,
    /// Rows that are not made from the seed, but read.
    rows: Option<LoadRows>,
    /// Sources that are sampled; `None` if nobody asks for measures.
    sought: Option<Sought<'a>>,
}

/// A load that is over, with the observations beside it.
#[derive(Clone, Debug)]
pub struct LoadDone {
    /// Results of the load.
    pub report: LoadReport,
    pub(crate) seen: LoadSeen,
}

/// Does `work`, a load, and samples sources beside it if there are any.
pub(crate) fn watched<E>(
    sought: Option<&Sought<'_>>,
    work: impl FnOnce() -> Result<LoadReport, E>,
) -> Result<LoadDone, E> {
    let watch = sought.map(LoadWatch::begin);
    let report = work()?;
    let seconds = report.measures.seconds.len();
    let seen = watch.map(|watch| watch.finish(seconds)).unwrap_or_default();
    Ok(LoadDone { report, seen })
}

impl<'a> TpccLoad<'a> {
    /// Describes a load. A `temporary` database ends with this program.
    pub fn new(
        (target, temporary): (&'a dyn Target, bool),
        meta: &'a DatabaseMeta,
        style: Style,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Failure> {
        // Asked now: after a failure, the database may not answer.
        let url = target.describe()?.url;
        let resume_command = (!temporary).then(|| resume_command(&url, meta));
        Ok(Self { target, meta, style, interrupt, resume_command, url, rows: None, sought: None })
    }

    /// Loads rows that are read from the files in `dir` instead of made from the seed.
    #[must_use]
    pub fn with_rows(mut self, rows: LoadRows, dir: &str) -> Self {
        let scripts = data::script_flags(&self.meta.scripts);
        let command = || format!("lydite load {} --from {}{scripts} --resume", typed(&self.url), typed(dir));
        self.resume_command = self.resume_command.is_some().then(command);
        Self { rows: Some(rows), ..self }
    }

    /// Samples sources beside the load.
    #[must_use]
    pub fn observed(self, sought: Sought<'a>) -> Self {
        Self { sought: Some(sought), ..self }
    }

    /// Loads through `jobs` connections of this process, and shows the progress.
    pub fn alone(&self, jobs: usize, resume: bool) -> Result<LoadDone, Failure> {
        let made = || LoadRows::Made(Population::from_meta(self.meta, now()));
        let rows = self.rows.clone().unwrap_or_else(made);
        self.watching(|| {
            self.show("", |control, observer| {
                lydite_bench::load(self.target, &rows, jobs, resume, control, observer)
            })
        })
    }

    /// Does `work`, a load, and samples the sources beside it.
    pub(crate) fn watching(
        &self,
        work: impl FnOnce() -> Result<LoadReport, Failure>,
    ) -> Result<LoadDone, Failure> {
        watched(self.sought.as_ref(), work)
    }

    /// Loads with `work`, and shows the progress. An error says how to finish the load; `how` follows the command.
    pub(crate) fn show(
        &self,
        how: &str,
        work: impl FnOnce(&RunControl, &mut dyn FnMut(&LoadSnapshot)) -> Result<LoadReport, LoadError>,
    ) -> Result<LoadReport, Failure> {
        tell_notes(&self.target.admit(&Demand::Load)?);
        let all = self.meta.warehouses_in_words();
        let expected = (expected_rows(self.meta), u64::from(self.meta.warehouses));
        let loaded = show(self.style, &format!("Loading {all}"), expected, self.interrupt, work);
        loaded.map_err(|LoadError { mut cause, kept }| {
            let complete = match kept {
                Some(Kept::Warehouses(Some(complete))) => format!("complete: {complete} of {all}"),
                Some(Kept::Warehouses(None)) => "complete warehouses are kept".to_owned(),
                Some(Kept::Nothing) => {
                    cause.message += "; load again with --fresh";
                    return cause.into();
                }
                None => return cause.into(),
            };
            if let Some(command) = &self.resume_command {
                let finish = format!("finish the load with `{command}`{how}");
                // Only the user knows whether his tables reject the rows or something else happened.
                let next = match &self.meta.scripts.schema {
                    Some(schema) if cause.kind == TargetErrorKind::Database => format!(
                        "if the tables of {} reject these rows, correct it and load again with --fresh; else {finish}",
                        schema.file
                    ),
                    _ => finish,
                };
                cause.message += &format!("; {complete}; {next}");
            }
            cause.into()
        })
    }

    /// Returns the advice to go on with the load, for the end of a message; `None` if the database ends with this
    /// program.
    pub fn go_on(&self) -> Option<String> {
        self.resume_command.as_ref().map(|command| format!(": go on with `{command}`"))
    }
}

/// Returns the command that resumes the load of a database. `url` must not contain its password.
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
pub fn expected_rows(meta: &DatabaseMeta) -> u64 {
    let districts = DISTRICTS_PER_WAREHOUSE.into();
    let lines = 10 * u64::from(districts) * u64::from(meta.size.orders());
    let each: u64 =
        Table::OF_WAREHOUSE.map(|table| meta.size.rows(table, districts).unwrap_or(lines)).into_iter().sum();
    let items = u64::from(meta.size.items());
    let unstocked = |w| items - u64::from(meta.districts.stock(WarehouseId(w), meta.size));
    u64::from(meta.warehouses) * each + items - (1..=meta.warehouses).map(unstocked).sum::<u64>()
}

/// Returns the time of the rows of a load.
pub fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_microsecond())
}
