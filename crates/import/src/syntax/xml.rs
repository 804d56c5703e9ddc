//! XML without document types, so there are no entities but the five.

use crate::source::{Source, SourceError};
use roxmltree::{Document, Error, Node, ParsingOptions};

/// Greatest depth of nested elements. Deeper ones would use up the stack.
const DEEPEST: usize = 64;
/// The most nodes.
const MOST_NODES: u32 = 200_000;

/// Parses a file. The library's own messages may repeat parts of values, so they are not passed on.
///
/// # Errors
/// The file is not well-formed, or has a document type, or is nested too deep.
pub(crate) fn parse(source: &Source) -> Result<Document<'_>, SourceError> {
    if depth(&source.text) > DEEPEST {
        return Err(SourceError::Deep(DEEPEST));
    }
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let text = source.text.trim_start();
    let skipped = source.text.len() - text.len();
    let before = source.text.get(..skipped).unwrap_or_default().matches('\n').count() as u32;
    Document::parse_with_options(text, options).map_err(|error| match error {
        Error::DtdDetected => SourceError::Dtd(before + line_of(text, "<!DOCTYPE")),
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream => SourceError::Cut,
        other => SourceError::Xml(before + other.pos().row),
    })
}

/// Returns the line of the first occurrence of a text.
fn line_of(text: &str, part: &str) -> u32 {
    let at = text.find(part).unwrap_or(0);
    text.get(..at).unwrap_or_default().matches('\n').count() as u32 + 1
}

/// Returns an upper bound of the depth of elements, before a parser is given the text.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for (at, _) in text.match_indices('<') {
        let rest = text.get(at + 1..).unwrap_or_default();
        if rest.starts_with('/') {
            depth = depth.saturating_sub(1);
        } else if !rest.starts_with(['!', '?']) {
            let tag = rest.split('>').next().unwrap_or_default();
            depth += usize::from(!tag.ends_with('/'));
            deepest = deepest.max(depth);
        }
    }
    deepest
}

/// Returns the text of an element, without comments.
pub(crate) fn text_of(node: Node<'_, '_>) -> String {
    node.descendants()
        .filter(Node::is_text)
        .filter_map(|text| text.text())
        .collect::<String>()
        .trim()
        .to_owned()
}

/// Returns the line of an element.
pub(crate) fn line(node: Node<'_, '_>) -> usize {
    node.document().text_pos_at(node.range().start).row as usize
}

/// Returns the elements within an element.
pub(crate) fn elements<'a, 'd>(node: Node<'a, 'd>) -> impl Iterator<Item = Node<'a, 'd>> {
    node.children().filter(Node::is_element)
}

/// True if a text begins like XML with this root.
pub(crate) fn has_root(text: &str, root: &str) -> bool {
    let begins = text.trim_start().starts_with('<');
    begins
        && text.match_indices('<').any(|(at, _)| {
            text.get(at + 1..).and_then(|rest| rest.strip_prefix(root)).is_some_and(|rest| {
                rest.starts_with(|letter: char| letter.is_whitespace() || letter == '>' || letter == '/')
            })
        })
}
