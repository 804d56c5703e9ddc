//! Text columns: strings whose capacity is the width that clause 1.3 gives the column.

use arrayvec::ArrayString;

/// Text of at most `N` bytes (all TPC-C text is ASCII), held in place.
pub type Text<const N: usize> = ArrayString<N>;

/// Customer's last name: C_LAST (clause 4.3.2.3).
pub type LastName = Text<16>;
/// Customer's credit: C_CREDIT, `GC` or `BC`.
pub type Credit = Text<2>;

/// Cuts `s` to at most `N` bytes, at a character boundary. Only for columns that the standard cuts (C_DATA, clause
/// 2.5.2.2).
#[must_use]
pub fn truncated<const N: usize>(s: &str) -> Text<N> {
    let mut end = s.len().min(N);
    while !s.is_char_boundary(end) {
        end -= 1;
    }
    let mut text = Text::new();
    text.push_str(&s[..end]);
    text
}
