//! Folders of a crate that may not know others of it, whatever the circles say.

use crate::WORKSPACE;

/// A folder or file of `crates/CRATE/src` by the begin of its path, the begins of paths that it must not import, and why.
const RULES: &[(&str, &str, &[&str], &str)] = &[
    (
        "gemel",
        "memory/",
        &["crate::disk", "crate::log::", "crate::coordinator"],
        "an engine knows neither the other one nor the log",
    ),
    (
        "gemel",
        "disk/",
        &["crate::memory", "crate::log::", "crate::coordinator"],
        "an engine knows neither the other one nor the log",
    ),
    (
        "gemel",
        "order/",
        &["crate::memory", "crate::disk", "crate::log"],
        "the registry knows snapshots, and no engine",
    ),
    ("verify", "history/", &["lydite_database", "lydite_tpcc"], "the history checker knows no database"),
    ("run", "beside/", &["crate::beside"], "a companion of a run knows no other one"),
    ("plan", "", &["lydite_testkit", "std::net"], "a plan is read without touching a database"),
    ("bench", "", &["lydite_families"], "running and measuring know no family"),
    (
        "database",
        "kv/",
        &["crate::patience", "crate::replicas"],
        "what stands around targets is not known inside of them",
    ),
    (
        "database",
        "sql/",
        &["crate::patience", "crate::replicas"],
        "what stands around targets is not known inside of them",
    ),
];

/// Paths that may be used nevertheless: a thread asks whether it may wait.
const EXCEPTIONS: &[&str] = &["crate::log::may_wait"];

#[test]
fn folders_import_nothing_that_their_rule_forbids() {
    let mut found = Vec::new();
    for (folder, begin, forbidden, rule) in RULES {
        let of = WORKSPACE.crates.iter().find(|of| of.folder == *folder).expect("the crate of a rule");
        let mut files = of.files.iter().filter(|file| file.path.starts_with(begin)).peekable();
        assert!(
            files.peek().is_some(),
            "no file of {folder} begins with {begin}: change the rule \"{rule}\""
        );
        for file in files {
            let written = file.code().filter(|line| forbidden.iter().any(|path| line.contains(path)));
            let written = written.map(str::to_owned);
            // Whatever way the path was written: with `super`, or several in braces.
            let imported = file.imported.iter().map(|import| format!("crate::{}::", import.path.join("::")));
            let imported = imported.filter(|import| forbidden.iter().any(|path| import.starts_with(path)));
            let wrong =
                written.chain(imported).filter(|line| !EXCEPTIONS.iter().any(|known| line.contains(known)));
            found.extend(wrong.map(|line| format!("crates/{folder}/src/{}: {line}: {rule}", file.path)));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
