//! Connection strings as people paste them: each is read as its own program reads it, or rejected with the reason.

use lydite_database::TxMode;
use lydite_families::TargetSpec;

/// A connection string, its URL with the password, and words of the notes.
type Read<'a> = (&'a str, &'a str, &'a [&'a str]);

/// Returns the URL that a string means, with its password.
fn url_of(text: &str) -> String {
    let url = TargetSpec::with_option(text, "mark", "1").expect("a URL");
    url.strip_suffix("mark=1").expect("the option").trim_end_matches(['?', '&']).to_owned()
}

fn assert_read((text, url, notes): Read<'_>) {
    let spec = TargetSpec::parse(text, TxMode::Statements);
    let spec = spec.unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    assert_eq!(url_of(text), url, "{text}");
    let told = spec.notes().join("; ");
    for note in notes {
        assert!(told.contains(note), "{text}: {told}");
    }
    assert_eq!(spec.notes().is_empty(), notes.is_empty(), "{text}: {told}");
}

fn assert_rejected(text: &str, words: &str) {
    let errors = TargetSpec::parse(text, TxMode::Statements).map(|spec| spec.without_password(text));
    let errors = errors.expect_err(text).join("; ");
    assert!(errors.contains(words), "{text}: {errors}");
    assert!(!errors.contains("S3cr3t"), "{text}: {errors}");
}

const POSTGRES: &[Read<'_>] = &[
    // pgjdbc
    (
        "jdbc:postgresql://h1:5433,h2/db?user=u&password=p&ssl=true&sslmode=require&currentSchema=s&reWriteBatchedInserts=true\
         &targetServerType=primary&loadBalanceHosts=true",
        "postgres://u:p@h1:5433,h2:5432/db?schema=s&sslmode=require",
        &[
            "reWriteBatchedInserts left out: loads use COPY",
            "targetServerType left out: Lydite rejects a standby",
        ],
    ),
    ("jdbc:postgresql://h/db?user=u&password=p", "postgres://u:p@h:5432/db?sslmode=prefer", &[]),
    ("jdbc:postgresql://h/db?user=u&ssl=true", "postgres://u@h:5432/db?sslmode=verify-full", &[]),
    // As consoles of clouds and files of variables have it.
    ("psql 'host=h port=1 dbname=db user=u'", "postgres://u@h:1/db", &[]),
    ("psql \"postgresql://u:p@h:1/db?sslmode=require\"", "postgresql://u:p@h:1/db?sslmode=require", &[]),
    ("DATABASE_URL=postgres://u:p@h:1/db?sslmode=require", "postgres://u:p@h:1/db?sslmode=require", &[]),
    (
        "export DATABASE_URL=\"postgres://u@h:1/db?sslmode=require\"",
        "postgres://u@h:1/db?sslmode=require",
        &[],
    ),
    ("jdbc:postgresql://h/db?user=u&ssl", "postgres://u@h:5432/db?sslmode=verify-full", &[]),
    ("jdbc:postgresql://h/db?user=u&ssl=false", "postgres://u@h:5432/db?sslmode=prefer", &[]),
    (
        "jdbc:postgresql://h/db?user=u&ssl=true&sslfactory=org.postgresql.ssl.NonValidatingFactory",
        "postgres://u@h:5432/db?sslmode=require",
        &[],
    ),
    (
        "JDBC:PostgreSQL://h:6432/db?user=u%40tenant&password=a%2Bb+c%26d",
        "postgres://u%40tenant:a%2Bb%20c%26d@h:6432/db?sslmode=prefer",
        &[],
    ),
    (
        "jdbc:postgresql://h/db?user=u&password=p@s:s/w#r?d;=%25ü",
        "postgres://u:p%40s%3As%2Fw%23r%3Fd%3B%3D%25%C3%BC@h:5432/db?sslmode=prefer",
        &[],
    ),
    ("jdbc:postgresql:db?user=u", "postgres://u@localhost:5432/db?sslmode=prefer", &[]),
    ("jdbc:postgresql://[::1]:5433/?user=u", "postgres://u@[::1]:5433/u?sslmode=prefer", &[]),
    (
        "jdbc:postgresql://h/db?user=u&socketTimeout=30&connectTimeout=5&ApplicationName=bench",
        "postgres://u@h:5432/db?statement_timeout=30s&connect_timeout=5&application_name=bench&sslmode=prefer",
        &[],
    ),
    (
        "jdbc:postgresql://h1,h2/db?user=u",
        "postgres://u@h1:5432,h2:5432/db?sslmode=prefer",
        &["sessions are spread over all hosts"],
    ),
    (
        "jdbc:postgresql://h/db?user=u&currentSchema=a,public&connectTimeout=30",
        "postgres://u@h:5432/db?schema=a&sslmode=prefer",
        &["the first name of the list", "connectTimeout: Lydite waits 10 s at most"],
    ),
    ("jdbc:yugabytedb://h/db?user=u", "yugabyte://u@h:5433/db?sslmode=prefer", &[]),
    (
        "jdbc:yugabytedb://h/db?user=u&prepareThreshold=0",
        "yugabyte://u@h:5433/db?sslmode=prefer",
        &["only postgres: has statements=unprepared"],
    ),
    (
        "jdbc:postgresql://h:6432/db?user=u&prepareThreshold=0",
        "postgres://u@h:6432/db?statements=unprepared&sslmode=prefer",
        &[],
    ),
    // libpq's keywords
    (
        "host=h port=5433 dbname=db user=u password=p sslmode=require application_name=x",
        "postgres://u:p@h:5433/db?sslmode=require&application_name=x",
        &[],
    ),
    ("host=h dbname=db user=u password='it''s'", "postgres://u:it%27s@h/db", &[]),
    (r"host=h dbname=db user=u password='it\'s a \\'", "postgres://u:it%27s%20a%20%5C@h/db", &[]),
    (r"host=h dbname=db user=u password=a\ b", "postgres://u:a%20b@h/db", &[]),
    ("host = h  dbname = 'my db'  user = u password=''", "postgres://u@h/my%20db", &[]),
    (
        "host=/run/postgresql port=5433 dbname=db user=u",
        "postgres://u@/db?host=/run/postgresql&port=5433",
        &[],
    ),
    (
        "host=h1,h2 port=5433,5434 dbname=db user=u load_balance_hosts=random",
        "postgres://u@h1:5433,h2:5434/db",
        &[],
    ),
    ("host=h1,h2 port=5433 dbname=db user=u", "postgres://u@h1:5433,h2:5433/db", &["spread over all hosts"]),
    ("hostaddr=::1 dbname=db user=u", "postgres://u@[::1]/db", &[]),
    ("dbname=db user=u", "postgres://u@localhost/db", &[]),
    (
        "host=h dbname=db user=u password=a;b=c@d/e?f#g:h%i",
        "postgres://u:a%3Bb%3Dc%40d%2Fe%3Ff%23g%3Ah%25i@h/db",
        &[],
    ),
    (
        "host=h dbname=db user=u keepalives=1 keepalives_idle=30 gssencmode=prefer target_session_attrs=read-write \
         connect_timeout=60 client_encoding=UTF8 sslcompression=0 ssl_min_protocol_version=TLSv1.2",
        "postgres://u@h/db",
        &[
            "keepalives, keepalives_idle left out",
            "gssencmode left out",
            "client_encoding left out",
            "connect_timeout",
        ],
    ),
    (
        "host=h dbname=db user=u options='-c geqo=off' channel_binding=require passfile=/x sslmode=verify-full",
        "postgres://u@h/db?options=-c%20geqo=off&channel_binding=require&passfile=/x&sslmode=verify-full",
        &[],
    ),
    // URLs
    ("postgres://u:p@h/db", "postgres://u:p@h/db", &[]),
    ("POSTGRES://u:p@h/db?sslmode=require", "POSTGRES://u:p@h/db?sslmode=require", &[]),
    ("postgresql+psycopg2://u:p%40ss@h:5433/db", "postgresql://u:p%40ss@h:5433/db", &[]),
    ("postgresql+asyncpg://u:p@h/db?ssl=require", "postgresql://u:p@h/db?sslmode=require", &[]),
    (
        "postgres://u:p@h:5432/db?schema=shop&connection_limit=5&pgbouncer=true",
        "postgres://u:p@h:5432/db?schema=shop&statements=unprepared",
        &["connection_limit left out"],
    ),
    ("postgres://u:p@h/db?prepared_statements=false", "postgres://u:p@h/db?statements=unprepared", &[]),
    (
        "postgresql+asyncpg://u:p@h/db?prepared_statement_cache_size=0",
        "postgresql://u:p@h/db?statements=unprepared",
        &[],
    ),
    (
        "postgres://u:p@h/db?default_query_exec_mode=simple_protocol",
        "postgres://u:p@h/db?statements=unprepared",
        &[],
    ),
    ("postgresql://u:p@localhost/db?host=/run/pg", "postgresql://u:p@/db?host=/run/pg", &[]),
    ("postgres:///db?host=h&user=u&password=p%26q&port=5433", "postgres://u:p%26q@h:5433/db", &[]),
    ("postgres://u:p@h/db?sslmode=require&sslaccept=strict", "postgres://u:p@h/db?sslmode=verify-full", &[]),
    ("postgres://u:p@h/db?ssl=true", "postgres://u:p@h/db?sslmode=require", &[]),
    ("postgres://u:p@h/db?sslmode=no-verify", "postgres://u:p@h/db?sslmode=require", &[]),
    ("\u{feff} \"postgres://u:p@h/db\"\n", "postgres://u:p@h/db", &[]),
    ("'jdbc:postgresql://h/db?user=u';\r\n", "postgres://u@h:5432/db?sslmode=prefer", &[]),
    // Npgsql
    (
        "Host=h;Port=5433;Database=db;Username=u;Password=p;SSL Mode=VerifyFull;Pooling=true;Maximum Pool Size=20",
        "postgres://u:p@h:5433/db?sslmode=verify-full",
        &["Pooling, Maximum Pool Size left out"],
    ),
    (
        "Host=h;Username=u;Password=\"a;b\"\"c'd\";Database=db;Trust Server Certificate=true;SslMode=Require",
        "postgres://u:a%3Bb%22c%27d@h:5432/db?sslmode=require",
        &[],
    ),
    (
        "Server=h;Port=5432;Database=db;User Id=u;Password='it''s'; Command Timeout=30; Timeout=5; Search Path=s",
        "postgres://u:it%27s@h:5432/db?statement_timeout=30s&connect_timeout=5&schema=s&sslmode=prefer",
        &[],
    ),
    ("HOST=h1:5433,h2;username=u;Database=db", "postgres://u@h1:5433,h2:5432/db?sslmode=prefer", &["spread"]),
    // A socket as libpq's URLs have it
    ("postgres://%2Fvar%2Frun%2Fpostgresql/db", "postgres:///db?host=%2Fvar%2Frun%2Fpostgresql", &[]),
    (
        "postgresql://u:p@%2frun%2fpg:5433/db?application_name=x",
        "postgresql://u:p@/db?host=%2frun%2fpg&port=5433&application_name=x",
        &[],
    ),
    (
        "postgresql+psycopg://u:p@%2Frun%2Fpg/db?pool_timeout=3",
        "postgresql://u:p@/db?host=/run/pg",
        &["pool_timeout left out"],
    ),
    // YugabyteDB's drivers
    (
        "jdbc:yugabytedb://h1:5433,h2:5433/db?user=u&load-balance=true&topology-keys=a.b.c,a.b.d\
         &yb-servers-refresh-interval=60",
        "yugabyte://u@h1:5433,h2:5433/db?sslmode=prefer",
        &["load-balance left out", "topology-keys left out: sessions go to the hosts of the string"],
    ),
    (
        "postgresql+psycopg2://u@h:5433/db?load_balance=true&topology_keys=a.b.c",
        "postgresql://u@h:5433/db",
        &["load_balance left out", "topology_keys left out"],
    ),
    // Other names of the scheme
    ("cockroachdb://u:p@h:26257/db", "cockroach://u:p@h:26257/db", &[]),
    ("cockroachdb+psycopg2://u@h:26257/db?sslmode=disable", "cockroach://u@h:26257/db?sslmode=disable", &[]),
    ("postgis://u:p@h/db?conn_max_age=60", "postgres://u:p@h/db", &["conn_max_age left out"]),
    ("pgsql://u:p@h/db", "postgres://u:p@h/db", &[]),
    ("timescale://u:p@h/db", "postgres://u:p@h/db", &[]),
    ("pgx5://u:p@h/db", "postgres://u:p@h/db", &[]),
    // As files of settings have it
    ("spring.datasource.url=jdbc:postgresql://h/db?user=u", "postgres://u@h:5432/db?sslmode=prefer", &[]),
    ("DATABASE_URL: postgres://u:p@h/db", "postgres://u:p@h/db", &[]),
    ("jdbc:aws-wrapper:postgresql://h/db?user=u", "postgres://u@h:5432/db?sslmode=prefer", &[]),
    // GORM
    (
        "host=h user=u password=p dbname=db port=5433 sslmode=disable TimeZone=Asia/Shanghai",
        "postgres://u:p@h:5433/db?sslmode=disable",
        &["TimeZone left out"],
    ),
    (
        "jdbc:postgresql://h/db?user=u&currentSchema=\"My,Sch\",public",
        "postgres://u@h:5432/db?schema=My,Sch&sslmode=prefer",
        &["the first name of the list"],
    ),
    // psqlODBC
    (
        "Driver={PostgreSQL Unicode};Server=h;Port=5433;Database=db;Uid=u;Pwd={a;b}}c};SSLmode=require;BI=0;UseDeclareFetch=1",
        "postgres://u:a%3Bb%7Dc@h:5433/db?sslmode=require",
        &["BI left out", "UseDeclareFetch left out"],
    ),
    (
        "SERVER=h;DATABASE=db;UID=u;PWD=p;DRIVER=psqlODBC;C8=0",
        "postgres://u:p@h:5432/db?statements=unprepared&sslmode=disable",
        &["the driver uses no TLS without SSLmode"],
    ),
];

const MYSQL: &[Read<'_>] = &[
    // Connector/J
    (
        "jdbc:mysql://h:3307/db?user=u&password=p&useSSL=false&rewriteBatchedStatements=true&serverTimezone=UTC",
        "mysql://u:p@h:3307/db?sslmode=disable",
        &["rewriteBatchedStatements left out", "serverTimezone left out: Lydite sets the time zone"],
    ),
    ("jdbc:mysql://u:p%23@h/db", "mysql://u:p%23@h:3306/db?sslmode=prefer", &[]),
    ("jdbc:mysql://h/db?user=u&useSSL=true", "mysql://u@h:3306/db?sslmode=prefer", &[]),
    ("jdbc:mysql://h/db?user=u&useSSL=true&requireSSL=true", "mysql://u@h:3306/db?sslmode=require", &[]),
    (
        "jdbc:mysql://h/db?user=u&useSSL=true&verifyServerCertificate=true",
        "mysql://u@h:3306/db?sslmode=verify-ca",
        &[],
    ),
    ("jdbc:mysql://h/db?user=u&sslMode=VERIFY_IDENTITY", "mysql://u@h:3306/db?sslmode=verify-full", &[]),
    (
        "jdbc:mysql:loadbalance://h1,h2:3307/db?user=u&socketTimeout=1500",
        "mysql://u@h1:3306,h2:3307/db?statement_timeout=1500ms&sslmode=prefer",
        &["spread over all hosts"],
    ),
    // MariaDB Connector/J
    (
        "jdbc:mariadb://h/db?user=u&password=p%40+",
        "mariadb://u:p%2540%2B@h:3306/db?sslmode=disable",
        &["the driver uses no TLS without sslMode"],
    ),
    ("jdbc:mariadb://h/db?user=u&sslMode=trust", "mariadb://u@h:3306/db?sslmode=require", &[]),
    ("jdbc:mariadb://h/db?user=u&useSsl=true", "mariadb://u@h:3306/db?sslmode=verify-full", &[]),
    (
        "jdbc:mariadb://localhost/db?user=u&localSocket=/run/m.sock&sslMode=disable&transactionIsolation=READ-COMMITTED",
        "mariadb://u@/db?isolation=read-committed&sslmode=disable&socket=/run/m.sock",
        &[],
    ),
    // Consoles and mappers
    ("mysql://u:p@h:25060/db?ssl-mode=REQUIRED", "mysql://u:p@h:25060/db?ssl-mode=REQUIRED", &[]),
    (
        "mysql2://u:p@h/db?encoding=utf8mb4&pool=5",
        "mysql://u:p@h/db",
        &["encoding left out", "pool left out"],
    ),
    ("mysql://u:p@h/db?sslaccept=strict", "mysql://u:p@h/db?sslmode=verify-full", &[]),
    ("mysql://u:p@h/db?ssl={\"rejectUnauthorized\":true}", "mysql://u:p@h/db?sslmode=verify-full", &[]),
    ("mysql://u:p@h/db?ssl=%7B%22rejectUnauthorized%22%3Afalse%7D", "mysql://u:p@h/db?sslmode=require", &[]),
    ("mysql+pymysql://u:p@h/db?charset=utf8mb4", "mysql://u:p@h/db", &["charset left out"]),
    ("mysql+mysqldb://u:p@/db?unix_socket=/run/m.sock", "mysql://u:p@/db?socket=/run/m.sock", &[]),
    ("MARIADB+mariadbconnector://u:p@h/db", "mariadb://u:p@h/db", &[]),
    // .NET
    (
        "Server=h;Port=3306;Database=db;Uid=u;Pwd=a=b;SslMode=Required;AllowPublicKeyRetrieval=True",
        "mysql://u:a%3Db@h:3306/db?sslmode=require",
        &["AllowPublicKeyRetrieval left out"],
    ),
    ("server=h;user=u;password=p;database=db;SslMode=None", "mysql://u:p@h:3306/db?sslmode=disable", &[]),
    (
        "Data Source=h;Initial Catalog=db;User ID=u;Password=p;Allow User Variables=true",
        "mysql://u:p@h:3306/db",
        &["Allow User Variables left out"],
    ),
    // Go
    (
        "u:p@tcp(h:3307)/db?parseTime=true&tls=true",
        "mysql://u:p@h:3307/db?sslmode=verify-full",
        &["parseTime left out"],
    ),
    (
        "u:p@ss/w:o#r?d@tcp([::1]:3306)/db?tls=skip-verify&loc=Asia%2FShanghai&readTimeout=1m30s",
        "mysql://u:p%40ss%2Fw%3Ao%23r%3Fd@[::1]:3306/db?statement_timeout=90s&sslmode=require",
        &["loc left out"],
    ),
    ("u:p@unix(/run/m.sock)/db", "mysql://u:p@/db?socket=/run/m.sock", &[]),
    ("u:p@/db?tls=preferred", "mysql://u:p@127.0.0.1:3306/db?sslmode=prefer", &[]),
    // Addresses in parentheses
    (
        "jdbc:mysql://address=(host=h1)(port=3307),address=(host=h2)(port=3308)(type=source)/db?user=u",
        "mysql://u@h1:3307,h2:3308/db?sslmode=prefer",
        &["spread over all hosts"],
    ),
    ("jdbc:mysql://u:p@(host=h,port=3307)/db", "mysql://u:p@h:3307/db?sslmode=prefer", &[]),
    ("jdbc:mysql://[(host=::1,port=3307)]/db?user=u", "mysql://u@[::1]:3307/db?sslmode=prefer", &[]),
    (
        "jdbc:mariadb://address=(host=h)(type=primary)/db?user=u&sslMode=disable",
        "mariadb://u@h:3306/db?sslmode=disable",
        &[],
    ),
    // ODBC
    (
        "Driver={MySQL ODBC 8.0 Unicode Driver};Server=h;Database=db;User=u;Password=p;Option=3;",
        "mysql://u:p@h:3306/db",
        &["Option left out"],
    ),
    (
        "DRIVER={MariaDB ODBC 3.1 Driver};SERVER=h;PORT=3307;UID=u;PWD={a}};b};DATABASE=db;FORCETLS=1",
        "mariadb://u:a%7D%3Bb@h:3307/db?sslmode=require",
        &[],
    ),
    ("mysqlgis://u:p@h/db", "mysql://u:p@h/db", &[]),
    ("mysql://u:p@%2Frun%2Fmysqld%2Fm.sock/db", "mysql://u:p@/db?socket=%2Frun%2Fmysqld%2Fm.sock", &[]),
];

#[test]
fn strings_of_postgres_are_read_as_their_programs_read_them() {
    POSTGRES.iter().for_each(|row| assert_read(*row));
}

#[test]
fn strings_of_mysql_are_read_as_their_programs_read_them() {
    MYSQL.iter().for_each(|row| assert_read(*row));
    assert!(POSTGRES.len() + MYSQL.len() >= 60, "{}", POSTGRES.len() + MYSQL.len());
}

#[test]
fn files_and_temporary_databases_of_sqlite_are_read() {
    for (text, url) in [
        ("jdbc:sqlite:/x/a b.db", "sqlite:/x/a b.db"),
        ("jdbc:sqlite:x.db?journal_mode=WAL&synchronous=NORMAL", "sqlite:x.db?synchronous=normal"),
        ("jdbc:sqlite:", "sqlite:"),
        ("sqlite:x.db", "sqlite:x.db"),
        ("sqlite+pysqlite:///x.db", "sqlite:x.db"),
        ("sqlite+aiosqlite:////x/y.db", "sqlite:/x/y.db"),
        ("Data Source=x.db", "sqlite:x.db"),
        (
            "Data Source=/x/a b.db;Version=3;Foreign Keys=False;Journal Mode=Wal",
            "sqlite:/x/a b.db?foreign_keys=off",
        ),
        ("Filename=./y.sqlite3;Mode=ReadWriteCreate", "sqlite:./y.sqlite3"),
        ("Driver=SQLite3;Database=x.db;SyncPragma=NORMAL", "sqlite:x.db?synchronous=normal"),
    ] {
        assert_read((text, url, &[]));
    }
    assert_read(("Data Source=x.db;Pooling=True", "sqlite:x.db", &["Pooling left out"]));
    // SQLAlchemy's path would be one in this directory.
    let note =
        "names the file /x.db; for SQLAlchemy it would be x.db in this directory: write sqlite:x.db for that";
    assert_read(("sqlite:///x.db", "sqlite:///x.db", &[note]));
    assert_read(("sqlite3:///x.db", "sqlite:///x.db", &[note]));
    assert_read(("sqlite:////x.db", "sqlite:////x.db", &[]));
    assert_read(("gemel:///x", "gemel:///x", &[]));
}

#[test]
fn an_option_within_a_name_is_rejected_without_its_value() {
    for text in [
        "postgres://h/db&password=S3cr3t",
        "postgres://h/db;password=S3cr3t",
        "mysql://h/db;user=u;password=S3cr3t",
        "jdbc:postgresql://h/db;user=u;password=S3cr3t",
        "jdbc:mariadb://h/db&user=u&password=S3cr3t",
        "tcp(h:1)/db;password=S3cr3t",
        "host=h dbname=db;password=S3cr3t",
        "Host=h;Username=u;Database=db,Password=S3cr3t",
        "postgres://h/db?user=u?password=S3cr3t",
        "jdbc:postgresql://h/db?user=u?password=S3cr3t",
        "Host=h;Port=1;Username=u,Password=S3cr3t;Database=db",
        "host=h user=u,password=S3cr3t dbname=db",
        "postgres://u@h/db?application_name=x;password=S3cr3t",
        "postgres://u@h/db&user=x",
        "redis://h/0&password=S3cr3t",
    ] {
        assert_rejected(text, "has an option within");
    }
    for text in ["sqlite:x.db;pwd=S3cr3t", "gemel:x&password=S3cr3t"] {
        assert_rejected(text, "an option in its path");
    }
    // Names and values may have such characters.
    for text in ["postgres://u@h/a&b", "postgres://u@h/db?options=-c%20a=b,c", "mysql://u@h/a;b"] {
        assert!(TargetSpec::parse(text, TxMode::Statements).is_ok(), "{text}");
    }
}

#[test]
fn a_placeholder_is_no_password() {
    for password in [
        "[YOUR-PASSWORD]",
        "<password>",
        "%3Cdb_password%3E",
        "{your_password}",
        "${DB_PASSWORD}",
        "********",
    ] {
        let text = format!("postgresql://postgres:{password}@db.example.com:5432/postgres");
        assert_rejected(&text, "has a placeholder where the password is to stand");
    }
    for text in [
        "host=h dbname=db user=u password='[YOUR-PASSWORD]'",
        "Host=h;Username=u;Password={your_password_here};Database=db",
        "jdbc:mysql://h/db?user=u&password=<password>",
    ] {
        assert_rejected(text, "has a placeholder");
    }
    // Real ones may look odd.
    for password in ["[x]", "<p>", "pass", "***", "[pass/word]", "{p4ss:word}"] {
        let text = format!("Host=h;Username=u;Password='{password}';Database=db;SSL Mode=Disable");
        assert!(TargetSpec::parse(&text, TxMode::Statements).is_ok(), "{password}");
    }
}

#[test]
fn what_can_not_be_followed_is_rejected_with_the_way_out() {
    for (text, words) in [
        ("jdbc:oracle:thin:@h:1521:orcl", "Lydite has no Oracle: write a driver"),
        ("jdbc:sqlserver://h:1433;user=u;password=S3cr3t", "Lydite has no SQL Server"),
        ("jdbc:db2://h:50000/db:user=u;password=S3cr3t;", "Lydite has no Db2"),
        ("jdbc:foo://h/db", "jdbc:foo: is not known: Lydite takes those of postgresql"),
        ("Server=tcp:h,1433;Database=db;User ID=u;Password=S3cr3t;Encrypt=True", "Lydite has no SQL Server"),
        (
            "Server=h;Database=db;User Id=u;Password=S3cr3t",
            "add Port=5432 for Npgsql, or add Port=3306 for MySqlConnector",
        ),
        (
            "Server=h;Port=30000;Database=db;User Id=u;Password=S3cr3t",
            "write postgres://USER@HOST:30000/DATABASE for Npgsql, or write mysql://USER@HOST:30000/DATABASE",
        ),
        ("jdbc:postgresql://h/db?user=u&sslmode=allow", "write prefer or disable"),
        ("jdbc:postgresql://h/db?user=u&targetServerType=secondary", "its replicas with --replicas"),
        ("jdbc:postgresql://h/db?user=u&sslkey=/k.pk8&sslcert=/c", "openssl pkcs8"),
        ("jdbc:postgresql://h/db?user=u&socketFactory=x.Y", "names code in Java"),
        ("jdbc:postgresql://h/db?usr=u", "parameter \"usr\" of pgjdbc is not known"),
        ("jdbc:postgresql://h/db?user=u&password=S3cr3t&sslmod=require", "did you mean sslmode?"),
        (
            "jdbc:postgresql://h/db?user=u&password=a&S3cr3t=1",
            "number 3 of pgjdbc is not known; if it is a part of the password",
        ),
        ("jdbc:postgresql://u:a/S3cr3t@h/db", "an @ or # in the wrong place"),
        ("dbname=postgres://u:S3cr3t@h/db", "is a connection string itself"),
        ("dbname='host=h password=S3cr3t'", "is a connection string itself"),
        ("Host=h;Username=u;Database=postgres://u:S3cr3t@h/db", "is a connection string itself"),
        ("postgres://h/postgres%3A%2F%2Fu%3AS3cr3t%40h%2Fdb", "is a connection string itself"),
        ("mysql://h/host%3Dh%20password%3DS3cr3t", "is a connection string itself"),
        ("postgres://h?dbname=postgres://u:S3cr3t@h/db", "is a connection string itself"),
        ("host=h user=u:S3cr3t dbname=d", "user has a colon"),
        ("Host=h;Username=u:S3cr3t;Database=db", "user has a colon"),
        ("jdbc:mysql://u:S3cr3t?x@h/db", "host is not HOST or HOST:PORT"),
        ("jdbc:mysql://h/db?user=u&password=a#S3cr3t", "%23 for #"),
        ("jdbc:mysql:replication://h1,h2/db?user=u", "others with --replicas"),
        ("jdbc:mysql://h/db?user=u&sessionVariables=sql_mode=ANSI", "Lydite sets no variables for you"),
        (
            "jdbc:mysql://h/db?user=u&trustCertificateKeyStoreUrl=file:x&trustCertificateKeyStorePassword=S3cr3t",
            "as PEM",
        ),
        ("jdbc:mysql://h/?user=u", "names no database"),
        ("jdbc:sqlite::memory:", "write sqlite: for a temporary file"),
        ("host=h dbname=db user=u password=a S3cr3t", "has a word without ="),
        ("host=h dbname=db user=u password='S3cr3t", "a quote without an end"),
        ("host=h dbname=db sslcrl=/x", "no lists of revoked certificates"),
        ("host=h dbname=db sslpassword=S3cr3t", "openssl pkey"),
        ("host=h dbname=db gssencmode=require", "Lydite has no GSSAPI"),
        ("host=h dbname=db target_session_attrs=standby", "name the primary"),
        ("host=h dbname=db sslmode=allow", "write prefer or disable"),
        ("host=h port=99999 dbname=db", "port is not a number from 1 to 65535"),
        ("host=h1,h2,h3 port=1,2 dbname=db", "2 numbers for 3 hosts"),
        ("host=h hostaddr=10.0.0.1 dbname=db", "leave hostaddr out"),
        ("host=h dbname=db ssl_min_protocol_version=TLSv1.3", "TLS 1.2 or 1.3"),
        ("host=h dbname=db sslmod=require", "did you mean sslmode?"),
        ("service=no-such-service", "none of"),
        ("postgres://u:S3cr3t@h/db?sslmod=require", "did you mean sslmode?"),
        ("postgres://u@h/db?password=a&S3cr3t&connection_limit=1", "is a part of the password, write %26"),
        (
            "postgres://u:S3cr3t@h/db?sslidentity=x.p12&sslpassword=S3cr3t",
            "reads certificates and keys as PEM",
        ),
        ("postgresql+srv://u:S3cr3t@h/db", "finds its hosts by DNS"),
        ("mysql://u:S3cr3t@h/db?ssl={\"ca\":\"S3cr3t\"}", "write ssl-ca=FILE"),
        ("mysql://u:S3cr3t@h/db?useSSL=false", "write jdbc: before the URL"),
        ("mysql://u:S3cr3t@h/db?charst=utf8&charset=utf8", "did you mean charset?"),
        ("Host=h;Username=u;Password=S3cr3t;SSL Mode=Allow", "write prefer or disable"),
        ("Host=h;Username=u;Password=a;S3cr3t;Database=db", "a part without ="),
        ("Host=h;Username=u;Password=\"S3cr3t;Database=db", "a quote without an end"),
        (
            "Host=h;Username=u;Database=db;SSL Mode=VerifyCA;Trust Server Certificate=true",
            "contradicts SSL Mode",
        ),
        ("Server=h;Port=3306;Uid=u;Pwd=S3cr3t;Database=db;CertificateFile=c.pfx", "ssl-ca=FILE"),
        ("u:S3cr3t@tcp(h:3306)/db?tls=custom", "names a configuration of a program"),
        ("u:S3cr3t@tcp(h:3306)/db?wait_timeout=10", "Lydite sets no variables for you"),
        ("u:S3cr3t@tcp(h:3306)/db?parsTime=true", "did you mean parseTime?"),
        ("u:S3cr3t@tcp(h:3306)/", "names no database"),
        (
            "Data Source=h;Initial Catalog=db;User Id=u;Password=S3cr3t",
            "may be one of several databases, also of SQL Server",
        ),
        ("Server=h;Initial Catalog=db;UID=u;PWD=S3cr3t;TrustServerCertificate=True", "also of SQL Server"),
        ("Server=h,3999;Initial Catalog=db;UID=u;PWD=S3cr3t", "Lydite has no SQL Server"),
        (
            "host=h dbname=db options='-c default_transaction_isolation=serializable'",
            "write isolation=LEVEL behind the URL",
        ),
        ("postgres://h/db?options=-c%20default_transaction_read_only%3Don", "makes transactions read only"),
        ("redis+sentinel://h:26379", "Lydite asks no sentinel"),
        ("DSN=bench;UID=u;PWD=S3cr3t", "it names an entry of odbc.ini"),
        ("Driver={PostgreSQL Unicode};DSN=bench;PWD=S3cr3t", "it names an entry of odbc.ini"),
        ("Driver={ODBC Driver 18 for SQL Server};Server=h;UID=u;PWD=S3cr3t", "Lydite has no SQL Server"),
        ("Driver={Oracle in XE};DBQ=x;UID=u;PWD=S3cr3t", "Lydite has no Oracle"),
        ("Driver=/usr/lib/libfoo.so;Server=h;PWD=S3cr3t", "driver of ODBC is not known"),
        ("Driver={PostgreSQL Unicode};Server=h;PWD={S3cr3t;UID=u", "a quote without an end"),
        (
            "Driver={PostgreSQL Unicode};Server=h;Database=db;UID=u;pqopt={password=S3cr3t}",
            "as libpq has them",
        ),
        ("Data Source=:memory:", "names a database in memory"),
        ("Data Source=x.db;Password=S3cr3t", "no encryption of files"),
        ("Data Source=|DataDirectory|x.db;Version=3", "which only a program for .NET knows"),
        ("sqlite+pysqlite://", "names a database in memory"),
        ("sqlite+pysqlite:///:memory:", "names a database in memory"),
        (
            "jdbc:mysql://address=(host=h1),address=(host=h2)(type=replica)/db?user=u",
            "its replicas with --replicas",
        ),
        ("jdbc:mysql://address=(host=h)(user=u)(password=S3cr3t)/db", "has user and password in an address"),
        ("jdbc:mysql://address=(host=h)(x=1)/db?user=u", "write the rest as parameters"),
        ("jdbc:mysql://(h)/db?user=u", "has an address that is not address=(host=HOST)"),
        ("rediss://:S3cr3t@h:6379", "Lydite speaks no TLS with Redis"),
        ("mssql://u:S3cr3t@h/db", "Lydite has no SQL Server"),
        ("oracle+cx_oracle://u:S3cr3t@h/db", "Lydite has no Oracle"),
        ("mongodb+srv://u:S3cr3t@h/db", "Lydite has no MongoDB"),
        ("redshift://u:S3cr3t@h/db", "Lydite has no Redshift"),
    ] {
        assert_rejected(text, words);
    }
}
