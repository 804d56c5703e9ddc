//! Connection strings in files of other programs, as URLs without their passwords.

use crate::pasted::draft::PART;
use crate::registry::TargetSpec;
use lydite_database::TxMode;
use percent_encoding::utf8_percent_encode;

/// A connection string of another program as Lydite understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Understood {
    /// The URL, without a password.
    pub url: String,
    /// Parameters that were left out or changed, with the reason, one line for each.
    pub notes: Vec<String>,
    /// True if the string has a password.
    pub has_password: bool,
}

/// Reads a connection string from a file of another program. The file may name the user beside it.
///
/// # Errors
/// The string can't be followed, or names another user: one line for each reason, without secrets.
pub fn understand(text: &str, user: Option<&str>) -> Result<Understood, Vec<String>> {
    let spec = TargetSpec::parse(text, TxMode::Statements)?;
    let mut url = spec.without_password(text);
    if let (Some(user), Some((scheme, rest))) = (user.filter(|user| !user.is_empty()), url.split_once("://"))
    {
        let named = utf8_percent_encode(user, &PART).to_string();
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        match authority.rsplit_once('@') {
            Some((known, _)) if known != named => {
                return Err(vec![format!("names the user {known}, and not {named}: leave one of them out")]);
            }
            Some(_) => {}
            None => url = format!("{scheme}://{named}@{rest}"),
        }
    }
    let has_password = spec.is_secret_of(text);
    Ok(Understood { url, notes: spec.notes().to_vec(), has_password })
}

#[cfg(test)]
mod tests {
    use super::understand;

    #[test]
    fn a_string_of_a_file_becomes_a_url_with_its_user_and_without_its_password() {
        let read = |text, user| {
            let read = understand(text, user).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
            (read.url, read.notes.len(), read.has_password)
        };
        let string = "jdbc:postgresql://h:5432/benchbase?sslmode=disable&ApplicationName=tpcc&reWriteBatchedInserts=true";
        assert_eq!(
            read(string, Some("ad min")),
            ("postgres://ad%20min@h:5432/benchbase?application_name=tpcc&sslmode=disable".into(), 1, false)
        );
        let with_login = "jdbc:mysql://h/db?user=u&password=S3cr3t&useSSL=false";
        for user in [None, Some("u"), Some("")] {
            assert_eq!(read(with_login, user), ("mysql://u@h:3306/db?sslmode=disable".into(), 0, true));
        }
        let errors = understand(with_login, Some("other")).expect_err("two users").join("; ");
        assert!(errors.contains("names the user u, and not other") && !errors.contains("S3cr3t"), "{errors}");
        let errors = understand("jdbc:oracle:thin:@h:1521:orcl", None).expect_err("no such family");
        assert!(errors.concat().contains("Lydite has no Oracle"), "{errors:?}");
    }
}
