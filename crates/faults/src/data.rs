//! The directory of a database's data, found through the place of a fault.

use crate::error::FaultError;
use crate::fault::{Fault, Site};
use crate::process::{ProcessId, trees};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A directory of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Data {
    /// The directory.
    pub(crate) directory: PathBuf,
    /// Number of its file system's device, as `stat` reports it.
    pub(crate) device: u64,
}

/// Returns the data at the places of a fault, one directory for each device.
///
/// # Errors
/// All problems: places without a living process, and processes whose data is not found.
pub(crate) fn of(fault: &Fault) -> Result<Vec<Data>, Vec<FaultError>> {
    let roots = fault.roots()?;
    let (mut all, mut problems) = (Vec::<Data>::new(), Vec::new());
    for (site, root) in fault.sites.iter().zip(roots) {
        let directory = match site {
            Site::Server(server) => Ok(server.data.clone()),
            Site::Process(_) | Site::Machine => of_process(root),
        };
        let data = directory.and_then(|directory| {
            let found =
                fs::metadata(&directory).map_err(|error| FaultError::system(directory.display(), error))?;
            Ok(Data { device: found.dev(), directory })
        });
        match data {
            Ok(data) if all.iter().all(|other| other.device != data.device) => all.push(data),
            Ok(_) => {}
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(all) } else { Err(problems) }
}

/// Returns the directory of the data of a process and those below it: its working directory if files below that are open
/// for writing, else the directory with the most such files on the device with the most.
fn of_process(root: ProcessId) -> Result<PathBuf, FaultError> {
    let files: Vec<(u64, PathBuf)> = trees(&[root]).into_iter().flat_map(open_for_writing).collect();
    let work = fs::read_link(format!("/proc/{}/cwd", root.pid)).ok();
    let work = work.filter(|work| work != Path::new("/"));
    if let Some(work) = work
        && files.iter().any(|(_, file)| file.starts_with(&work))
    {
        return Ok(work);
    }
    let device = most(files.iter().map(|(device, _)| *device));
    let on_it = files.iter().filter(|(other, _)| Some(*other) == device);
    most(on_it.filter_map(|(_, file)| file.parent())).map(Path::to_owned).ok_or_else(|| {
        FaultError::Lacks(format!(
            "the data of process {} is not found: no file is open for writing: use lab:NAME",
            root.pid
        ))
    })
}

/// Returns the most frequent item; none if there are none.
fn most<T: Ord + Copy>(items: impl Iterator<Item = T>) -> Option<T> {
    let mut counts = BTreeMap::<T, usize>::new();
    items.for_each(|item| *counts.entry(item).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(item, _)| item)
}

/// Returns the regular files that a process has open for writing, each with its device. Files that have no name here are
/// left out: they are deleted, or the process sees other file systems.
pub(crate) fn open_for_writing(process: ProcessId) -> Vec<(u64, PathBuf)> {
    let directory = PathBuf::from(format!("/proc/{}", process.pid));
    let entries = fs::read_dir(directory.join("fd")).into_iter().flatten().flatten();
    let file = |entry: fs::DirEntry| {
        let opened = fs::metadata(entry.path()).ok().filter(fs::Metadata::is_file)?;
        let name = fs::read_link(entry.path()).ok()?;
        let named = fs::metadata(&name).ok()?;
        if (named.dev(), named.ino()) != (opened.dev(), opened.ino()) {
            return None;
        }
        let about = fs::read_to_string(directory.join("fdinfo").join(entry.file_name())).ok()?;
        let flags = about.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let flags = i32::from_str_radix(flags.trim(), 8).ok()?;
        (flags & libc::O_ACCMODE != libc::O_RDONLY).then_some((opened.dev(), name))
    };
    entries.filter_map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Processes;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    /// Runs a shell that says when it has opened its files, and then sleeps.
    fn shell(script: &str, within: &Path) -> (Child, ProcessId) {
        let mut command = Command::new("sh");
        let script = format!("{script}; echo; sleep 600 & wait");
        command.args(["-c", &script]).current_dir(within);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // Through a pipe: a file that said so would be open for writing itself.
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        let process = ProcessId::of(child.id()).unwrap();
        (child, process)
    }

    fn end((mut shell, root): (Child, ProcessId)) {
        for process in Processes::now().tree(root) {
            process.signal(libc::SIGKILL).unwrap();
        }
        shell.wait().unwrap();
    }

    #[test]
    fn the_data_is_where_a_process_works_or_has_most_files_open_for_writing() {
        let place = tempfile::tempdir().unwrap();
        let (work, other) = (place.path().join("work"), place.path().join("other"));
        fs::create_dir(&work).unwrap();
        fs::create_dir(&other).unwrap();
        let found = |script: &str| {
            let (child, root) = shell(script, &work);
            let found = of_process(root);
            end((child, root));
            found
        };
        assert_eq!(found("exec 3>one 4>../other/two 5>../other/three").unwrap(), work);
        assert_eq!(found("exec 3>../other/two 4>../other/three 5>../four 6<one").unwrap(), other);
        let problem = found("exec 3<one 4>gone; rm gone").unwrap_err().to_string();
        assert!(problem.contains("no file is open for writing: use lab:NAME"), "{problem}");
    }
}
