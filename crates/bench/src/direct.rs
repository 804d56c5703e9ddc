//! The closed loop: sessions play terminals in turn, without waiting times.
//!
//! Terminals form groups, if possible the ten of a warehouse. A session takes the group that has rested longest, runs
//! one transaction of each of its terminals, and puts it back. So all warehouses are used equally with any number of
//! sessions. Two sessions use rows of one warehouse only where TPC-C wants it (remote stock and payments), or if there
//! are more sessions than warehouses.

use crate::clock::Nanos;
use crate::gate::Gate;
use crate::request_source::RequestSource;
use crate::share::Share;
use crate::stages::{Cursor, Stages};
use crate::worker::Worker;
use crate::workload::Runnable;
use lydite_database::Endpoints;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// A terminal, and a gate that keeps it from sending before its last answer.
#[derive(Debug)]
struct GatedTerminal<T> {
    terminal: T,
    gate: Arc<Gate>,
}

impl<T> GatedTerminal<T> {
    fn new(terminal: T) -> Self {
        Self { terminal, gate: Arc::default() }
    }
}

/// Terminals that a session plays one after the other.
type Group<W> = Vec<GatedTerminal<<W as Runnable>::Terminal>>;

/// Groups that no session is playing, the longest rested first.
#[derive(Debug)]
pub(crate) struct Rotation<W: Runnable> {
    stages: Arc<Stages<W::Inputs>>,
    resting: Mutex<VecDeque<Group<W>>>,
    /// Endpoints whose sessions prefer the warehouses that they lead; `None` without affinity.
    affinity: Option<Arc<Endpoints>>,
}

impl<W: Runnable> Rotation<W> {
    /// Makes the groups of a share. `sessions` are those of the whole run.
    pub(crate) fn new(
        stages: Arc<Stages<W::Inputs>>,
        sessions: u32,
        affinity: Option<Arc<Endpoints>>,
        share: Share,
    ) -> Self {
        let groups = W::groups(&stages.current()[0].inputs, sessions).into_iter();
        let groups = (0..).zip(groups).filter(|(number, _)| share.owns(*number)).map(|(_, group)| group);
        let resting: VecDeque<Group<W>> =
            groups.map(|group| group.into_iter().map(GatedTerminal::new).collect()).collect();
        assert!(resting.len() >= share.count(sessions) as usize, "a group for each session");
        Self { stages, resting: Mutex::new(resting), affinity }
    }

    /// Takes the group that has rested longest; with affinity, of those whose warehouses the session's endpoint serves,
    /// if there is one.
    fn take(&self, endpoint: Option<usize>) -> Option<Group<W>> {
        let serves =
            self.affinity.as_ref().zip(endpoint).map(|(endpoints, endpoint)| endpoints.serves(endpoint));
        let mut resting = self.resting.lock();
        let preferred = serves.and_then(|serves| {
            let home = |group: &Group<W>| W::warehouse(&group.first()?.terminal);
            resting.iter().position(|group| home(group).is_some_and(&serves))
        });
        resting.remove(preferred.unwrap_or_default())
    }

    fn put_back(&self, group: Group<W>) {
        self.resting.lock().push_back(group);
    }

    /// Runs one transaction of each terminal. Returns the time of the last answer, or `None` if the run is over.
    fn play_round(
        worker: &mut Worker<W>,
        cursor: &mut Cursor<W::Inputs>,
        group: &mut Group<W>,
        mut now: Nanos,
    ) -> Option<Nanos> {
        for gated in group {
            if worker.must_rest(cursor, now) {
                break;
            }
            if !gated.gate.is_open() {
                worker.hurry();
            }
            if !gated.gate.pass(|| worker.shared.window.over(worker.now())) || !worker.ensure_connected() {
                return None;
            }
            // The gate or the connection may have taken long.
            let mut due = worker.now();
            if worker.shared.window.over(due) {
                return None;
            }
            let row = worker.join_hot_row(due);
            if worker.parks() {
                due = worker.now();
                if worker.shared.window.over(due) {
                    worker.leave_hot_row(Some(due));
                    return None;
                }
            }
            let inputs = &cursor.stage(due).inputs;
            let transaction = match row {
                Some(row) => W::contending(inputs, &mut gated.terminal, row),
                None => W::next(inputs, &mut gated.terminal),
            };
            let answer = worker.play((due, due), transaction, || {
                gated.gate.shut();
                let gate = Arc::clone(&gated.gate);
                move |_| gate.open()
            });
            now = answer.map_or_else(|| worker.now(), |answer| answer.at);
            worker.leave_hot_row(Some(now));
        }
        Some(now)
    }
}

