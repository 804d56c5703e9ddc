//! Retries after aborts, and lost connections.

use crate::scripted::{Call, Scripted, longer, measure, pause, plan};
use lydite_bench::{Mode, OutageCause, RunError, Status};
use lydite_database::{AbortReason, Committed, TargetError, TargetErrorKind, TxError};
use lydite_tpcc::StandardKind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

const ONE: Mode = Mode::Direct { terminals: 1 };

fn aborted(reason: AbortReason) -> Option<TxError> {
    Some(TxError::Aborted { reason, detail: "try again".to_owned() })
}

fn gone(committed: Committed) -> Option<TxError> {
    Some(TxError::Unavailable { committed, detail: "connection reset".to_owned() })
}

#[test]
fn an_aborted_transaction_is_sent_again_with_the_same_input_and_all_its_time_counts() {
    const ATTEMPT: Duration = Duration::from_millis(2);
    // Every transaction is aborted twice, by a serialization failure and by a deadlock.
    let (target, found) = longer(500, |length| {
        let target = Arc::new(Scripted::new(|call| {
            std::thread::sleep(ATTEMPT);
            match call.number % 3 {
                0 => aborted(AbortReason::Serialization),
                1 => aborted(AbortReason::Deadlock),
                _ => None,
            }
        }));
        let found = measure(&target, &plan(ONE, length)).unwrap();
        (found.completed() > 0).then_some((target, found))
    });
    let seen = target.seen();
    for attempts in seen.chunks(3) {
        assert!(attempts.iter().all(|attempt| *attempt == attempts[0]));
    }
    let completed = found.completed();
    assert_eq!(found.kinds.iter().map(|kind| kind.retries).sum::<u64>(), 2 * completed);
    // Aborts of a last transaction that did not end count, too.
    let [serialization, deadlock, ..] = found.aborts;
    assert!((completed..=completed + 1).contains(&serialization), "{:?} of {completed}", found.aborts);
    assert!((completed..=completed + 1).contains(&deadlock), "{:?} of {completed}", found.aborts);
    let all: u64 = found.aborts.iter().sum();
    assert_eq!(found.series.iter().map(|second| second.aborts).sum::<u64>(), all);
    assert_eq!(all, serialization + deadlock);
    for kind in found.kinds.iter().filter(|kind| kind.completed() > 0) {
        assert!(u128::from(kind.latency.min()) >= 3 * ATTEMPT.as_nanos() * 999 / 1_000);
        assert_eq!(kind.latency, kind.service, "in a closed loop nothing waits for a session");
    }
}

/// The database aborts session 0 if others have requested the hot row since its last attempt, and never aborts them.
/// So it loses as long as they come, and backs off while they do not.
#[test]
fn later_transactions_wait_behind_one_that_was_aborted_in_its_turn() {
    // Aborted at first and in its turn, then once for each of three others that were on their way.
    const ATTEMPTS: usize = 6;
    longer(1_000, |length| {
        let ended = Arc::new(AtomicUsize::new(0));
        let (committed, others, before) = (Arc::clone(&ended), AtomicUsize::new(0), AtomicUsize::new(0));
        let target = Arc::new(Scripted::new(move |call| {
            pause();
            if call.session > 0 {
                others.fetch_add(1, Ordering::SeqCst);
                return None;
            }
            let now = others.load(Ordering::SeqCst);
            if before.swap(now, Ordering::SeqCst) != now {
                return aborted(AbortReason::Serialization);
            }
            committed.fetch_add(1, Ordering::SeqCst);
            None
        }));
        let mut plan = plan(Mode::Direct { terminals: 4 }, length);
        for step in &mut plan.steps {
            step.contention = vec![4];
        }
        let found = measure(&target, &plan).unwrap();
        let (aborts, ended) = (found.aborts.iter().sum::<u64>() as usize, ended.load(Ordering::SeqCst));
        assert!(aborts < ATTEMPTS * (ended + 1), "{aborts} aborts for {ended} transactions");
        (ended > 2).then_some(())
    });
}

