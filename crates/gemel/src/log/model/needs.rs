//! The ends that a ticket waits for are behind everything that its commit depends on: what it needs in the other log,
//! what that needs, and so on.

use super::{Logs, Lsn, Pipeline, logs, on_three_threads};

struct Commit {
    /// For each log that the commit writes: the position after its record, and the record's need.
    records: [Option<(Lsn, Lsn)>; 2],
    /// Positions that its ticket waits for.
    ends: [Lsn; 2],
}

/// Commits to one of the logs, or to both.
fn commit(logs: &Logs, to: usize) -> Commit {
    let [one, two] = &logs.pipelines;
    let needs = [two.end(), one.end()];
    let ends = match to {
        0 => [Some(one.append(b"a").unwrap()), None],
        1 => [None, Some(two.append(b"a").unwrap())],
        _ => {
            let (first, second) = Pipeline::append_both((one, b"a".into()), (two, b"a".into())).unwrap();
            [Some(first), Some(second)]
        }
    };
    let records = [0, 1].map(|log| ends[log].map(|end| (end, needs[log])));
    Commit { records, ends: [one.end(), two.end()] }
}

/// Returns the ends of the shortest prefixes that have a commit as a whole, and all that their records need.
fn needed(all: &[Commit], commit: &Commit) -> [Lsn; 2] {
    let mut cut = commit.records.map(|record| record.map_or(Lsn(0), |(end, _)| end));
    loop {
        let before = cut;
        for commit in all {
            if !(0..2).any(|log| commit.records[log].is_some_and(|(end, _)| end <= cut[log])) {
                continue;
            }
            for log in 0..2 {
                let Some((end, need)) = commit.records[log] else { continue };
                cut[log] = cut[log].max(end);
                cut[1 - log] = cut[1 - log].max(need);
            }
        }
        if cut == before {
            return cut;
        }
    }
}

#[test]
fn a_ticket_waits_for_all_that_its_commit_depends_on() {
    shuttle::check_random(
        || {
            let logs = logs(None);
            let commits = on_three_threads(&logs, |logs, committer| {
                [0, 1].map(|round| commit(logs, (committer + round) % 3))
            });
            let all: Vec<Commit> = commits.into_iter().flatten().collect();
            for commit in &all {
                let cut = needed(&all, commit);
                assert!(
                    cut[0] <= commit.ends[0] && cut[1] <= commit.ends[1],
                    "{cut:?} and {:?}",
                    commit.ends
                );
            }
            logs.close();
        },
        1000,
    );
}
