//! Connection strings in files of other programs, as the parts of URLs, without their passwords.

use crate::family::Family;
use crate::pasted::draft::Draft;
use crate::pasted::outcome::Outcome;
use crate::pasted::{self, readers};
use crate::registry::{self, family_of};

/// A connection string of another program as Lydite understands it: the parts of a URL. It has no password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Understood {
    /// Scheme of the URL.
    pub scheme: String,
    /// User.
    pub user: Option<String>,
    /// Names or addresses with their ports; none for a Unix socket, which is an option, and for a file.
    pub hosts: Vec<(String, Option<u16>)>,
    /// Database on the server.
    pub database: Option<String>,
    /// Path of a database without a server; empty for a temporary file.
    pub path: Option<String>,
    /// Options of the URL, with their values as they are without encoding.
    pub options: Vec<(String, String)>,
    /// Parameters of the string, with their names for messages, in their order.
    pub parameters: Vec<(String, Outcome)>,
    /// Sentences about the whole string.
    pub notes: Vec<String>,
    /// True if the string has a password.
    pub has_password: bool,
}

/// Reads a connection string from a file of another program. `scheme` is that of the database if the file names it more
/// exactly than the string does. A parameter that Lydite can't follow does not make the string wrong: it is left out of
/// the URL, and its outcome says so.
///
/// # Errors
/// The whole string can't be followed: one line for each reason, without secrets.
pub fn understand(text: &str, scheme: Option<&str>) -> Result<Understood, Vec<String>> {
    let (mut draft, (parameters, mut notes)) = pasted::parts(text, registry::PASTED)?;
    if let Some((name, _)) = draft.options.iter().find(|(_, value)| may_hide_password(value)) {
        return Err(vec![format!(
            "target option {name} may have a part of the password: write %26 in a parameter for &"
        )]);
    }
    if let Some((scheme, family)) = scheme.and_then(|scheme| Some((scheme, family_of(scheme)?))) {
        scheme.clone_into(&mut draft.scheme);
        drop_others(&mut draft, family, &mut notes);
    }
    let Draft { scheme, user, password, hosts, database, path, options, .. } = draft;
    Ok(Understood {
        scheme,
        user,
        hosts,
        database,
        path,
        options,
        parameters,
        notes,
        has_password: password.is_some(),
    })
}

/// Takes back the options that a family does not have.
fn drop_others(draft: &mut Draft, family: &Family, notes: &mut Vec<String>) {
    let is_own = |name: &str| family.options.iter().any(|option| option.name == name);
    for (name, _) in draft.options.iter().filter(|(name, _)| !is_own(name)) {
        notes.push(format!("{name} is left out of the URL: {}: has no such option", draft.scheme));
    }
    draft.options.retain(|(name, _)| is_own(name));
}

/// True if a value looks as if it went on into the parameter of a password, where an `&` is missing.
fn may_hide_password(value: &str) -> bool {
    value.contains('=') && readers::is_password(value)
}

#[cfg(test)]
mod tests {
    use super::{Outcome, understand};

    #[test]
    fn a_string_of_a_file_becomes_parts_of_a_url_without_its_password() {
        let string = "jdbc:postgresql://u:S3cr3t@h1:5433,h2/benchbase?sslmode=disable&ApplicationName=tp%20cc\
                      &reWriteBatchedInserts=true";
        let read = understand(string, None).unwrap_or_else(|errors| panic!("{errors:?}"));
        assert_eq!((read.scheme.as_str(), read.user.as_deref()), ("postgres", Some("u")));
        assert_eq!(read.hosts, [("h1".to_owned(), Some(5433)), ("h2".to_owned(), Some(5432))]);
        assert_eq!((read.database.as_deref(), read.has_password), (Some("benchbase"), true));
        let options = [("application_name", "tp cc"), ("sslmode", "disable")];
        assert_eq!(read.options, options.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let outcomes = [
            ("sslmode", Outcome::Used("sslmode=disable".into())),
            ("ApplicationName", Outcome::Used("application_name=tp%20cc".into())),
        ];
        assert_eq!(read.parameters[..2], outcomes.map(|(name, outcome)| (name.to_owned(), outcome)));
        assert!(matches!(&read.parameters[2].1, Outcome::LeftOut(why) if why.contains("--tx")), "{read:?}");
        assert!(!format!("{read:?}").contains("S3cr3t"), "{read:?}");
    }

    #[test]
    fn a_parameter_that_lydite_can_not_follow_does_not_make_the_string_wrong() {
        let string = "jdbc:mysql://h/db?password=S3cr3t&sslMode=maybe&S3cr3t=1&useSLL=true&dnsSrv=true";
        let read = understand(string, None).unwrap_or_else(|errors| panic!("{errors:?}"));
        let kinds: Vec<(&str, bool, bool)> = read
            .parameters
            .iter()
            .map(|(name, outcome)| {
                let is_unknown = matches!(outcome, Outcome::Unknown(_));
                (name.as_str(), is_unknown, matches!(outcome, Outcome::Rejected(_)))
            })
            .collect();
        let wanted = [
            ("password", false, false),
            ("sslMode", true, false),
            ("number 3", true, false),
            ("useSLL", true, false),
            ("dnsSrv", false, true),
        ];
        assert_eq!(kinds, wanted);
        assert!(!format!("{read:?}").contains("S3cr3t"), "{read:?}");
    }

    #[test]
    fn a_string_without_a_place_or_with_a_hidden_password_is_an_error_without_it() {
        for (string, words) in [
            ("jdbc:oracle:thin:u/S3cr3t@h:1521:orcl", "Lydite has no Oracle"),
            ("jdbc:mysql://u:S3/cr3t@h/db", "wrong place"),
            ("jdbc:postgresql://h/db?ApplicationName=xpassword=S3cr3t", "may have a part of the password"),
            ("postgres://u:S3cr3t@h/db", "no connection string of another program"),
        ] {
            let errors = understand(string, None).expect_err(string).concat();
            assert!(errors.contains(words) && !errors.contains("S3cr3t"), "{string}: {errors}");
        }
    }

    #[test]
    fn options_that_the_named_database_lacks_are_left_out_with_a_note() {
        let string = "jdbc:postgresql://h:26257/db?user=u&prepareThreshold=0&sslmode=require";
        let read = understand(string, Some("cockroach")).unwrap_or_else(|errors| panic!("{errors:?}"));
        assert_eq!(read.scheme, "cockroach");
        assert_eq!(read.options, [("sslmode".to_owned(), "require".to_owned())]);
        assert!(read.notes.concat().contains("statements is left out"), "{:?}", read.notes);
    }
}
