//! The products of a release: `scripts/dist.sh`, without a build.

use crate::program::{scratch, write_program};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Commit that the sources of these tests claim to be.
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Runs a command of bash in a directory and returns its end. What it builds or makes stays in the directory.
fn bash(place: &Path, command: &str) -> Output {
    let mut bash = Command::new("bash");
    bash.args(["-euc", command]).current_dir(place);
    bash.env("LYDITE_COMMIT", COMMIT)
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .env("DIST_ARCHS", std::env::consts::ARCH);
    for name in ["CARGO_TARGET_DIR", "DIST_OUT", "DIST_WORK", "DIST_ROOTS"] {
        bash.env_remove(name);
    }
    let path = std::env::var("PATH").expect("a path");
    bash.env("PATH", format!("{}:{path}", place.join("fake").display()));
    bash.output().expect("bash")
}

/// Runs a command that must succeed, and returns what it prints.
fn said(place: &Path, command: &str) -> String {
    let ended = bash(place, command);
    assert!(ended.status.success(), "{command}: {ended:?}");
    String::from_utf8(ended.stdout).expect("text")
}

/// Runs a command that must fail, and returns its last line of errors.
fn error_of(place: &Path, command: &str) -> String {
    let ended = bash(place, command);
    assert_eq!(ended.status.code(), Some(1), "{command}: {ended:?}");
    String::from_utf8_lossy(&ended.stderr).lines().last().unwrap_or_default().to_owned()
}

/// Writes sources of a version that have only what the scripts themselves read.
fn sources(place: &Path, version: &str) {
    let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    said(place, &format!("cp -r '{repository}/scripts' '{repository}/deploy' . && mkdir fake"));
    fs::write(place.join("Cargo.toml"), format!("[workspace.package]\nversion = \"{version}\"\n"))
        .expect("a file");
}

/// Puts a program before all others on the path.
fn fake(place: &Path, name: &str, script: &str) {
    write_program(&place.join("fake").join(name), &format!("#!/bin/sh\n{script}\n"));
}

/// Puts programs and pages that were not built into the stage.
fn stage(place: &Path) {
    let arch = std::env::consts::ARCH;
    said(
        place,
        &format!(
            ". scripts/dist/common.sh
            for file in lydite gemel lydite.debug gemel.debug LICENSES.txt lydite.cdx.json; do
                echo $file >file && install_file 755 file \"$(stage {arch})/$file\"
            done
            rm file
            mark_made programs {arch}
            mark_made pages {arch}"
        ),
    );
}

#[test]
fn a_plan_that_cannot_be_carried_out_stops_before_the_build() {
    let directory = scratch();
    let place = directory.path();
    sources(place, "9.8.7");
    let nothing = error_of(place, "scripts/dist.sh --check --no-try archive");
    assert!(nothing.starts_with("error: programs of ") && nothing.contains("there are none"), "{nothing}");
    stage(place);
    let planned = said(place, "scripts/dist.sh --check --no-try archive");
    assert_eq!(planned, format!("archive: {}\n", std::env::consts::ARCH));
    let again = error_of(place, "scripts/dist.sh --check --no-try --twice archive");
    assert!(again.contains("name programs and "), "{again}");

    fake(place, "id", "echo 1000");
    let tried = error_of(place, "scripts/dist.sh --check archive");
    assert!(tried.contains("archive is tried in a root of its own: run as root"), "{tried}");
    let image = error_of(place, "scripts/dist.sh --check --no-try archive container");
    assert!(image.contains("leave container out"), "{image}");
    fake(place, "python3", "[ \"$1\" = --version ] && echo Python 3.9.2");
    let old = error_of(place, "scripts/dist.sh --check --no-try wheel");
    assert!(old.contains("Python 3.9.2 is too old"), "{old}");
}

#[test]
fn staged_programs_of_another_commit_or_version_are_not_shipped() {
    let directory = scratch();
    let place = directory.path();
    sources(place, "9.8.7");
    stage(place);
    for change in ["export LYDITE_COMMIT=fedcba", "sed -i 's/9.8.7/9.8.8/' Cargo.toml"] {
        let stale =
            error_of(place, &format!("{change}; scripts/dist/archive.sh make {}", std::env::consts::ARCH));
        assert!(
            stale.contains(&format!("are of 9.8.7 {COMMIT}")) && stale.contains("make dist ARGS="),
            "{stale}"
        );
    }
}

#[test]
fn the_sums_list_the_files_of_this_commit_only() {
    let directory = scratch();
    let place = directory.path();
    sources(place, "9.8.7");
    let sums = "awk '{ print $2 }' dist/SHA256SUMS";
    let make = "scripts/dist.sh --no-try kubernetes >out";
    said(place, &format!("mkdir dist && echo old >dist/lydite-9.8.7-x86_64-linux.tar.xz && {make}"));
    assert_eq!(said(place, sums), "lydite-9.8.7-deploy.tar.xz\n");
    said(place, "cd dist && sha256sum --check --strict SHA256SUMS");
}

