//! Databases by the names that other programs give them.

/// A database that Lydite drives.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Product {
    /// Scheme of its URLs.
    pub(crate) scheme: &'static str,
    /// Names in files of other programs, in lower case.
    names: &'static [&'static str],
    /// Protocol that it speaks.
    pub(crate) protocol: Protocol,
    /// Isolation levels that its URLs take.
    pub(crate) levels: &'static [&'static str],
    /// True if it reports the placement of warehouses.
    pub(crate) reports_placement: bool,
}

/// The protocol of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Postgres,
    MySql,
    /// A file of a library in this process.
    File,
    Redis,
}

const THREE: &[&str] = &["read-committed", "repeatable-read", "serializable"];

const fn product(scheme: &'static str, names: &'static [&'static str], protocol: Protocol) -> Product {
    Product { scheme, names, protocol, levels: THREE, reports_placement: false }
}

static PRODUCTS: [Product; 11] = [
    product(
        "postgres",
        &["postgres", "postgresql", "pg", "pgsql", "noisepage", "alloydb"],
        Protocol::Postgres,
    ),
    Product {
        levels: &["read-committed", "serializable"],
        reports_placement: true,
        ..product("cockroach", &["cockroachdb", "cockroach"], Protocol::Postgres)
    },
    Product {
        reports_placement: true,
        ..product("yugabyte", &["yugabyte", "yugabytedb"], Protocol::Postgres)
    },
    Product { reports_placement: true, ..product("citus", &["citus"], Protocol::Postgres) },
    product("mysql", &["mysql", "amazonrds", "myrocks"], Protocol::MySql),
    product("mariadb", &["mariadb", "maria"], Protocol::MySql),
    Product {
        levels: &["read-committed", "repeatable-read"],
        reports_placement: true,
        ..product("tidb", &["tidb"], Protocol::MySql)
    },
    Product { reports_placement: true, ..product("oceanbase", &["oceanbase", "oceabase"], Protocol::MySql) },
    product("polardb", &["polardb"], Protocol::MySql),
    Product { levels: &["serializable"], ..product("sqlite", &["sqlite"], Protocol::File) },
    Product { levels: &["serializable"], ..product("redis", &["redis"], Protocol::Redis) },
];

/// Databases that other programs know and Lydite does not drive: their names in files, and as people write them.
const OTHERS: &[(&[&str], &str)] = &[
    (&["oracle", "ora", "timesten"], "Oracle"),
    (&["sqlserver", "mssqls", "mssqlserver", "transact-sql", "babelfish", "sqlazure"], "SQL Server"),
    (&["db2"], "Db2"),
    (&["firebird", "firebirdsql"], "Firebird"),
    (&["mongodb"], "MongoDB"),
    (&["cassandra"], "Cassandra"),
    (&["hbase", "phoenix"], "HBase"),
    (&["couchdb"], "CouchDB"),
    (&["membase"], "Membase"),
    (&["scalaris"], "Scalaris"),
    (&["tokyocabinet"], "Tokyo Cabinet"),
    (&["hypertable"], "Hypertable"),
    (&["h2"], "H2"),
    (&["hsqldb"], "HSQLDB"),
    (&["spanner"], "Spanner"),
    (&["monetdb"], "MonetDB"),
    (&["nuodb"], "NuoDB"),
    (&["singlestore", "memsql"], "SingleStore"),
    (&["neo4j"], "Neo4j"),
    (&["typedb"], "TypeDB"),
    (&["csv"], "files of its csv driver"),
];

impl Product {
    /// Returns the database with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        let name = name.trim().to_ascii_lowercase();
        PRODUCTS.iter().find(|product| product.names.contains(&name.as_str()))
    }

    /// Returns the option of a URL for this isolation level; none if the database has no such level.
    pub(crate) fn level(&self, level: &str) -> Option<&'static str> {
        self.levels.iter().copied().find(|known| *known == level)
    }

    /// True if URLs of the database have an option for the isolation level.
    pub(crate) fn has_levels(&self) -> bool {
        self.levels.len() > 1
    }
}

/// Returns the name of a database that Lydite does not drive.
pub(crate) fn other(name: &str) -> Option<&'static str> {
    let name = name.trim().to_ascii_lowercase();
    OTHERS.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, shown)| *shown)
}
