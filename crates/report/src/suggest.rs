//! "Did you mean": the known name nearest to an unknown one.

/// Minimum similarity (Jaro, 0 to 1) for a suggestion, exclusive; clap uses the same for flags.
const NEAR: f64 = 0.7;
/// Shortest name in which one wrong letter, or two swapped letters, is a typing error.
const TYPED: usize = 3;

/// Returns the known name nearest to `name`, if one is near enough.
#[must_use]
pub fn nearest<'a, T: AsRef<str>>(name: &str, known: &'a [T]) -> Option<&'a str> {
    let similarity = |known: &str| {
        // Jaro finds short names with two swapped letters unlike.
        let typed = name.chars().count() >= TYPED && strsim::osa_distance(name, known) <= 1;
        if typed { 1.0 } else { strsim::jaro(name, known) }
    };
    known
        .iter()
        .map(|known| (similarity(known.as_ref()), known.as_ref()))
        .filter(|(near, _)| *near > NEAR)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn typing_errors_find_what_was_meant_and_other_words_nothing() {
        let known = ["tps", "nopm", "new_order.p99", "abort_rate"];
        for (name, meant) in [
            ("tsp", Some("tps")),
            ("tp", Some("tps")),
            ("nopn", Some("nopm")),
            ("neworder.p99", Some("new_order.p99")),
            ("abort-rates", Some("abort_rate")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, &known), meant, "{name}");
        }
    }
}
