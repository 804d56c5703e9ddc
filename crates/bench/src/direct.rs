//! The closed loop: each session plays its terminals in turn, without waiting.

use crate::worker::Worker;
use lydite_tpcc::{InputPlan, Terminal};

/// The terminals of session `session` of `sessions`: its contiguous share of all terminals, so that all the data
/// is used whatever the number of sessions. If there are more sessions than terminals, each has a further
/// terminal of a warehouse that has its ten already.
pub(crate) fn share(inputs: &InputPlan, session: u32, sessions: u32) -> Vec<Terminal> {
    let terminals = inputs.terminals();
    if sessions > terminals {
        return vec![inputs.terminal(session)];
    }
    let bound = |session: u32| (u64::from(session) * u64::from(terminals) / u64::from(sessions)) as u32;
    (bound(session)..bound(session + 1)).map(|index| inputs.terminal(index)).collect()
}

/// Plays until the run is over. A transaction is due as soon as its input is made.
pub(crate) fn work(worker: &mut Worker, mut terminals: Vec<Terminal>, inputs: &InputPlan) {
    loop {
        for terminal in &mut terminals {
            if !worker.ensure_connected() {
                return;
            }
            let transaction = terminal.next(inputs);
            let due = worker.now();
            if worker.shared.window.over(due) {
                return;
            }
            worker.play(due, due, &transaction);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_tpcc::Mix;
    use lydite_tpcc::nurand::CLoad;

    #[test]
    fn every_terminal_is_played_by_exactly_one_session() {
        let inputs = InputPlan::new(1, 3, CLoad(0), Mix::Deck);
        for sessions in 1..=30 {
            let played: Vec<(u32, u8)> = (0..sessions)
                .flat_map(|session| share(&inputs, session, sessions))
                .map(|terminal| (terminal.warehouse().0, terminal.district().0))
                .collect();
            let all: Vec<(u32, u8)> = (1..=3).flat_map(|w| (1..=10).map(move |d| (w, d))).collect();
            assert_eq!(played, all, "{sessions} sessions");
        }
    }

    #[test]
    fn sessions_beyond_the_terminals_begin_again_at_the_first_warehouse() {
        let inputs = InputPlan::new(1, 1, CLoad(0), Mix::Deck);
        let districts: Vec<u8> =
            (0..12).flat_map(|session| share(&inputs, session, 12)).map(|t| t.district().0).collect();
        assert_eq!(districts, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2]);
    }
}
