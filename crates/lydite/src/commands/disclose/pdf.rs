//! PDF documents, printed by a browser: it has the layout, the fonts and the SVG that the pages need.

use std::env;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Programs that print, by name.
const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome-headless-shell"];
/// Longest time to print a document.
const LONGEST: Duration = Duration::from_secs(120);
/// Time between two looks at the browser.
const LOOK: Duration = Duration::from_millis(20);

/// Advice for users without a browser.
pub(super) const ADVICE: &str =
    "no PDF: no Chromium is on the PATH: install one, or print the pages from any browser";

/// A browser that prints.
pub(super) struct Browser(PathBuf);

impl Browser {
    /// Finds a browser on the PATH.
    pub(super) fn find() -> Option<Self> {
        Self::among(&env::var_os("PATH")?)
    }

    fn among(path: &OsStr) -> Option<Self> {
        let runs = |path: &PathBuf| {
            path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        };
        let places = || env::split_paths(path);
        NAMES.iter().flat_map(|name| places().map(move |place| place.join(name))).find(runs).map(Self)
    }

    /// Prints `page` into `pdf`. The browser keeps its profile in `profile`, since that of the user may be open.
    ///
    /// # Errors
    /// The browser failed, or took too long.
    pub(super) fn print(&self, page: &Path, pdf: &Path, profile: &Path) -> io::Result<()> {
        let failed =
            |what: &dyn Display| io::Error::other(format!("{}: {}: {what}", pdf.display(), self.0.display()));
        let page = page.canonicalize().map_err(|error| failed(&error))?;
        let mut command = Command::new(&self.0);
        command.args(["--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"]);
        // SAFETY: it reads a number.
        if unsafe { libc::geteuid() } == 0 {
            // Chromium refuses root otherwise. The page is Lydite's own and has no script.
            command.arg("--no-sandbox");
        }
        command.arg(joined("--user-data-dir=", profile));
        command.arg(joined("--print-to-pdf=", pdf));
        command.arg(joined("file://", &page));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| failed(&error))?;
        let printed = wait(child).and_then(|()| match pdf.metadata() {
            Ok(about) if about.len() > 0 => Ok(()),
            _ => Err(io::Error::other("it wrote nothing")),
        });
        let advice = "print the page from any browser, or use --no-pdf";
        printed.map_err(|error| failed(&format!("{error}: {advice}")))
    }
}

/// Returns an argument of the browser that ends in a path.
fn joined(flag: &str, path: &Path) -> std::ffi::OsString {
    let mut argument = std::ffi::OsString::from(flag);
    argument.push(path);
    argument
}

/// Waits for the browser, and ends it after [`LONGEST`].
fn wait(mut child: Child) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(io::Error::other(format!("it failed with {status}"))),
            Ok(None) if begun.elapsed() < LONGEST => thread::sleep(LOOK),
            Ok(None) => {
                // Both fail only if it has just ended.
                let _ = child.kill();
                let _ = child.wait();
                return Err(io::Error::other(format!("it took more than {} s", LONGEST.as_secs())));
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn program(directory: &Path, script: &str) {
        let path = directory.join("google-chrome");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_browser_is_found_by_name_if_it_can_be_run() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Browser::among(directory.path().as_os_str()).is_none());
        fs::write(directory.path().join("chromium"), "no program").unwrap();
        assert!(Browser::among(directory.path().as_os_str()).is_none(), "it can't be run");
        program(directory.path(), "exit 0");
        let found = Browser::among(directory.path().as_os_str()).map(|browser| browser.0);
        assert_eq!(found, Some(directory.path().join("google-chrome")));
    }

    #[test]
    fn a_browser_that_fails_or_writes_nothing_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let (page, pdf) = (directory.path().join("page.html"), directory.path().join("page.pdf"));
        fs::write(&page, "<p>").unwrap();
        for (script, words) in [("exit 3", "failed with"), ("exit 0", "wrote nothing")] {
            program(directory.path(), script);
            let browser = Browser::among(directory.path().as_os_str()).unwrap();
            let problem = browser.print(&page, &pdf, directory.path()).unwrap_err().to_string();
            assert!(problem.contains(words) && problem.contains("--no-pdf"), "{problem}");
        }
    }
}
