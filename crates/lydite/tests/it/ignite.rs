//! The driver in Java, over a node of Apache Ignite 3. `LYDITE_TEST_IGNITE=on` switches it on: it takes some minutes, half
//! a gigabyte of memory, and Maven with Java, which fetch 141 MB the first time.

use crate::kit::step;
use crate::program::Program;
use lydite_testkit::ignite::Server;

const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/java/examples/ignite");

#[test]
fn the_driver_in_java_is_right_on_apache_ignite() {
    let Some(server) = Server::start() else { return };
    let url = format!("driver:{DRIVER}?timeout=300s");
    let ended = Program::new(&["driver", "test", &url]).env("IGNITE_ADDRESSES", server.addresses()).run();
    // All but `cancellation`, which has a limit of time: reading whole tables is slow there.
    for name in [
        "rows as loaded",
        "New-Order",
        "Payment",
        "Order-Status",
        "Delivery",
        "Stock-Level",
        "rows afterwards",
        "rollback",
        "contention",
        "lost update",
        "dirty read",
        "conditions after",
        "reconnect",
    ] {
        assert_eq!(step(&ended, name).0, "passed", "{name}: {}", ended.stdout);
    }
}
