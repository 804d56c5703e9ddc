//! The ends of two logs, one for each engine, up to which recovery replays them. (`DESIGN.md`, "Log and
//! acknowledgement".)
//!
//! A pair of ends *holds* if the records before them need nothing behind them: no other half of a commit, and no
//! position that the other log must reach. Of two pairs that hold, the larger ends make a third one. So there is a
//! largest one.

use crate::log::Lsn;
use crate::order::clock::Timestamp;
use crate::record::Record;
use std::collections::HashMap;

/// The intact part of one log, and what its records need in the other one.
#[derive(Debug, Default)]
pub(crate) struct Part {
    /// End of the intact part.
    pub(crate) end: Lsn,
    /// Start and end of each half of a commit over both engines, by the anchor's timestamp.
    halves: HashMap<Timestamp, (Lsn, Lsn)>,
    /// Positions that the other log must reach, each with the start of the first record that needs so much. Both ascend
    /// strictly.
    needs: Vec<(Lsn, Lsn)>,
}

impl Part {
    /// Notes a record, which follows those noted before.
    pub(crate) fn note(&mut self, start: Lsn, end: Lsn, record: &Record<'_>) {
        if record.stamps.iter().filter(|stamp| stamp.writes).count() > 1
            && let Some(anchor) = record.stamps.first()
        {
            self.halves.insert(anchor.at, (start, end));
        }
        if self.needs.last().is_none_or(|(most, _)| *most < record.need) {
            self.needs.push((record.need, start));
        }
    }

    /// Returns the start of the first record before `cut` that needs something behind `other_cut` in the other log.
    fn unmet(&self, cut: Lsn, other: &Self, other_cut: Lsn) -> Option<Lsn> {
        let half = self.halves.iter().filter(|(anchor, (_, end))| {
            *end <= cut && other.halves.get(anchor).is_none_or(|(_, end)| *end > other_cut)
        });
        let half = half.map(|(_, (start, _))| *start).min();
        let met = self.needs.partition_point(|(need, _)| *need <= other_cut);
        let unmet = self.needs.get(met).map(|(_, start)| *start).filter(|start| *start < cut);
        half.into_iter().chain(unmet).min()
    }
}

/// Returns the ends of the longest prefixes whose records need nothing behind them.
pub(crate) fn agree(parts: &[Part; 2]) -> [Lsn; 2] {
    let [first, second] = parts;
    let mut cut = [first.end, second.end];
    loop {
        let before = cut;
        if let Some(start) = first.unmet(cut[0], second, cut[1]) {
            cut[0] = start;
        }
        if let Some(start) = second.unmet(cut[1], first, cut[0]) {
            cut[1] = start;
        }
        if cut == before {
            return cut;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Stamp, encode};
    use proptest::prelude::*;

    /// A record of one log, at a place in the order of all commits.
    struct Noted {
        log: usize,
        start: u64,
        end: u64,
        /// The other log's end when the record was made.
        need: u64,
        /// Number of the commit.
        commit: u64,
    }

    /// Returns the records of commits to log 0, to log 1, or to both. The records of one log are of different lengths.
    fn records(commits: &[(usize, u64)]) -> Vec<Noted> {
        let (mut ends, mut all) = ([0; 2], Vec::new());
        for (commit, &(logs, bytes)) in (1..).zip(commits) {
            let needs = [ends[1], ends[0]];
            for log in (0..2).filter(|log| logs == 2 || logs == *log) {
                let start = ends[log];
                ends[log] += bytes;
                all.push(Noted { log, start, end: ends[log], need: needs[log], commit });
            }
        }
        all
    }

    fn parts(commits: &[(usize, u64)], all: &[Noted], ends: [u64; 2]) -> [Part; 2] {
        let mut parts = ends.map(|end| Part { end: Lsn(end), ..Part::default() });
        for noted in all.iter().filter(|noted| noted.end <= ends[noted.log]) {
            let logs = commits[noted.commit as usize - 1].0;
            let engines = (0..2).filter(|engine| logs == 2 || logs == *engine);
            let stamp = |engine| Stamp { engine: engine as u8, at: Timestamp(noted.commit), writes: true };
            let mut bytes = Vec::new();
            encode(
                &mut bytes,
                &engines.map(stamp).collect::<Vec<_>>(),
                Some(Lsn(noted.need)),
                None,
                std::iter::empty(),
            );
            parts[noted.log].note(Lsn(noted.start), Lsn(noted.end), &Record::decode(&bytes).unwrap());
        }
        parts
    }

    proptest! {
        /// Each log ends after any of its records. All commits before the first one that lost a record are left.
        #[test]
        fn the_logs_agree_on_the_longest_prefix_of_the_commits(
            commits in proptest::collection::vec((0..3_usize, 1..9_u64), 0..30),
            places: [prop::sample::Index; 2],
        ) {
            let all = records(&commits);
            let ends = [0, 1].map(|log| {
                let mut ends = vec![0];
                ends.extend(all.iter().filter(|noted| noted.log == log).map(|noted| noted.end));
                ends[places[log].index(ends.len())]
            });
            let lost = all.iter().filter(|noted| noted.end > ends[noted.log]).map(|noted| noted.commit).min();
            let kept = |log| {
                let kept = all.iter().filter(|noted| noted.log == log && lost.is_none_or(|lost| noted.commit < lost));
                Lsn(kept.map(|noted| noted.end).max().unwrap_or(0))
            };
            prop_assert_eq!(agree(&parts(&commits, &all, ends)), [kept(0), kept(1)]);
        }
    }
}
