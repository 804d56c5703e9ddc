//! `lydite targets`: lists the built-in databases.

use lydite_console::exit::Outcome;
use lydite_console::output::print;
use lydite_families::{families, strings_of};
use std::fmt::Write;

/// Runs `lydite targets`: prints each family with its URL, transaction modes and options.
pub(crate) fn command() -> Outcome {
    let mut text = String::new();
    for family in families() {
        let modes: Vec<&str> = family.modes.iter().map(|mode| mode.name()).collect();
        let schemes: Vec<&str> = family.schemes.iter().map(|scheme| scheme.name).collect();
        let schemes = schemes.join(", ");
        // Writing to a string can't fail.
        let _ = writeln!(text, "{schemes}\n    {}\n    URL   {}", family.about, family.url);
        let strings = strings_of(family);
        if !strings.is_empty() {
            let _ = writeln!(text, "    also  connection strings of: {}", strings.join(", "));
        }
        let _ = writeln!(text, "    --tx  {}", modes.join(", "));
        let _ = writeln!(text, "    transactions  {}", family.guarantees);
        for source in family.placement {
            let evidence = match source.evidence.words() {
                "" => String::new(),
                words => format!(" ({words})"),
            };
            let _ = writeln!(text, "    placement     {}{evidence}", source.nodes);
        }
        if family.placement.is_empty() {
            let _ = writeln!(text, "    placement     no");
        }
        let _ = writeln!(text, "    tested on     {}", family.tested);
        for option in family.options {
            let _ = writeln!(text, "    ?{}={}", option.name, option.values);
            let _ = writeln!(text, "        {} [default: {}]", option.about, option.default);
        }
        text.push('\n');
    }
    print(&text)
}
