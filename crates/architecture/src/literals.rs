//! The literals of a file.

use crate::tests::is_of_tests;
use syn::visit::{self, Visit};
use syn::{Attribute, ItemFn, ItemMod, Lit, Macro};

/// Returns the literals of a file and what stands in its macros, without tests and documentation.
pub(crate) fn literals(of: &syn::File) -> Vec<String> {
    let mut literals = Literals::default();
    literals.visit_file(of);
    literals.found
}

#[derive(Default)]
struct Literals {
    found: Vec<String>,
}

impl Visit<'_> for Literals {
    fn visit_item_mod(&mut self, item: &ItemMod) {
        if !is_of_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &ItemFn) {
        if !item.attrs.iter().any(|attribute| attribute.path().is_ident("test")) {
            visit::visit_item_fn(self, item);
        }
    }

    // Documentation is an attribute.
    fn visit_attribute(&mut self, _: &Attribute) {}

    fn visit_lit(&mut self, literal: &Lit) {
        self.found.push(match literal {
            Lit::Str(text) => text.value(),
            Lit::ByteStr(text) => String::from_utf8_lossy(&text.value()).into_owned(),
            Lit::Int(number) => number.base10_digits().to_owned(),
            _ => return,
        });
    }

    // What stands in `format!` and its like has no syntax of its own.
    fn visit_macro(&mut self, of: &Macro) {
        let tokens = of.tokens.to_string();
        // Documentation in it is `#[doc = "…"]`.
        let mut parts = tokens.split("doc = ");
        self.found.extend(parts.next().map(str::to_owned));
        self.found.extend(parts.map(|part| part.split_once("\"]").map_or(part, |(_, rest)| rest).to_owned()));
    }
}
