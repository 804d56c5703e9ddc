//! Connection strings of Go's driver for MySQL.

use super::server::finished;
use crate::net::url::percent_decode;
use crate::pasted::draft::Draft;
use crate::pasted::families::Families;
use crate::pasted::findings::Findings;
use crate::pasted::readers;
use crate::pasted::row::Dialect;

/// Turns a Go connection string into the parts of a URL.
pub(super) fn draft(
    go: &readers::Go<'_>,
    dialect: &'static Dialect,
    families: Families,
    findings: &mut Findings,
) -> Draft {
    let mut draft = Draft::new(dialect.schemes[0].1);
    draft.user = (!go.user.is_empty()).then(|| go.user.to_owned());
    draft.password = go.password.map(str::to_owned);
    draft.database = (!go.database.is_empty()).then(|| percent_decode(go.database));
    match (go.protocol, go.address.filter(|address| !address.is_empty())) {
        ("unix", Some(path)) => draft.socket = Some(path.to_owned()),
        ("unix", None) => findings.error("unix() names no socket: write unix(/PATH)"),
        (_, Some(address)) => draft.take_hosts(address, findings),
        (_, None) => draft.hosts.push(("127.0.0.1".into(), None)),
    }
    let parameters = readers::query(go.query, dialect.decoding);
    finished(dialect, draft, parameters, families, findings)
}
