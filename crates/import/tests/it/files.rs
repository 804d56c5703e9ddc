//! Each file of `tests/files` becomes the plan beside it, or the error.

use lydite_architecture::kept;
use lydite_import::{Source, read_files};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The files of each case, by the name of the case; `a.1.in` and `a.2.in` are one case.
pub(crate) fn cases() -> BTreeMap<String, Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut cases: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for tool in fs::read_dir(root).unwrap() {
        let tool = tool.unwrap().path();
        for file in fs::read_dir(&tool).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let Some(stem) = name.strip_suffix(".in") else { continue };
            let stem = stem.trim_end_matches(|letter: char| letter == '.' || letter.is_ascii_digit());
            let case = format!("{}/{stem}", tool.file_name().unwrap().to_str().unwrap());
            cases.entry(case).or_default().push(path);
        }
    }
    cases.values_mut().for_each(|files| files.sort());
    cases
}

/// Returns the plans of files as one text, or their errors.
pub(crate) fn imported(sources: &[Source]) -> String {
    match read_files(sources) {
        Ok(imports) => imports.iter().map(|import| import.toml()).collect::<Vec<_>>().join("\n"),
        Err(errors) => errors.iter().map(|error| format!("{error}\n")).collect(),
    }
}

#[test]
fn each_file_becomes_the_plan_beside_it() {
    let cases = cases();
    let files: usize = cases.values().map(Vec::len).sum();
    assert!(files >= 60, "{files} files");
    let mut wrong = Vec::new();
    for (case, files) in cases {
        let source = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            Source::from_bytes(name, &fs::read(path).unwrap()).unwrap()
        };
        let sources: Vec<Source> = files.iter().map(source).collect();
        let plan = format!("crates/import/tests/files/{case}.plan");
        wrong.extend(kept::compare(&plan, &imported(&sources)).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
