//! Files of rows: written by `lydite load --csv DIR`, checked and loaded by `lydite load TARGET --from DIR`.

use super::asked::{Asked, Directory};
use crate::signals::watch;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::{complain, print};
use lydite_console::shell::typed;
use lydite_csv::{CsvError, CsvRows, Wanted, Writing, check};
use lydite_database::{LoadRows, RowFiles};
use lydite_report::figures::{bytes, plural};
use lydite_report::live::{LoadProgress, LoadView, Style};
use lydite_run::loading::{TpccLoad, expected_rows, now};
use lydite_tpcc::meta::DatabaseMeta;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Time between two looks at a writer.
const LOOK: Duration = Duration::from_millis(50);

/// Files that were checked.
pub(super) struct Checked {
    dir: String,
    rows: Arc<CsvRows>,
    seconds: f64,
}

/// Writes the files that the user wants, then checks those that he wants to load. `None` if the rows come from the seed.
pub(super) fn before(
    asked: &Asked,
    style: Style,
    interrupt: &mut Option<Interrupt>,
) -> Result<Option<Checked>, Failure> {
    let Some(from) = &asked.from else { return Ok(None) };
    let watching = interrupt.take().map_or_else(|| watch(style), Ok)?;
    if from.write {
        write(asked, style, &watching)?;
    }
    let checked = checked(asked, from, &watching);
    *interrupt = Some(watching);
    checked.map(Some)
}

/// Checks files.
fn checked(
    asked: &Asked,
    Directory { dir, .. }: &Directory,
    interrupt: &Interrupt,
) -> Result<Checked, Failure> {
    let wanted = Wanted {
        warehouses: asked.warehouses,
        seed: asked.seed,
        size: asked.data.size,
        skew: asked.data.skew,
    };
    let begun = Instant::now();
    let rows =
        check(dir, &wanted, asked.jobs, &|| interrupt.asked()).map_err(|error| failure("from", error))?;
    let seconds = begun.elapsed().as_secs_f64();
    let (files, size) = rows.size();
    let checked = format!("{} with {} checked in {seconds:.1} s", plural(files as u64, "file"), bytes(size));
    if rows.are_foreign() {
        complain(&format!(
            "note: {checked}; another program made these rows: Lydite's own conditions, which compare them with those of a \
             seed, are left out later"
        ));
    }
    Ok(Checked { dir: dir.display().to_string(), rows: Arc::new(rows), seconds })
}

impl Checked {
    /// Returns the description of a database with the rows.
    pub(super) fn meta(&self) -> &DatabaseMeta {
        self.rows.meta()
    }

    /// Returns the directory.
    pub(super) fn dir(&self) -> &str {
        &self.dir
    }

    /// Returns the time of the check.
    pub(super) fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Makes a load read the files.
    pub(super) fn rows_of(self, load: TpccLoad<'_>) -> TpccLoad<'_> {
        load.with_rows(LoadRows::Read(self.rows), &self.dir)
    }
}

/// Writes the files.
pub(super) fn write(asked: &Asked, style: Style, interrupt: &Interrupt) -> Outcome {
    let Some(Directory { dir, .. }) = &asked.from else { return Ok(()) };
    let meta = asked.describe()?;
    let writing = Writing::default();
    let begun = Instant::now();
    let title = format!("Writing {} to {}", meta.warehouses_in_words(), dir.display());
    let mut view = LoadView::new(style, &title, expected_rows(&meta), meta.warehouses.into());
    let state = |stage| LoadProgress {
        rows: writing.progress.rows(),
        bytes: writing.progress.bytes(),
        elapsed: begun.elapsed(),
        units_done: writing.warehouses.load(Ordering::Relaxed).into(),
        total_units: meta.warehouses.into(),
        building: None,
        stage,
    };
    let written = std::thread::scope(|scope| {
        let work = scope.spawn(|| lydite_csv::write(dir, &meta, now(), asked.jobs, &writing));
        while !work.is_finished() {
            if interrupt.asked() {
                writing.progress.stop();
            }
            view.update(&state("rows"));
            std::thread::sleep(LOOK);
        }
        work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    match written {
        Ok(()) => {
            view.finish(&state("done"));
            if asked.spec.is_some() { Ok(()) } else { print(&format!("files: {}\n", dir.display())) }
        }
        Err(CsvError::Interrupted) => {
            view.interrupt(&state("interrupted"));
            let next = "the same command goes on with these files";
            Err(Failure::Interrupted(format!(
                "interrupted: the files in {} are unfinished: {next}",
                shown(dir)
            )))
        }
        Err(error) => Err(failure("csv", error)),
    }
}

fn shown(dir: &Path) -> String {
    typed(&dir.display().to_string()).into_owned()
}

/// Returns the failure of a flag; all problems of files, one line each.
fn failure(flag: &str, error: CsvError) -> Failure {
    match error {
        CsvError::Interrupted => Failure::Interrupted("interrupted while the files were checked".into()),
        CsvError::Bad { problems } => {
            Failure::Usage(problems.iter().map(|problem| format!("--{flag}: {problem}")).collect())
        }
        other => Failure::usage(format!("--{flag}: {other}")),
    }
}
