//! Scans the pieces of Go in a specification. It finds unclosed brackets and strings, which would swallow the code
//! behind them, and collects the names that a piece uses. Go itself checks the rest when the driver is built.

use super::finding::{Finding, Kind};

/// Keywords that begin a statement; `panic` has no value either.
const STATEMENTS: &[&str] =
    &["return", "if", "for", "switch", "select", "var", "const", "type", "go", "defer", "panic"];

/// Checks a piece.
pub(super) fn finding(kind: Kind, text: &str) -> Finding {
    if kind == Kind::Import {
        return match import(text) {
            Some(_) => Finding::default(),
            None => Finding::wrong("is no import", 1),
        };
    }
    let mut found = Finding::default();
    if let Err((error, line)) = tokens(text, &mut found) {
        return Finding::wrong(&error, line);
    }
    let first = text.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    found.expression = !text.contains('\n') && !STATEMENTS.contains(&first);
    found.answers = found.expression || found.mentions.contains("return");
    found
}

/// Returns an import in Go's syntax. `text` is a path, with or without quotation marks, and an optional name before it.
/// Returns `None` if it is no import.
pub(super) fn import(text: &str) -> Option<String> {
    let (name, path) = match text.trim().rsplit_once(char::is_whitespace) {
        Some((name, path)) => (name.trim(), path),
        None => ("", text.trim()),
    };
    let path = path.strip_prefix('"').map_or(Some(path), |path| path.strip_suffix('"'))?;
    let of_path = |c: char| c.is_ascii_alphanumeric() || "._~/-".contains(c);
    let of_name = |c: char| c.is_alphanumeric() || c == '_';
    let good = !path.is_empty() && path.chars().all(of_path) && name.chars().all(of_name);
    good.then(|| format!("{name}{}\"{path}\"", if name.is_empty() { "" } else { " " }))
}

/// Collects names, and lines inside strings.
///
/// # Errors
/// An unclosed bracket or string, and its line.
fn tokens(text: &str, found: &mut Finding) -> Result<(), (String, usize)> {
    let mut letters = text.char_indices().peekable();
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut line = 1;
    let mut before = ' ';
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\n' => line += 1,
            '(' | '[' | '{' => open.push((letter, line)),
            ')' | ']' | '}' => {
                let opening = match letter {
                    ')' => '(',
                    ']' => '[',
                    _ => '{',
                };
                match open.pop() {
                    Some((opened, _)) if opened == opening => {}
                    Some((opened, of)) => {
                        return Err((format!("'{letter}' does not close the '{opened}' of line {of}"), line));
                    }
                    None => return Err((format!("'{letter}' was never opened"), line)),
                }
            }
            '/' if text[at..].starts_with("//") => {
                while letters.next_if(|(_, next)| *next != '\n').is_some() {}
            }
            '/' if text[at..].starts_with("/*") => {
                let length =
                    text[at..].find("*/").ok_or_else(|| ("'/*' was never closed".to_string(), line))?;
                while let Some((_, next)) = letters.next_if(|(here, _)| *here < at + length + 2) {
                    line += usize::from(next == '\n');
                }
            }
            '`' => {
                let begun = line;
                loop {
                    match letters.next() {
                        Some((_, '`')) => break,
                        Some((_, '\n')) => {
                            line += 1;
                            found.continued.insert(line);
                        }
                        Some(_) => {}
                        None => return Err(("'`' was never closed".into(), begun)),
                    }
                }
            }
            '"' | '\'' => loop {
                match letters.next() {
                    Some((_, '\\')) => {
                        letters.next();
                    }
                    Some((_, '\n')) | None => return Err((format!("{letter} was never closed"), line)),
                    Some((_, next)) if next == letter => break,
                    Some(_) => {}
                }
            },
            letter if letter.is_alphabetic() || letter == '_' => {
                let mut end = at + letter.len_utf8();
                while let Some((at, next)) =
                    letters.next_if(|(_, next)| next.is_alphanumeric() || *next == '_')
                {
                    end = at + next.len_utf8();
                }
                // A name behind a dot is a selector.
                if before != '.' {
                    found.mentions.insert(text[at..end].to_string());
                }
            }
            _ => {}
        }
        if !letter.is_whitespace() {
            before = letter;
        }
    }
    match open.pop() {
        Some((opened, line)) => Err((format!("'{opened}' was never closed"), line)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_outside_of_texts_comments_and_selectors() {
        let text = "x := db.key(`a\nb`) // end\n/* limit */ return \"start\", 'l', tx";
        let found = finding(Kind::Code, text);
        let names: Vec<&str> = found.mentions.iter().map(String::as_str).collect();
        assert_eq!(names, ["db", "return", "tx", "x"]);
        assert!(found.continued.contains(&2) && found.answers && !found.expression);
    }

    #[test]
    fn unclosed_text_is_reported_with_its_line() {
        for (text, words) in [
            ("f(\ng[1", "line 2 of it: '[' was never closed"),
            ("f(]", "']' does not close the '(' of line 1"),
            ("f)", "')' was never opened"),
            ("\"a", "\" was never closed"),
            ("x\n`a", "line 2 of it: '`' was never closed"),
        ] {
            let problem = finding(Kind::Code, text).problem().expect("a problem");
            assert!(problem.contains(words), "{problem}");
        }
    }

    #[test]
    fn imports_are_paths_perhaps_with_a_name() {
        assert_eq!(import("bytes").as_deref(), Some("\"bytes\""));
        assert_eq!(import("redis \"a.b/c-d/v9\"").as_deref(), Some("redis \"a.b/c-d/v9\""));
        for text in ["import \"x", "a b c;", "\"a b\"", ""] {
            assert_eq!(import(text), None, "{text}");
        }
    }
}
