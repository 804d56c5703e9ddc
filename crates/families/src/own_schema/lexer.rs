//! SQL text cut into statements and tokens, as far as their rules need it.

use super::Syntax;

/// A token of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Name or word without quotes, as written.
    Word(String),
    /// Name in quotes.
    Name(String),
    /// Text in quotes or dollars.
    Text(String),
    /// Any other character.
    Sign(char),
}

/// A statement with the line of its first token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) tokens: Vec<Token>,
}

/// A quote or comment that does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) line: usize,
    pub(super) what: &'static str,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    syntax: Syntax,
    /// True within MySQL's `/*! */`.
    in_code_comment: bool,
}

/// Cuts a text into statements. Pieces without tokens are left out.
pub(super) fn cut(text: &str, syntax: Syntax) -> Result<Vec<Cut>, Open> {
    let mut lexer = Lexer { text, at: 0, syntax, in_code_comment: false };
    let mut statements = Vec::new();
    let (mut tokens, mut begin, mut line) = (Vec::new(), 0, 1);
    loop {
        let before = lexer.at;
        let token = lexer.token()?;
        if matches!(token, None | Some(Token::Sign(';'))) {
            let end = if token.is_some() { lexer.at - 1 } else { lexer.at };
            if !tokens.is_empty() {
                // Comments before the statement stay: MySQL's may have code.
                let text = text[begin..end].trim().to_owned();
                statements.push(Cut { line, text, tokens: std::mem::take(&mut tokens) });
            }
            if token.is_none() {
                return Ok(statements);
            }
            begin = lexer.at;
            continue;
        }
        if tokens.is_empty() {
            line = line_of(text, lexer.start_of_token(before));
        }
        tokens.extend(token);
    }
}

