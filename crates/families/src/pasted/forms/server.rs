//! The last steps for a connection string of a server, whatever its form.

use crate::pasted::apply::{Parameter, conclude, variables};
use crate::pasted::draft::Draft;
use crate::pasted::families::{Families, usual_port};
use crate::pasted::findings::Findings;
use crate::pasted::row::{Dialect, Form};

/// Gives the parameters their meaning, and returns the parts of the URL. They are of no use if there are errors.
pub(super) fn finished(
    dialect: &'static Dialect,
    mut draft: Draft,
    parameters: Vec<Parameter>,
    families: Families,
    findings: &mut Findings,
) -> Draft {
    if let Some(password) = &draft.password {
        findings.secret(password);
    }
    let given = conclude(dialect, parameters, &mut draft, findings);
    draft.password_in_text = draft.password.as_ref().is_some_and(|password| !password.is_empty());
    if let Some(surroundings) = dialect.surroundings {
        (surroundings.fill)(&given, &mut draft, findings);
        variables(dialect, &given, &mut draft, findings);
    }
    draft.settle(dialect.socket, findings);
    if matches!(dialect.form, Form::Jdbc | Form::Ado | Form::Odbc | Form::Go) {
        // These drivers read no variables of the environment, where the family would find host and port.
        if draft.hosts.is_empty() && draft.get(dialect.socket).is_none() {
            draft.hosts.push(("localhost".into(), None));
        }
        let usual = usual_port(&draft.scheme, families);
        draft.hosts.iter_mut().for_each(|(_, port)| *port = port.or(usual));
    }
    draft.is_socket = draft.get(dialect.socket).is_some();
    draft
}
