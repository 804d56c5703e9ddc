//! Keys of files with the user's own statements: they make the tables of a load, or follow its rows.

use crate::entries::Entries;
use crate::error::PlanError;
use crate::key::Key;
use lydite_families::{OwnSchema, ScriptKind, TargetSpec};
use lydite_report::plan::ScriptInfo;
use lydite_tpcc::meta::{DatabaseMeta, ScriptNote};
use std::sync::Arc;

/// Keys of the files.
pub const KEYS: &[Key] = &[
    Key::new("schema").flag(
        "FILE",
        "SQL statements that make the tables to load instead of Lydite's; {stock} and the like stand for their names",
    ),
    Key::new("after_load").flag(
        "FILE",
        "SQL statements that a load executes after the rows: indexes, statistics, options of storage",
    ),
];

/// Reads the files, and returns the target with them.
pub fn read(entries: &mut Entries, target: Option<TargetSpec>) -> Option<TargetSpec> {
    let mut script = |key: &str, kind: ScriptKind| {
        let (path, target) = (entries.text(key)?, target.as_ref()?);
        match target.read_script(&path, kind) {
            Ok(script) => Some(Arc::new(script)),
            Err(error) => {
                for problem in error.problems() {
                    entries.wrong(key, &format!("{path}: {problem}"));
                }
                None
            }
        }
    };
    let scripts = OwnSchema {
        schema: script("schema", ScriptKind::Schema),
        after_load: script("after_load", ScriptKind::AfterLoad),
    };
    let url = entries.text("target").unwrap_or_default();
    match target?.with_scripts(&url, scripts) {
        Ok(target) => Some(target),
        Err(problem) => {
            entries.wrong("schema", &problem.to_string());
            None
        }
    }
}

/// Rejects a database that was loaded with other files than those of the plan.
///
/// # Errors
/// The difference, and what to do.
pub fn check_loaded(scripts: &OwnSchema, meta: &DatabaseMeta, url: &str) -> Result<(), PlanError> {
    let asked = scripts.notes();
    for (flag, asked, loaded) in [
        ("--schema", &asked.schema, &meta.scripts.schema),
        ("--after-load", &asked.after_load, &meta.scripts.after_load),
    ] {
        let Some(asked) = asked else { continue };
        if loaded.as_ref().is_some_and(|loaded| loaded.hash == asked.hash) {
            continue;
        }
        let loaded = loaded.as_ref().map_or_else(|| "without such a file".to_owned(), in_words);
        return Err(PlanError::usage(format!(
            "{url} was loaded {loaded}, but the plan wants {flag} {}: leave it out, or load again with --fresh",
            asked.file
        )));
    }
    Ok(())
}

fn in_words(note: &ScriptNote) -> String {
    format!("with {} (SHA-256 {}…)", note.file, note.hash)
}

/// Returns the files of a loaded database for its result. The texts are there if this process read the files.
#[must_use]
pub fn infos(scripts: &OwnSchema, meta: &DatabaseMeta) -> [Option<ScriptInfo>; 2] {
    let info = |note: &Option<ScriptNote>, script: &Option<Arc<lydite_families::Script>>| {
        let note = note.as_ref()?;
        let script = script.as_ref().filter(|script| script.note().hash == note.hash);
        Some(ScriptInfo {
            file: note.file.clone(),
            hash: note.hash.clone(),
            text: script.map(|script| script.text().to_owned()),
        })
    };
    [info(&meta.scripts.schema, &scripts.schema), info(&meta.scripts.after_load, &scripts.after_load)]
}
