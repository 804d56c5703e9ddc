//! Global deadlock by design: each of two or three sessions updates a warehouse. When all have done so, each updates
//! the warehouse that the next session holds. So the ring does not depend on luck.

use super::sessions::{Answer, Aside};
use super::{AMOUNT, GRACE, Prepared, Seen, TestVerdict, Tested, Told, Trouble, counted, trouble};
use lydite_database::{AbortReason, Balance, BalanceTransaction, Between, TxError};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Rings of each length, each over other warehouses as far as possible.
const ROUNDS: usize = 3;
/// Longest wait of sessions for each other in the middle of a ring. In a database that lets in one writer at a time
/// they never meet there.
const MEETING: Duration = Duration::from_secs(2);
/// Rings that do not close before the test gives up.
const UNCLOSED: usize = 2;
/// Retries of a transaction of a ring.
const ATTEMPTS: usize = 20;

pub(super) fn name(length: usize) -> &'static str {
    if length == 2 { "deadlock of two" } else { "deadlock of three" }
}

/// Meeting point of a ring's sessions after their first update.
struct Meeting {
    state: Mutex<Met>,
    all: Condvar,
    sessions: usize,
}

#[derive(Default)]
struct Met {
    here: usize,
    /// Time when the last session arrived.
    complete: Option<Instant>,
    given_up: bool,
}

impl Meeting {
    fn new(sessions: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), all: Condvar::new(), sessions })
    }

    fn state(&self) -> MutexGuard<'_, Met> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attend(&self) {
        let mut met = self.state();
        met.here += 1;
        if met.here == self.sessions && !met.given_up {
            met.complete = Some(Instant::now());
            self.all.notify_all();
            return;
        }
        let apart = |met: &mut Met| met.complete.is_none() && !met.given_up;
        let (mut met, _) =
            self.all.wait_timeout_while(met, MEETING, apart).unwrap_or_else(PoisonError::into_inner);
        if met.complete.is_none() {
            met.given_up = true;
            self.all.notify_all();
        }
    }
}

/// Ends of the rings of one length.
#[derive(Default)]
struct Ends {
    unclosed: usize,
    /// The first ring that only a timeout ended, in words.
    timeout: Option<String>,
    resent: u64,
    updates: BTreeMap<Balance, u64>,
}

impl Prepared {
    pub(super) fn cycles(&self, length: usize, seen: &mut Seen, stop: &dyn Fn() -> bool) -> Tested<Told> {
        let members = &self.members;
        if members.len() < length {
            let detail =
                format!("needs {length} {}s, and the tests use {}", self.group.word(), members.len());
            return Ok(Told { verdict: TestVerdict::Skipped, detail });
        }
        let connect =
            || Aside::connect(&self.target, self.functions.limit, &self.underway).map_err(Trouble::Lost);
        let sessions: Vec<Aside> = (0..length).map(|_| connect()).collect::<Result<_, _>>()?;
        let mut ends = Ends::default();
        for round in 0..ROUNDS {
            if stop() {
                return Err(Trouble::Stopped);
            }
            let ring: Vec<Balance> =
                (0..length).map(|place| members[(round * length + place) % members.len()]).collect();
            self.ring(&sessions, &ring, seen, &mut ends)?;
            if ends.timeout.is_some() || ends.unclosed == UNCLOSED {
                break;
            }
        }
        self.sums(&ends.updates)?;
        if let Some(detail) = ends.timeout {
            return Ok(Told { verdict: TestVerdict::Timeout, detail });
        }
        if seen.cycles == 0 {
            return Ok(Told::passed(format!(
                "no ring closed: only one session at a time got to its first update; {} committed; the sums add up",
                counted(seen.committed, "transaction")
            )));
        }
        Ok(Told::passed(format!(
            "{} of {length} sessions broken, the slowest within {:.2} s{}: {} aborted, retried and committed; the \
             sums add up",
            counted(seen.cycles, "ring"),
            seen.slowest_s,
            self.looks_after
                .map_or_else(String::new, |time| format!(" (deadlock_timeout {} s)", time.as_secs_f64())),
            counted(ends.resent, "transaction")
        )))
    }

