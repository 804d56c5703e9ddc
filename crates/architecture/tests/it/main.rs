//! The rules of ARCHITECTURE.md, each a test. What ARCHITECTURE.md calls a convention has none.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod circles;
mod code_map;
mod dependencies;
mod floors;
mod invariants;
mod layers;
mod links;
mod matrix;
mod measures;
mod products;
mod pure;

use lydite_architecture::workspace::Workspace;
use std::sync::LazyLock;

/// The sources, read once for all rules.
static WORKSPACE: LazyLock<Workspace> = LazyLock::new(|| match Workspace::read() {
    Ok(workspace) => workspace,
    Err(error) => panic!("{error}"),
});
