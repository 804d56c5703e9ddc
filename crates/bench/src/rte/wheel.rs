//! A hashed timer wheel with the due time of each terminal's next request, at twelve bytes per terminal.

use crate::clock::Nanos;

/// Length of a tick in nanoseconds. Due times are exact; a tick only sets the time at which a terminal is looked at.
pub(super) const TICK: Nanos = 1_000_000;
/// Number of slots, 33 s in one turn. Most cycles of the standard's waiting times fit, and a slot list costs four
/// bytes.
const SLOTS: usize = 1 << 15;
/// The end of a list.
const NONE: u32 = u32::MAX;

/// The timer wheel. See the module. Each terminal is in it at most once.
#[derive(Debug)]
pub(super) struct Wheel {
    /// First terminal of each slot.
    heads: Vec<u32>,
    /// Next terminal of the same slot, by terminal.
    next: Vec<u32>,
    /// Due time, by terminal.
    due: Vec<Nanos>,
    /// First tick that has not been taken out.
    tick: u64,
}

impl Wheel {
    pub(super) fn new(terminals: u32) -> Self {
        let count = terminals as usize;
        Self { heads: vec![NONE; SLOTS], next: vec![NONE; count], due: vec![0; count], tick: 0 }
    }

    /// Inserts a terminal. Returns false if its tick has been taken out already.
    pub(super) fn insert(&mut self, terminal: u32, due: Nanos) -> bool {
        if due / TICK < self.tick {
            return false;
        }
        self.due[terminal as usize] = due;
        self.link(terminal);
        true
    }

    fn link(&mut self, terminal: u32) {
        let slot = slot(self.due[terminal as usize] / TICK);
        self.next[terminal as usize] = self.heads[slot];
        self.heads[slot] = terminal;
    }

    /// Takes out all terminals that are due before the tick of `now` ends, in no particular order.
    pub(super) fn take(&mut self, now: Nanos, mut take: impl FnMut(Nanos, u32)) {
        let last = now / TICK;
        // One turn reaches every slot. After a long stall, further turns would find nothing more.
        let turn_ends = self.tick + SLOTS as u64 - 1;
        for tick in self.tick..=last.min(turn_ends) {
            let mut terminal = std::mem::replace(&mut self.heads[slot(tick)], NONE);
            while terminal != NONE {
                let following = self.next[terminal as usize];
                let due = self.due[terminal as usize];
                if due / TICK <= last {
                    take(due, terminal);
                } else {
                    self.link(terminal);
                }
                terminal = following;
            }
        }
        self.tick = self.tick.max(last + 1);
    }
}

fn slot(tick: u64) -> usize {
    (tick % SLOTS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_tpcc::random::{Purpose, Stream};

    #[test]
    fn every_terminal_comes_out_in_its_tick_however_far_ahead() {
        const TERMINALS: u32 = 2_000;
        let mut stream = Stream::new(5, Purpose::Pacing, 0);
        let mut wheel = Wheel::new(TERMINALS);
        // Up to three turns ahead.
        let dues: Vec<Nanos> =
            (0..TERMINALS).map(|_| u64::from(stream.below(3 * SLOTS as u32 * 1_000)) * 1_000).collect();
        for terminal in 0..TERMINALS {
            assert!(wheel.insert(terminal, dues[terminal as usize]));
        }
        let mut seen = 0;
        let mut now = 0;
        while seen < TERMINALS {
            let before = now;
            // Mostly a tick or less; now and then a stall of more than a turn.
            now += if stream.percent(1) && stream.percent(1) { 40_000 * TICK } else { TICK / 2 };
            wheel.take(now, |due, terminal| {
                assert_eq!(due, dues[terminal as usize]);
                assert!(due / TICK <= now / TICK, "too early");
                assert!(due / TICK >= before / TICK, "too late: due {due}, taken between {before} and {now}");
                seen += 1;
            });
        }
    }

    #[test]
    fn a_tick_that_is_over_takes_nobody() {
        let mut wheel = Wheel::new(2);
        wheel.take(5 * TICK, |_, _| panic!("it is empty"));
        assert!(!wheel.insert(0, 5 * TICK));
        assert!(wheel.insert(0, 6 * TICK));
    }
}
