//! Finds the commit and its date for `lydite --version`. Cargo runs it again when the commit changes, and then compiles
//! this crate only. Sources, the first that has an answer: the variables `LYDITE_COMMIT` and `SOURCE_DATE_EPOCH`, the
//! file `commit.txt` of an archive that `git archive` made, git itself.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Digits of a commit that are shown.
const DIGITS: usize = 12;

/// Paths, from this crate's folder, whose changes make an optimised program differ from its commit.
const COMPILED: [&str; 4] = ["../../crates", "../../sdk", "../../Cargo.toml", "../../Cargo.lock"];

/// The commit of a build.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Build {
    /// First digits of the commit, with `-changed` if sources differ from it; empty if unknown.
    pub(crate) commit: String,
    /// Seconds from 1970 to the commit; empty if unknown.
    pub(crate) seconds: String,
    /// Files and folders whose changes may change the answer.
    pub(crate) watched: Vec<PathBuf>,
}

fn main() {
    let Some(folder) = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from) else { return };
    let build = find(&folder, |name| std::env::var(name).ok());
    for name in ["LYDITE_COMMIT", "SOURCE_DATE_EPOCH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    for path in build.watched {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let features = std::env::var("CARGO_CFG_FEATURE").unwrap_or_default();
    let target = std::env::var("TARGET").unwrap_or_default();
    for (name, value) in
        [("COMMIT", build.commit), ("SECONDS", build.seconds), ("FEATURES", features), ("TARGET", target)]
    {
        println!("cargo::rustc-env=LYDITE_BUILD_{name}={value}");
    }
}

/// Finds the commit of the sources of the crate in a folder. `variable` reads the environment.
pub(crate) fn find(folder: &Path, variable: impl Fn(&str) -> Option<String>) -> Build {
    let archived = folder.join("commit.txt");
    let mut watched = vec![folder.join("build.rs"), archived.clone()];
    let date = variable("SOURCE_DATE_EPOCH").filter(|seconds| is_number(seconds));
    if let Some(commit) = variable("LYDITE_COMMIT").filter(|commit| is_commit(commit)) {
        return Build { commit: short(&commit), seconds: date.unwrap_or_default(), watched };
    }
    let text = std::fs::read_to_string(archived).unwrap_or_default();
    let of_archive =
        text.trim().split_once(' ').filter(|(commit, time)| is_commit(commit) && is_number(time));
    if let Some((commit, time)) = of_archive {
        return Build { commit: short(commit), seconds: date.unwrap_or_else(|| time.to_owned()), watched };
    }
    let of_git = of_git(folder, variable("PROFILE").as_deref() == Some("release"), &mut watched);
    let (commit, time) = of_git.unwrap_or_default();
    Build { commit, seconds: date.unwrap_or(time), watched }
}

/// Returns commit and time that git says, if the workspace is a repository of its own.
fn of_git(folder: &Path, optimised: bool, watched: &mut Vec<PathBuf>) -> Option<(String, String)> {
    // Else a copy within another repository would show that one's commit.
    let top = PathBuf::from(git(folder, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != folder.join("../..").canonicalize().ok()? {
        return None;
    }
    let branch = git(folder, &["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
    // A path that does not exist would count as changed at each build.
    let kept = ["HEAD", "logs/HEAD", "packed-refs", &branch].into_iter().filter(|name| !name.is_empty());
    watched.extend(
        kept.filter_map(|name| git(folder, &["rev-parse", "--git-path", name]))
            .map(|path| folder.join(path))
            .filter(|path| path.exists()),
    );
    let mut commit = short(&git(folder, &["rev-parse", "HEAD"]).filter(|commit| is_commit(commit))?);
    // Only programs that measure: to look at all sources costs each build of the tests a compilation of this crate.
    if optimised {
        watched.extend(COMPILED.iter().map(|path| folder.join(path)));
        let mut arguments = vec!["status", "--porcelain", "--untracked-files=no", "--"];
        arguments.extend(COMPILED);
        if !git(folder, &arguments)?.is_empty() {
            commit.push_str("-changed");
        }
    }
    let time = git(folder, &["show", "--no-patch", "--format=%ct", "HEAD"]).filter(|time| is_number(time))?;
    Some((commit, time))
}

/// Runs git in a folder, and returns what it prints if it succeeds.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
    let printed = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| printed.trim().to_owned())
}

fn is_commit(text: &str) -> bool {
    text.len() >= DIGITS && text.chars().all(|digit| digit.is_ascii_hexdigit())
}

fn is_number(text: &str) -> bool {
    text.parse::<u32>().is_ok()
}

fn short(commit: &str) -> String {
    commit.chars().take(DIGITS).collect()
}
