//! The `use` statements of a file.

use crate::tests::is_of_tests;
use std::collections::BTreeSet;
use syn::{Item, UseTree, Visibility};

/// A path that a module imports.
pub struct Imported {
    /// From the root of the crate.
    pub path: Vec<String>,
    /// The module.
    pub within: Vec<String>,
    /// True for a re-export.
    pub is_public: bool,
}

/// Returns the paths that these items of a module, and of those written inside of it, import.
pub(crate) fn imported(items: &[Item], module: &[String]) -> Vec<Imported> {
    let children: BTreeSet<String> = items
        .iter()
        .filter_map(|item| if let Item::Mod(item) = item { Some(item.ident.to_string()) } else { None })
        .collect();
    let mut found = Vec::new();
    for item in items {
        match item {
            Item::Use(item) if !is_of_tests(&item.attrs) && item.leading_colon.is_none() => {
                let mut paths = Vec::new();
                flatten(&item.tree, &mut Vec::new(), &mut paths);
                let is_public = !matches!(item.vis, Visibility::Inherited);
                let from_root = paths.into_iter().filter_map(|path| from_root(path, module, &children));
                found.extend(from_root.map(|path| Imported { path, within: module.to_vec(), is_public }));
            }
            Item::Mod(item) if !is_of_tests(&item.attrs) => {
                if let Some((_, items)) = &item.content {
                    let module = [module, &[item.ident.to_string()]].concat();
                    found.extend(imported(items, &module));
                }
            }
            _ => {}
        }
    }
    found
}

/// Adds the paths of a tree of imports. A name that is replaced counts under its own.
fn flatten(tree: &UseTree, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            flatten(&part.tree, path, paths);
            path.pop();
        }
        UseTree::Name(name) if name.ident == "self" => paths.push(path.clone()),
        UseTree::Name(name) => paths.push([path.as_slice(), &[name.ident.to_string()]].concat()),
        UseTree::Rename(name) => paths.push([path.as_slice(), &[name.ident.to_string()]].concat()),
        UseTree::Glob(_) => paths.push(path.clone()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, path, paths)),
    }
}

/// Returns a path as it is from the root of the crate, or none if it leads out of the crate.
fn from_root(path: Vec<String>, module: &[String], children: &BTreeSet<String>) -> Option<Vec<String>> {
    let mut rest = path.as_slice();
    let mut at = match rest.first()?.as_str() {
        "crate" => Vec::new(),
        "self" | "super" => module.to_vec(),
        child if children.contains(child) => return Some([module, rest].concat()),
        _ => return None,
    };
    while let [first, more @ ..] = rest {
        match first.as_str() {
            "crate" | "self" => {}
            "super" => drop(at.pop()),
            _ => break,
        }
        rest = more;
    }
    at.extend_from_slice(rest);
    Some(at)
}
