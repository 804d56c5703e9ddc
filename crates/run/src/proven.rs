//! The drivers that passed the kit, in a file of this user.

use lydite_database::Description;
use lydite_families::TargetSpec;
use lydite_tpcc::compliance::Declared;
use lydite_verify::kit;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

/// Returns the file: a line for each driver that passed, see [`line`].
fn file() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("lydite/proven"))
}

/// Returns the line of a driver: fingerprint, versions of Lydite and of the kit, and the declarations that the kit
/// tested. So a driver that declares more than it did must pass again, and so must all when the kit asks for more.
fn line(fingerprint: u64, description: &Description) -> String {
    let guarantee = description.declared_guarantee().unwrap_or_default();
    let durable = if description.durable { "durable" } else { "not durable" };
    let declared = format!("{guarantee}, {}, {durable}", description.isolation.replace('\n', " "));
    format!("{fingerprint:016x} {} kit {}: {declared}", env!("CARGO_PKG_VERSION"), kit::VERSION)
}

/// Notes that a driver passed the kit; other targets are not noted.
///
/// # Errors
/// The file can't be written.
pub fn note(target: &TargetSpec, description: &Description) -> io::Result<()> {
    let (Some(fingerprint), Some(file)) = (target.fingerprint(), file()) else { return Ok(()) };
    if declared(target, description) == Some(Declared::Tested) {
        return Ok(());
    }
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(&file)?;
    // One write: two commands may note at the same time.
    file.write_all(format!("{}\n", line(fingerprint, description)).as_bytes())
}

/// Returns what is known about the declarations of a driver; none for other targets.
pub fn declared(target: &TargetSpec, description: &Description) -> Option<Declared> {
    let line = line(target.fingerprint()?, description);
    let noted = file().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let is_tested = noted.lines().any(|noted| noted == line);
    Some(if is_tested { Declared::Tested } else { Declared::Untested })
}

/// Returns the warning of a run through a driver that has not passed the kit.
pub fn warning(declared: Option<Declared>) -> Option<String> {
    (declared == Some(Declared::Untested)).then(|| {
        "The driver has not passed the kit in this form, so its answers may be wrong, and its isolation and durability \
         are declared, not tested: run lydite driver test"
            .to_owned()
    })
}
