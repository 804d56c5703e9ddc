//! Parts that pages of several runs share: warnings at the top, the environment of the runs, the last lines.

use super::markup::{Markup, pairs, pill};
use crate::sweep::Environment;

/// Returns the warnings as a list; nothing without any.
pub(super) fn warnings(all: &[String]) -> Markup {
    let items: Markup = all
        .iter()
        .map(|text| {
            let mut one = pill("warn", "note");
            one.push(Markup::with_text("span", &[], text));
            Markup::element("li", &[], one)
        })
        .collect();
    if items.is_empty() { items } else { Markup::element("ul", &[("class", "findings")], items) }
}

/// Returns the machines and databases of the runs; nothing if none is known.
pub(super) fn environment(of: &Environment) -> Markup {
    let Environment { hosts, targets, lydite, warnings: _ } = of;
    let known = [("Machine", hosts), ("Database", targets), ("Lydite", lydite)];
    let rows: Vec<_> = known
        .iter()
        .flat_map(|(name, values)| values.iter().map(|value| ((*name).to_owned(), Markup::text(value))))
        .collect();
    if rows.is_empty() { Markup::default() } else { pairs("Environment", rows) }
}

/// Returns the last lines of the page.
pub(super) fn footer() -> Markup {
    let mut all = Markup::with_text(
        "p",
        &[],
        "Results are not audited TPC results: NOPM is not tpmC and must not be compared with published TPC-C results.",
    );
    all.push(Markup::with_text("p", &[], &format!("Made by Lydite {}.", env!("CARGO_PKG_VERSION"))));
    all
}
