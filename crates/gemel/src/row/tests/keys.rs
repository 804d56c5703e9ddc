//! Tests of the key codec.

use super::*;
use crate::error::Error;
use crate::row::{KeyColumn, KeyLayout, RowRange, asc, desc};
use std::cmp::Ordering;

/// A key of all columns.
#[derive(Debug)]
struct Keyed {
    layout: KeyLayout,
    /// True for each column in descending order.
    descending: Vec<bool>,
}

impl Keyed {
    /// Compares two keys of the same number of columns.
    fn compare(&self, a: &[OwnedValue], b: &[OwnedValue]) -> Ordering {
        a.iter().zip(b).zip(&self.descending).fold(Ordering::Equal, |so_far, ((a, b), descending)| {
            so_far.then_with(|| if *descending { b.cmp(a) } else { a.cmp(b) })
        })
    }
}

/// A key over all columns, and the values of two keys that often have their first columns in common.
fn keys() -> impl Strategy<Value = (Keyed, Vec<OwnedValue>, Vec<OwnedValue>)> {
    columns().prop_flat_map(|columns| {
        let (schema, shared) = (schema_of(&columns), 0..=columns.len());
        let descending = proptest::collection::vec(any::<bool>(), columns.len());
        (descending, values_of(&columns), values_of(&columns), shared).prop_map(
            move |(descending, a, mut b, shared)| {
                b[..shared].clone_from_slice(&a[..shared]);
                let part = |(n, descending): (usize, &bool)| KeyColumn {
                    name: format!("c{n}"),
                    descending: *descending,
                };
                let key = descending.iter().enumerate().map(part);
                (Keyed { layout: KeyLayout::new("t", &schema, key).unwrap(), descending }, a, b)
            },
        )
    })
}

/// Returns true if the encoded key is in the range.
fn within(layout: &KeyLayout, range: &RowRange<'_>, key: &[u8]) -> Result<bool> {
    let Some(span) = layout.span(range)? else { return Ok(false) };
    Ok(*span.lower <= *key && span.upper.is_none_or(|upper| *key < *upper))
}

proptest! {
    #[test]
    fn keys_are_in_the_order_of_their_values((keyed, a, b) in keys()) {
        let [left, right] = [&a, &b].map(|values| keyed.layout.encode(&borrowed(values)).unwrap());
        prop_assert_eq!(left.cmp(&right), keyed.compare(&a, &b));
    }

    #[test]
    fn a_key_decodes_to_the_values_it_was_made_of((Keyed { layout, .. }, a, _) in keys()) {
        let key = layout.encode(&borrowed(&a)).unwrap();
        prop_assert_eq!(layout.decode(&key).unwrap(), a);
        let mut longer = key.clone();
        longer.extend_from_slice(b"more");
        prop_assert_eq!(layout.extent(&longer).unwrap(), key.len());
        prop_assert!(layout.decode(&longer).is_err());
    }

    #[test]
    fn a_prefix_holds_exactly_the_keys_that_begin_with_its_values((keyed, a, b) in keys(), at in 0_usize..8) {
        let layout = keyed.layout;
        let length = at % (a.len() + 1);
        let values = borrowed(&a[..length]);
        let key = layout.encode(&borrowed(&b)).unwrap();
        let begins = b[..length] == a[..length];
        prop_assert_eq!(key.starts_with(&layout.encode_prefix(&values).unwrap()), begins);
        prop_assert_eq!(within(&layout, &RowRange::prefix(&values), &key).unwrap(), begins);
    }

    #[test]
    fn bounds_of_some_columns_stand_for_all_keys_that_begin_with_them((keyed, a, b) in keys(), at in 0_usize..8) {
        let layout = &keyed.layout;
        let length = at % (a.len() + 1);
        let values = borrowed(&a[..length]);
        let key = layout.encode(&borrowed(&b)).unwrap();
        let order = keyed.compare(&b[..length], &a[..length]);
        let open = Bound::Unbounded;
        let lies = |lower, upper| within(layout, &RowRange::new(lower, upper), &key).unwrap();
        prop_assert_eq!(lies(Bound::Included(&values), open), order.is_ge());
        prop_assert_eq!(lies(Bound::Excluded(&values), open), order.is_gt());
        prop_assert_eq!(lies(open, Bound::Included(&values)), order.is_le());
        prop_assert_eq!(lies(open, Bound::Excluded(&values)), order.is_lt());
    }

    #[test]
    fn arbitrary_bytes_are_decoded_or_refused(
        (Keyed { layout, .. }, _, _) in keys(), bytes in proptest::collection::vec(prop_oneof![0..3_u8, any::<u8>()], 0..40),
    ) {
        match layout.decode(&bytes) {
            Ok(values) => prop_assert_eq!(layout.encode(&borrowed(&values)).unwrap(), &bytes[..]),
            Err(error) => prop_assert!(matches!(error, Error::Corruption { .. }), "{}", error),
        }
        if let Ok(extent) = layout.extent(&bytes) {
            prop_assert!(extent <= bytes.len());
        }
    }
}

