//! Families and dialects of connection strings.

use super::row::{Dialect, Form};
use crate::family::Family;

/// All families and dialects.
#[derive(Clone, Copy)]
pub(crate) struct Families {
    pub(crate) families: &'static [&'static Family],
    /// The dialects of each group of families.
    pub(crate) dialects: &'static [&'static [&'static Dialect]],
}

/// Returns all dialects.
pub(super) fn all(families: Families) -> impl Iterator<Item = &'static Dialect> {
    families.dialects.iter().flat_map(|dialects| dialects.iter()).copied()
}

/// Returns all dialects with a form.
pub(super) fn dialects(families: Families, form: Form) -> impl Iterator<Item = &'static Dialect> {
    all(families).filter(move |dialect| dialect.form == form)
}

/// Returns the dialect of a form whose connection strings have this scheme, and the scheme of its URL.
pub(super) fn with_scheme(
    scheme: &str,
    families: Families,
    form: Form,
) -> Option<(&'static Dialect, &'static str)> {
    dialects(families, form).find_map(|dialect| {
        let (_, url) = dialect.schemes.iter().find(|(known, _)| *known == scheme)?;
        Some((dialect, *url))
    })
}

/// Returns the names of the dialects that mean a URL of this family.
pub(crate) fn names_of(family: &Family, families: Families) -> Vec<&'static str> {
    let is_of = |dialect: &&Dialect| {
        let mut schemes = dialect.schemes.iter();
        schemes.any(|(_, name)| family.schemes.iter().any(|scheme| scheme.name == *name))
    };
    all(families).filter(is_of).map(|dialect| dialect.name).collect()
}

/// Returns the family with this scheme.
pub(super) fn family_of(scheme: &str, families: Families) -> Option<&'static Family> {
    families.families.iter().copied().find(|family| family.schemes.iter().any(|known| known.name == scheme))
}

/// True if the databases of a family are servers.
pub(super) fn is_server(family: &Family) -> bool {
    family.schemes.iter().any(|scheme| scheme.port.is_some())
}

/// Returns the port of servers whose URL of this scheme has none.
pub(super) fn usual_port(scheme: &str, families: Families) -> Option<u16> {
    family_of(scheme, families)?.schemes.iter().find(|known| known.name == scheme)?.port
}
