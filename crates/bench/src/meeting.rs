//! The blocking control of contention that the Dike paper measures (PeakBench's): sessions are parked until enough of
//! them have gathered for a hot row. Then they go together, and the next group forms.

use crate::gate::Gate;
use parking_lot::Mutex;
use std::sync::Arc;

/// The sessions that gather for one hot row.
#[derive(Debug, Default)]
pub(crate) struct Meeting(Mutex<Group>);

#[derive(Debug, Default)]
struct Group {
    /// Gates of the parked sessions, in the order in which they came.
    parked: Vec<Arc<Gate>>,
    /// Transactions of the last group that have not ended.
    going: u32,
}

impl Group {
    /// Lets the parked sessions go if there are `asked` of them and the last group has ended.
    fn release(&mut self, asked: u32) {
        if asked > 0 && self.going == 0 && self.parked.len() >= asked as usize {
            self.parked.drain(..asked as usize).for_each(|gate| gate.open());
            self.going = asked;
        }
    }
}

impl Meeting {
    /// Parks the session until `asked` sessions have gathered and the last group has ended. Returns false if the
    /// session joins no group: the group is full, no transaction is to compete, or `over` returns true first. After
    /// true the caller calls [`Meeting::leave`] when its transaction has ended.
    pub(crate) fn join(&self, asked: impl Fn() -> u32, over: impl Fn() -> bool) -> bool {
        if over() {
            return false;
        }
        let (mut wanted, gate) = (asked(), Arc::<Gate>::default());
        {
            let mut group = self.0.lock();
            if group.parked.len() >= wanted as usize {
                return false;
            }
            gate.shut();
            group.parked.push(Arc::clone(&gate));
            group.release(wanted);
        }
        while !gate.pass(|| over() || asked() != wanted) {
            let mut group = self.0.lock();
            wanted = asked();
            // A smaller group may be complete now.
            group.release(wanted);
            if gate.is_open() {
                break;
            }
            if wanted == 0 || over() {
                group.parked.retain(|parked| !Arc::ptr_eq(parked, &gate));
                return false;
            }
        }
        true
    }

    /// Records that a transaction of the group has ended.
    pub(crate) fn leave(&self, asked: u32) {
        let mut group = self.0.lock();
        group.going -= 1;
        group.release(asked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::thread;

    #[test]
    fn sessions_go_in_groups_of_the_configured_number() {
        let (meeting, asked, over) = (Meeting::default(), AtomicU32::new(3), AtomicBool::new(false));
        let (going, most, went) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
        let wanted = || asked.load(Ordering::SeqCst);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while !over.load(Ordering::SeqCst) {
                        if !meeting.join(wanted, || over.load(Ordering::SeqCst)) {
                            thread::yield_now();
                            continue;
                        }
                        most.fetch_max(going.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        thread::yield_now();
                        going.fetch_sub(1, Ordering::SeqCst);
                        let number = went.fetch_add(1, Ordering::SeqCst) + 1;
                        // A group that is smaller from now on forms also of sessions that are parked already.
                        if number == 600 {
                            asked.store(2, Ordering::SeqCst);
                        }
                        over.fetch_or(number >= 1200, Ordering::SeqCst);
                        meeting.leave(wanted());
                    }
                });
            }
        });
        assert!(most.into_inner() <= 3, "a group is never larger");
        assert!(went.into_inner() >= 1200);
    }

    #[test]
    fn nobody_is_parked_where_nobody_is_to_compete() {
        let meeting = Meeting::default();
        assert!(!meeting.join(|| 0, || false));
        let asked = AtomicU32::new(2);
        thread::scope(|scope| {
            let parked = scope.spawn(|| meeting.join(|| asked.load(Ordering::SeqCst), || false));
            asked.store(0, Ordering::SeqCst);
            assert!(!parked.join().unwrap(), "it leaves without a partner");
        });
        assert!(meeting.0.lock().parked.is_empty());
        assert!(!meeting.join(|| 2, || true), "the end of the run ends the wait");
    }
}
