//! The picture of the crates in ARCHITECTURE.md is drawn from their manifests.

use crate::WORKSPACE;
use lydite_architecture::kept;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The picture, from the root of the repository.
const PICTURE: &str = "docs/src/floors.svg";
/// Width and height of a box, and the space around it.
const WIDE: usize = 104;
const HIGH: usize = 30;
const GAP: usize = 14;

#[test]
fn the_picture_of_the_floors_shows_who_uses_whom() {
    // A crate stands one floor above the highest one that it uses. Cargo allows no circle.
    let mut floors: BTreeMap<&str, usize> = BTreeMap::new();
    while floors.len() < WORKSPACE.crates.len() {
        for of in &WORKSPACE.crates {
            let below: Option<Vec<usize>> =
                of.uses.iter().map(|used| floors.get(used.as_str()).copied()).collect();
            if let Some(below) = below {
                floors.insert(&of.name, below.into_iter().max().map_or(0, |floor| floor + 1));
            }
        }
    }
    let top = floors.values().copied().max().unwrap_or(0);
    let mut rows: Vec<Vec<&str>> = vec![Vec::new(); top + 1];
    for (name, floor) in &floors {
        rows[top - floor].push(name);
    }
    let widest = rows.iter().map(Vec::len).max().unwrap_or(1);
    let (width, height) = (widest * (WIDE + GAP) + GAP, rows.len() * (HIGH + 3 * GAP) + GAP);
    let mut places: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (number, row) in rows.iter().enumerate() {
        let left = (width - row.len() * (WIDE + GAP) + GAP) / 2;
        for (place, name) in row.iter().enumerate() {
            places.insert(name, (left + place * (WIDE + GAP), GAP + number * (HIGH + 3 * GAP)));
        }
    }
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<title>The crates: each uses those below it that a line leads to</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for of in &WORKSPACE.crates {
        let (x, y) = places[of.name.as_str()];
        // A line to a crate that another one below leads to as well would only hide the others.
        let direct =
            of.uses.iter().filter(|used| !of.uses.iter().any(|other| leads(&WORKSPACE, other, used)));
        for used in direct {
            let (to_x, to_y) = places[used.as_str()];
            let _ = writeln!(
                svg,
                "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{to_y}\" stroke=\"#8a94a6\"/>",
                x + WIDE / 2,
                y + HIGH,
                to_x + WIDE / 2
            );
        }
    }
    for (name, (x, y)) in &places {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDE}\" height=\"{HIGH}\" rx=\"4\" fill=\"#eef2f8\" stroke=\"#44546a\"/>\n\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#1b2430\">{}</text>",
            x + WIDE / 2,
            y + HIGH / 2 + 5,
            name.trim_start_matches("lydite-")
        );
    }
    svg.push_str("</svg>\n");
    if let Err(error) = kept::compare(PICTURE, &svg) {
        panic!("{error}");
    }
}

/// Returns true if a crate uses another one, directly or over others.
fn leads(workspace: &lydite_architecture::workspace::Workspace, from: &str, to: &str) -> bool {
    let of = workspace.crates.iter().find(|of| of.name == from);
    of.is_some_and(|of| of.uses.contains(to) || of.uses.iter().any(|used| leads(workspace, used, to)))
}
