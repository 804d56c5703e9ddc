//! Global snapshot: writers add the same amount to all members in one transaction, and readers read all members in one.
//! All values must be equal in every read.

use super::sessions::{Over, Together, together};
use super::{AMOUNT, Prepared, Seen, Tested, Told, Trouble, Unequal, counted, draw, pause, random, trouble};
use lydite_database::{Balance, BalanceTransaction, Balances, Between, Session, TxError};
use lydite_tpcc::Cents;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub(super) const NAME: &str = "global snapshot";

/// Longest wait of every other reader between two reads of a transaction. Updates come in between, so snapshots that
/// nodes take one by one show at once.
const READER_WAITS: Duration = Duration::from_millis(4);
/// Longest wait between two transactions of a writer. A store that aborts a read of changed rows must have a chance to
/// let one through.
const WRITER_WAITS: Duration = Duration::from_millis(6);
/// Longest back-off before the retry of an aborted transaction.
const RETRY: Duration = Duration::from_millis(2);

/// Observations of a session, and the reason of an early end.
type Ended = (Seen, Option<Trouble>);

impl Prepared {
    pub(super) fn snapshot(&self, seen: &mut Seen, stop: &dyn Fn() -> bool) -> Tested<Told> {
        let writers = self.functions.sessions;
        let (members, seed) = (self.members.clone(), self.functions.seed);
        // Equal values prove something only if the values change between reads.
        let changed = Arc::new(AtomicBool::new(false));
        let has_changed = Arc::clone(&changed);
        let work = move |number: u32, session: &mut dyn Session<Balances>, over: &Over| {
            let random = random(seed, number);
            let ended = if number < writers {
                write(session, &members, random, over)
            } else {
                read(session, &members, random, (number - writers) % 2 == 1, (over, &has_changed))
            };
            if ended.1.is_some() || ended.0.unequal.is_some() {
                over.set();
            }
            ended
        };
        let begun = Instant::now();
        let proved = || changed.load(Ordering::Relaxed);
        let span = self.span(stop, &proved);
        let Together { ended, hang, stopped } =
            together(&self.target, 2 * writers, &span, &self.underway, work)?;
        let mut first = None;
        for (session, trouble) in ended {
            seen.add(session);
            first = first.or(trouble);
        }
        if let Some(Unequal { of: [a, b], values: [left, right] }) = &seen.unequal {
            return Err(Trouble::Failed(format!(
                "one read saw {left} in {a} and {right} in {b}, after {}, {} and {:.1} s",
                counted(seen.reads, "read"),
                counted(seen.committed, "update"),
                begun.elapsed().as_secs_f64()
            )));
        }
        if let Some(trouble) = first {
            return Err(trouble);
        }
        if hang > 0 {
            return Err(Trouble::Failed(self.hang(hang, 2 * writers as usize)));
        }
        let updates: BTreeMap<Balance, u64> =
            self.members.iter().map(|&balance| (balance, seen.committed)).collect();
        self.sums(&updates)?;
        if stopped {
            return Err(Trouble::Stopped);
        }
        let work = format!(
            "{} of {} beside {}, {} aborted",
            counted(seen.reads, "read"),
            counted(self.members.len() as u64, self.group.word()),
            counted(seen.committed, "update"),
            seen.all_aborts()
        );
        if !proved() {
            return Err(Trouble::Failed(format!(
                "no reader saw a change, so nothing is proved: {work}: try a longer --duration"
            )));
        }
        Ok(Told::passed(format!("{work}: all values were equal in each read, and the sums add up")))
    }
}

fn write(
    session: &mut dyn Session<Balances>,
    members: &[Balance],
    mut random: Xoshiro256PlusPlus,
    over: &Over,
) -> Ended {
    let mut seen = Seen::default();
    // All writers use the same order, so none waits in a ring.
    let update =
        BalanceTransaction::Add { amount: AMOUNT, balances: members.to_vec(), between: Between::NOTHING };
    while !over.is_set() {
        let begun = Instant::now();
        let result = session.execute(&update);
        seen.slowest_s = seen.slowest_s.max(begun.elapsed().as_secs_f64());
        match result {
            Ok(_) => {
                seen.committed += 1;
                thread::sleep(draw(&mut random, WRITER_WAITS));
            }
            Err(TxError::Aborted { reason, .. }) => {
                seen.abort(reason);
                thread::sleep(draw(&mut random, RETRY));
            }
            Err(error) => return (seen, Some(trouble(&error))),
        }
    }
    (seen, None)
}

fn read(
    session: &mut dyn Session<Balances>,
    members: &[Balance],
    mut random: Xoshiro256PlusPlus,
    waits: bool,
    (over, changed): (&Over, &AtomicBool),
) -> Ended {
    let mut seen = Seen::default();
    let mut longest = if waits { READER_WAITS } else { Duration::ZERO };
    let mut last = None;
    while !over.is_set() {
        let between = pause(draw(&mut random, longest));
        let begun = Instant::now();
        let result = session.execute(&BalanceTransaction::Select { balances: members.to_vec(), between });
        seen.slowest_s = seen.slowest_s.max(begun.elapsed().as_secs_f64());
        match result {
            Ok(values) => {
                seen.reads += 1;
                seen.unequal = unequal(members, &values);
                if seen.unequal.is_some() {
                    return (seen, None);
                }
                let state = values.first().copied();
                seen.states += u64::from(state != last);
                last = state;
                if seen.states > 1 {
                    changed.store(true, Ordering::Relaxed);
                }
                if waits {
                    longest = READER_WAITS.min(longest * 2 + RETRY / 8);
                }
            }
            Err(TxError::Aborted { reason, .. }) => {
                seen.abort(reason);
                // The reads took too long for a store that aborts a read whose values have changed.
                longest /= 2;
                thread::sleep(draw(&mut random, RETRY));
            }
            Err(error) => return (seen, Some(trouble(&error))),
        }
    }
    (seen, None)
}

/// Returns two members whose values differ.
fn unequal(members: &[Balance], values: &[Cents]) -> Option<Unequal> {
    let mut all = members.iter().zip(values);
    let (&first, value) = all.next()?;
    let (&other, differs) = all.find(|(_, other)| *other != value)?;
    let of = [first, other].map(|balance| balance.to_string());
    Some(Unequal { of, values: [value, differs].map(|cents| cents.to_string()) })
}