#[test]
fn attempts_are_counted_though_their_transaction_never_ends() {
    longer(1_200, |length| {
        let target = Arc::new(Scripted::new(|_| {
            std::thread::sleep(Duration::from_millis(50));
            aborted(AbortReason::Deadlock)
        }));
        let mut plan = plan(ONE, length);
        plan.retry.attempts = u32::MAX;
        plan.retry.backoff_max = Duration::from_millis(1);
        let found = measure(&target, &plan).unwrap();
        assert_eq!(found.completed(), 0);
        let aborts = found.aborts[AbortReason::Deadlock.index()];
        let seconds: Vec<u64> = found.series.iter().map(|second| second.aborts).collect();
        assert_eq!(seconds.iter().sum::<u64>(), aborts, "{seconds:?}");
        // Counted as they come, and not at the end.
        (aborts > 5 && seconds[0] > 3).then_some(())
    });
}

#[test]
fn attempts_have_an_end() {
    let (found, failed) = longer(300, |length| {
        let target = Arc::new(Scripted::new(|_| aborted(AbortReason::LockTimeout)));
        let mut plan = plan(ONE, length);
        plan.retry.attempts = 3;
        plan.retry.backoff_max = Duration::from_millis(1);
        let found = measure(&target, &plan).unwrap();
        let failed: u64 = found.kinds.iter().map(|kind| kind.failed).sum();
        (failed > 0).then_some((found, failed))
    });
    assert_eq!(found.completed(), 0);
    let aborts = found.aborts[AbortReason::LockTimeout.index()];
    // There is one session and no warm-up. So one transaction at most ends after the window, with up to three attempts
    // within it.
    assert!((3 * failed..=3 * failed + 3).contains(&aborts), "{aborts} of {failed}");
    assert_eq!(found.errors[0].message, "given up after 3 attempts: try again");
}

#[test]
fn a_commit_that_nobody_knows_of_is_neither_counted_nor_repeated() {
    let (target, found, unknown) = longer(1_000, |length| {
        let target = Arc::new(Scripted::new(|call| {
            pause();
            if call.total % 10 == 9 { gone(Committed::Unknown) } else { None }
        }));
        let found = measure(&target, &plan(ONE, length)).unwrap();
        let unknown: u64 = found.kinds.iter().map(|kind| kind.unknown).sum();
        (unknown > 0).then_some((target, found, unknown))
    });
    assert_eq!(found.completed() + unknown + found.straddling, target.calls());
    assert_eq!(found.series.iter().map(|second| second.unknown).sum::<u64>(), unknown);
    let seen = target.seen();
    assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "an input was sent twice");
    assert_eq!(found.kinds.iter().map(|kind| kind.failed + kind.retries).sum::<u64>(), 0);
}

#[test]
fn a_transaction_that_was_surely_not_committed_is_sent_again_on_a_new_connection() {
    let (target, found, seen) = longer(600, |length| {
        let target = Arc::new(Scripted::new(|call| {
            pause();
            if call.total == 5 { gone(Committed::No) } else { None }
        }));
        let found = measure(&target, &plan(ONE, length)).unwrap();
        let seen = target.seen();
        (seen.len() > 7).then_some((target, found, seen))
    });
    assert_eq!(seen[5], seen[6]);
    assert_eq!(target.connections(), 2);
    assert_eq!(found.kinds.iter().map(|kind| kind.retries).sum::<u64>(), 1);
    assert_eq!(found.kinds.iter().map(|kind| kind.failed + kind.unknown).sum::<u64>(), 0);
    assert_eq!(found.outages.len(), 1, "there was only one session");
}

