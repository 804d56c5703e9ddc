//! The kit on servers that are not started by tests: whoever has one names its URL, with an empty database, in a variable.

use crate::program::Program;

/// The variables, and the scheme that each stands for.
const SERVERS: [(&str, &str); 6] = [
    ("LYDITE_TEST_COCKROACH_URL", "cockroach://"),
    ("LYDITE_TEST_YUGABYTE_URL", "yugabyte://"),
    ("LYDITE_TEST_CITUS_URL", "citus://"),
    ("LYDITE_TEST_TIDB_URL", "tidb://"),
    ("LYDITE_TEST_MYSQL_URL", "mysql://"),
    ("LYDITE_TEST_POLARDB_URL", "polardb://"),
];

#[test]
fn the_kit_passes_on_every_server_that_is_named() {
    for (variable, scheme) in SERVERS {
        let Ok(url) = std::env::var(variable) else {
            println!("{variable} is not set: not tested");
            continue;
        };
        assert!(url.starts_with(scheme), "{variable} must be a URL {scheme}…");
        let ended = Program::new(&["driver", "test", &url]).run();
        println!("{}", ended.stdout);
        assert_eq!(ended.code, Some(0), "{variable}: {}", ended.stderr);
    }
}
