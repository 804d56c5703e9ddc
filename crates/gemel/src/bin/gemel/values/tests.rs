//! Values as text and as JSON, and back.

use super::*;

fn column(kind: ColumnType) -> Column {
    Column { name: "c".into(), kind, nullable: true }
}

#[test]
fn the_edges_of_each_type_are_written_and_read_again() {
    let cases: Vec<(ColumnType, OwnedValue, &str)> = vec![
        (ColumnType::I64, OwnedValue::Int(i64::MIN), "-9223372036854775808"),
        (ColumnType::Decimal { scale: 2 }, OwnedValue::Decimal(-5), "-0.05"),
        (ColumnType::Decimal { scale: 0 }, OwnedValue::Decimal(i64::MAX), "9223372036854775807"),
        (ColumnType::Decimal { scale: 18 }, OwnedValue::Decimal(i64::MIN), "-9.223372036854775808"),
        (ColumnType::Text, OwnedValue::Text("\\N".into()), "\\\\N"),
        (ColumnType::Text, OwnedValue::Text("a\n\u{85}ä".into()), "a\\n\\xc2\\x85ä"),
        (ColumnType::Bytes, OwnedValue::Bytes(vec![0, 255]), "00ff"),
        (ColumnType::F64, OwnedValue::Float(-0.0), "-0.0"),
        (ColumnType::F64, OwnedValue::Float(f64::MIN_POSITIVE / 4.0), "5.562684646268003e-309"),
        (ColumnType::F64, OwnedValue::Float(f64::NAN), "NaN"),
        (ColumnType::F64, OwnedValue::Float(f64::from_bits(u64::MAX)), "NaN:ffffffffffffffff"),
        (ColumnType::F64, OwnedValue::Float(f64::NEG_INFINITY), "-inf"),
        (ColumnType::Timestamp, OwnedValue::Timestamp(-1), "1969-12-31T23:59:59.999999Z"),
        (ColumnType::Timestamp, OwnedValue::Timestamp(951_782_400_000_000), "2000-02-29T00:00:00Z"),
        (ColumnType::Timestamp, OwnedValue::Timestamp(i64::MAX), "9223372036854775807"),
        (ColumnType::Bool, OwnedValue::Null, "\\N"),
    ];
    for (kind, value, written) in cases {
        let column = column(kind);
        assert_eq!(text(value.as_value(), kind), written);
        assert_eq!(parse(&column, written), Ok(value.clone()));
        let json = RawValue::from_string(json(value.as_value(), kind)).unwrap();
        assert_eq!(parse_json(&column, &json), Ok(value), "{json}");
    }
}

#[test]
fn values_that_do_not_fit_are_rejected() {
    for (kind, given) in [
        (ColumnType::I16, "32768"),
        (ColumnType::I32, "1.0"),
        (ColumnType::Decimal { scale: 2 }, "1.234"),
        (ColumnType::Decimal { scale: 2 }, "92233720368547758.08"),
        (ColumnType::Decimal { scale: 2 }, "."),
        (ColumnType::Bool, "1"),
        (ColumnType::Text, "\\q"),
        (ColumnType::Text, "\\xff"),
        (ColumnType::Bytes, "0ff"),
        (ColumnType::F64, "1e999"),
        (ColumnType::F64, "NaN:0000000000000001"),
        (ColumnType::Timestamp, "2023-02-29"),
        (ColumnType::Timestamp, "2023-02-28T24:00Z"),
        (ColumnType::Timestamp, "2023-02-28T12:00.5"),
        (ColumnType::Timestamp, "2023-02-28T12:00:00+01:00"),
    ] {
        assert!(parse(&column(kind), given).is_err(), "{kind} {given}");
    }
    assert!(parse(&Column { nullable: false, ..column(ColumnType::I16) }, NULL).is_err());
}

#[test]
fn times_are_read_with_or_without_a_clock() {
    let day = 1_714_521_600_000_000;
    for (given, us) in [
        ("2024-05-01", day),
        ("2024-05-01T00:30", day + 1_800_000_000),
        ("2024-05-01 00:00:01.5Z", day + 1_500_000),
        ("0000-01-01T00:00:00Z", -62_167_219_200_000_000),
    ] {
        assert_eq!(parse_timestamp(given), Some(us), "{given}");
    }
}

#[test]
fn a_list_is_split_at_its_commas_but_not_at_escaped_ones() {
    assert_eq!(split("a,b\\,c,\\\\,"), ["a", "b\\,c", "\\\\", ""]);
    assert_eq!(unescape("b\\,c").unwrap(), b"b,c");
}

#[test]
fn a_json_string_with_half_a_surrogate_pair_is_rejected_with_the_half() {
    let parse = |json: &str| parse_string(&RawValue::from_string(json.to_owned()).unwrap());
    assert_eq!(parse(r#""\ud83d\ude00 \\ud83d""#).unwrap(), "\u{1f600} \\ud83d");
    for (json, half) in [
        (r#""a\ud83d""#, "\\ud83d"),
        (r#""\ude00\ud83d""#, "\\ude00"),
        (r#""\uD83D\n""#, "\\uD83D"),
        (r#""\ud83d\u0041""#, "\\ud83d"),
        (r#""\\\ud83d\ude00\udc00""#, "\\udc00"),
    ] {
        let error = parse(json).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{half} is one half")), "{json}: {error}");
    }
}