impl<W: Runnable> RequestSource<W> for Rotation<W> {
    /// Plays until the run is over. A transaction is due when the session begins to make its input. With pipelined
    /// commits the session continues with the next terminal before the answer comes.
    fn work(self: Arc<Self>, worker: &mut Worker<W>) {
        let mut cursor = Cursor::new(&self.stages);
        let mut now = worker.now();
        while worker.rest(&mut cursor, &mut now) {
            // There are at least as many groups as sessions, and each session holds at most one, so a group is always
            // free.
            let Some(mut group) = self.take(worker.endpoint()) else { return };
            let Some(answered) = Self::play_round(worker, &mut cursor, &mut group, now) else { return };
            now = answered;
            self.put_back(group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_database::Tpcc;
    use lydite_tpcc::nurand::CLoad;
    use lydite_tpcc::{InputPlan, Mix, Terminal};

    fn rotation(warehouses: u32, sessions: u32) -> Rotation<Tpcc> {
        rotation_of(warehouses, sessions, Share::WHOLE)
    }

    fn rotation_of(warehouses: u32, sessions: u32, share: Share) -> Rotation<Tpcc> {
        let inputs = InputPlan::new(1, warehouses, CLoad(0), Mix::Deck);
        Rotation::new(Arc::new(Stages::steady(inputs)), sessions, None, share)
    }

    fn places(group: &[GatedTerminal<Terminal>]) -> Vec<(u32, u16)> {
        group.iter().map(|gated| (gated.terminal.warehouse().0, gated.terminal.district().0)).collect()
    }

    #[test]
    fn every_terminal_is_in_exactly_one_group_and_there_is_a_group_for_each_session() {
        for sessions in 1..=30 {
            let rotation = rotation(3, sessions);
            let groups = rotation.resting.lock();
            assert!(groups.len() >= sessions as usize, "{sessions} sessions");
            let mut played: Vec<(u32, u16)> = groups.iter().flat_map(|group| places(group)).collect();
            played.sort_unstable();
            let all: Vec<(u32, u16)> = (1..=3).flat_map(|w| (1..=10).map(move |d| (w, d))).collect();
            assert_eq!(played, all, "{sessions} sessions");
        }
    }

    #[test]
    fn shares_have_the_groups_of_the_whole_run_and_enough_for_their_sessions() {
        for (warehouses, sessions, of) in [(3, 3, 2), (3, 7, 2), (2, 25, 3), (10, 8, 3)] {
            let whole = rotation(warehouses, sessions);
            let mut expected: Vec<_> = whole.resting.lock().iter().map(|group| places(group)).collect();
            let mut found = Vec::new();
            for index in 0..of {
                let part = rotation_of(warehouses, sessions, Share { index, of });
                found.extend(part.resting.lock().iter().map(|group| places(group)));
            }
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected, "{sessions} sessions on {warehouses} warehouses, {of} shares");
        }
    }

    #[test]
    fn with_no_more_sessions_than_warehouses_no_two_groups_share_a_warehouse() {
        let rotation = rotation(10, 8);
        let groups = rotation.resting.lock();
        assert_eq!(groups.len(), 10);
        assert!(groups.iter().all(|group| {
            group.iter().all(|gated| gated.terminal.warehouse() == group[0].terminal.warehouse())
        }));
    }

    #[test]
    fn groups_rest_equally_long_so_all_warehouses_are_used_alike() {
        let rotation = rotation(10, 8);
        let mut played = [0; 10];
        let mut held: VecDeque<Group<Tpcc>> = (0..8).filter_map(|_| rotation.take(None)).collect();
        for _ in 0..1_000 {
            let Some(group) = held.pop_front() else { panic!("eight are held") };
            played[group[0].terminal.warehouse().0 as usize - 1] += 1;
            rotation.put_back(group);
            held.extend(rotation.take(None));
        }
        assert_eq!(played, [100; 10]);
    }

    #[test]
    fn sessions_beyond_the_terminals_are_spread_over_the_warehouses() {
        let rotation = rotation(2, 25);
        let groups = rotation.resting.lock();
        let extras: Vec<(u32, u16)> = groups.iter().skip(20).flat_map(|group| places(group)).collect();
        assert_eq!(extras, [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3)]);
    }
}
