//! A Galera cluster for tests: three MariaDB servers, each with all rows.

use crate::free_ports;
use crate::mariadb::Server;
use crate::process::PATIENCE;
use std::thread;
use std::time::{Duration, Instant};

/// Path of the library on Debian.
const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";
const NODES: usize = 3;

/// A running cluster. Dropping it ends its nodes and deletes their data.
pub struct Cluster {
    nodes: Vec<Server>,
}

/// Returns the settings of each node.
fn settings(common: &[&str]) -> Vec<Vec<String>> {
    let groups = free_ports::<NODES>();
    let transfers = free_ports::<NODES>();
    let snapshots = free_ports::<NODES>();
    let members = groups.map(|port| format!("127.0.0.1:{port}")).join(",");
    (0..NODES)
        .map(|node| {
            let (group, transfer, snapshot) = (groups[node], transfers[node], snapshots[node]);
            let own = [
                format!("server-id={}", node + 1),
                "binlog-format=ROW".into(),
                "innodb-autoinc-lock-mode=2".into(),
                "wsrep-on=ON".into(),
                format!("wsrep-provider={PROVIDER}"),
                "wsrep-cluster-name=lydite".into(),
                format!("wsrep-cluster-address=gcomm://{members}"),
                format!("wsrep-node-name=node-{}", node + 1),
                format!("wsrep-node-address=127.0.0.1:{group}"),
                "wsrep-sst-method=rsync".into(),
                format!("wsrep-sst-receive-address=127.0.0.1:{snapshot}"),
                "wsrep-slave-threads=2".into(),
                format!(
                    "wsrep-provider-options=base_port={group};gmcast.listen_addr=tcp://127.0.0.1:{group};\
                     ist.recv_addr=127.0.0.1:{transfer};ist.recv_bind=127.0.0.1:{transfer};gcache.size=64M"
                ),
            ];
            common.iter().map(|setting| (*setting).to_string()).chain(own).collect()
        })
        .collect()
}

impl Cluster {
    /// Starts three nodes with these settings of the server beside the usual ones, and waits until they are
    /// synchronised.
    #[must_use]
    pub fn start(common: &[&str]) -> Self {
        let cluster = Self { nodes: settings(common).into_iter().map(Server::prepare).collect() };
        cluster.nodes[0].launch(&["wsrep-new-cluster"]);
        cluster.wait_until_in_step(0);
        for node in 1..NODES {
            cluster.restart(node);
        }
        cluster
    }

    /// Returns the nodes. [`Server::kill`] ends one, and [`Cluster::restart`] starts it again.
    #[must_use]
    pub fn nodes(&self) -> &[Server] {
        &self.nodes
    }

    /// Starts a node that has ended, while another one runs, and waits until it is synchronised.
    pub fn restart(&self, node: usize) {
        self.nodes[node].restart();
        self.wait_until_in_step(node);
    }

    /// Waits until a node has every commit of the cluster.
    pub fn wait_until_in_step(&self, node: usize) {
        let begin = Instant::now();
        let server = &self.nodes[node];
        let state = "SELECT variable_value FROM information_schema.global_status \
                     WHERE variable_name = 'wsrep_local_state_comment'";
        while server.try_sql("mysql", state).as_deref() != Some("Synced")
            // The session waits for the commits of the other nodes before its query.
            || server.try_sql("mysql", "SET SESSION wsrep_sync_wait = 1; SELECT 1").is_none()
        {
            assert!(begin.elapsed() < PATIENCE, "node {} did not come into step: {}", node + 1, server.log());
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Makes a database and returns its URL with all nodes in it.
    #[must_use]
    pub fn create_database(&self, name: &str) -> String {
        let url = self.nodes[0].create_database(name);
        let others: Vec<String> =
            self.nodes[1..].iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        (1..NODES).for_each(|node| self.wait_until_in_step(node));
        format!("{url}?nodes={}", others.join(","))
    }

    /// Returns the logs of all nodes.
    #[must_use]
    pub fn logs(&self) -> String {
        let log = |(node, server): (usize, &Server)| format!("node {}:\n{}\n", node + 1, server.log());
        self.nodes.iter().enumerate().map(log).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mariadb::FAST;

    #[test]
    fn a_killed_node_comes_back_with_the_writes_of_the_others() {
        // The killed node keeps what it has committed: its log is handed to the system at each commit.
        let cluster = Cluster::start(&[&FAST[..], &["innodb-flush-log-at-trx-commit=2"]].concat());
        let _url = cluster.create_database("kept");
        let [first, second, third] = cluster.nodes() else { panic!("three nodes") };
        first.sql("kept", "CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)");
        third.kill();
        second.sql("kept", "INSERT INTO t VALUES (2)");
        cluster.restart(2);
        for node in 0..3 {
            cluster.wait_until_in_step(node);
            assert_eq!(cluster.nodes()[node].sql("kept", "SELECT sum(a) FROM t"), "3", "node {node}");
        }
        assert!(cluster.logs().contains("node 3:"));
    }
}