#[test]
fn an_outage_shows_in_the_series_and_ends_with_the_first_answer() {
    longer(2_500, |length| {
        const OUTAGE: Duration = Duration::from_millis(400);
        let back = Arc::new(OnceLock::new());
        let seen_by_door = Arc::clone(&back);
        let target = Arc::new(
            Scripted::new(move |call| {
                pause();
                let over = |back: &Instant| Instant::now() >= *back;
                if call.total >= 50 && !over(back.get_or_init(|| Instant::now() + OUTAGE)) {
                    return gone(Committed::No);
                }
                None
            })
            .with_door(move |_| match seen_by_door.get() {
                Some(back) if Instant::now() < *back => Err(TargetError::unreachable("connection refused")),
                _ => Ok(()),
            }),
        );
        let found = measure(&target, &plan(Mode::Direct { terminals: 2 }, length)).unwrap();
        let lost_to = found.outages.first().map(|outage| outage.to_s);
        // On a machine under load it may not begin, or not be over, before the end, or be over between two looks.
        if lost_to.is_none_or(|to_s| to_s >= length as f64 / 1e3)
            || found.series.iter().all(|second| second.connected > 0)
        {
            return None;
        }
        assert_eq!(found.outages.len(), 1, "{:?}", found.outages);
        let outage = found.outages[0];
        assert_eq!(outage.cause, OutageCause::Lost);
        assert!(outage.from_s > 0.0 && outage.to_s > outage.from_s, "{outage:?}");
        assert!(found.lost.is_none());
        assert!(found.errors.iter().any(|error| error.message == "connection reset"));
        assert_eq!(found.kinds.iter().map(|kind| kind.failed + kind.unknown).sum::<u64>(), 0);
        (found.series.last().unwrap().connected == 2).then_some(())
    });
}

#[test]
fn a_server_that_is_silent_is_an_outage_though_no_connection_is_lost() {
    const FROZEN: Duration = Duration::from_secs(3);
    longer(5_000, |length| {
        let thaws = Arc::new(OnceLock::new());
        let target = Arc::new(Scripted::new(move |call| {
            pause();
            if call.total >= 50 {
                let thaws: &Instant = thaws.get_or_init(|| Instant::now() + FROZEN);
                std::thread::sleep(thaws.saturating_duration_since(Instant::now()));
            }
            None
        }));
        let found = measure(&target, &plan(Mode::Direct { terminals: 2 }, length)).unwrap();
        // On a machine under load it may not be over before the end; while the machine stands still, nobody is silent.
        let [outage] = found.outages[..] else { return None };
        if outage.to_s - outage.from_s < 2.9 {
            return None;
        }
        assert_eq!(outage.cause, OutageCause::Silent);
        assert!(outage.from_s >= 0.0, "{outage:?}");
        assert!(found.lost.is_none() && found.series.iter().all(|second| second.connected == 2));
        (outage.to_s < length as f64 / 1e3).then_some(())
    });
}

#[test]
fn a_target_that_never_comes_back_is_lost_and_what_it_owes_has_failed() {
    longer(700, |length| {
        let down = Arc::new(AtomicBool::new(false));
        let door = Arc::clone(&down);
        let target = Arc::new(
            Scripted::new(move |call| {
                pause();
                if call.number == 20 {
                    down.store(true, Ordering::SeqCst);
                    return gone(Committed::No);
                }
                None
            })
            .with_door(move |_| {
                if door.load(Ordering::SeqCst) {
                    Err(TargetError::unreachable("connection refused"))
                } else {
                    Ok(())
                }
            }),
        );
        let found = measure(&target, &plan(Mode::Direct { terminals: 2 }, length)).unwrap();
        // Both sessions lose their connection and try to get another one, unless the end comes first.
        if target.calls() < 42 || !found.errors.iter().any(|error| error.message == "connection refused") {
            return None;
        }
        assert_eq!(found.lost.as_deref(), Some("connection reset"));
        assert_eq!(found.completed(), 40);
        assert_eq!(found.kinds.iter().map(|kind| kind.failed).sum::<u64>(), 2);
        assert_eq!(found.outages.len(), 1);
        let to_the_end = (found.outages[0].to_s - length as f64 / 1e3).abs() < 1e-6;
        assert!(to_the_end, "it lasts to the end: {:?}", found.outages);
        Some(())
    });
}

#[test]
fn no_transaction_is_sent_unless_all_sessions_are_connected() {
    let target = Arc::new(Scripted::good().with_door(|connection| {
        if connection == 5 { Err(TargetError::unreachable("too many connections")) } else { Ok(()) }
    }));
    let error = measure(&target, &plan(Mode::Direct { terminals: 8 }, 10_000)).unwrap_err();
    assert!(matches!(&error, RunError::Target(cause) if cause.kind == TargetErrorKind::Unreachable));
    assert_eq!(error.to_string(), "too many connections");
    assert_eq!(target.calls(), 0);
}

