//! Tests of the key codec.

use super::*;
use crate::error::Error;
use crate::row::{KeyLayout, RowRange};

/// A key layout over all columns, and the values of two keys that often have their first columns in common.
fn keys() -> impl Strategy<Value = (KeyLayout, Vec<OwnedValue>, Vec<OwnedValue>)> {
    columns().prop_flat_map(|columns| {
        let names: Vec<_> = (0..columns.len()).map(|n| format!("c{n}")).collect();
        let layout = KeyLayout::new("t", &schema_of(&columns), &names).unwrap();
        let shared = 0..=columns.len();
        (Just(layout), values_of(&columns), values_of(&columns), shared).prop_map(
            |(layout, a, mut b, shared)| {
                b[..shared].clone_from_slice(&a[..shared]);
                (layout, a, b)
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
    fn keys_are_in_the_order_of_their_values((layout, a, b) in keys()) {
        let (left, right) = (layout.encode(&borrowed(&a)).unwrap(), layout.encode(&borrowed(&b)).unwrap());
        prop_assert_eq!(left.cmp(&right), a.cmp(&b));
    }

    #[test]
    fn a_key_decodes_to_the_values_it_was_made_of((layout, a, _) in keys()) {
        let key = layout.encode(&borrowed(&a)).unwrap();
        prop_assert_eq!(layout.decode(&key).unwrap(), a);
        let mut longer = key.clone();
        longer.extend_from_slice(b"more");
        prop_assert_eq!(layout.extent(&longer).unwrap(), key.len());
        prop_assert!(layout.decode(&longer).is_err());
    }

    #[test]
    fn a_prefix_holds_exactly_the_keys_that_begin_with_its_values((layout, a, b) in keys(), at in 0_usize..8) {
        let length = at % (a.len() + 1);
        let values = borrowed(&a[..length]);
        let key = layout.encode(&borrowed(&b)).unwrap();
        let begins = b[..length] == a[..length];
        prop_assert_eq!(key.starts_with(&layout.encode_prefix(&values).unwrap()), begins);
        prop_assert_eq!(within(&layout, &RowRange::prefix(&values), &key).unwrap(), begins);
    }

    #[test]
    fn bounds_of_some_columns_stand_for_all_keys_that_begin_with_them((layout, a, b) in keys(), at in 0_usize..8) {
        let length = at % (a.len() + 1);
        let values = borrowed(&a[..length]);
        let key = layout.encode(&borrowed(&b)).unwrap();
        let order = b[..length].cmp(&a[..length]);
        let open = Bound::Unbounded;
        let lies = |lower, upper| within(&layout, &RowRange::new(lower, upper), &key).unwrap();
        prop_assert_eq!(lies(Bound::Included(&values), open), order.is_ge());
        prop_assert_eq!(lies(Bound::Excluded(&values), open), order.is_gt());
        prop_assert_eq!(lies(open, Bound::Included(&values)), order.is_le());
        prop_assert_eq!(lies(open, Bound::Excluded(&values)), order.is_lt());
    }

    #[test]
    fn arbitrary_bytes_are_decoded_or_refused(
        (layout, _, _) in keys(), bytes in proptest::collection::vec(prop_oneof![0..3_u8, any::<u8>()], 0..40),
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