/// The bytes are in the files of databases, so they never change.
#[test]
fn a_key_in_descending_order_has_the_flipped_bytes_of_the_ascending_one() {
    let schema = people().schema().clone();
    let columns = ["country", "mail", "name"];
    let values = [Value::Int(1), Value::Text("a\0"), Value::Text("b")];
    let ascending = [0x80, 1, 1, b'a', 0, 0xFF, 0, 0, b'b', 0, 0];
    let key = KeyLayout::new("t", &schema, columns).unwrap();
    assert_eq!(key.encode(&values).unwrap(), ascending);
    let key = KeyLayout::new("t", &schema, columns.map(desc)).unwrap();
    assert_eq!(key.encode(&values).unwrap(), ascending.map(|byte| !byte));
    let key = KeyLayout::new("t", &schema, [asc("country"), desc("mail"), asc("name")]).unwrap();
    let mixed = [0x80, 1, 0xFE, !b'a', 0xFF, 0, 0xFF, 0xFF, b'b', 0, 0];
    assert_eq!(key.encode(&values).unwrap(), mixed);
    assert_eq!(key.decode(&mixed).unwrap(), values.map(Value::into_owned));
    assert_eq!(key.encode(&[Value::Int(1), Value::Null, "".into()]).unwrap(), [0x80, 1, 0xFF, 0, 0]);
}

#[test]
fn small_integers_make_short_keys() {
    let key = people().primary_key().encode(&[Value::Int(1), Value::Int(2)]).unwrap();
    assert_eq!(key, [0x80, 1, 0x80, 0, 0, 2]);
}

#[test]
fn a_range_with_crossed_or_equal_bounds_is_empty() {
    let table = people();
    let (low, high) = ([1, 5].map(Value::Int), [1, 9].map(Value::Int));
    let span = |lower, upper| table.primary_key().span(&RowRange::new(lower, upper)).unwrap();
    assert!(span(Bound::Included(&high), Bound::Excluded(&low)).is_none());
    assert!(span(Bound::Excluded(&low[..1]), Bound::Included(&low)).is_none());
    assert!(span(Bound::Excluded(&low), Bound::Excluded(&low)).is_none());
    assert!(span(Bound::Included(&low), Bound::Excluded(&low)).is_none());
    assert!(span(Bound::Excluded(&low), Bound::Included(&low)).is_none());
    assert!(span(Bound::Included(&low), Bound::Included(&low)).is_some());
}

#[test]
fn a_wrong_number_of_key_values_is_refused() {
    let table = people();
    let three = [1, 2, 3].map(Value::Int);
    assert_eq!(
        table.primary_key().encode(&three[..1]).unwrap_err().to_string(),
        "table people: 1 values given for the key (country, id)",
    );
    assert!(table.primary_key().encode_prefix(&three).is_err());
    assert!(table.primary_key().encode(&[Value::Null, Value::Int(1)]).is_err());
}
