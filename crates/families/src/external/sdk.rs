//! The SDKs as files, for scaffolds and for running py-tpcc's drivers.

/// A file of an SDK: its path and its text.
pub type SdkFile = (&'static str, &'static str);

macro_rules! files {
    ($folder:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../sdk/", $folder, "/", $path)))),*]
    };
}

/// Modules of the package `lydite` for Python that drivers need.
pub const PYTHON_SDK: &[SdkFile] = files![
    "python": "lydite/__init__.py",
    "lydite/_msgpack.py",
    "lydite/driver.py",
    "lydite/errors.py",
    "lydite/keyvalue.py",
    "lydite/py.typed",
    "lydite/schema.py",
    "lydite/session.py",
];

/// Modules of the package `lydite` for Python that start runs and read their results. The package loads each when it is
/// used, so drivers run without these files.
pub const PYTHON_RUNS: &[SdkFile] = files![
    "python": "lydite/__main__.py",
    "lydite/_compare.py",
    "lydite/_document.py",
    "lydite/_ends.py",
    "lydite/_export.py",
    "lydite/_hdr.py",
    "lydite/_program.py",
    "lydite/_result.py",
    "lydite/_run.py",
];

/// Shim that runs py-tpcc's drivers, beside [`PYTHON_SDK`].
pub(super) const PYTPCC: &[SdkFile] = files!["python": "lydite/pytpcc.py", "lydite/pytpcc_import.py", "lydite/pytpcc_modules.py", "lydite/pytpcc_results.py"];

/// The module `lydite.dev/driver` for Go.
pub const GO_SDK: &[SdkFile] =
    files!["go": "driver.go", "errors.go", "go.mod", "lydite.go", "msgpack.go", "schema.go", "store.go"];

#[cfg(test)]
mod tests {
    use super::{PYTHON_RUNS, PYTHON_SDK, PYTPCC};
    use std::collections::BTreeSet;

    #[test]
    fn the_lists_have_every_file_of_the_package_for_python() {
        let package = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/python/lydite");
        let there: BTreeSet<String> = std::fs::read_dir(package)
            .expect("the package")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .filter(|name| name != "__pycache__")
            .map(|name| format!("lydite/{name}"))
            .collect();
        let listed: BTreeSet<String> = [PYTHON_SDK, PYTHON_RUNS, PYTPCC]
            .into_iter()
            .flatten()
            .map(|(path, _)| (*path).to_owned())
            .collect();
        assert_eq!(there, listed);
    }
}
