//! Numbers about the sources: how long functions are, and how many errors are texts alone.

use crate::workspace::{Source, Workspace};

/// A function of more lines than this is a long one.
pub const LONG: usize = 70;

/// A function of the product.
#[derive(Debug)]
pub struct Function {
    /// Path of its file from `crates/`, and its name.
    pub name: String,
    /// Lines from its name to its closing brace.
    pub lines: usize,
}

/// Returns all functions of the product, without those of tests.
pub fn functions(workspace: &Workspace) -> Vec<Function> {
    each_file(workspace)
        .flat_map(|(path, file)| {
            functions_of(&file.product().collect::<Vec<_>>())
                .map(move |(name, lines)| Function { name: format!("{path} {name}"), lines })
        })
        .collect()
}

/// Returns the files of the product with results whose error is a text, each with the number of these.
pub fn text_errors(workspace: &Workspace) -> Vec<(String, usize)> {
    let of = |(path, file): (String, &Source)| {
        let code: Vec<&str> = file.code().collect();
        (path, count_text_errors(&code.join(" ")))
    };
    each_file(workspace).map(of).filter(|(_, count)| *count > 0).collect()
}

/// Returns the files of what is shipped, each with its path from `crates/`.
fn each_file(workspace: &Workspace) -> impl Iterator<Item = (String, &Source)> {
    let shipped = |folder: &str| !matches!(folder, "testkit" | "architecture");
    let crates = workspace.crates.iter().filter(move |of| shipped(&of.folder));
    crates.flat_map(|of| of.files.iter().map(|file| (format!("{}/src/{}", of.folder, file.path), file)))
}

/// Returns the name and the lines of each function of a formatted file: it ends with a brace below its begin.
fn functions_of(lines: &[&str]) -> impl Iterator<Item = (String, usize)> + use<> {
    let mut found = Vec::new();
    for (begin, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let words = code.split_once("fn ").filter(|(before, _)| {
            before.split_whitespace().all(|word| {
                word.starts_with("pub") || matches!(word, "const" | "unsafe" | "async" | "extern" | "\"C\"")
            })
        });
        let Some((_, rest)) = words else { continue };
        // A declaration of a trait has no body.
        let ends = lines[begin..].iter().find(|line| line.ends_with('{') || line.ends_with([';', '}']));
        if ends.is_some_and(|line| line.ends_with(';')) {
            continue;
        }
        let closing = format!("{}}}", " ".repeat(indent));
        let Some(length) = lines[begin..].iter().position(|line| *line == closing) else { continue };
        let name = rest.split(['(', '<']).next().unwrap_or_default();
        found.push((name.to_owned(), length + 1));
    }
    found.into_iter()
}

/// Counts the results whose error is a text.
fn count_text_errors(code: &str) -> usize {
    code.match_indices("Result<").filter(|(at, begin)| has_text_error(&code[at + begin.len()..])).count()
}

/// Returns true if the arguments of a type, whose opening bracket is before the text, end with a text.
fn has_text_error(arguments: &str) -> bool {
    let (mut depth, mut last, mut before) = (0_i32, 0, ' ');
    for (at, letter) in arguments.char_indices() {
        match letter {
            // The arrow of a function closes nothing.
            '>' if before == '-' => {}
            '<' | '(' | '[' => depth += 1,
            '>' if depth == 0 => return last > 0 && arguments[last..at].trim() == "String",
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => last = at + 1,
            _ => {}
        }
        before = letter;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_with_a_text_as_error_are_counted() {
        let of = |code: &str| count_text_errors(code);
        assert_eq!(of("fn a() -> Result<(), String> {"), 1);
        assert_eq!(of("fn a() -> Result<Vec<(u32, String)>, TargetError> {"), 0);
        assert_eq!(of("fn a() -> Result<String> {"), 0);
        assert_eq!(of("x: Result<Box<dyn Fn(u8) -> Result<u8, String>>, String>"), 2);
    }

    #[test]
    fn functions_are_as_long_as_they_stand() {
        let text =
            "impl A {\n    pub(crate) const fn b() {\n        c();\n    }\n}\nfn d(\n    e: u8,\n) {\n}\n";
        let lines: Vec<&str> = text.lines().collect();
        let found: Vec<(String, usize)> = functions_of(&lines).collect();
        assert_eq!(found, [("b".to_owned(), 3), ("d".to_owned(), 4)]);
    }
}