fn failing(found: &lydite_bench::Measurement) -> &str {
    match &found.status {
        Status::Failing(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_type_that_fails_again_and_again_ends_the_run_though_others_succeed() {
    let target = Arc::new(Scripted::new(|call| {
        pause();
        // Some transactions succeed.
        (call.transaction.kind() == StandardKind::Payment && !call.total.is_multiple_of(7))
            .then(|| TxError::Fatal("the \x1b[31mdisk is full\nand more".into()))
    }));
    let found = measure(&target, &plan(Mode::Direct { terminals: 2 }, 60_000)).unwrap();
    assert_eq!(failing(&found), "the run ended early, Payment keeps failing: the [31mdisk is full");
    assert!(found.window.measured < Duration::from_secs(30));
    let payment = found.kind(StandardKind::Payment);
    assert!(payment.failed >= 100, "{payment:?}");
    assert!(found.kind(StandardKind::NewOrder).completed() > 0);
}

#[test]
fn a_database_that_takes_no_more_transactions_ends_the_run_at_once() {
    let target = Arc::new(Scripted::new(|call| {
        pause();
        (call.total >= 40).then(|| TxError::Broken("it is poisoned\nand more".into()))
    }));
    let found = measure(&target, &plan(Mode::Direct { terminals: 2 }, 60_000)).unwrap();
    assert_eq!(failing(&found), "the run ended early: it is poisoned");
    assert_eq!(found.completed(), 40);
    assert_eq!(target.calls(), 42, "each terminal hears it once");
    assert!(found.window.measured < Duration::from_secs(30));
    assert!(found.errors.iter().any(|error| error.message == "it is poisoned"), "{:?}", found.errors);
}

#[test]
fn a_type_that_failed_more_often_than_not_is_told_at_the_planned_end() {
    longer(300, |length| {
        let target = Arc::new(Scripted::new(|call| {
            pause();
            (call.transaction.kind() == StandardKind::Delivery).then(|| TxError::Fatal("no".into()))
        }));
        let found = measure(&target, &plan(ONE, length)).unwrap();
        let delivery = found.kind(StandardKind::Delivery);
        if delivery.failed < 10 {
            return None;
        }
        // After many failures the run ends before.
        let of_all = format!("{0} of {0} Delivery transactions did not succeed: no", delivery.failed);
        let told = failing(&found);
        assert!(told == of_all || length > 300 && told.contains("Delivery keeps failing: no"), "{told}");
        Some(())
    });
}

#[test]
fn failures_that_are_fewer_than_successes_do_not_end_a_run() {
    let target =
        Arc::new(Scripted::new(|call| (call.total % 5 == 0).then(|| TxError::Fatal("a hiccup".into()))));
    let found = measure(&target, &plan(Mode::Direct { terminals: 2 }, 1_000)).unwrap();
    assert!(
        found.kinds.iter().all(|kind| kind.failed > 100 || kind.completed() < 1_000),
        "{:?}",
        found.kinds
    );
    assert_eq!(found.status, Status::Complete);
}

#[test]
fn a_burst_of_errors_that_is_over_in_no_time_does_not_end_a_run() {
    let burst = |call: &Call<'_>| {
        pause();
        (500..2_500).contains(&call.total).then(|| TxError::Fatal("a failover".into()))
    };
    longer(4_000, |length| {
        let target = Arc::new(Scripted::new(burst));
        let found = measure(&target, &plan(Mode::Direct { terminals: 2 }, length)).unwrap();
        // On a machine under load the burst is not over in no time.
        if target.calls() < 4_000 {
            return None;
        }
        assert_eq!(found.status, Status::Complete);
        assert_eq!(found.kinds.iter().map(|kind| kind.failed).sum::<u64>(), 2_000);
        Some(())
    });
}

#[test]
fn a_type_that_fails_nearly_half_of_the_time_is_a_result_however_long_the_run() {
    // By chance, failures are the majority for a while again and again.
    let target = Arc::new(Scripted::new(|call| {
        // SplitMix64: one multiplication alone favours one type over millions of calls.
        let mut drawn = (call.total as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((drawn ^ (drawn >> 31)) % 100 < 49).then(|| TxError::Fatal("half of it".into()))
    }));
    let found = measure(&target, &plan(Mode::Direct { terminals: 2 }, 8_000)).unwrap();
    assert_eq!(found.status, Status::Complete);
}

#[test]
fn a_database_of_which_nobody_knows_whether_it_commits_is_no_result() {
    let target = Arc::new(Scripted::new(|call| {
        pause();
        (call.transaction.kind() == StandardKind::NewOrder).then(|| TxError::Unavailable {
            committed: Committed::Unknown,
            detail: "connection reset".into(),
        })
    }));
    longer(1_500, |length| {
        let found = measure(&target, &plan(Mode::Direct { terminals: 2 }, length)).unwrap();
        let unknown = found.kind(StandardKind::NewOrder).unknown;
        if unknown < 10 {
            return None;
        }
        let of_all =
            format!("{unknown} of {unknown} New-Order transactions did not succeed: connection reset");
        let told = failing(&found);
        assert!(told == of_all || length > 1_500 && told.contains("New-Order keeps failing"), "{told}");
        Some(())
    });
}

#[test]
fn a_single_failure_of_a_short_run_does_not_spoil_it_nor_does_the_warm_up() {
    longer(400, |warmup| {
        let target = Arc::new(Scripted::new(|call| {
            std::thread::sleep(Duration::from_millis(2));
            let delivery = call.transaction.kind() == StandardKind::Delivery;
            (call.total < 100 || delivery).then(|| TxError::Fatal("not yet".into()))
        }));
        let mut plan = plan(ONE, 200);
        plan.warmup = Duration::from_millis(warmup);
        let found = measure(&target, &plan).unwrap();
        let failed = found.kind(StandardKind::Delivery).failed;
        assert!(failed < 10);
        // On a machine under load the first hundred may not be over with the warm-up.
        if found.kinds.iter().map(|kind| kind.failed).sum::<u64>() > failed {
            return None;
        }
        assert_eq!(found.status, Status::Complete);
        Some(())
    });
}

#[test]
fn what_an_outage_cut_short_is_no_failure_of_its_type() {
    // Too few for a verdict, even if all of them are of one type.
    const REFUSED: u64 = 9;
    // However the types are drawn, one of the five has at least ten of these failures.
    const SESSIONS: u32 = 41;
    longer(1_500, |length| {
        let down = Arc::new(AtomicBool::new(false));
        let door = Arc::clone(&down);
        let target = Arc::new(
            Scripted::new(move |call| {
                if (call.total as u64) < REFUSED {
                    return Some(TxError::Fatal("a hiccup".into()));
                }
                down.store(true, Ordering::SeqCst);
                gone(Committed::No)
            })
            .with_door(move |_| match door.load(Ordering::SeqCst) {
                true => Err(TargetError::unreachable("connection refused")),
                false => Ok(()),
            }),
        );
        let found = measure(&target, &plan(Mode::Direct { terminals: SESSIONS }, length)).unwrap();
        let failed: u64 = found.kinds.iter().map(|kind| kind.failed).sum();
        if target.calls() < REFUSED + u64::from(SESSIONS) {
            return None;
        }
        assert_eq!(failed, target.calls(), "the refused ones and those that were cut short");
        assert_eq!(failed, REFUSED + u64::from(SESSIONS), "each session lost its connection once");
        assert!(found.lost.is_some());
        assert_eq!(found.status, Status::Complete);
        Some(())
    });
}

#[test]
fn nothing_is_sent_again_after_the_end_however_long_a_connection_took() {
    const LENGTH: u64 = 300;
    // The first answer is a lost connection, and the reconnection succeeds only after the end.
    let target = Arc::new(
        Scripted::new(|call| {
            pause();
            (call.session == 0).then(|| gone(Committed::No)).flatten()
        })
        .with_door(|connection| {
            if connection > 0 {
                std::thread::sleep(Duration::from_millis(4 * LENGTH));
            }
            Ok(())
        }),
    );
    let mut plan = plan(ONE, LENGTH);
    plan.drain = Duration::from_millis(100);
    let found = measure(&target, &plan).unwrap();
    assert_eq!((found.completed(), found.whole.unknown()), (0, 0));
    std::thread::sleep(Duration::from_millis(6 * LENGTH));
    assert_eq!((target.connections(), target.calls()), (2, 1), "the transaction was sent once");
}
