//! MariaDB over several servers by the engine Spider: a coordinator for the statements, and shards with the rows.

use crate::mariadb::Server;

/// Running servers. Dropping the cluster ends them and deletes their data.
pub struct Cluster {
    /// Server that takes the statements.
    pub coordinator: Server,
    /// Servers that have the rows.
    pub shards: Vec<Server>,
}

impl Cluster {
    /// Starts a coordinator and this many shards, all with these settings beside the usual ones.
    #[must_use]
    pub fn start(shards: usize, settings: &[&str]) -> Self {
        // No server finds a deadlock of sessions over two shards.
        let shard = [settings, &["innodb-lock-wait-timeout=5"]].concat();
        let spider = [settings, &["plugin-load-add=ha_spider"]].concat();
        Self {
            shards: (0..shards).map(|_| Server::start(&shard)).collect(),
            coordinator: Server::start(&spider),
        }
    }

    /// Makes a database on all servers and returns its URL with the shards in it.
    #[must_use]
    pub fn create_database(&self, name: &str) -> String {
        let shard = |shard: &Server| {
            let _its_own_url = shard.create_database(name);
            format!("127.0.0.1:{}", shard.port())
        };
        let shards: Vec<String> = self.shards.iter().map(shard).collect();
        format!("{}?shards={}", self.coordinator.create_database(name), shards.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mariadb::FAST;

    #[test]
    fn a_row_written_through_spider_is_only_on_its_shard() {
        let cluster = Cluster::start(2, &FAST);
        let _url = cluster.create_database("parted");
        let mut parts = Vec::new();
        for (number, shard) in (1..).zip(&cluster.shards) {
            shard.sql("parted", "CREATE TABLE t (a int PRIMARY KEY)");
            parts.push(format!(
                "PARTITION p{number} VALUES LESS THAN ({}) COMMENT 'host \"127.0.0.1\", port \"{}\", user \"root\", \
                 database \"parted\"'",
                number * 10,
                shard.port()
            ));
        }
        cluster.coordinator.sql(
            "parted",
            &format!(
                "CREATE TABLE t (a int PRIMARY KEY) ENGINE = SPIDER COMMENT 'wrapper \"mysql\", table \"t\"' \
                 PARTITION BY RANGE (a) ({}); INSERT INTO t VALUES (5), (15)",
                parts.join(", ")
            ),
        );
        assert_eq!(cluster.coordinator.sql("parted", "SELECT sum(a) FROM t"), "20");
        for (shard, row) in cluster.shards.iter().zip(["5", "15"]) {
            assert_eq!(shard.sql("parted", "SELECT a FROM t"), row);
        }
    }
}
