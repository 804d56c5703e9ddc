//! Tells the items that only a build of tests compiles.

use syn::punctuated::Punctuated;
use syn::{Attribute, Item, ItemMod, Meta, Token};

/// Returns the modules among these items, without those of tests.
pub(crate) fn modules(items: &[Item]) -> impl Iterator<Item = &ItemMod> {
    items.iter().filter_map(|item| match item {
        Item::Mod(item) if !is_of_tests(&item.attrs) => Some(item),
        _ => None,
    })
}

/// Returns true if `#[cfg(test)]`, or a condition with `test` in it, stands before an item.
pub(crate) fn is_of_tests(attributes: &[Attribute]) -> bool {
    fn asks_for_tests(meta: &Meta) -> bool {
        match meta {
            Meta::Path(path) => path.is_ident("test"),
            Meta::List(list) if list.path.is_ident("all") => list
                .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .is_ok_and(|conditions| conditions.iter().any(asks_for_tests)),
            _ => false,
        }
    }
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<Meta>().is_ok_and(|meta| asks_for_tests(&meta))
    })
}