    /// Runs one ring of sessions and judges its end.
    fn ring(&self, sessions: &[Aside], ring: &[Balance], seen: &mut Seen, ends: &mut Ends) -> Tested<()> {
        let meeting = Meeting::new(sessions.len());
        let words = || ring.iter().map(Balance::to_string).collect::<Vec<_>>().join(", ");
        let update = |place: usize| {
            let wanted = ring[(place + 1) % ring.len()];
            vec![ring[place], wanted]
        };
        for (place, session) in sessions.iter().enumerate() {
            let meeting = Arc::clone(&meeting);
            let between = Between::new(move || meeting.attend());
            session.begin(BalanceTransaction::Add { amount: AMOUNT, balances: update(place), between });
        }
        let deadline = Instant::now() + MEETING + self.functions.limit + GRACE;
        let answers: Vec<Option<Answer>> = sessions.iter().map(|session| session.answer(deadline)).collect();
        let closed = meeting.state().complete;
        match closed {
            Some(_) => seen.cycles += 1,
            None => ends.unclosed += 1,
        }
        let hang = answers.iter().filter(|answer| answer.is_none()).count();
        let (mut committed, mut victims, mut waited) = (0, Vec::new(), 0);
        let mut timeout = None;
        let mut failed = None;
        for (place, answer) in answers.into_iter().enumerate() {
            let Some(Answer { result, at }) = answer else { continue };
            let time = closed.map_or(Duration::ZERO, |closed| at.saturating_duration_since(closed));
            seen.slowest_s = seen.slowest_s.max(time.as_secs_f64());
            match result {
                Ok(_) => {
                    committed += 1;
                    self.count(&update(place), seen, ends);
                }
                Err(TxError::Aborted { reason, detail }) => {
                    seen.abort(reason);
                    victims.push(place);
                    waited += usize::from(matches!(reason, AbortReason::Deadlock | AbortReason::LockTimeout));
                    if reason == AbortReason::LockTimeout {
                        timeout.get_or_insert((time, detail));
                    }
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if hang > 0 {
            let why = self.hang(hang, sessions.len());
            return Err(Trouble::Failed(format!("{why}, in the ring over {}", words())));
        }
        if let Some(error) = failed {
            return Err(trouble(&error));
        }
        if let Some((time, detail)) = timeout {
            ends.timeout = Some(format!(
                "timeout instead of detection: the ring over {} lasted {:.1} s, until a wait for a lock timed \
                 out; {committed} of {} committed; {detail}",
                words(),
                time.as_secs_f64(),
                sessions.len()
            ));
        } else if committed == 0 && waited > 0 {
            return Err(Trouble::Failed(format!(
                "all transactions of the ring over {} were aborted, and one is enough",
                words()
            )));
        }
        for place in victims {
            self.send_again(&sessions[place], &update(place), seen, ends)?;
        }
        Ok(())
    }

    /// Retries an aborted transaction alone, so nothing of the ring is in its way.
    fn send_again(
        &self,
        session: &Aside,
        balances: &[Balance],
        seen: &mut Seen,
        ends: &mut Ends,
    ) -> Tested<()> {
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            let again = BalanceTransaction::Add {
                amount: AMOUNT,
                balances: balances.to_vec(),
                between: Between::NOTHING,
            };
            let Some(Answer { result, .. }) =
                session.play(again, Instant::now() + self.functions.limit + GRACE)
            else {
                return Err(Trouble::Failed(self.hang(1, 1)));
            };
            match result {
                Ok(_) => {
                    ends.resent += 1;
                    self.count(balances, seen, ends);
                    return Ok(());
                }
                Err(TxError::Aborted { reason, detail }) => {
                    seen.abort(reason);
                    last = detail;
                }
                Err(error) => return Err(trouble(&error)),
            }
        }
        Err(Trouble::Failed(format!(
            "a transaction of a ring was aborted {ATTEMPTS} more times when it was retried alone: {last}"
        )))
    }

    fn count(&self, balances: &[Balance], seen: &mut Seen, ends: &mut Ends) {
        seen.committed += 1;
        for &balance in balances {
            *ends.updates.entry(balance).or_default() += 1;
        }
    }
}
