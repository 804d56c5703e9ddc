//! The crates of the workspace with their sources, as they stand on disk.

use crate::book;
use crate::imported::{Imported, imported};
use crate::literals::literals;
use crate::tests::modules;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, Meta};

/// Begin of the tests in a formatted file, and their end.
const TESTS: &str = "#[cfg(test)]\nmod tests {\n";
const TESTS_END: &str = "\n}\n";

/// All crates below `crates/`.
pub struct Workspace {
    /// The root of the repository.
    pub root: PathBuf,
    /// In the order of their folders' names.
    pub crates: Vec<Crate>,
}

/// A crate: what its manifest says, and its sources without tests.
pub struct Crate {
    /// Its name in Cargo, such as `lydite-plan`.
    pub name: String,
    /// Name of its folder below `crates/`, such as `plan`.
    pub folder: String,
    /// Names of the crates of this workspace that it depends on. Those of its tests are not among them.
    pub uses: BTreeSet<String>,
    /// Each file that a build without tests compiles, once: first those of the library, then those of programs.
    pub files: Vec<Source>,
}

/// A source file.
pub struct Source {
    /// Path from the crate's `src`, such as `controls/mod.rs`.
    pub path: String,
    /// Path of its module, such as `["controls"]`; empty for a root.
    pub module: Vec<String>,
    /// True if it belongs to the library.
    pub in_library: bool,
    /// Its text.
    pub text: String,
    /// The paths that it imports.
    pub imported: Vec<Imported>,
    /// Its literals, and what stands in its macros, without those of tests.
    pub literals: Vec<String>,
}

impl Workspace {
    /// Reads the workspace that this crate is in.
    ///
    /// # Errors
    /// A file that can't be read or parsed, with its path.
    pub fn read() -> Result<Self, String> {
        let root = book::root().map_err(|error| format!("the workspace: {error}"))?;
        let entries = fs::read_dir(root.join("crates")).map_err(|error| format!("crates: {error}"))?;
        let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        folders.retain(|folder| folder.join("Cargo.toml").exists());
        folders.sort();
        let crates = folders.iter().map(|folder| Crate::read(folder)).collect::<Result<_, _>>()?;
        Ok(Self { root, crates })
    }

    /// Returns the text of all Rust files below `crates/`, with those of tests.
    ///
    /// # Errors
    /// The system's error, with the path.
    pub fn all_code(&self) -> Result<String, String> {
        let mut code = String::new();
        add_code(&self.root.join("crates"), &mut code)?;
        Ok(code)
    }

    /// Returns the text of a file of the repository.
    ///
    /// # Errors
    /// The system's error, with the path.
    pub fn text(&self, path: &str) -> Result<String, String> {
        text_of(&self.root.join(path))
    }
}

impl Crate {
    fn read(folder: &Path) -> Result<Self, String> {
        let manifest = folder.join("Cargo.toml");
        let document: toml::Table =
            text_of(&manifest)?.parse().map_err(|error| format!("{}: {error}", manifest.display()))?;
        let document = toml::Value::Table(document);
        let name = document.get("package").and_then(|package| package.get("name")?.as_str());
        let name = name.ok_or_else(|| format!("{}: no name", manifest.display()))?.to_owned();
        // `[target.'cfg(…)'.dependencies]` counts as well.
        let targets = document.get("target").and_then(toml::Value::as_table);
        let targets = targets.into_iter().flat_map(toml::Table::values);
        let tables = targets.chain([&document]);
        let uses =
            tables.filter_map(|table| table.get("dependencies")?.as_table()).flat_map(toml::Table::keys);
        let uses = uses.filter(|used| *used == "gemel" || used.starts_with("lydite-")).cloned().collect();

        let src = folder.join("src");
        let mut files = Vec::new();
        for (root, in_library) in [("lib.rs", true), ("main.rs", false)] {
            if src.join(root).exists() {
                add(&src, &src.join(root), Vec::new(), in_library, &mut files)?;
            }
        }
        if let Ok(programs) = fs::read_dir(src.join("bin")) {
            let mut programs: Vec<PathBuf> = programs.flatten().map(|entry| entry.path()).collect();
            programs.sort();
            for program in programs {
                // A program of several files has a folder of its own.
                let program = if program.is_dir() { program.join("main.rs") } else { program };
                add(&src, &program, Vec::new(), false, &mut files)?;
            }
        }
        let folder = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, folder, uses, files })
    }
}

