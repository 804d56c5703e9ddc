//! Distinct error messages with their counts. The log is bounded, however many different messages a database sends.

use serde::{Deserialize, Serialize};

/// Distinct messages that are kept.
const DISTINCT_MAX: usize = 20;
/// Number of first words by which messages are compared. Digits are ignored, because they are keys and times.
const WORDS: usize = 8;
/// Characters of a message that are kept.
const LENGTH_MAX: usize = 300;

/// An error message with its count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// First of the counted messages, in one line.
    pub message: String,
    /// Number of messages.
    pub count: u64,
}

/// Log of messages with their counts.
#[derive(Debug, Default)]
pub(crate) struct ErrorLog {
    seen: Vec<(String, ErrorCount)>,
    others: u64,
}

impl ErrorLog {
    pub(crate) fn note(&mut self, message: &str) {
        let key = key(message);
        if let Some((_, entry)) = self.seen.iter_mut().find(|(known, _)| *known == key) {
            entry.count += 1;
        } else if self.seen.len() < DISTINCT_MAX {
            self.seen.push((key, ErrorCount { message: line(message), count: 1 }));
        } else {
            self.others += 1;
        }
    }

    /// Returns all messages, the most frequent first.
    pub(crate) fn counts(&self) -> Vec<ErrorCount> {
        let mut counts: Vec<ErrorCount> = self.seen.iter().map(|(_, entry)| entry.clone()).collect();
        counts.sort_by_key(|entry| std::cmp::Reverse(entry.count));
        if self.others > 0 {
            counts.push(ErrorCount { message: "other messages".to_owned(), count: self.others });
        }
        counts
    }
}

/// Returns a message in one line of limited length, without control characters for a terminal.
pub(crate) fn line(message: &str) -> String {
    let first = message.lines().next().unwrap_or("");
    first.chars().filter(|letter| !letter.is_control()).take(LENGTH_MAX).collect()
}

fn key(message: &str) -> String {
    let words: Vec<String> = message
        .split_whitespace()
        .take(WORDS)
        .map(|word| word.replace(|c: char| c.is_ascii_digit(), ""))
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_differ_in_numbers_are_one_and_there_are_never_too_many() {
        let mut log = ErrorLog::default();
        for number in 0..100 {
            log.note(&format!("duplicate key ({number},{})", number * 7));
        }
        for letter in 'a'..='z' {
            log.note(&format!("error of kind {letter}"));
        }
        let counts = log.counts();
        assert_eq!(counts.len(), DISTINCT_MAX + 1);
        assert_eq!(counts[0], ErrorCount { message: "duplicate key (0,0)".into(), count: 100 });
        assert_eq!(counts[DISTINCT_MAX].count, 26 - (DISTINCT_MAX as u64 - 1));
        assert_eq!(counts.iter().map(|entry| entry.count).sum::<u64>(), 126);
    }
}
