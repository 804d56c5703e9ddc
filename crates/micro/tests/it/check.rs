//! The check after a run can fail, both ways.

use lydite_micro::{Bounds, Data, Engines, Totals, check::whole};

#[test]
fn counters_must_show_every_acknowledged_update_once() {
    let exact = Bounds { acknowledged: 10, unknown: 0 };
    assert!(exact.allow(5, 15));
    assert!(!exact.allow(5, 14), "a lost update");
    assert!(!exact.allow(5, 16), "a doubled one");
}

#[test]
fn updates_of_unknown_outcome_widen_the_bound_upwards_only() {
    let wide = Bounds { acknowledged: 10, unknown: 4 };
    assert!((15..=19).all(|after| wide.allow(5, after)));
    assert!(!wide.allow(5, 14) && !wide.allow(5, 20));
}

#[test]
fn missing_records_and_cut_texts_are_told() {
    let data = Data { tables: 2, records: 10, record_bytes: 20 };
    let good = Totals { records: 40, counters: 3, bad_texts: 0 };
    assert_eq!(whole(&good, &data, Engines::Two), Ok(()));
    assert!(whole(&good, &data, Engines::One).unwrap_err().contains("40 records instead of 20"));
    let cut = Totals { bad_texts: 2, ..good };
    assert!(whole(&cut, &data, Engines::Two).unwrap_err().contains("2 records are not 4 characters"));
}
