//! The links of the book and of the files beside it lead to pages and headings that are there.

use lydite_architecture::book;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A page: its headings as anchors, and the targets of its links.
struct Page {
    anchors: BTreeSet<String>,
    links: Vec<String>,
}

/// The text of a page without its fenced blocks: they hold no links and no headings.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The anchor that mdBook and GitHub make of a heading.
fn anchor(heading: &str) -> String {
    let letters = heading.trim().to_lowercase();
    let kept = letters.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | ' '));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

fn read(text: &str) -> Page {
    let text = prose(text);
    let (mut anchors, mut seen) = (BTreeSet::new(), BTreeMap::<String, usize>::new());
    for line in text.lines() {
        let heading = line.trim_start_matches('#');
        if heading.len() < line.len() && heading.starts_with(' ') {
            let anchor = anchor(heading);
            let before = seen.entry(anchor.clone()).or_insert(0);
            anchors.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
            *before += 1;
        }
        anchors
            .extend(line.split("id=\"").skip(1).filter_map(|rest| rest.split('"').next()).map(String::from));
    }
    // A link may be broken over two lines within its text, never within its target.
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    Page { anchors, links: links.map(String::from).collect() }
}

/// `path` without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => (),
            part => plain.push(part),
        }
    }
    plain
}

/// Links that lead nowhere, each with its page.
fn broken(pages: &BTreeMap<PathBuf, Page>, is_there: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut broken = Vec::new();
    for (path, page) in pages {
        for link in page.links.iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                file => plain(&path.parent().expect("a directory").join(file)),
            };
            let known =
                pages.get(&target).is_none_or(|page| anchor.is_empty() || page.anchors.contains(anchor));
            if !is_there(&target) || !known {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    broken
}

#[test]
fn every_link_leads_to_a_page_and_a_heading_that_are_there() {
    let root = book::root().expect("the root");
    let mut paths = book::pages().expect("the book");
    for directory in [&root, &root.join("crates/gemel")] {
        for entry in fs::read_dir(directory).expect("the root, and Gemel's directory") {
            let path = entry.expect("an entry").path();
            paths.extend(path.extension().is_some_and(|extension| extension == "md").then_some(path));
        }
    }
    let pages: BTreeMap<PathBuf, Page> = paths
        .into_iter()
        .map(|path| (path.clone(), read(&fs::read_to_string(path).expect("a page"))))
        .collect();
    let links: usize = pages.values().map(|page| page.links.len()).sum();
    assert!(pages.len() > 60 && links > 300, "{} pages and {links} links are read", pages.len());
    let broken = broken(&pages, Path::exists);
    assert!(broken.is_empty(), "these links lead nowhere:\n{}", broken.join("\n"));

    let summary = &pages[&root.join("docs/src/SUMMARY.md")];
    let listed: BTreeSet<PathBuf> =
        summary.links.iter().map(|link| plain(&root.join("docs/src").join(link))).collect();
    let in_book = pages.keys().filter(|path| path.starts_with(root.join("docs/src")));
    let lost: Vec<&PathBuf> =
        in_book.filter(|path| !path.ends_with("SUMMARY.md") && !listed.contains(*path)).collect();
    assert!(lost.is_empty(), "the summary of the book does not list {lost:?}");
}

#[test]
fn a_link_to_a_page_or_a_heading_that_is_not_there_is_found() {
    let one = "# A title\n## Said twice\n## Said twice\n[here](#said-twice-1) [no](#said-thrice) [there](two.md#the-gemel-url)\n\
               ```sh\n# no heading\n[no link](three.md)\n```\n[web](https://example.org/x#y)";
    let two = "## The `gemel:` URL\n[back](../a/one.md#a-title) [lost](one.md#no-heading)\n[gone](three.md)";
    let pages =
        [("a/one.md", one), ("a/two.md", two)].map(|(path, text)| (PathBuf::from(path), read(text))).into();
    let found = broken(&pages, |path| pages.contains_key(path));
    assert_eq!(found, ["a/one.md: #said-thrice", "a/two.md: one.md#no-heading", "a/two.md: three.md"]);
}
