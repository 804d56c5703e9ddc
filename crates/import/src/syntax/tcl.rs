//! Scripts in Tcl, and calls in Python: commands with literal words. Nothing is evaluated.

/// A word of a command.
#[derive(Clone)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// True if a part of it is a variable or a command's result.
    pub(crate) computed: bool,
    /// True if it stands in braces.
    braced: bool,
}

/// A command.
#[derive(Clone)]
pub(crate) struct Command {
    pub(crate) words: Vec<Word>,
    /// Line, from 1.
    pub(crate) line: usize,
    /// True if it stands inside another one, such as `if` or `foreach`, which may run it, never or many times.
    pub(crate) inside: bool,
}

/// Greatest depth of commands within commands.
const DEEPEST: usize = 16;
/// Commands whose words in braces are commands.
const BLOCKS: &[&str] = &[
    "if",
    "foreach",
    "for",
    "while",
    "proc",
    "catch",
    "try",
    "switch",
    "namespace",
    "eval",
    "uplevel",
    "dict",
    "elseif",
];

/// Returns the commands of a script in their order, those within blocks behind their block.
pub(crate) fn commands(text: &str) -> Vec<Command> {
    let mut found = Vec::new();
    collect(text, 1, 0, &mut found);
    found
}

fn collect(text: &str, line: usize, depth: usize, found: &mut Vec<Command>) {
    let mut reader = Reader { letters: text.chars().peekable(), line };
    while let Some((words, line, ends)) = reader.command() {
        let Some(first) = words.first() else { continue };
        let is_block = BLOCKS.contains(&first.text.as_str());
        let inner: Vec<(String, usize)> = words
            .iter()
            .zip(&ends)
            .filter(|(word, _)| is_block && word.braced && depth < DEEPEST)
            .map(|(word, line)| (word.text.clone(), *line))
            .collect();
        found.push(Command { words, line, inside: depth > 0 });
        for (text, line) in inner {
            collect(&text, line, depth + 1, found);
        }
    }
}

struct Reader<'t> {
    letters: std::iter::Peekable<std::str::Chars<'t>>,
    line: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let letter = self.letters.next()?;
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    /// Returns the next command, its line, and the line of each word; none at the end.
    fn command(&mut self) -> Option<(Vec<Word>, usize, Vec<usize>)> {
        while self.letters.peek().is_some_and(|letter| letter.is_whitespace() || *letter == ';') {
            self.next();
        }
        let line = self.line;
        if *self.letters.peek()? == '#' {
            let mut escaped = false;
            while let Some(letter) = self.next() {
                if letter == '\n' && !escaped {
                    break;
                }
                escaped = letter == '\\' && !escaped;
            }
            return Some((Vec::new(), line, Vec::new()));
        }
        let (mut words, mut lines) = (Vec::new(), Vec::new());
        loop {
            match self.letters.peek() {
                None | Some('\n' | ';') => break,
                Some(letter) if letter.is_whitespace() => {
                    self.next();
                }
                Some(_) => {
                    lines.push(self.line);
                    if let Some(word) = self.word() {
                        words.push(word);
                    } else {
                        lines.pop();
                    }
                }
            }
        }
        Some((words, line, lines))
    }

    /// Reads a word; none for the end of a continued line.
    fn word(&mut self) -> Option<Word> {
        let mut word = Word { text: String::new(), computed: false, braced: false };
        match self.letters.peek() {
            Some('{') => {
                self.next();
                word.braced = true;
                self.braces(&mut word.text);
            }
            Some('"') => {
                self.next();
                self.until(&mut word, |letter| letter == '"');
                self.next();
            }
            _ => {
                let mut letters = self.letters.clone();
                if letters.next() == Some('\\') && letters.next() == Some('\n') {
                    self.next();
                    self.next();
                    return None;
                }
                self.until(&mut word, |letter| letter.is_whitespace() || letter == ';');
            }
        }
        // Text right behind a closing brace or quote belongs to no word that Tcl accepts.
        while self.letters.peek().is_some_and(|letter| !letter.is_whitespace() && *letter != ';') {
            self.next();
            word.computed = true;
        }
        Some(word)
    }

    /// Reads up to the brace that closes.
    fn braces(&mut self, text: &mut String) {
        let mut depth = 1_usize;
        while let Some(letter) = self.next() {
            match letter {
                '\\' => {
                    text.push(letter);
                    text.extend(self.next());
                    continue;
                }
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
            text.push(letter);
        }
    }

    /// Reads letters with their substitutions up to one that ends the word.
    fn until(&mut self, word: &mut Word, ends: fn(char) -> bool) {
        while let Some(&letter) = self.letters.peek() {
            if ends(letter) {
                return;
            }
            self.next();
            match letter {
                '\\' => match self.next() {
                    Some('n') => word.text.push('\n'),
                    Some('t') => word.text.push('\t'),
                    Some('\n') => word.text.push(' '),
                    Some(other) => word.text.push(other),
                    None => {}
                },
                '$' => word.computed = true,
                '[' => {
                    word.computed = true;
                    let mut depth = 1_usize;
                    while let Some(letter) = self.next() {
                        depth = match letter {
                            '[' => depth + 1,
                            ']' => depth - 1,
                            _ => depth,
                        };
                        if depth == 0 {
                            break;
                        }
                    }
                }
                other => word.text.push(other),
            }
        }
    }
}

