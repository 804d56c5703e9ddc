//! The imports between the files of a crate, by their `use` statements.

use crate::imported::Imported;
use crate::workspace::Crate;
use std::collections::{BTreeMap, BTreeSet};

/// For each file of a library, the files that it imports, both as indices into [`Crate::files`].
pub type Imports = BTreeMap<usize, BTreeSet<usize>>;

/// Returns what the files of a crate's library import of each other.
///
/// A path in an expression is no import. Neither is a re-export: whoever imports a name that is re-exported somewhere
/// imports the file that has it. So the table of a folder's parts does not tie them together, but what they need does.
pub fn imports(of: &Crate) -> Imports {
    let files = || of.files.iter().enumerate().filter(|(_, file)| file.in_library);
    let modules: BTreeMap<&[String], usize> =
        files().map(|(index, file)| (file.module.as_slice(), index)).collect();
    let mut re_exported: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    let mut private = Vec::new();
    for (index, file) in files() {
        for Imported { path, within, is_public } in &file.imported {
            match path.last() {
                Some(name) if *is_public => {
                    re_exported
                        .insert([within.as_slice(), std::slice::from_ref(name)].concat(), path.clone());
                }
                _ => private.push((index, path.clone())),
            }
        }
    }
    let mut all: Imports = files().map(|(index, _)| (index, BTreeSet::new())).collect();
    for (from, path) in private {
        let path = origin(path, &re_exported);
        let file = (0..=path.len()).rev().find_map(|length| modules.get(&path[..length]));
        all.entry(from).or_default().extend(file.filter(|file| **file != from));
    }
    all
}

/// Follows re-exports from a path to where the name is.
fn origin(mut path: Vec<String>, re_exported: &BTreeMap<Vec<String>, Vec<String>>) -> Vec<String> {
    // A file that re-exports from one that re-exports from it does not compile, but this must end.
    for _ in 0..16 {
        let shown = (1..=path.len()).find_map(|length| Some((length, re_exported.get(&path[..length])?)));
        let Some((length, to)) = shown.filter(|(length, to)| path[..*length] != ***to) else { break };
        path = [to, &path[length..]].concat();
    }
    path
}
