//! The reason in the log of a server that has ended: the line with the gravest word. Hints, and the notes of an end that
//! follows, come behind it.

/// Words of lines that end a server, the gravest first. A server may write several lines with the second one, of sessions
/// that it turns away, before that of its own end.
const PANIC: &str = "PANIC:";
const FATAL: &str = "FATAL:";
/// Word of the first line about a start that fails. The lines behind it tell the consequences.
const ERROR: &str = "[ERROR]";

/// Returns the line with the reason why a server has ended; the last line if no line has such a word, and `None` for an
/// empty log.
#[must_use]
pub fn reason(log: &str) -> Option<&str> {
    let with = |word: &'static str| move |line: &&str| line.contains(word);
    log.lines()
        .find(with(PANIC))
        .or_else(|| log.lines().rfind(with(FATAL)))
        .or_else(|| log.lines().find(with(ERROR)))
        .or_else(|| log.lines().rfind(|line| !line.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_quoted_and_neither_a_hint_nor_a_consequence() {
        for (log, wanted) in [
            (
                "LOG: starting\nFATAL:  lock file is empty\nHINT:  Either another server\n",
                "FATAL:  lock file is empty",
            ),
            (
                "FATAL:  is starting up\nPANIC:  no checkpoint\nLOG:  aborting\nFATAL:  is starting up\n",
                "PANIC:  no checkpoint",
            ),
            (
                "[Note] begins\n[ERROR] unknown variable 'x=3'\n[ERROR] Aborting\n",
                "[ERROR] unknown variable 'x=3'",
            ),
            ("error: no such option\n\n", "error: no such option"),
        ] {
            assert_eq!(reason(log), Some(wanted));
        }
        assert_eq!(reason(""), None);
    }
}
