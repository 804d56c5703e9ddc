//! Only `families` knows the databases: no other crate names a product or the port of one.

use crate::WORKSPACE;
use std::collections::{BTreeMap, BTreeSet};

/// Words that name a database that Lydite drives, as they stand in texts.
const PRODUCTS: &[&str] = &[
    "citus",
    "cockroach",
    "etcd",
    "galera",
    "gemel",
    "ignite",
    "mariadb",
    "mysql",
    "oceanbase",
    "polardb",
    "postgres",
    "postgresql",
    "redis",
    "seekdb",
    "spider",
    "sqlite",
    "tidb",
    "yugabyte",
];
/// Ports on which servers of these databases wait unless told otherwise.
const PORTS: &[&str] = &["2379", "2881", "3306", "4000", "5432", "5433", "6379", "26257"];
/// Other places that may name them, each with the reason.
const ALLOWED: &[(&str, &str)] = &[
    ("database/capabilities.rs", "advice which databases have what this one lacks"),
    ("database/sql/foreign/kits.rs", "the name of another benchmark has that of its database in it"),
    ("database/sql/tx_error.rs", "codes of errors about keys"),
    ("driver-kit/scaffold.rs", "files of the SDKs' examples"),
    ("faults/kinds/disk_loss.rs", "advice to use a lab"),
    ("faults/spec.rs", "an example in advice"),
    ("import/", "names, schemes and ports in files of other programs"),
    ("lab/", "labs start servers of these products"),
    ("lydite/commands/driver/test.rs", "the reference that drivers are compared with"),
    ("lydite/commands/run.rs", "the default target"),
    ("observe/remote.rs", "an example in advice"),
    ("observe/source.rs", "an example in advice"),
    ("plan/micro.rs", "advice which database has two engines"),
    ("plan/plan.rs", "the default target"),
    ("report/findings.rs", "advice about the log of one database"),
    ("sweep/", "the default target, and advice which databases have templates"),
    ("tpcc/sizing/storage.rs", "measured sizes of databases"),
    ("verify/isolation/mix.rs", "a time in milliseconds"),
];

#[test]
fn no_database_is_named_outside_of_the_families() {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for of in &WORKSPACE.crates {
        if matches!(of.folder.as_str(), "families" | "gemel" | "testkit" | "architecture") {
            continue;
        }
        for file in &of.files {
            let named: BTreeSet<String> = file.literals.iter().flat_map(|text| names(text)).collect();
            if !named.is_empty() {
                found.insert(format!("{}/{}", of.folder, file.path), named);
            }
        }
    }
    let is_allowed = |path: &str| ALLOWED.iter().any(|(allowed, _)| path.starts_with(allowed));
    let wrong: Vec<_> = found.iter().filter(|(path, _)| !is_allowed(path)).collect();
    assert!(
        wrong.is_empty(),
        "these files name a database or its port. What differs between databases belongs into `families`, behind a \
         field of `Family` or a capability: {wrong:#?}"
    );
    let idle = ALLOWED.iter().filter(|(allowed, _)| !found.keys().any(|path| path.starts_with(allowed)));
    let idle: Vec<_> = idle.map(|(allowed, _)| allowed).collect();
    assert!(idle.is_empty(), "these name no database any more, take them from the list: {idle:?}");
}

/// Returns the names of databases and ports in a text.
fn names(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_ascii_lowercase);
    words.filter(|word| PRODUCTS.contains(&word.as_str()) || PORTS.contains(&word.as_str()))
}
