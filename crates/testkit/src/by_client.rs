//! Servers that are asked through MariaDB's client, and whose programs tests find in cargo's target directory.

use crate::Directory;
use crate::process::{Running, clean_up_at_exit};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A server's directory and process. Dropping it ends the server and deletes its data.
pub(crate) struct Fixture {
    pub(crate) directory: Directory,
    pub(crate) running: Running,
    /// Options of the client that reach the server.
    reach: Vec<String>,
}

impl Fixture {
    /// Makes the directory of a server that does not run yet. Its process is in `pid_file` below that, and `reach` makes
    /// the options of the client.
    pub(crate) fn new(
        (name, purpose): (&'static str, &str),
        pid_file: &'static str,
        reach: impl FnOnce(&Directory) -> Vec<String>,
    ) -> Self {
        let directory = Directory::new(purpose);
        clean_up_at_exit(directory.path(), pid_file);
        let running = Running::new(name, directory.path().join("output"));
        Self { reach: reach(&directory), directory, running }
    }

    /// Runs SQL; the error is what the client said.
    pub(crate) fn try_sql(&self, sql: &str) -> Result<String, String> {
        let output = Command::new("mariadb")
            .args(["--no-defaults", "--user=root", "--batch", "--skip-column-names", "-e", sql])
            .args(&self.reach)
            .stdin(Stdio::null())
            .output()
            .expect("mariadb");
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// Runs SQL and returns the rows of the answer, with tabs between columns.
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.try_sql(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.running.abandon();
    }
}

/// Finds a server's program: the one that `variable` names, or that a script put below `test-deps` of cargo's target
/// directory.
///
/// # Panics
/// There is none. `advice` follows the message.
pub(crate) fn program(variable: &str, below: &str, advice: &str) -> PathBuf {
    if let Some(given) = std::env::var_os(variable) {
        return PathBuf::from(given);
    }
    let this = std::env::current_exe().expect("this program's path");
    let mut found = this.ancestors().map(|directory| directory.join("test-deps").join(below));
    found.find(|path| path.exists()).unwrap_or_else(|| panic!("test-deps/{below} is missing: {advice}"))
}
