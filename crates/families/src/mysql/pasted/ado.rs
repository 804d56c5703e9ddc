//! Parameters of the drivers for .NET: MySqlConnector and Connector/NET.

use super::words::{
    ALIVE, CONNECTING, DNS, FILES, PACKED, POOL, PUBLIC_KEY, SPREAD, STATEMENTS, STORE, TEXTS, VALUES,
    VERSIONS, several_hosts,
};
use crate::pasted::draft::Draft;
use crate::pasted::findings::Findings;
use crate::pasted::row::Meaning::{Choice, Database, Host, Option, Password, Port, Time, User};
use crate::pasted::row::Word::{Ignored, Rejected, Same, Sets};
use crate::pasted::row::{Decoding, Dialect, Form, Given, Group, Row, Unit};

const PIPE: &str = "Lydite connects by TCP or a Unix socket: write Server=HOST";

const ROWS: &[Row] = &[
    Row::new(&["Server", "Host", "Data Source", "Address", "Addr", "Network Address"], Host),
    Row::new(&["Port"], Port),
    Row::new(&["User Id", "Username", "Uid", "User Name", "User"], User),
    Row::new(&["Password", "Pwd"], Password),
    Row::new(&["Database", "Initial Catalog"], Database),
    Row::new(
        &["SSL Mode"],
        Choice(
            "sslmode",
            &[
                ("None", Sets("disable")),
                ("Disabled", Sets("disable")),
                ("Preferred", Sets("prefer")),
                ("Required", Sets("require")),
                ("VerifyCA", Sets("verify-ca")),
                ("VerifyFull", Sets("verify-full")),
                ("Prefer", Sets("prefer")),
            ],
            Rejected("write None, Preferred, Required, VerifyCA or VerifyFull"),
        ),
    ),
    Row::new(&["CA Certificate File", "SslCa", "Ssl-Ca"], Option("ssl-ca")),
    Row::new(&["SslCert", "Ssl-Cert"], Option("ssl-cert")),
    Row::new(&["SslKey", "Ssl-Key"], Option("ssl-key")),
    Row::new(&["Connection Lifetime"], Time("connection_lifetime", Unit::Seconds)),
    Row::new(&["Default Command Timeout", "Command Timeout"], Time("statement_timeout", Unit::Seconds)),
    Row::new(
        &["Protocol", "Connection Protocol"],
        Choice("", &[("Socket", Same), ("Tcp", Same), ("Sockets", Same), ("Unix", Same)], Rejected(PIPE)),
    ),
    Row::new(&["Compress", "Use Compression"], Choice("", &[("false", Same)], Ignored(PACKED))),
    Row::new(
        &["Integrated Security"],
        Choice(
            "",
            &[("false", Same)],
            Rejected("Lydite has no login of Windows: write a user and a password"),
        ),
    ),
];

const GROUPS: &[Group] = &[
    Group::ignored(CONNECTING, &["Connection Timeout", "Connect Timeout"]),
    Group::ignored(
        POOL,
        &[
            "Pooling",
            "Connection Reset",
            "Connection Idle Ping Time",
            "Connection Idle Timeout",
            "Maximum Pool Size",
            "Max Pool Size",
            "Minimum Pool Size",
            "Min Pool Size",
            "DNS Check Interval",
            "Auto Enlist",
            "Use XA Transactions",
            "Interactive Session",
            "Interactive",
        ],
    ),
    Group::ignored(ALIVE, &["Keep Alive", "Cancellation Timeout", "Deferred Connection Reset"]),
    Group::ignored(TEXTS, &["Character Set", "CharSet"]),
    Group::ignored(
        VALUES,
        &[
            "Allow User Variables",
            "Allow Zero Datetime",
            "Convert Zero Datetime",
            "Application Name",
            "Date Time Kind",
            "Guid Format",
            "Old Guids",
            "Persist Security Info",
            "Treat Tiny As Boolean",
            "Use Affected Rows",
            "No Backslash Escapes",
            "Server SPN",
            "Use Performance Monitor",
            "Use Usage Advisor",
            "Logging",
            "Functions Return String",
            "Treat Blobs As UTF8",
            "Respect Binary Flags",
            "SQL Server Mode",
            "Old Syntax",
        ],
    ),
    Group::ignored(
        STATEMENTS,
        &[
            "Ignore Command Transaction",
            "Ignore Prepare",
            "Pipelining",
            "Allow Batch",
            "Check Parameters",
            "Cache Server Properties",
            "Procedure Cache Size",
            "Table Caching",
        ],
    ),
    Group::ignored(FILES, &["Allow Load Local Infile", "Allow Load Local Infile In Path"]),
    Group::ignored(PUBLIC_KEY, &["Allow Public Key Retrieval", "Server RSA Public Key File"]),
    Group::ignored(SPREAD, &["Load Balance", "Server Redirection Mode"]),
    Group::rejected(
        STORE,
        &["Certificate File", "Certificate Password", "Certificate Store Location", "Certificate Thumbprint"],
    ),
    Group::rejected(VERSIONS, &["Tls Version", "Tls Cipher Suites"]),
    Group::rejected(PIPE, &["Pipe", "Pipe Name", "Shared Memory Name"]),
    Group::rejected(DNS, &["Dns Srv"]),
    Group::rejected(
        "start the tunnel with ssh -L, and name its port",
        &["SshHostName", "SshPort", "SshUserName", "SshPassword", "SshKeyFile", "SshPassPhrase"],
    ),
    Group::rejected("its first server is the primary: name that one", &["Replication"]),
];

/// Connection strings of MySqlConnector.
pub(super) static ADO: Dialect = Dialect {
    name: "MySqlConnector",
    form: Form::Ado,
    schemes: &[("", "mysql")],
    about: "`Server=…;Port=3306;Database=…;User ID=…;Password=…`, also of Connector/NET. TLS is `prefer` without `SslMode`. A \
            string that PostgreSQL's driver would take too needs its `Port`.",
    rows: &[ROWS],
    groups: &[GROUPS],
    decoding: Decoding::None,
    has_fragments: false,
    socket: "socket",
    typical: &[],
    finish,
    surroundings: None,
};

fn finish(_given: &Given, draft: &mut Draft, findings: &mut Findings) {
    several_hosts(draft, findings);
}
