//! The running program's own file.

/// Returns the path of the running program, even if its file was replaced since the start.
pub fn program() -> std::io::Result<std::path::PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}
