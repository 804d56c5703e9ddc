//! The files of a directory, and the tables that they are of.

use crate::cells::Order;
use crate::error::{CsvError, Problem};
use crate::foreign;
use crate::manifest::{MANIFEST, Manifest};
use crate::rows_file::RowsFile;
use lydite_tpcc::schema::Table;
use std::fs;
use std::path::Path;

/// The files of a directory.
#[derive(Debug)]
pub(crate) enum Layout {
    /// Files that Lydite wrote.
    Own(Manifest, Vec<RowsFile>),
    /// Files of another program.
    Foreign(Vec<RowsFile>),
}

impl Layout {
    /// Finds the files of a directory.
    pub(crate) fn find(dir: &Path) -> Result<Self, CsvError> {
        if let Some(manifest) = Manifest::read(dir)? {
            let files = own(dir, &manifest)?;
            return Ok(Self::Own(manifest, files));
        }
        let names = csv_files(dir)?;
        if names.is_empty() {
            return Err(CsvError::refused(
                dir,
                format!("has neither a {MANIFEST} nor files *.csv: write some with `lydite load --csv DIR`"),
            ));
        }
        let mut problems = Vec::new();
        let mut files = Vec::new();
        for name in &names {
            match foreign::file_of(dir, name, &names) {
                Ok(file) => files.push(file),
                Err(problem) => problems.push(Problem::of_file(name, problem)),
            }
        }
        for table in Table::ALL {
            if !files.iter().any(|file| file.table == table) && problems.is_empty() {
                let what = format!("is missing, and so is every other file of the table {}", table.name());
                problems.push(Problem::of_file(format!("{}.csv", table.name()), what));
            }
        }
        if problems.is_empty() { Ok(Self::Foreign(files)) } else { Err(CsvError::Bad { problems }) }
    }
}

/// Returns the files of a manifest.
fn own(dir: &Path, manifest: &Manifest) -> Result<Vec<RowsFile>, CsvError> {
    let mut problems = Vec::new();
    let files = manifest.files.iter().filter_map(|entry| {
        let Some(table) = Table::from_name(&entry.table).filter(|_| !entry.file.contains('/')) else {
            problems.push(Problem::of_file(MANIFEST, format!("names a file {:?} that is none", entry.file)));
            return None;
        };
        Some(RowsFile {
            name: entry.file.clone(),
            path: dir.join(&entry.file),
            table,
            order: Order::of_schema(table),
            header: false,
            entry: Some(entry.clone()),
        })
    });
    let files = files.collect();
    if problems.is_empty() { Ok(files) } else { Err(CsvError::Bad { problems }) }
}

/// Returns the names of the CSV files of a directory, in order.
fn csv_files(dir: &Path) -> Result<Vec<String>, CsvError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(CsvError::system("can't read", dir))? {
        let entry = entry.map_err(CsvError::system("can't read", dir))?;
        if let Ok(name) = entry.file_name().into_string()
            && name.to_ascii_lowercase().ends_with(".csv")
        {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
