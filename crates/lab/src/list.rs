//! `lydite lab list`.

use crate::directories::root;
use crate::kind::KINDS;
use crate::note::{Lab, is_starting};
use crate::server::Server;
use lydite_console::exit::Outcome;
use lydite_console::output::print;

/// Prints the kinds of labs, and the labs that run without `--dir`.
///
/// # Errors
/// The note of a lab can't be read.
pub fn list() -> Outcome {
    let mut text = String::from("kinds\n");
    for kind in &KINDS {
        text += &format!("    {:11} {}\n", kind.name, kind.about);
    }
    text += "running\n";
    let mut none = true;
    for kind in &KINDS {
        let directory = root().join(kind.name);
        if let Some(lab) = Lab::read(&directory)? {
            let starting = is_starting(&directory);
            let silent: Vec<String> =
                lab.servers.iter().filter(|server| !server.answers()).map(Server::shown).collect();
            let state = match silent.as_slice() {
                _ if starting => "  (starting)".into(),
                [] => String::new(),
                [one] => format!("  ({one} does not answer)"),
                several => format!("  (these do not answer: {})", several.join(", ")),
            };
            text += &format!("    {:11} {}{state}\n", lab.kind, lab.arguments_without_password());
            none = false;
        }
    }
    if none {
        text += "    none (labs started with --dir are not listed)\n";
    } else {
        text += "lydite lab up KIND prints the URL of a running lab with its password\n";
    }
    print(&text)
}
