//! Statements on which a server spent the most time, from the counts that it keeps for each of them.

use std::collections::HashMap;

use crate::secret::may_be_secret;

/// Most statements of a server that are kept.
const MOST: usize = 10;
/// Longest text of a statement, in characters.
const LONGEST: usize = 1_000;

/// Work that a server did for a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatementWork {
    /// Number of times that it ran.
    pub calls: u64,
    /// Total time of these, in seconds.
    pub seconds: f64,
    /// Rows that it returned or changed.
    pub rows: u64,
    /// Blocks that it read from outside of the server's cache, and found in it; `None` if the server does not count
    /// them.
    pub blocks: Option<(u64, u64)>,
}

impl StatementWork {
    /// Returns the growth since an earlier moment; `None` if it did not run, or if the counts began again.
    fn since(self, earlier: Self) -> Option<Self> {
        let blocks = match (self.blocks, earlier.blocks) {
            (Some((read, hit)), Some((read_before, hit_before))) => {
                Some((read.checked_sub(read_before)?, hit.checked_sub(hit_before)?))
            }
            (blocks, _) => blocks,
        };
        let grown = Self {
            calls: self.calls.checked_sub(earlier.calls)?,
            seconds: self.seconds - earlier.seconds,
            rows: self.rows.checked_sub(earlier.rows)?,
            blocks,
        };
        (grown.calls > 0 && grown.seconds >= 0.0).then_some(grown)
    }
}

/// A statement with the work for it between two readings.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementUse {
    /// Text, with placeholders for values.
    pub text: String,
    /// Work.
    pub work: StatementWork,
}

/// The counts of all statements of a server at a first reading, by their keys.
#[derive(Debug, Default)]
pub struct StatementCounts(Option<HashMap<String, StatementWork>>);

impl StatementCounts {
    /// Returns the keys of the statements that took the most time since the first reading, with their work, the most
    /// first; none at the first reading.
    pub fn since_first(&mut self, now: HashMap<String, StatementWork>) -> Vec<(String, StatementWork)> {
        let Some(first) = &self.0 else {
            self.0 = Some(now);
            return Vec::new();
        };
        let grown = now.into_iter().filter_map(|(key, work)| {
            let before = first.get(&key).copied().unwrap_or_default();
            let work = work.since(before)?;
            Some((key, work))
        });
        let mut grown: Vec<_> = grown.collect();
        grown.sort_by(|(one, a), (other, b)| b.seconds.total_cmp(&a.seconds).then_with(|| one.cmp(other)));
        grown.truncate(MOST);
        grown
    }
}

/// Gives statements their texts, which are found by their keys. Leaves out those without one, and those that may contain a
/// secret: servers keep the values of some statements, such as CREATE USER.
#[must_use]
pub fn with_texts(
    statements: Vec<(String, StatementWork)>,
    texts: &HashMap<String, String>,
) -> Vec<StatementUse> {
    let named = statements.into_iter().filter_map(|(key, work)| {
        let text = texts.get(&key).filter(|text| !may_be_secret(text))?;
        Some(StatementUse { text: shortened(text), work })
    });
    named.collect()
}

/// Returns a text on one line, cut if it is very long.
fn shortened(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(calls: u64, seconds: f64) -> StatementWork {
        StatementWork { calls, seconds, rows: 2 * calls, blocks: Some((0, calls)) }
    }

    fn reading(of: &[(&str, StatementWork)]) -> HashMap<String, StatementWork> {
        of.iter().map(|(key, work)| ((*key).to_owned(), *work)).collect()
    }

    #[test]
    fn statements_have_their_growth_since_the_first_reading_the_slowest_first() {
        let mut counts = StatementCounts::default();
        let first = reading(&[("a", work(10, 1.0)), ("same", work(5, 9.0)), ("again", work(7, 2.0))]);
        assert!(counts.since_first(first).is_empty());
        let second = reading(&[
            ("a", work(14, 1.5)),
            ("same", work(5, 9.0)),
            ("again", work(3, 2.5)),
            ("new", work(2, 4.0)),
        ]);
        let found = counts.since_first(second);
        assert_eq!(found, [("new".to_owned(), work(2, 4.0)), ("a".to_owned(), work(4, 0.5))]);
    }

    #[test]
    fn at_most_ten_statements_are_kept() {
        let mut counts = StatementCounts::default();
        counts.since_first(HashMap::new());
        let all = (0..30).map(|n| (n.to_string(), work(1, f64::from(n)))).collect();
        let found = counts.since_first(all);
        assert_eq!((found.len(), found[0].0.as_str()), (10, "29"));
    }

    #[test]
    fn texts_are_on_one_line_and_those_with_secrets_are_left_out() {
        let texts = [("a", "SELECT\n   1"), ("b", "CREATE USER u PASSWORD 'x'"), ("c", &"x".repeat(2_000))];
        let texts = texts.into_iter().map(|(key, text)| (key.to_owned(), text.to_owned())).collect();
        let all = ["a", "b", "c", "d"].map(|key| (key.to_owned(), work(1, 1.0)));
        let found: Vec<String> =
            with_texts(all.into(), &texts).into_iter().map(|statement| statement.text).collect();
        assert_eq!(found[0], "SELECT 1");
        assert_eq!((found.len(), found[1].chars().count()), (2, LONGEST + 1));
    }
}