#[test]
fn a_run_that_makes_no_files_leaves_no_sums() {
    let directory = scratch();
    let place = directory.path();
    sources(place, "9.8.7");
    write_program(&place.join("scripts/dist/kubernetes.sh"), "#!/bin/sh\n");
    said(place, "mkdir dist && echo old >dist/SHA256SUMS && scripts/dist.sh --no-try kubernetes >out");
    assert!(!place.join("dist/SHA256SUMS").exists());
}

#[test]
fn a_file_that_git_does_not_track_gets_into_no_product() {
    let directory = scratch();
    let place = directory.path();
    sources(place, "9.8.7");
    said(
        place,
        "printf '%s\\n' /dist /target /fake /out >.gitignore
        git init -q . && git add . && git -c user.name=a -c user.email=a@example.com commit -qm first",
    );
    fs::write(place.join("deploy/mine.yaml"), "secret: mine\n").expect("a file");
    let clean = error_of(place, "unset LYDITE_COMMIT; scripts/dist.sh --no-try kubernetes");
    assert!(clean.contains("deploy/mine.yaml") && clean.contains("set LYDITE_COMMIT"), "{clean}");
    // Whoever names the commit has sources of his own, of which git knows the files.
    said(place, "scripts/dist.sh --no-try kubernetes >out");
    let packed = said(place, "tar -tJf dist/lydite-9.8.7-deploy.tar.xz");
    assert!(packed.contains("deploy/Containerfile") && !packed.contains("mine"), "{packed}");
}

#[test]
fn a_pre_release_has_the_version_that_python_and_debian_sort_before_the_release() {
    for (version, python, debian) in [
        ("1.0.0", "1.0.0", "1.0.0"),
        ("1.0.0-rc.1", "1.0.0rc1", "1.0.0~rc.1"),
        ("1.2.3-beta.12", "1.2.3b12", "1.2.3~beta.12"),
        ("1.2.3-alpha.2", "1.2.3a2", "1.2.3~alpha.2"),
    ] {
        let directory = scratch();
        let place = directory.path();
        sources(place, version);
        let forms = ". scripts/dist/common.sh; version; python_version; debian_version";
        assert_eq!(said(place, forms), format!("{version}\n{python}\n{debian}\n"));
    }
    let directory = scratch();
    let place = directory.path();
    sources(place, "1.0.0-next");
    let unknown = error_of(place, "scripts/dist.sh --check --no-try crate");
    assert!(unknown.contains("version 1.0.0-next") && unknown.contains("-rc.N"), "{unknown}");
}

/// Places outside of Cargo.toml that name the version: file, words, and how often it has them. {python} is Python's form.
const PLACES: &[(&str, &str, usize)] = &[
    ("sdk/python/pyproject.toml", "version = \"{python}+sdk\"\n", 1),
    ("sdk/python/lydite/__init__.py", "__version__ = \"{python}\"\n", 1),
    ("deploy/README.md", "ghcr.io/OWNER/lydite:{version} \\\n", 2),
    ("deploy/kubernetes/agents.yaml", "image: ghcr.io/OWNER/lydite:{version}\n", 1),
    ("deploy/kubernetes/run.yaml", "image: ghcr.io/OWNER/lydite:{version}\n", 1),
    ("deploy/kubernetes/kustomization.yaml", "newTag: {version}\n", 1),
    ("docs/src/gates.md", "uses: OWNER/lydite@v{version}\n", 2),
];

#[test]
fn every_place_names_the_version_of_cargo() {
    let repository = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let version = env!("CARGO_PKG_VERSION");
    let directory = scratch();
    sources(directory.path(), version);
    let python = said(directory.path(), ". scripts/dist/common.sh; python_version");
    for (file, words, times) in PLACES {
        let text = fs::read_to_string(repository.join(file)).expect(file);
        let words = words.replace("{python}", python.trim()).replace("{version}", version);
        assert_eq!(
            text.matches(&words).count(),
            *times,
            "{file} names another version: it should have {words:?}"
        );
    }
}

#[test]
fn the_notes_of_a_release_are_its_section_of_the_changelog() {
    let directory = scratch();
    let place = directory.path();
    sources(place, "1.0.0");
    let sections = "# Changelog\n\n## [Unreleased]\n\nnew\n\n## [1.0.1] - 2026-01-02\n\n### Fixed\n\nlater\n\n## [1.0.0]\n\nfirst\n";
    fs::write(place.join("CHANGELOG.md"), sections).expect("a file");
    assert_eq!(said(place, "scripts/release-notes.sh 1.0.1"), "### Fixed\n\nlater\n");
    assert_eq!(said(place, "scripts/release-notes.sh 1.0.0"), "first\n");
    assert_eq!(said(place, "scripts/release-notes.sh 1.1.0-rc.1"), "new\n");
    let missing = error_of(place, "scripts/release-notes.sh 1.1.0");
    assert!(missing.contains("no section '## [1.1.0]'"), "{missing}");
}
