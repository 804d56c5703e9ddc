//! The roles of the pairs: warm-up, counted, repeated. They follow from the runs alone, so a continued experiment comes to the same.

use crate::experiment::Looking;
use crate::played::Played;
use lydite_decide::{Side, first_of};
use lydite_report::ab::Role;

/// Two runs one after the other.
#[derive(Debug)]
pub(crate) struct Slot {
    /// Number, from 1.
    pub(crate) number: u32,
    pub(crate) a: Option<Played>,
    pub(crate) b: Option<Played>,
}

impl Slot {
    /// Returns both runs, if both may count.
    pub(crate) fn both(&self) -> Option<(&Played, &Played)> {
        let (a, b) = self.a.as_ref().zip(self.b.as_ref())?;
        (a.is_good() && b.is_good()).then_some((a, b))
    }

    /// Returns the values of the metric of A and of B, if both runs may count.
    pub(crate) fn values(&self) -> Option<(f64, f64)> {
        let (a, b) = self.both()?;
        a.value.zip(b.value)
    }

    /// Returns true if others used the machine.
    pub(crate) fn is_busy(&self) -> bool {
        [&self.a, &self.b].into_iter().flatten().any(|run| run.is_busy)
    }

    /// Returns the run of a side.
    pub(crate) fn run(&self, side: Side) -> Option<&Played> {
        match side {
            Side::A => self.a.as_ref(),
            Side::B => self.b.as_ref(),
        }
    }

    /// Returns the side whose run came first; A if it has no runs.
    pub(crate) fn first(&self) -> Side {
        match (&self.a, &self.b) {
            (Some(a), Some(b)) if b.start < a.start => Side::B,
            (None, Some(_)) => Side::B,
            _ => Side::A,
        }
    }
}

/// The use of each pair, and what comes next.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The use of each pair, in their order.
    pub(crate) roles: Vec<Role>,
    /// Values of the metric of the pairs that count.
    pub(crate) counted: Vec<(f64, f64)>,
    /// True if there is a warm-up.
    is_warm: bool,
}

impl Progress {
    /// Finds the use of each pair: the first is the warm-up, and a pair on a busy machine is repeated while the experiment
    /// may repeat.
    pub(crate) fn of(slots: &[Slot], looking: &Looking) -> Self {
        let mut progress = Self { roles: Vec::new(), counted: Vec::new(), is_warm: false };
        let mut repeats = looking.most_repeats();
        for slot in slots {
            let role = match slot.values() {
                None => Role::Incomplete,
                Some(_) if !progress.is_warm => {
                    progress.is_warm = true;
                    Role::WarmUp
                }
                Some(_) if slot.is_busy() && repeats > 0 => {
                    repeats -= 1;
                    Role::Busy
                }
                Some(values) => {
                    progress.counted.push(values);
                    Role::Counted
                }
            };
            progress.roles.push(role);
        }
        progress
    }

    /// Returns the side that begins the next pair. A repeated pair has the order of that which it repeats.
    pub(crate) fn next_first(&self, looking: &Looking) -> Side {
        if self.is_warm { first_of(looking.order_seed, self.counted.len()) } else { Side::A }
    }

    /// Returns the most pairs that are still to be made, without repeated ones.
    pub(crate) fn most_left(&self, looking: &Looking) -> usize {
        looking.looks.most().saturating_sub(self.counted.len()) + usize::from(!self.is_warm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_decide::Looks;
    use lydite_report::metric::Metric;
    use std::collections::BTreeMap;

    fn run(value: f64, is_busy: bool) -> Option<Played> {
        Some(Played {
            value: Some(value),
            is_complete: true,
            checks_failed: 0,
            is_busy,
            start: String::new(),
            findings: Vec::new(),
            settings: BTreeMap::new(),
            numbers: Vec::new(),
        })
    }

    fn looking() -> Looking {
        Looking {
            looks: Looks::new(3).unwrap(),
            most_time: None,
            metric: Metric::parse("tps").unwrap(),
            order_seed: 1,
        }
    }

    #[test]
    fn the_first_pair_warms_up_and_busy_ones_are_repeated_at_most_half_as_often_as_there_are_pairs() {
        let slot = |number: u32, busy: bool| Slot { number, a: run(1.0, busy), b: run(2.0, false) };
        let slots: Vec<Slot> = (1..=6).map(|number| slot(number, true)).collect();
        let progress = Progress::of(&slots, &looking());
        let [warm, busy, counted] = [Role::WarmUp, Role::Busy, Role::Counted];
        assert_eq!(progress.roles, [warm, busy, busy, counted, counted, counted]);
        assert_eq!(progress.counted, [(1.0, 2.0); 3]);
        assert_eq!(progress.most_left(&looking()), 0);
    }

    #[test]
    fn a_pair_without_one_of_its_runs_is_incomplete_and_a_repeated_one_keeps_its_order() {
        let half = Slot { number: 1, a: run(1.0, false), b: None };
        let progress = Progress::of(&[half], &looking());
        assert_eq!(progress.roles, [Role::Incomplete]);
        assert_eq!((progress.next_first(&looking()), progress.most_left(&looking())), (Side::A, 4));
        let warm = || Slot { number: 1, a: run(1.0, false), b: run(1.0, false) };
        let busy = Slot { number: 2, a: run(1.0, false), b: run(1.0, true) };
        let before = Progress::of(&[warm()], &looking()).next_first(&looking());
        assert_eq!(Progress::of(&[warm(), busy], &looking()).next_first(&looking()), before);
    }
}
