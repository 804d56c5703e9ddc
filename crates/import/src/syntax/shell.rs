//! Lines of a shell: words with their quotes, and the values that only a shell knows.

/// A word of a command.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// True if a part of it is a variable or a command's output, which the text leaves out.
    pub(crate) computed: bool,
    /// Line, from 1.
    pub(crate) line: usize,
}

/// Characters that end a command.
const ENDS: &str = ";&|()\n";

/// Returns the commands of a text, each as its words.
pub(crate) fn commands(text: &str) -> Vec<Vec<Word>> {
    let mut reader =
        Reader { letters: text.chars().peekable(), line: 1, words: Vec::new(), commands: Vec::new() };
    while reader.step() {}
    reader.end();
    reader.commands
}

struct Reader<'t> {
    letters: std::iter::Peekable<std::str::Chars<'t>>,
    line: usize,
    words: Vec<Word>,
    commands: Vec<Vec<Word>>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let letter = self.letters.next()?;
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    /// Ends a command.
    fn end(&mut self) {
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }

    /// Reads up to the end of a word or of a command; false at the end of the text.
    fn step(&mut self) -> bool {
        let Some(&letter) = self.letters.peek() else { return false };
        match letter {
            '\n' => {
                self.next();
                self.end();
            }
            letter if ENDS.contains(letter) => {
                self.next();
                self.end();
            }
            letter if letter.is_whitespace() => {
                self.next();
            }
            '#' => {
                while self.letters.peek().is_some_and(|letter| *letter != '\n') {
                    self.next();
                }
            }
            '>' | '<' => {
                self.next();
                self.redirection();
            }
            _ => {
                if let Some(word) = self.word() {
                    self.words.push(word);
                }
            }
        }
        true
    }

    /// Leaves out the file of a redirection.
    fn redirection(&mut self) {
        while self.letters.peek().is_some_and(|letter| ">&< ".contains(*letter)) {
            self.next();
        }
        self.word();
    }

    /// Reads a word; none for a continued line, and for the number of a descriptor right before a redirection.
    fn word(&mut self) -> Option<Word> {
        let mut word = Word { text: String::new(), computed: false, line: self.line };
        let mut is_empty = true;
        while let Some(&letter) = self.letters.peek() {
            if letter.is_whitespace() || ENDS.contains(letter) {
                break;
            }
            if "><".contains(letter) {
                let is_number = !is_empty && word.text.bytes().all(|byte| byte.is_ascii_digit());
                return (!is_number).then_some(word);
            }
            self.next();
            match letter {
                '\\' => match self.next() {
                    Some('\n') if word.text.is_empty() && is_empty => return None,
                    Some('\n') | None => {}
                    Some(other) => word.text.push(other),
                },
                '\'' => {
                    while let Some(letter) = self.next().filter(|letter| *letter != '\'') {
                        word.text.push(letter);
                    }
                }
                '"' => self.quoted(&mut word),
                '$' | '`' => self.computed(letter, &mut word),
                other => word.text.push(other),
            }
            is_empty = false;
        }
        Some(word)
    }

    /// Reads the rest of a text in double quotes.
    fn quoted(&mut self, word: &mut Word) {
        while let Some(letter) = self.next() {
            match letter {
                '"' => return,
                '\\' => match self.next() {
                    Some(escaped) if "$`\"\\".contains(escaped) => word.text.push(escaped),
                    Some('\n') | None => {}
                    Some(other) => word.text.extend(['\\', other]),
                },
                '$' | '`' => self.computed(letter, word),
                other => word.text.push(other),
            }
        }
    }

    /// Leaves out a variable or the output of a command.
    fn computed(&mut self, begin: char, word: &mut Word) {
        let next = self.letters.peek().copied();
        let close = match (begin, next) {
            ('`', _) => '`',
            (_, Some('{')) => '}',
            (_, Some('(')) => ')',
            (_, Some(letter)) if letter.is_alphanumeric() || "_@*#?!$-".contains(letter) => {
                word.computed = true;
                self.next();
                while self.letters.peek().is_some_and(|letter| letter.is_alphanumeric() || *letter == '_') {
                    self.next();
                }
                return;
            }
            _ => {
                word.text.push(begin);
                return;
            }
        };
        word.computed = true;
        while self.next().is_some_and(|letter| letter != close) {}
    }
}

/// Returns the name of the program that a word calls, without its folder.
pub(crate) fn program(word: &Word) -> &str {
    let text = word.text.as_str();
    text.rsplit(['/', '\\']).next().unwrap_or(text)
}

/// Splits a word `--NAME=VALUE` or `NAME=VALUE`.
pub(crate) fn split(word: &Word) -> (&str, Option<&str>) {
    match word.text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word.text.as_str(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn words_are_those_of_a_shell() {
        let text = "# no\nsudo a --b 'c d' \"e\\\"$F\" \\\n  -g\\ h 3 > out.log 2>&1 && i; j | k `l m` x$(n)y ${o}\n";
        let read: Vec<Vec<(String, bool)>> = commands(text)
            .into_iter()
            .map(|words| words.into_iter().map(|word| (word.text, word.computed)).collect())
            .collect();
        let of = |words: &[(&str, bool)]| -> Vec<(String, bool)> {
            words.iter().map(|(text, computed)| ((*text).to_owned(), *computed)).collect()
        };
        assert_eq!(
            read,
            [
                of(&[
                    ("sudo", false),
                    ("a", false),
                    ("--b", false),
                    ("c d", false),
                    ("e\"", true),
                    ("-g h", false),
                    ("3", false)
                ]),
                of(&[("i", false)]),
                of(&[("j", false)]),
                of(&[("k", false), ("", true), ("xy", true), ("", true)]),
            ]
        );
    }
}
