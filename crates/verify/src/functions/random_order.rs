//! Global deadlock in random order, as in the Dike paper: each transaction of a session updates some warehouses, chosen
//! by Zipf's law, in random order.

use super::sessions::{Over, Together, together};
use super::{
    AMOUNT, Prepared, Seen, TestVerdict, Tested, Told, Trouble, counted, draw, pause, random, trouble, unit,
};
use lydite_database::{AbortReason, Balance, BalanceTransaction, Balances, Session, TxError};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

pub(super) const NAME: &str = "random order";

/// Exponent of Zipf's law in the paper.
const ZIPF: f64 = 0.99;
/// Longest wait between two updates of a transaction.
const WAITS: Duration = Duration::from_millis(2);

struct Ended {
    seen: Seen,
    updates: BTreeMap<Balance, u64>,
    trouble: Option<Trouble>,
}

impl Prepared {
    pub(super) fn random_order(&self, seen: &mut Seen, stop: &dyn Fn() -> bool) -> Tested<Told> {
        let sessions = 2 * self.functions.sessions;
        let (members, seed, count) = (self.members.clone(), self.functions.seed, self.updates as usize);
        let work = move |number: u32, session: &mut dyn Session<Balances>, over: &Over| {
            let ended = update(session, &members, count, random(seed, number), over);
            if ended.trouble.is_some() {
                over.set();
            }
            ended
        };
        let Together { ended, hang, stopped } =
            together(&self.target, sessions, &self.span(stop, &|| true), &self.underway, work)?;
        let mut updates: BTreeMap<Balance, u64> = BTreeMap::new();
        let mut first = None;
        for session in ended {
            seen.add(session.seen);
            first = first.or(session.trouble);
            for (id, count) in session.updates {
                *updates.entry(id).or_default() += count;
            }
        }
        if let Some(trouble) = first {
            return Err(trouble);
        }
        if hang > 0 {
            return Err(Trouble::Failed(self.hang(hang, sessions as usize)));
        }
        self.sums(&updates)?;
        if stopped {
            return Err(Trouble::Stopped);
        }
        let aborts: Vec<String> =
            seen.aborts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        let aborted = if aborts.is_empty() {
            "none aborted".to_string()
        } else {
            format!("aborted: {}", aborts.join(", "))
        };
        let work = format!(
            "{sessions} sessions over {}: {} committed, {aborted}, the slowest took {:.2} s",
            counted(u64::from(self.updates), self.group.word()),
            counted(seen.committed, "update"),
            seen.slowest_s
        );
        match seen.aborts_of(AbortReason::LockTimeout) {
            0 if seen.committed == 0 => Err(Trouble::Failed(format!("no transaction was committed: {work}"))),
            0 => Ok(Told::passed(format!("{work}; the sums add up"))),
            count => Ok(Told {
                verdict: TestVerdict::Timeout,
                detail: format!(
                    "timeout instead of detection: {} for a lock timed out; {work}",
                    counted(count, "wait")
                ),
            }),
        }
    }
}

fn update(
    session: &mut dyn Session<Balances>,
    members: &[Balance],
    count: usize,
    mut random: Xoshiro256PlusPlus,
    over: &Over,
) -> Ended {
    let mut ended = Ended { seen: Seen::default(), updates: BTreeMap::new(), trouble: None };
    while !over.is_set() {
        let balances = chosen(members, count, &mut random);
        let between = pause(draw(&mut random, WAITS));
        let begun = Instant::now();
        let add = BalanceTransaction::Add { amount: AMOUNT, balances: balances.clone(), between };
        let result = session.execute(&add);
        ended.seen.slowest_s = ended.seen.slowest_s.max(begun.elapsed().as_secs_f64());
        match result {
            Ok(_) => {
                ended.seen.committed += 1;
                for id in balances {
                    *ended.updates.entry(id).or_default() += 1;
                }
            }
            Err(TxError::Aborted { reason, .. }) => {
                ended.seen.abort(reason);
                thread::sleep(draw(&mut random, WAITS));
            }
            Err(error) => {
                ended.trouble = Some(trouble(&error));
                return ended;
            }
        }
    }
    ended
}

/// Draws different members by Zipf's law from those that are left: the k-th has the weight k^-0.99.
fn chosen(members: &[Balance], count: usize, random: &mut Xoshiro256PlusPlus) -> Vec<Balance> {
    let mut left: Vec<(Balance, f64)> =
        members.iter().zip(1_u32..).map(|(&id, rank)| (id, f64::from(rank).powf(-ZIPF))).collect();
    let mut chosen = Vec::with_capacity(count);
    while chosen.len() < count && !left.is_empty() {
        let all: f64 = left.iter().map(|(_, weight)| weight).sum();
        let mut at = unit(random) * all;
        let place = left.iter().position(|(_, weight)| {
            at -= weight;
            at <= 0.0
        });
        // Rounding may leave a little after the last one.
        let (id, _) = left.remove(place.unwrap_or(left.len() - 1));
        chosen.push(id);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_tpcc::WarehouseId;

    #[test]
    fn the_first_member_is_chosen_most_often_and_none_twice_in_a_transaction() {
        let members: Vec<Balance> = (1..=10).map(|id| Balance::Warehouse(WarehouseId(id))).collect();
        let mut random = random(1, 0);
        let mut first = [0_u32; 11];
        for _ in 0..20_000 {
            let chosen = chosen(&members, 3, &mut random);
            let mut different = chosen.clone();
            different.sort_unstable();
            different.dedup();
            assert_eq!(different.len(), 3, "{chosen:?}");
            let place = members.iter().position(|member| *member == chosen[0]).unwrap();
            first[place + 1] += 1;
        }
        let all: f64 = (1..=10).map(|rank| f64::from(rank).powf(-ZIPF)).sum();
        for rank in [1_u32, 2, 10] {
            let wanted = 20_000.0 * f64::from(rank).powf(-ZIPF) / all;
            let seen = f64::from(first[rank as usize]);
            assert!((seen - wanted).abs() < 5.0 * wanted.sqrt(), "{rank}: {seen} instead of {wanted}");
        }
    }
}
