//! Price sheets: TOML files with the parts of a configuration.

use lydite_tpcc::sizing::{Part, YEARS};
use lydite_tpcc::{Cents, Rate};
use std::fs;
use std::path::Path;
use toml::{Table, Value};

/// Keys of a part.
const KEYS: [&str; 6] = ["part", "count", "price", "maintenance", "years", "discount"];
/// Most pieces, years and units of the currency: a larger number is a mistake.
const MAX: f64 = 1e12;
/// The same in cents.
const MOST_CENTS: i128 = 100_000_000_000_000;

/// A price sheet.
pub(super) struct PriceFile {
    pub(super) currency: String,
    pub(super) parts: Vec<Part>,
}

/// Reads a price sheet.
///
/// # Errors
/// Everything that is wrong in the file, one line each.
pub(super) fn read(path: &Path) -> Result<PriceFile, Vec<String>> {
    let place = path.display();
    let text = fs::read_to_string(path).map_err(|error| vec![format!("--prices: {place}: {error}")])?;
    parse(&text)
        .map_err(|errors| errors.into_iter().map(|error| format!("--prices: {place}: {error}")).collect())
}

fn parse(text: &str) -> Result<PriceFile, Vec<String>> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| vec![error.message().to_owned()])?;
    let mut errors = Vec::new();
    let mut currency = String::new();
    let mut parts = Vec::new();
    for (key, value) in &table {
        match (key.as_str(), value) {
            ("currency", Value::String(name)) if !name.is_empty() => currency.clone_from(name),
            ("currency", _) => errors.push("currency must be a name, such as \"USD\"".to_owned()),
            ("part", Value::Array(entries)) => {
                for (number, entry) in (1..).zip(entries) {
                    parts.extend(part(number, entry, &mut errors));
                }
            }
            (other, _) => {
                errors.push(format!("unknown key {other:?}: a price sheet has currency and [[part]]"))
            }
        }
    }
    if !table.contains_key("currency") {
        errors.push("has no currency: write currency = \"USD\"".to_owned());
    }
    if !table.contains_key("part") {
        errors.push("has no [[part]]: add one for each part with its name and price".to_owned());
    }
    if errors.is_empty() { Ok(PriceFile { currency, parts }) } else { Err(errors) }
}

/// Reads a part; `None` after an error.
fn part(number: u32, entry: &Value, errors: &mut Vec<String>) -> Option<Part> {
    let Value::Table(entry) = entry else {
        errors.push(format!("part {number} must be a table: write [[part]]"));
        return None;
    };
    let before = errors.len();
    let name = match entry.get("part") {
        Some(Value::String(name)) if !name.is_empty() => name.clone(),
        _ => {
            errors.push(format!("part {number} has no name: write part = \"database server\""));
            String::new()
        }
    };
    for key in entry.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        errors.push(format!("part {number}: unknown key {key:?}: a part has {}", KEYS.join(", ")));
    }
    // Each number is read in hundredths.
    let mut hundredths = |key: &str, default: Option<f64>, most: f64, whole: bool| -> i64 {
        let value = match entry.get(key) {
            Some(Value::Integer(value)) => Some(*value as f64),
            Some(Value::Float(value)) => Some(*value),
            Some(_) => None,
            None => default,
        };
        let scaled = value.map(|value| value * 100.0);
        let unit = if whole { 100.0 } else { 1.0 };
        match scaled {
            Some(scaled)
                if (0.0..=most * 100.0).contains(&scaled)
                    && ((scaled / unit).round() * unit - scaled).abs() < 1e-3 =>
            {
                scaled.round() as i64
            }
            _ => {
                let of = if whole { "a whole number" } else { "a number with two decimals at most" };
                errors.push(format!("part {number}: {key} must be {of} from 0 to {most}"));
                0
            }
        }
    };
    let count = hundredths("count", Some(1.0), 1e6, true) / 100;
    let price = hundredths("price", None, MAX, false);
    let maintenance = hundredths("maintenance", Some(0.0), MAX, false);
    let years = hundredths("years", Some(f64::from(YEARS)), 100.0, true) / 100;
    let discount = hundredths("discount", Some(0.0), 100.0, false);
    let cents = i128::from(count) * (i128::from(price) + i128::from(maintenance) * i128::from(years));
    if cents > MOST_CENTS {
        errors.push(format!(
            "part {number}: costs more than {MAX} in all: check count, price, maintenance and years"
        ));
    }
    (errors.len() == before).then_some(Part {
        name,
        count: count as u32,
        price: Cents(price),
        maintenance: Cents(maintenance),
        years: years as u32,
        // Hundredths of a percent are ten-thousandths.
        discount: Rate(discount as i32),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_has_its_parts_with_defaults() {
        let sheet = parse(
            "currency = 'CNY'\n[[part]]\npart = 'server'\ncount = 3\nprice = 1200.55\nmaintenance = 100\ndiscount = 12.5\n\
             [[part]]\npart = 'switch'\nprice = 9\nyears = 1\n",
        )
        .unwrap_or_else(|errors| panic!("{errors:?}"));
        let [server, switch] = &sheet.parts[..] else { panic!("{:?}", sheet.parts) };
        assert_eq!((server.count, server.price, server.years), (3, Cents(120_055), YEARS));
        assert_eq!((server.maintenance, server.discount), (Cents(10_000), Rate(1_250)));
        assert_eq!((switch.count, switch.years, switch.discount), (1, 1, Rate(0)));
    }

    #[test]
    fn all_errors_of_a_sheet_are_named_at_once() {
        let errors =
            parse("colour = 1\n[[part]]\nprice = -1\n[[part]]\npart = 'x'\nprice = 1.234\ncuont = 2\n")
                .err()
                .unwrap_or_default();
        for wanted in [
            "unknown key \"colour\"",
            "part 1 has no name",
            "part 1: price must be",
            "part 2: price must be",
            "unknown key \"cuont\"",
            "has no currency",
        ] {
            assert!(errors.iter().any(|error| error.contains(wanted)), "{wanted}: {errors:?}");
        }
        assert_eq!(errors.len(), 6);
    }
}
