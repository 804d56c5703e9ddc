//! `lydite compare` on two single runs: lines of both streams stay whole.

use crate::program::{Program, scratch};
use lydite_report::RunResult;
use lydite_report::model::{Latency, TransactionResult};

#[test]
fn annotations_are_whole_lines_where_both_streams_are_one() {
    let directory = scratch();
    for (name, tps) in [("a.json", 1_000.0), ("b.json", 900.0)] {
        let new_order = TransactionResult {
            committed: 5_000,
            latency_ms: Latency { p50: Some(2.0), p99: Some(20.0), ..Latency::default() },
            ..TransactionResult::default()
        };
        let mut result = RunResult { tps, nopm: 27.0 * tps, ..RunResult::default() };
        result.window.measured_s = 30.0;
        result.transactions.insert("new_order".into(), new_order);
        result.save(directory.path().join(name)).expect("a result");
    }
    let always = ["compare", "a.json", "b.json", "--fail-if", "nopm < -5%", "--github"];
    for more in [&["--badge", "-"][..], &["--json", "-"], &[]] {
        let arguments = [&always[..], more].concat();
        let apart = Program::new(&arguments).within(directory.path()).run().code(4);
        let shell = ["-c", "exec \"$0\" \"$@\" 2>&1", env!("CARGO_BIN_EXE_lydite")];
        let shell = [&shell[..], &arguments].concat();
        let one = Program::of("sh", &shell).within(directory.path()).run().code(4);
        let mut together: Vec<&str> = one.stdout.lines().collect();
        let mut expected: Vec<&str> = apart.stdout.lines().chain(apart.stderr.lines()).collect();
        together.sort_unstable();
        expected.sort_unstable();
        assert_eq!(together, expected, "{more:?}");
        for words in ["::error title=nopm < -5%25", "lydite: --fail-if judged B", "lydite: failed by nopm"] {
            assert!(together.iter().any(|line| line.starts_with(words)), "{more:?}: no {words}: {one:?}");
        }
    }
}
