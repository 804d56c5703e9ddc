//! Files of sections, as Python's `configparser` reads them.

use crate::given::Given;

/// A section.
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) settings: Vec<Given>,
}

/// Reads the sections of a text. Values may have `=`, `:` and quotes; a line that is indented more than its setting
/// continues the value.
pub(crate) fn parse(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut indent = 0;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            sections.push(Section { name: name.trim().to_owned(), line: number + 1, settings: Vec::new() });
            continue;
        }
        let Some(section) = sections.last_mut() else { continue };
        let before = line.len() - line.trim_start().len();
        if let Some(Ok(value)) = section.settings.last_mut().map(|last| last.value.as_mut())
            && before > indent
        {
            value.push(' ');
            value.push_str(trimmed);
            continue;
        }
        indent = before;
        let (name, value) = trimmed.split_once(['=', ':']).unwrap_or((trimmed, ""));
        section.settings.push(Given::new(name.trim().to_ascii_lowercase(), value.trim(), number + 1));
    }
    sections
}
