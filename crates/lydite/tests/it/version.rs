//! `lydite --version`, and the build script that finds its commit.

use crate::program::{lydite, scratch};
use std::fs;
use std::path::Path;
use std::process::Command;

#[allow(dead_code, reason = "its main runs when the crate is built")]
#[path = "../../build.rs"]
mod build;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

#[test]
fn the_version_has_the_commit_its_date_the_features_and_the_target() {
    let long = lydite(&["--version"]).code(0).stdout;
    let lines: Vec<&str> = long.lines().collect();
    let version = concat!("lydite ", env!("CARGO_PKG_VERSION"));
    assert_eq!(lines[0], version);
    let value = |line: usize, name: &str| {
        lines[line].strip_prefix(name).unwrap_or_else(|| panic!("{name}: {long}")).trim().to_owned()
    };
    assert_eq!(lines.len(), 5, "{long}");
    let (commit, date) = (value(1, "commit"), value(2, "date"));
    assert!(!value(3, "features").is_empty() && value(4, "target").contains("linux"), "{long}");
    let short = lydite(&["-V"]).code(0).stdout;
    if commit.starts_with("unknown") {
        assert_eq!(short.trim(), version);
    } else {
        assert_eq!(short.trim(), format!("{version} ({commit} {date})"));
        assert_eq!(date.split('-').map(str::len).collect::<Vec<_>>(), [4, 2, 2], "{date}");
    }
}

/// Finds the commit for a crate in this folder, with these variables of the environment.
fn found(folder: &Path, variables: &[(&str, &str)]) -> (String, String) {
    let variable =
        |name: &str| variables.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned());
    let found = build::find(folder, variable);
    (found.commit, found.seconds)
}

#[test]
fn a_build_without_git_takes_the_commit_from_its_archive_or_from_the_environment() {
    let directory = scratch();
    // Within another repository, whose commit is none of ours.
    let folder = directory.path().join("outer/unpacked/crates/lydite");
    fs::create_dir_all(&folder).expect("a folder");
    commit_in(&directory.path().join("outer"));
    let nothing = (String::new(), String::new());
    assert_eq!(found(&folder, &[]), nothing);
    // As it is in a checkout.
    fs::write(folder.join("commit.txt"), "$Format:%H %ct$\n").expect("a file");
    assert_eq!(found(&folder, &[]), nothing);
    assert_eq!(found(&folder, &[("SOURCE_DATE_EPOCH", "86400")]), (String::new(), "86400".to_owned()));
    // As `git archive` writes it.
    fs::write(folder.join("commit.txt"), format!("{COMMIT} 1700000000\n")).expect("a file");
    assert_eq!(found(&folder, &[]), ("0123456789ab".to_owned(), "1700000000".to_owned()));
    let other = COMMIT.replace("012", "fed");
    let given = [("LYDITE_COMMIT", &*other), ("SOURCE_DATE_EPOCH", "5")];
    assert_eq!(found(&folder, &given), ("fed3456789ab".to_owned(), "5".to_owned()));
    let wrong = [("LYDITE_COMMIT", "main; rm"), ("SOURCE_DATE_EPOCH", "today")];
    assert_eq!(found(&folder, &wrong), ("0123456789ab".to_owned(), "1700000000".to_owned()));
}

#[test]
fn a_build_from_git_has_its_commit_and_an_optimised_one_tells_that_sources_differ() {
    let directory = scratch();
    let top = directory.path();
    let folder = top.join("crates/lydite");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("lib.rs"), "").expect("a file");
    let commit = commit_in(top);
    let optimised = [("PROFILE", "release")];
    let clean = found(&folder, &optimised);
    assert_eq!(clean, (commit[..12].to_owned(), "1700000000".to_owned()));
    fs::write(folder.join("lib.rs"), "//").expect("a file");
    assert_eq!(found(&folder, &optimised).0, format!("{}-changed", &commit[..12]));
    assert_eq!(found(&folder, &[]), clean);
    let watched = build::find(&folder, |_| None).watched;
    let missing: Vec<_> = watched.iter().skip(2).filter(|path| !path.exists()).collect();
    // Cargo builds anew each time if one is missing.
    assert!(watched.len() > 3 && missing.is_empty(), "{watched:?}");
}

/// Makes a repository with a commit of 2023 in a directory, and returns the commit.
fn commit_in(directory: &Path) -> String {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(directory).args(["-c", "user.name=a", "-c", "user.email=a@example.com"]);
        command.args(arguments).env("GIT_COMMITTER_DATE", "1700000000 +0000");
        let output = command.output().expect("git");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--allow-empty", "--message", "first"]);
    git(&["rev-parse", "HEAD"])
}
