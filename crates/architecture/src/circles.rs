//! Circles among files that import each other, and imports that run back up.

use crate::imports::Imports;
use crate::workspace::Crate;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the circles of files, each as the paths of its files in order: each file of a circle reaches all others by
/// imports.
pub fn circles(of: &Crate, imports: &Imports) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<usize, BTreeSet<usize>> =
        imports.keys().map(|file| (*file, reached(*file, imports))).collect();
    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    let mut seen = BTreeSet::new();
    for (file, all) in &reached {
        // A file that reaches itself does so over others: none imports itself.
        if !all.contains(file) || !seen.insert(*file) {
            continue;
        }
        let circle: BTreeSet<usize> =
            all.iter().copied().filter(|other| reached[other].contains(file)).collect();
        seen.extend(&circle);
        circles.push(circle.into_iter().map(|file| of.files[file].path.clone()).collect());
    }
    circles
}

/// Returns the imports that tie a circle, as `from -> to`.
pub fn ties(of: &Crate, imports: &Imports, circle: &BTreeSet<String>) -> Vec<String> {
    let pairs = imports
        .iter()
        .flat_map(|(from, all)| all.iter().map(|to| (&of.files[*from].path, &of.files[*to].path)));
    let within = pairs.filter(|(from, to)| circle.contains(*from) && circle.contains(*to));
    within.map(|(from, to)| format!("{from} -> {to}")).collect()
}

/// Returns the files that a file reaches by one import or more.
fn reached(from: usize, imports: &Imports) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        next.extend(imports.get(&file).into_iter().flatten().filter(|file| found.insert(**file)));
    }
    found
}

/// Returns the imports that run back up, as pairs `from -> to`.
///
/// Each file or folder at the top level of `src` is a part. If two parts import each other, the fewer of these imports run
/// back up.
pub fn back_up(of: &Crate, imports: &Imports) -> Vec<String> {
    let part = |file: &usize| {
        let path = &of.files[*file].path;
        path.split('/').next().unwrap_or(path).trim_end_matches(".rs").to_owned()
    };
    let mut between: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (from, to) in imports.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to))) {
        let pair = (part(from), part(to));
        if pair.0 != pair.1 && pair.0 != "lib" && pair.1 != "lib" {
            between
                .entry(pair)
                .or_default()
                .push(format!("{} -> {}", of.files[*from].path, of.files[*to].path));
        }
    }
    let mut found = Vec::new();
    for ((from, to), imports) in &between {
        if let Some(others) = between.get(&(to.clone(), from.clone()))
            && (imports.len(), from) < (others.len(), to)
        {
            found.extend(imports.iter().cloned());
        }
    }
    found.sort();
    found
}
