//! Data flows one way: the files of a crate import each other in no circle, and its folders in one direction, but for
//! those of a list that may only get shorter.

use crate::WORKSPACE;
use lydite_architecture::circles::{back_up, circles, ties};
use lydite_architecture::imports::imports;
use lydite_architecture::kept;
use std::collections::BTreeSet;

/// The list, from the root of the repository.
const LIST: &str = "crates/architecture/circles.txt";
/// Most lines of the list. It is lowered whenever the list gets shorter.
const MOST: usize = 13;
/// The comment above the list.
const HEAD: &str = "\
# Circles among the files of a crate by their imports (`CRATE: FILE …`), and imports that run back up from one of its
# folders into another (`CRATE up: FROM -> TO`). Who makes one undoes it: nothing is added here.
";

#[test]
fn files_import_each_other_in_no_circle_that_is_not_listed_and_the_list_only_gets_shorter() {
    let list = WORKSPACE.text(LIST).expect("the list");
    let listed: Vec<&str> = list.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(
        listed.len() <= MOST,
        "{LIST} has {} lines, and had {MOST}: undo the new circle instead of listing it",
        listed.len()
    );
    let is_listed = |line: &str| listed.iter().any(|known| is_part(line, known));
    let (mut found, mut new) = (Vec::new(), Vec::new());
    for of in &WORKSPACE.crates {
        let imports = imports(of);
        for circle in circles(of, &imports) {
            let ties = ties(of, &imports, &circle).join(", ");
            let line = format!("{}: {}", of.folder, Vec::from_iter(circle).join(" "));
            if !is_listed(&line) {
                new.push(format!("{line} ({ties})"));
            }
            found.push(line);
        }
        let up = back_up(of, &imports).into_iter().map(|import| format!("{} up: {import}", of.folder));
        let up: Vec<String> = up.collect();
        new.extend(up.iter().filter(|line| !is_listed(line)).cloned());
        found.extend(up);
    }
    assert!(
        new.is_empty(),
        "files import each other in a circle, or against the direction of all other imports between two folders:\n  {}\n\
         Move what both need into a file below both, or hand it over as an argument.",
        new.join("\n  ")
    );
    let wanted = format!("{HEAD}{}\n", found.join("\n"));
    if let Err(error) = kept::compare(LIST, &wanted) {
        panic!("there are fewer circles now: {error}");
    }
}

/// Returns true if a line of what was found is a line of the list, or a part of its circle: one that lost a file, or fell apart
/// into several, is no new one.
fn is_part(found: &str, listed: &str) -> bool {
    if found.contains(" -> ") || listed.contains(" -> ") {
        return found == listed;
    }
    // The first word is the crate.
    let listed: BTreeSet<&str> = listed.split(' ').collect();
    found.split(' ').all(|word| listed.contains(word))
}
