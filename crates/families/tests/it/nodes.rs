//! Databases of several servers: one is lost, or one is a replica.

use crate::playing::open;
use crate::replay::{Replay, row};
use lydite_database::{Demand, TargetErrorKind, TxMode};
use lydite_testkit::free_port;

const MYSQL: [&str; 2] = ["8.0.39", "MySQL Community Server - GPL"];

/// Starts a server of MySQL with an empty database.
fn mysql(read_only: &'static str) -> Replay {
    Replay::mysql(
        MYSQL[0],
        Box::new(move |sql| {
            if sql.starts_with("SELECT version()") {
                return Some(vec![row(MYSQL)]);
            }
            sql.contains("@@global.read_only").then(|| vec![row([read_only, "tpcc"])])
        }),
    )
}

#[test]
fn a_database_answers_as_long_as_one_of_its_servers_does() {
    let postgres = Replay::postgres(Box::new(|_| None));
    for (scheme, server) in [("mysql", mysql("0")), ("postgres", postgres)] {
        for (hosts, answers) in [
            (format!("127.0.0.1:{},127.0.0.1:{}", server.port, free_port()), true),
            (format!("127.0.0.1:{},127.0.0.1:{}", free_port(), server.port), true),
            (format!("127.0.0.1:{},127.0.0.1:{}", free_port(), free_port()), false),
        ] {
            let target = open(&format!("{scheme}://root@{hosts}/tpcc"), TxMode::Statements);
            let found = target.capabilities().server.expect("a server").answers();
            assert_eq!(found, answers, "{scheme}: {hosts}");
        }
    }
}

#[test]
fn two_addresses_of_one_postgresql_server_share_its_connections() {
    let server = Replay::postgres(Box::new(|sql| {
        Some(match sql {
            _ if sql.starts_with("SELECT version()") => {
                vec![row(["PostgreSQL 16.4 on x86_64-pc-linux-gnu", "0"])]
            }
            _ if sql.contains("pg_is_in_recovery") => vec![row(["f", "7", "tpcc", "public"])],
            _ if sql.contains("max_connections") => vec![row(["12"])],
            _ => Vec::new(),
        })
    }));
    let url = format!("postgres://root@127.0.0.1:{0},localhost:{0}/tpcc", server.port);
    let target = open(&url, TxMode::Statements);
    assert_eq!(target.admit(&Demand::Sessions(11)), Ok(Vec::new()));
    let refused = target.admit(&Demand::Sessions(12)).expect_err("one more keeps other runs away");
    assert!(refused.message.contains("takes 12 connections at most"), "{}", refused.message);
}

#[test]
fn a_replica_of_mysql_is_no_endpoint() {
    let (primary, replica) = (mysql("0"), mysql("1"));
    let address = |server: &Replay| format!("127.0.0.1:{}", server.port);
    for hosts in [[&primary, &replica], [&replica, &primary]] {
        let url = format!("mysql://root@{}/tpcc", hosts.map(address).join(","));
        let refused = open(&url, TxMode::Statements).admit(&Demand::Sessions(2)).expect_err("a replica");
        assert_eq!(refused.kind, TargetErrorKind::Usage);
        assert!(
            refused.message.contains(&address(&replica))
                && refused.message.contains("is a replica and takes no writes: name it with --replicas"),
            "{}",
            refused.message
        );
    }
}

/// A proxy greets with a number of its own for a connection; the replayed greeting has 7.
#[test]
fn a_proxy_that_shares_its_connections_is_no_target() {
    for (comment, words) in [
        ("(ProxySQL)", "ProxySQL is between"),
        ("MySQL Community Server - GPL", "a proxy is between that shares its connections"),
    ] {
        let proxy = Replay::mysql(
            MYSQL[0],
            Box::new(move |sql| match sql {
                _ if sql.starts_with("SELECT version()") => Some(vec![row(MYSQL)]),
                "SELECT connection_id() + 0" => Some(vec![row(["99"])]),
                "SELECT @@version_comment LIMIT 1" => Some(vec![row([comment])]),
                _ => None,
            }),
        );
        let url = format!("mysql://root@127.0.0.1:{}/tpcc", proxy.port);
        let refused = open(&url, TxMode::Statements).state().expect_err("a proxy");
        assert_eq!(refused.kind, TargetErrorKind::Usage);
        assert!(
            refused.message.contains(words) && refused.message.contains("connect to the server itself"),
            "{refused}"
        );
    }
}
