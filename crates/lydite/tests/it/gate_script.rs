//! The gate of a pull request: `scripts/gate.sh` and `scripts/install-release.sh`, with a `gh` that keeps what it is told.

use crate::program::{scratch, text, write_program};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A `gh` of the account `me` that notes its arguments, its token and the comment. It finds the comments that `gh.found`
/// has, a line for each with author and number, if its arguments name the author. It can't list comments while `gh.fails`
/// exists. `gh.sha` is the commit of every tag.
const GH: &str = r#"#!/usr/bin/env bash
here=$(dirname "$0")
echo "$*" >>"$here/gh.log"
echo "${GH_TOKEN:-none}" >>"$here/gh.token"
for argument in "$@"; do
    case $argument in
    body=@*) cp "${argument#body=@}" "$here/gh.body" ;;
    esac
done
case $* in
*graphql*) echo me ;;
*--paginate*)
    [ ! -e "$here/gh.fails" ] || exit 1
    [ ! -e "$here/gh.found" ] || while read -r author number; do
        [[ $* != *".user.login == \"$author\""* ]] || echo "$number"
    done <"$here/gh.found"
    ;;
*/commits/*) cat "$here/gh.sha" ;;
"release download"*)
    while [ $# -gt 0 ]; do
        [ "$1" != --dir ] || cp "$here"/release/* "$2"
        shift
    done
    ;;
esac
exit 0
"#;

/// Runs a script with the program of these tests, in a directory that has a `gh`.
fn script(name: &str, place: &Path, arguments: &[&str]) -> Output {
    command(name, place, arguments).output().expect("the script")
}

/// The command of such a script.
fn command(name: &str, place: &Path, arguments: &[&str]) -> Command {
    write_program(&place.join("gh"), GH);
    // A test that must not find this machine's lydite has its tools in a directory.
    let tools = place.join("tools");
    let path = if tools.exists() { text(&tools).to_owned() } else { std::env::var("PATH").expect("a path") };
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(name);
    let mut command = Command::new(script);
    command.args(arguments).current_dir(place).env("PATH", format!("{}:{path}", place.display()));
    command.env("LYDITE", env!("CARGO_BIN_EXE_lydite")).env("GITHUB_REPOSITORY", "owner/name");
    command
        .env("GITHUB_STEP_SUMMARY", place.join("step.md"))
        .env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    for name in ["GITHUB_ACTIONS", "GITHUB_OUTPUT", "GITHUB_TOKEN", "LYDITE_PASSWORD"] {
        command.env_remove(name);
    }
    command.env("GH_TOKEN", "secret");
    command
}

/// Runs the gate on `null:` with two pairs, whose sides write their names to `turns`.
fn gate(place: &Path, out: &str, more: &[&str]) -> Output {
    let usual = [
        "--base-url",
        "null:",
        "--pairs",
        "2",
        "--run-flags",
        "--duration 1s --warmup '0s'",
        "--base-before",
        "echo base >>turns",
        "--pr-before",
        "echo pr >>turns",
        "--comment",
        "7",
        "--out",
        out,
    ];
    script("gate.sh", place, &[&usual, more].concat())
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_gate_measures_in_turns_and_writes_one_comment_that_later_runs_replace() {
    let directory = scratch();
    let place = directory.path();
    // Nothing fails on either side, so the interval of the difference is that of zeros.
    let passed = gate(place, "first", &["--fail-if", "failed > +5"]);
    assert_eq!(passed.status.code(), Some(0), "{passed:?}");
    assert_eq!(read(&place.join("turns")), "base\npr\npr\nbase\n");
    for file in ["base1.json", "pr2.json", "compare.json", "compare.xml", "summary.md", "change.svg"] {
        assert!(place.join("first").join(file).exists(), "{file}");
    }
    let body = read(&place.join("gh.body"));
    assert!(body.starts_with("<!-- lydite: gate -->\n") && body.contains("failed &gt; +5"), "{body}");
    let said = read(&place.join("gh.log"));
    assert!(said.contains("--method POST repos/owner/name/issues/7/comments"), "{said}");

    // The difference is 0, so this condition holds: too bad.
    fs::write(place.join("gh.found"), "somebody 13\nme[bot] 4711\n").expect("a file");
    let failed = gate(place, "second", &["--fail-if", "failed > -1", "--pr-url", "null:"]);
    assert_eq!(failed.status.code(), Some(4), "{failed:?}");
    let said = read(&place.join("gh.log"));
    assert!(said.contains("--method PATCH repos/owner/name/issues/comments/4711"), "{said}");
    assert_eq!(said.matches("POST").count(), 1, "{said}");
}

#[test]
fn a_gate_without_a_comparison_says_why_in_the_job_and_in_the_comment() {
    let directory = scratch();
    let place = directory.path();
    let condition = ["--fail-if", "failed > +5"];
    let broken = ["--pr-before", "exit 9", "--pr-after", "echo after >>turns"];
    let broken = gate(place, "out", &[&condition[..], &broken].concat());
    assert_eq!(broken.status.code(), Some(3), "{broken:?}");
    assert_eq!(read(&place.join("turns")), "base\nafter\n", "what a failed command began is ended");
    let words = "The command before run 1 of pr failed.";
    assert!(read(&place.join("gh.body")).contains(words) && read(&place.join("step.md")).contains(words));
    let full = gate(place, "out", &condition);
    assert_eq!(full.status.code(), Some(2), "{full:?}");
    assert!(String::from_utf8_lossy(&full.stderr).contains("out is not empty"), "{full:?}");
    let unconditional = gate(place, "other", &[]);
    assert!(String::from_utf8_lossy(&unconditional.stderr).contains("--fail-if"), "{unconditional:?}");
    assert!(!place.join("other").exists());
}

#[test]
fn comments_that_can_not_be_listed_are_no_reason_for_another_one() {
    let directory = scratch();
    let place = directory.path();
    fs::write(place.join("gh.fails"), "").expect("a file");
    let passed = gate(place, "out", &["--fail-if", "failed > +5"]);
    assert_eq!(passed.status.code(), Some(0), "{passed:?}");
    assert!(String::from_utf8_lossy(&passed.stderr).contains("could not be listed"), "{passed:?}");
    let said = read(&place.join("gh.log"));
    assert!(said.contains("--paginate") && !said.contains("--method"), "{said}");
}

#[test]
fn commands_of_a_pull_request_do_not_get_the_token() {
    let directory = scratch();
    let place = directory.path();
    let before = "echo \"${GH_TOKEN:-none} ${GITHUB_TOKEN:-none}\" >>seen";
    let flags = ["--fail-if", "failed > +5", "--base-before", before, "--pr-after", before];
    let ended = gate(place, "out", &flags);
    assert_eq!(read(&place.join("seen")), "none none\n".repeat(4), "{ended:?}");
    let tokens = read(&place.join("gh.token"));
    assert!(!tokens.is_empty() && tokens.lines().all(|token| token == "secret"), "{tokens}");
}

#[test]
fn a_signal_ends_the_run_of_a_gate_and_then_stops_its_database() {
    let directory = scratch();
    let place = directory.path();
    let run = "trap 'echo stopped >>turns; exit 130' TERM\necho >running\nsleep 60 & wait $!";
    write_program(&place.join("run"), &format!("#!/bin/bash\n{run}\n"));
    let flags = ["--base-url", "null:", "--fail-if", "failed > +5", "--base-after", "echo after >>turns"];
    let mut gate = command("gate.sh", place, &flags);
    gate.env("LYDITE", place.join("run")).env("GITHUB_OUTPUT", place.join("outputs"));
    let mut gate = gate.spawn().expect("the gate");
    while !place.join("running").exists() {
        assert_eq!(gate.try_wait().expect("its state"), None, "the gate ends before its run begins");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let killed = Command::new("kill").args(["-s", "TERM", &gate.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    assert_eq!(gate.wait().expect("its end").code(), Some(143));
    assert_eq!(read(&place.join("turns")), "stopped\nafter\n");
    assert_eq!(read(&place.join("outputs")), "directory=gate\ncode=143\n");
}

#[test]
fn the_help_of_the_gate_lists_its_flags() {
    let directory = scratch();
    let help = script("gate.sh", directory.path(), &["--help"]);
    assert!(help.status.success(), "{help:?}");
    let help = String::from_utf8(help.stdout).expect("text");
    assert!(
        help.starts_with("Measures two sides in turns") && help.contains("\n  --undecided fail|pass"),
        "{help}"
    );
    assert!(!help.contains("set -euo"), "{help}");
}

#[test]
fn a_release_is_installed_only_if_its_archive_has_the_sum_of_the_release() {
    let directory = scratch();
    let place = directory.path();
    let release = place.join("release");
    fs::create_dir_all(place.join("lydite/bin")).expect("a directory");
    fs::create_dir_all(&release).expect("a directory");
    write_program(&place.join("lydite/bin/lydite"), "#!/bin/sh\necho it runs\n");
    let name = format!("lydite-9.8.7-{}-linux.tar.xz", std::env::consts::ARCH);
    let version = env!("CARGO_PKG_VERSION");
    let run = |command: &str| {
        let ended = Command::new("bash").args(["-euc", command]).current_dir(place).output().expect("bash");
        assert!(ended.status.success(), "{ended:?}");
    };
    let needed = "bash cat cp dirname env grep mkdir realpath sed sha256sum tar uname xz";
    run(&format!("mkdir tools; for tool in {needed}; do ln -s \"$(command -v $tool)\" tools; done"));
    run(&format!("tar -cJf 'release/{name}' lydite; cd release; sha256sum * >SHA256SUMS"));
    let install = |to: &str| script("install-release.sh", place, &["owner/name", "v9.8.7", to]);
    let installed = install("good");
    assert_eq!(installed.status.code(), Some(0), "{installed:?}");
    let bin = String::from_utf8(installed.stdout).expect("a path");
    assert!(Path::new(bin.trim()).join("lydite").exists(), "{bin}");
    assert!(read(&place.join("gh.log")).contains("release download v9.8.7 --repo owner/name"));

    // Its commit is as good as its tag.
    let own = format!("lydite-{version}-{}-linux.tar.xz", std::env::consts::ARCH);
    run(&format!("cp 'release/{name}' 'release/{own}'; cd release; sha256sum lydite-* >SHA256SUMS"));
    let commit = "0123456789abcdef0123456789abcdef01234567";
    fs::write(place.join("gh.sha"), format!("{commit}\n")).expect("a file");
    let pinned = script("install-release.sh", place, &["owner/name", commit, "pinned"]);
    assert_eq!(pinned.status.code(), Some(0), "{pinned:?}");
    assert!(place.join("pinned/bin/lydite").exists(), "{pinned:?}");
    assert!(read(&place.join("gh.log")).contains(&format!("release download v{version} --repo owner/name")));

    run(&format!("printf x >>'release/{name}'"));
    let changed = install("bad");
    assert!(!changed.status.success() && changed.stdout.is_empty(), "{changed:?}");
    assert!(!place.join("bad/bin").exists());
}
