//! Faults on memory: a helper takes it from the machine, and a control group limits that of the server.

use super::{Lab, assert_injected, json, text};
use lydite_testkit::postgres::query;
use std::fs;

#[test]
fn memory_is_taken_by_a_helper_and_limited_by_a_group_that_a_server_meets() {
    let lab = Lab::new();
    let file = lab.place.file("result.json");
    let pid = lab.postmaster().expect("a server");
    let groups = || fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("groups");
    let before = groups();
    let refused = lab.run("9s", &["mem-limit:2Mi@1s..3s/lab:pg"], &[]).wait().code(2);
    let errors = refused.errors();
    if errors
        .iter()
        .any(|error| error.contains("control groups of memory") || error.contains("the right to write"))
    {
        // Not every machine lets this user limit memory.
        return;
    }
    let error = refused.only_error();
    // The least limit that leaves the server what it holds, as the refusal says.
    assert!(error.contains("allows 2.1 MB, and the processes hold "), "{error}");
    assert!(error.contains(" of shared memory, which the kernel can't take from them"), "{error}");
    let least =
        error.rsplit_once(": allow ").and_then(|(_, words)| words.split_once("Mi ")).expect("a size").0;
    let least: u64 = least.parse().expect("a number");
    let limit = format!("mem-limit:{}Mi@2s..8s/lab:pg", least + 24);
    let run = lab.run("9s", &[&limit, "mem-burn:64Mi@0.5s..1.5s"], &["--no-check", "--json", text(&file)]);
    lab.wait_until_it_is_limited(&before);
    // Far more pages of files than the limit leaves.
    let out = lab.directory().join("server-0/data/rows");
    let copy = format!("COPY (SELECT repeat('x', 8000) FROM generate_series(1, 40000)) TO '{}'", text(&out));
    query(&lab.url, &copy);
    run.wait().code(0);
    let result = json(&file);
    let [limited, burnt] = &result["faults"].as_array().expect("faults")[..] else { panic!("two: {result}") };
    assert_injected(limited, &["limited ", " MB in all; the limit was hit "]);
    assert!(limited["how"].as_str().expect("a way").starts_with("memory."), "{limited}");
    assert_injected(burnt, &["a helper holds ", " left on the machine; the kernel reclaimed "]);
    let held = burnt["detail"].as_str().and_then(|words| words.split(' ').nth(3)).expect("a size");
    assert!(held.parse::<f64>().expect("megabytes") >= 67.1, "64 MiB: {burnt}");
    assert_eq!(groups(), before);
    assert_eq!(lab.place.list(), "no active faults\n");
}

impl Lab {
    /// Waits until the server is in the group of a fault.
    fn wait_until_it_is_limited(&self, before: &str) {
        let pid = self.postmaster().expect("a server");
        super::wait_until("the limit", || {
            let now = fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("groups");
            now != before && self.place.list().contains("mem-limit:")
        });
    }
}
