//! Placeholders that consoles of clouds and examples have where the password is to stand.

/// True if a password is a placeholder: a text between brackets that speaks of a password, such as `[YOUR-PASSWORD]`,
/// a variable of a shell that nothing has replaced, `your_password`, or the stars of a hidden one.
pub(crate) fn is_placeholder(password: &str) -> bool {
    const BRACKETS: [(char, char); 4] = [('[', ']'), ('<', '>'), ('{', '}'), ('(', ')')];
    let between = |(open, close)| password.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    let speaks = |inner: &str| {
        let inner = inner.to_ascii_lowercase();
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || "-_ {}".contains(letter);
        inner.contains("pass") && inner.chars().all(is_word)
    };
    let is_variable = password.strip_prefix('$').is_some_and(|name| {
        let name = name.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(name);
        name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_') && speaks(name)
    });
    let letters: String = password.chars().filter(char::is_ascii_alphabetic).collect();
    let is_yours = ["yourpassword", "yourpasswordhere"].contains(&letters.to_ascii_lowercase().as_str());
    let is_hidden = password.len() > 3 && password.chars().all(|letter| matches!(letter, '*' | '•'));
    BRACKETS.into_iter().filter_map(between).any(speaks) || is_variable || is_yours || is_hidden
}
