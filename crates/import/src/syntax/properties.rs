//! Java properties: names and values after `=`, `:` or a space, with escapes and continued lines.

use crate::given::Given;

/// Reads the properties of a text.
pub(crate) fn parse(text: &str) -> Vec<Given> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let mut whole = line.to_owned();
        while ends_open(&whole) {
            whole.pop();
            match lines.next() {
                Some((_, next)) => whole += next.trim_start(),
                None => break,
            }
        }
        let (name, value) = split(&whole);
        found.push(Given::new(unescaped(name), unescaped(value), number + 1));
    }
    found
}

/// True if a line goes on in the next one: an odd number of backslashes ends it.
fn ends_open(line: &str) -> bool {
    line.chars().rev().take_while(|letter| *letter == '\\').count() % 2 == 1
}

/// Splits a line into name and value.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|letter: char| {
        let ends = !escaped && (letter == '=' || letter == ':' || letter.is_whitespace());
        escaped = letter == '\\' && !escaped;
        ends
    });
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start();
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (name, rest.trim_start())
}

/// Resolves escapes.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('f') => out.push('\u{c}'),
            Some('u') => {
                let digits: String = letters.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                out.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

/// Returns the names of a text's properties.
pub(crate) fn names(text: &str) -> Vec<String> {
    parse(text).into_iter().map(|given| given.name).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn names_and_values_are_those_that_java_reads() {
        let text =
            "# no=1\n a = b \nc:d\ne f g\nh=\\\n  i\\\n  j\nk\\=l=m\\u0041\\n\npath=C:\\\\data\\\\x\nalone\n";
        let read: Vec<_> =
            parse(text).into_iter().map(|given| (given.name, given.value.unwrap(), given.line)).collect();
        let of = |name: &str, value: &str, line| (name.to_owned(), value.to_owned(), line);
        assert_eq!(
            read,
            [
                of("a", "b ", 2),
                of("c", "d", 3),
                of("e", "f g", 4),
                of("h", "ij", 5),
                of("k=l", "mA\n", 8),
                of("path", "C:\\data\\x", 9),
                of("alone", "", 10)
            ]
        );
    }
}