/// Returns the words of any text in capitals, for rules that look into texts and bodies of functions.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let in_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.split(move |letter: char| !in_word(letter)).filter(|word| !word.is_empty()).map(str::to_uppercase)
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn open(&self, from: usize, what: &'static str) -> Open {
        Open { line: line_of(self.text, from), what }
    }

    /// Returns the begin of the token that was read from `before` on, behind blanks and comments.
    fn start_of_token(&self, before: usize) -> usize {
        let mut again = Lexer { at: before, ..*self };
        // It was read once without an error.
        let _skipped = again.skip();
        again.at
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), Open> {
        loop {
            let rest = self.rest();
            let from = self.at;
            let line_comment = self.begins_line_comment();
            if let Some(blank) = rest.chars().next().filter(|letter| letter.is_whitespace()) {
                self.at += blank.len_utf8();
            } else if line_comment {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if self.syntax == Syntax::Mysql && (rest.starts_with("/*!") || rest.starts_with("/*M!")) {
                let digits = rest.find('!').map_or(0, |mark| mark + 1);
                let version = rest[digits..].find(|letter: char| !letter.is_ascii_digit()).unwrap_or(0);
                self.at += digits + version;
                self.in_code_comment = true;
            } else if self.in_code_comment && rest.starts_with("*/") {
                self.at += 2;
                self.in_code_comment = false;
            } else if rest.starts_with("/*") {
                self.at += self.comment().ok_or_else(|| self.open(from, "a comment"))?;
            } else {
                return Ok(());
            }
        }
    }

    /// True before a comment to the end of the line. MySQL's dashes need a blank behind them: `5--1` is a number.
    fn begins_line_comment(&self) -> bool {
        let rest = self.rest();
        let behind = |letter: char| letter.is_whitespace() || letter.is_control();
        match (rest.strip_prefix("--"), self.syntax) {
            (Some(after), Syntax::Mysql) => after.chars().next().is_none_or(behind),
            (Some(_), _) => true,
            (None, Syntax::Mysql) => rest.starts_with('#'),
            (None, _) => false,
        }
    }

    /// Returns the length of a comment in slashes and stars.
    fn comment(&self) -> Option<usize> {
        let rest = self.rest();
        let (mut depth, mut at) = (0_u32, 0);
        loop {
            let here = rest.get(at..).filter(|here| !here.is_empty())?;
            if here.starts_with("/*") && (depth == 0 || self.syntax == Syntax::Postgres) {
                (depth, at) = (depth + 1, at + 2);
            } else if here.starts_with("*/") {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return Some(at);
                }
            } else {
                at += here.chars().next().map_or(1, char::len_utf8);
            }
        }
    }

    fn token(&mut self) -> Result<Option<Token>, Open> {
        self.skip()?;
        let from = self.at;
        let Some(first) = self.rest().chars().next() else { return Ok(None) };
        let in_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
        let token = match first {
            '\'' => Token::Text(self.quoted('\'').ok_or_else(|| self.open(from, "a text in quotes"))?),
            '"' if self.syntax == Syntax::Mysql => {
                Token::Text(self.quoted('"').ok_or_else(|| self.open(from, "a text in quotes"))?)
            }
            '"' | '`' => Token::Name(self.quoted(first).ok_or_else(|| self.open(from, "a name in quotes"))?),
            '$' if self.syntax == Syntax::Postgres && self.dollar_tag().is_some() => {
                Token::Text(self.in_dollars().ok_or_else(|| self.open(from, "a text in dollars"))?)
            }
            letter if in_word(letter) => {
                let end = self.rest().find(|letter: char| !in_word(letter)).unwrap_or(self.rest().len());
                let word = self.rest()[..end].to_owned();
                self.at += end;
                Token::Word(word)
            }
            sign => {
                self.at += sign.len_utf8();
                Token::Sign(sign)
            }
        };
        Ok(Some(token))
    }

    /// Reads a text or name in quotes. `None` if it does not end.
    fn quoted(&mut self, quote: char) -> Option<String> {
        // PostgreSQL has backslashes in E'' alone.
        let before = self.text[..self.at].chars().next_back();
        let escapes = match self.syntax {
            Syntax::Mysql => quote != '`',
            Syntax::Postgres => quote == '\'' && matches!(before, Some('E' | 'e')),
            Syntax::Sqlite => false,
        };
        let mut content = String::new();
        let mut letters = self.rest().char_indices().skip(1).peekable();
        while let Some((at, letter)) = letters.next() {
            if letter == '\\' && escapes {
                content.extend(letters.next().map(|(_, letter)| letter));
            } else if letter != quote {
                content.push(letter);
            } else if letters.peek().is_some_and(|(_, next)| *next == quote) {
                content.push(quote);
                letters.next();
            } else {
                self.at += at + quote.len_utf8();
                return Some(content);
            }
        }
        None
    }

    /// Returns the mark of a text in dollars: `$$` or `$name$`.
    fn dollar_tag(&self) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest[1..].find('$')? + 2;
        let name = &rest[1..end - 1];
        let fits = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
            && !name.starts_with(|letter: char| letter.is_ascii_digit());
        fits.then(|| &rest[..end])
    }

    fn in_dollars(&mut self) -> Option<String> {
        let tag = self.dollar_tag()?.to_owned();
        let body = self.rest().get(tag.len()..)?;
        let end = body.find(&tag)?;
        let content = body[..end].to_owned();
        self.at += end + 2 * tag.len();
        Some(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, syntax: Syntax) -> Vec<(usize, String)> {
        cut(text, syntax).expect("all ends").into_iter().map(|cut| (cut.line, cut.text)).collect()
    }

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes_and_comments() {
        let text = "-- a; b\nSELECT ';', \"x;y\" /* ; /* ; */ ; */;\n\n;SELECT $f$ ; $f$;\n";
        assert_eq!(
            texts(text, Syntax::Postgres),
            [
                (2, "-- a; b\nSELECT ';', \"x;y\" /* ; /* ; */ ; */".to_owned()),
                (4, "SELECT $f$ ; $f$".to_owned())
            ]
        );
        let text = "# a; b\nSELECT 'it\\'s;', `x;y`;/* ; /* ; */ SELECT 2";
        assert_eq!(
            texts(text, Syntax::Mysql),
            [(2, "# a; b\nSELECT 'it\\'s;', `x;y`".to_owned()), (2, "/* ; /* ; */ SELECT 2".to_owned())]
        );
        // MySQL takes dashes without a blank for two signs: the second statement is executed.
        assert_eq!(texts("SELECT 5--1; DROP TABLE customers", Syntax::Mysql).len(), 2);
        assert_eq!(texts("SELECT 5-- 1; DROP TABLE customers", Syntax::Mysql).len(), 1);
        assert_eq!(texts("SELECT 5--1; DROP TABLE customers", Syntax::Postgres).len(), 1);
        assert_eq!(texts("SELECT '\\';SELECT 2", Syntax::Sqlite).len(), 2);
        assert!(texts(" -- nothing\n;;", Syntax::Sqlite).is_empty());
    }

    #[test]
    fn the_code_in_a_versioned_comment_has_tokens() {
        let of = |syntax| cut("/*!50000 DROP TABLE x */", syntax).expect("all ends");
        let words: Vec<Token> = ["DROP", "TABLE", "x"].map(|word| Token::Word(word.into())).to_vec();
        assert_eq!(of(Syntax::Mysql)[0].tokens, words);
        assert!(of(Syntax::Postgres).is_empty());
    }

    #[test]
    fn what_does_not_end_is_named_with_its_line() {
        let of = |text| cut(text, Syntax::Postgres).expect_err("open");
        assert_eq!(of("SELECT 1;\nSELECT 'x"), Open { line: 2, what: "a text in quotes" });
        assert_eq!(of("/* x"), Open { line: 1, what: "a comment" });
        assert_eq!(of("\nDO $$ x $"), Open { line: 2, what: "a text in dollars" });
    }
}