/// Returns the calls `name('a','b')` of a script in Python, one a line, as commands.
pub(crate) fn calls(text: &str) -> Vec<Command> {
    let lines = text.lines().enumerate();
    lines.filter_map(|(number, line)| call(line, number + 1)).collect()
}

fn call(line: &str, number: usize) -> Option<Command> {
    let trimmed = line.trim();
    let (name, rest) = trimmed.split_once('(')?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if name.is_empty() || trimmed.starts_with('#') || !name.chars().all(plain) {
        return None;
    }
    let mut words = vec![Word { text: name.to_owned(), computed: false, braced: false }];
    let mut letters = rest.chars().peekable();
    loop {
        match letters.peek().copied() {
            None | Some(')') => break,
            Some(quote @ ('\'' | '"')) => {
                letters.next();
                let mut text = String::new();
                while let Some(letter) = letters.next().filter(|letter| *letter != quote) {
                    match letter {
                        '\\' => text.extend(letters.next()),
                        other => text.push(other),
                    }
                }
                words.push(Word { text, computed: false, braced: false });
            }
            Some(letter) if letter.is_whitespace() || letter == ',' => {
                letters.next();
            }
            Some(_) => {
                let mut text = String::new();
                while let Some(letter) = letters.next_if(|letter| *letter != ',' && *letter != ')') {
                    text.push(letter);
                }
                let computed = text.trim().parse::<f64>().is_err();
                words.push(Word { text: text.trim().to_owned(), computed, braced: false });
            }
        }
    }
    Some(Command { words, line: number, inside: line.starts_with([' ', '\t']) })
}

#[cfg(test)]
mod tests {
    use super::{Command, calls, commands};

    fn shown(commands: Vec<Command>) -> Vec<String> {
        let word = |word: &super::Word| format!("{}{}", word.text, if word.computed { "?" } else { "" });
        let of = |command: &Command| {
            let words: Vec<String> = command.words.iter().map(word).collect();
            format!("{}{}{}", command.line, if command.inside { "> " } else { " " }, words.join("|"))
        };
        commands.iter().map(of).collect()
    }

    #[test]
    fn words_of_tcl_are_literal_or_computed() {
        let text = "# a b\na {b c} \"d e\" \\\n  f; g $h [i [j]] k$l\nif {$x > 1} {\n  m n\n} else { o p }\n";
        assert_eq!(
            shown(commands(text)),
            [
                "2 a|b c|d e|f",
                "3 g|h?|?|kl?",
                "4 if|$x > 1|\n  m n\n|else| o p ",
                "4> x?|>|1",
                "5> m|n",
                "6> o|p"
            ]
        );
    }

    #[test]
    fn calls_of_python_are_commands() {
        let text = "import os\na('b', \"c d\",1, e)\nif x:\n  f('g')\n";
        assert_eq!(shown(calls(text)), ["2 a|b|c d|1|e?", "4> f|g"]);
    }
}