impl Source {
    /// Returns its lines without those of its tests.
    pub fn product(&self) -> impl Iterator<Item = &str> + Clone {
        let (before, rest) = self.text.split_once(TESTS).unwrap_or((&self.text, ""));
        let after = rest.split_once(TESTS_END).map_or("", |(_, after)| after);
        before.lines().chain(after.lines())
    }

    /// Returns its lines without indentation, comments and tests.
    pub fn code(&self) -> impl Iterator<Item = &str> + Clone {
        self.product().map(str::trim_start).filter(|line| !line.starts_with("//"))
    }

    /// Returns the first paragraph of its `//!` comment in one line, or none.
    pub fn purpose(&self) -> Option<String> {
        if self.text.starts_with("#![doc = include_str!(\"../README.md\")]") {
            return Some("What its README says.".into());
        }
        let lines = self.text.lines().skip_while(|line| !line.starts_with("//!"));
        let lines = lines.map_while(|line| line.strip_prefix("//!")).map(str::trim);
        let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
        (!lines.is_empty()).then(|| lines.join(" "))
    }
}

/// Adds the text of all Rust files below a directory.
fn add_code(directory: &Path, code: &mut String) -> Result<(), String> {
    let entries = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        // What Cargo builds bears this mark; the crate of the targets is called as Cargo's directories are.
        if path.is_dir() && !path.join("CACHEDIR.TAG").exists() {
            add_code(&path, code)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            code.push_str(&text_of(&path)?);
        }
    }
    Ok(())
}

/// Adds a file and those that its `mod` items name.
fn add(
    src: &Path,
    path: &Path,
    module: Vec<String>,
    in_library: bool,
    files: &mut Vec<Source>,
) -> Result<(), String> {
    let text = text_of(path)?;
    let syntax = syn::parse_file(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let name = path.strip_prefix(src).unwrap_or(path).to_string_lossy().into_owned();
    if files.iter().any(|file| file.path == name) {
        return Ok(());
    }
    let children = children(path, &syntax.items, &module);
    let imported = imported(&syntax.items, &module);
    files.push(Source { path: name, module, in_library, text, imported, literals: literals(&syntax) });
    for (child, module) in children {
        add(src, &child, module, in_library, files)?;
    }
    Ok(())
}

/// Returns the files of the modules that these items of a file declare, with the paths of the modules.
fn children(file: &Path, items: &[Item], module: &[String]) -> Vec<(PathBuf, Vec<String>)> {
    let beside = file.parent().unwrap_or(file);
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let is_root = matches!(stem.as_str(), "lib" | "main" | "mod") || beside.ends_with("bin");
    let below = if is_root { beside.to_owned() } else { beside.join(stem) };
    let mut found = Vec::new();
    for item in modules(items) {
        let name = item.ident.to_string();
        let path = [module, std::slice::from_ref(&name)].concat();
        if let Some((_, items)) = &item.content {
            // Nobody here declares a file inside of such a module.
            debug_assert!(modules(items).all(|item| item.content.is_some()), "{path:?}");
            continue;
        }
        let file = match own_path(&item.attrs) {
            Some(path) => beside.join(path),
            None => Some(below.join(format!("{name}.rs")))
                .filter(|file| file.exists())
                .unwrap_or_else(|| below.join(&name).join("mod.rs")),
        };
        found.push((file, path));
    }
    found
}

/// Returns the text of `#[path = "…"]`.
fn own_path(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

fn text_of(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
