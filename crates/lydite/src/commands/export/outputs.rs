//! The places of an export: a directory of files, one file, or the standard output. Existing files are never replaced.

use lydite_console::exit::Failure;
use lydite_console::write::write;
use lydite_export::{ExportError, Format, Layout, Table, TableKind};
use lydite_plan::destination::{Destination, PathKind, kind};
use lydite_report::figures::plural;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The place of an export.
enum Place {
    /// A file for each table.
    Directory(PathBuf),
    /// A new file.
    File(PathBuf),
    /// The standard output, a FIFO or a device.
    Stream(Destination),
}

/// The place with the format.
pub(super) struct Outputs {
    format: &'static Format,
    place: Place,
}

impl Outputs {
    /// Chooses the place, and changes nothing.
    ///
    /// # Errors
    /// Several tables can't go there, or a file exists.
    pub(super) fn new(
        format: &'static Format,
        kinds: &[&'static TableKind],
        output: Option<&Path>,
    ) -> Result<Self, Failure> {
        let several = matches!(format.layout, Layout::FilePerTable(_)) && kinds.len() > 1;
        let place = match output {
            None if several => {
                return Err(Failure::usage(format!(
                    "--to {} writes a file for each table: name a directory with -o, or one table with --what",
                    format.name
                )));
            }
            None => Place::Stream(Destination::new("-")),
            Some(path) => place(format, path, several)?,
        };
        let outputs = Self { format, place };
        outputs.require_new(kinds)?;
        Ok(outputs)
    }

    /// Returns true if the export goes to the standard output.
    pub(super) fn uses_stdout(&self) -> bool {
        matches!(&self.place, Place::Stream(place) if place.is_stdout())
    }

    /// Rejects files that exist, streams that can't be written, and binary data on a terminal.
    fn require_new(&self, kinds: &[&'static TableKind]) -> Result<(), Failure> {
        let files = match &self.place {
            Place::Directory(path) => kinds.iter().map(|kind| self.file(path, kind)).collect(),
            Place::File(path) => vec![path.clone()],
            Place::Stream(place) => {
                if place.is_stdout() && !self.format.is_text && io::stdout().is_terminal() {
                    return Err(Failure::usage(format!(
                        "--to {} is no text for a terminal: name a file with -o",
                        self.format.name
                    )));
                }
                return place
                    .check()
                    .map_err(|problem| Failure::usage(format!("-o: {} {problem}", place.shown())));
            }
        };
        let there = files.iter().filter(|file| fs::symlink_metadata(file).is_ok());
        let errors: Vec<String> = there.map(|file| format!("-o: {}", exists(file))).collect();
        if errors.is_empty() { Ok(()) } else { Err(Failure::Usage(errors)) }
    }

    /// Returns the file of a table.
    fn file(&self, directory: &Path, kind: &TableKind) -> PathBuf {
        directory.join(format!("{}.{}", kind.name, self.format.name))
    }

    /// Writes the tables, and returns a line for each file.
    ///
    /// # Errors
    /// A table can't be written in this format, or a file can't be written. The files of this export are then deleted.
    pub(super) fn write(&self, tables: &[Table<'_>]) -> Result<String, Failure> {
        match &self.place {
            Place::Directory(directory) => {
                fs::create_dir_all(directory).map_err(|error| cannot(directory, &error))?;
                let mut made = Vec::new();
                let written = tables.iter().try_fold(String::new(), |lines, table| {
                    let file = self.file(directory, table.kind);
                    let line = self.new_file(&file, std::slice::from_ref(table))?;
                    made.push(file);
                    Ok(lines + &line)
                });
                if written.is_err() {
                    // Best effort: the first error is the one to report.
                    made.iter().for_each(|file| drop(fs::remove_file(file)));
                }
                written
            }
            Place::File(file) => self.new_file(file, tables),
            Place::Stream(place) => {
                let mut document = Vec::new();
                self.render(tables, &mut document).map_err(|error| usage(&error))?;
                write(place, &document, None)?;
                Ok(String::new())
            }
        }
    }

    /// Writes a file that must not exist, and returns the line about it. After a failure the file does not exist.
    fn new_file(&self, path: &Path, tables: &[Table<'_>]) -> Result<String, Failure> {
        let file = File::create_new(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Failure::usage(format!("-o: {}", exists(path))),
            _ => cannot(path, &error),
        })?;
        let mut file = BufWriter::new(file);
        let written = self.render(tables, &mut file).and_then(|()| Ok(file.flush()?));
        written.map(|()| line(path, tables)).map_err(|error| {
            // Best effort: the first error is the one to report.
            let _ = fs::remove_file(path);
            match error {
                ExportError::Write(error) => cannot(path, &error),
                other => usage(&other),
            }
        })
    }

    fn render(&self, tables: &[Table<'_>], to: &mut dyn Write) -> Result<(), ExportError> {
        match self.format.layout {
            Layout::FilePerTable(write) => tables.iter().try_for_each(|table| write(table, to)),
            Layout::OneDocument(write) => write(tables, to),
        }
    }
}

/// Returns the place that a path means: a directory if several files are wanted, if it is one, or if it ends in a slash.
fn place(format: &Format, path: &Path, several: bool) -> Result<Place, Failure> {
    let is_one_document = matches!(format.layout, Layout::OneDocument(_));
    let means_directory = path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/');
    if means_directory && is_one_document {
        let (path, name) = (path.display(), format.name);
        return Err(Failure::usage(format!(
            "-o: {path} is a directory, and --to {name} writes one file: name that"
        )));
    }
    let stream = Destination::new(path);
    let is_stream = match &stream {
        Destination::Descriptor(_) => true,
        Destination::Path(path) => !path.is_dir() && !matches!(kind(path), Ok(PathKind::File)),
    };
    if is_stream && several {
        return Err(Failure::usage(format!(
            "-o: {} takes one table, and --to {} writes a file for each: name a directory, or one table with --what",
            stream.shown(),
            format.name
        )));
    }
    if is_stream {
        return Ok(Place::Stream(stream));
    }
    if !several && !means_directory {
        return Ok(Place::File(path.to_owned()));
    }
    if path.is_file() {
        return Err(Failure::usage(format!(
            "-o: {} is a file: name a directory, or one table with --what",
            path.display()
        )));
    }
    Ok(Place::Directory(path.to_owned()))
}

fn exists(path: &Path) -> String {
    format!("{} exists, and an export replaces no file: delete it, or name another place", path.display())
}

fn cannot(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot write {}: {error}", path.display()))
}

/// Returns the line about a file.
fn line(path: &Path, tables: &[Table<'_>]) -> String {
    let rows = tables.iter().map(Table::len).sum::<usize>() as u64;
    format!("export: {}, {}\n", path.display(), plural(rows, "row"))
}

/// Returns the failure of an export.
pub(super) fn usage(error: &ExportError) -> Failure {
    Failure::usage(error.to_string())
}
