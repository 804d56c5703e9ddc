//! The audit of tables in several engines: its transactions span them.

use crate::audit::{audit, test_of, with_verdict};
use lydite_testkit::mariadb;

/// InnoDB and MyRocks take their snapshots one by one, at the first access to each; `WITH CONSISTENT SNAPSHOT` takes both
/// at the begin.
#[test]
fn two_engines_of_mariadb_fail_the_snapshot_over_them_unless_a_transaction_begins_with_both() {
    let server = mariadb::Server::with_rocksdb(&mariadb::FAST);
    let url = server.create_database("mixed");
    let only = ["--only", "atomicity,isolation"];
    let loaded = [&only[..], &["--warehouses", "2", "--size", "tiny"]].concat();
    let (ended, found) = audit(&format!("{url}?stock=rocksdb"), &loaded);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(with_verdict(&found, "failed"), ["snapshot engines"], "{found}");
    assert_eq!(found["audit"]["target"]["settings"]["engine"], "InnoDB, ROCKSDB (stock)");
    let torn = test_of(&found, "snapshot", "engines")["seen"].as_str().expect("words");
    assert!(torn.contains("DISTRICT in InnoDB and STOCK in ROCKSDB"), "{torn}");
    assert!(torn.contains("the engines have no common snapshot"), "{torn}");
    assert!(with_verdict(&found, "passed").contains(&"commit engines".to_string()), "{found}");
    let (ended, found) = audit(&format!("{url}?stock=rocksdb&snapshot=begin"), &only);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(with_verdict(&found, "passed").len(), 3 + 10 + 2, "{found}");
    // The tables of another program, or those that somebody altered: no URL names their engines. Each table is found.
    server.sql("mixed", "ALTER TABLE stock ENGINE = InnoDB");
    for table in ["customer", "history", "new_order"] {
        server.sql("mixed", &format!("ALTER TABLE {table} ENGINE = ROCKSDB"));
        let (_, found) = audit(&url, &["--only", "isolation"]);
        assert_eq!(with_verdict(&found, "failed"), ["snapshot engines"], "{table}: {found}");
        server.sql("mixed", &format!("ALTER TABLE {table} ENGINE = InnoDB"));
    }
    let (ended, found) = audit(&url, &only);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(with_verdict(&found, "passed").len(), 3 + 10, "one engine has no tests over engines: {found}");
    assert_eq!(found["audit"]["target"]["settings"]["engine"], "InnoDB");
}

#[test]
fn gemel_keeps_one_snapshot_over_its_engines_and_fails_without_its_registry() {
    let only = ["--only", "atomicity,isolation", "--warehouses", "2", "--size", "tiny"];
    let (ended, found) = audit("gemel:?district=disk&customer=disk", &only);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let passed = with_verdict(&found, "passed");
    for test in ["commit engines", "snapshot engines"] {
        assert!(passed.contains(&test.to_string()), "{found}");
    }
    let (ended, found) = audit("gemel:?district=disk&csr=off", &only);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(with_verdict(&found, "failed"), ["snapshot engines"], "{found}");
}
