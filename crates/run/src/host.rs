//! The machine that Lydite runs on, for the result.

use lydite_report::model::HostInfo;
use std::fs;

/// Reads the machine's properties from the kernel. Unknown ones are empty or 0.
pub fn info() -> HostInfo {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix([':', '=']).map(str::trim))
            .map(|value| value.trim_matches('"').to_string())
            .unwrap_or_default()
    };
    let memory_kib: u64 = field(&read("/proc/meminfo"), "MemTotal")
        .split_whitespace()
        .next()
        .and_then(|size| size.parse().ok())
        .unwrap_or(0);
    let os = field(&read("/etc/os-release"), "PRETTY_NAME");
    HostInfo {
        hostname: read("/proc/sys/kernel/hostname").trim().to_string(),
        os: if os.is_empty() { std::env::consts::OS.to_string() } else { os },
        kernel: read("/proc/sys/kernel/osrelease").trim().to_string(),
        cpu: field(&read("/proc/cpuinfo"), "model name"),
        cores: std::thread::available_parallelism().map_or(0, |cores| cores.get() as u32),
        memory_bytes: memory_kib * 1024,
    }
}
