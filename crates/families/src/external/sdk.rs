//! The SDKs as files, for scaffolds and for running py-tpcc's drivers.

/// A file of an SDK: its path and its text.
pub type SdkFile = (&'static str, &'static str);

macro_rules! files {
    ($folder:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../sdk/", $folder, "/", $path)))),*]
    };
}

/// The package `lydite` for Python.
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

/// Shim that runs py-tpcc's drivers, beside [`PYTHON_SDK`].
pub(super) const PYTPCC: &[SdkFile] = files!["python": "lydite/pytpcc.py", "lydite/pytpcc_import.py", "lydite/pytpcc_modules.py", "lydite/pytpcc_results.py"];

/// The module `lydite.dev/driver` for Go.
pub const GO_SDK: &[SdkFile] =
    files!["go": "driver.go", "errors.go", "go.mod", "lydite.go", "msgpack.go", "schema.go", "store.go"];
