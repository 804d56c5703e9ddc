//! The transactions that count, once each (clause 5.4.1), and the ends of runs.

use crate::scripted::{Scripted, longer, measure, pause, plan};
use lydite_bench::{LatencyLimit, Mode, Phase, RunControl, Second, Status, run};
use lydite_database::{AbortReason, Committed, Target, TxError};
use lydite_tpcc::{Standard, StandardKind, Transaction};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const DIRECT: Mode = Mode::Direct { terminals: 2 };

fn completed(series: &[Second]) -> u64 {
    series.iter().flat_map(|second| second.completed.clone()).sum()
}

#[test]
fn every_transaction_is_counted_exactly_once() {
    let (target, found) = longer(400, |length| {
        let target = Arc::new(Scripted::good());
        let found = measure(&target, &plan(DIRECT, length)).unwrap();
        assert_eq!(found.window.measured, Duration::from_millis(length));
        let each = StandardKind::ALL.into_iter().all(|kind| found.kind(kind).completed() > 0);
        each.then_some((target, found))
    });
    assert_eq!(found.status, Status::Complete);
    assert_eq!(found.completed() + found.straddling, target.calls());
    assert!(found.straddling <= 2, "one for each session at most: {}", found.straddling);
    assert_eq!(completed(&found.series), found.completed());
    assert!(found.warmup_series.is_empty());
    for kind in StandardKind::ALL {
        let one = found.kind(kind);
        assert_eq!(one.latency.len(), one.completed());
        assert_eq!(one.queue.len(), one.completed());
        assert_eq!(one.service.len(), one.completed());
        // Sessions of a closed loop take up transactions when they are due.
        assert_eq!((one.queue.max(), &one.service), (0, &one.latency));
        assert_eq!(found.facts.inputs.count(kind), one.completed());
        assert_eq!(one.retries + one.failed + one.unknown, 0);
    }
    let delivered = found.kind(StandardKind::Delivery).completed();
    assert_eq!((found.facts.delivery.completed, found.facts.delivery.within_80_s), (delivered, delivered));
    assert_eq!((found.facts.delivery.queued, found.facts.delivery.skipped_districts), (0, 0));
    assert!(found.lost.is_none() && found.errors.is_empty() && found.outages.is_empty());
    assert!(found.client.peak_rss_bytes > 0);
}

#[test]
fn transactions_over_a_limit_are_counted_second_by_second() {
    // Every second transaction of a session takes 20 ms at least, the others hardly any time on an idle machine.
    let target = Arc::new(Scripted::new(|call| {
        if call.number.is_multiple_of(2) {
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    }));
    let mut plan = plan(DIRECT, 1_500);
    let limit = |kind, latency| LatencyLimit { kind, latency: Duration::from_micros(latency) };
    plan.limits = vec![limit(None, 19_700), limit(Some(0), 19_700), limit(None, 0), limit(Some(1), u64::MAX)];
    let found = measure(&target, &plan).unwrap();
    let over = |place: usize| found.series.iter().map(|second| second.over[place]).sum::<u64>();
    let slower = |kind: StandardKind, ns: u64| {
        let latency = &found.kind(kind).latency;
        latency.len() - latency.count_between(0, ns)
    };
    let slower_of_all = |ns| StandardKind::ALL.into_iter().map(|kind| slower(kind, ns)).sum::<u64>();
    assert!(2 * over(0) + 4 >= found.completed(), "{} of {}", over(0), found.completed());
    // The limit is told to within one percent.
    assert!((slower_of_all(19_950_000)..=slower_of_all(19_450_000)).contains(&over(0)), "{}", over(0));
    let of_new_orders =
        slower(StandardKind::NewOrder, 19_950_000)..=slower(StandardKind::NewOrder, 19_450_000);
    assert!(of_new_orders.contains(&over(1)), "{} not in {of_new_orders:?}", over(1));
    assert_eq!(over(2), found.completed(), "everything takes longer than nothing");
    assert_eq!(over(3), 0);
    assert!(found.series.iter().all(|second| second.over.len() == plan.limits.len()));
}

#[test]
fn a_rolled_back_new_order_is_completed() {
    let found = longer(200, |length| {
        let found = measure(&Arc::new(Scripted::new(|_| None)), &plan(DIRECT, length)).unwrap();
        let new_order = found.kind(StandardKind::NewOrder);
        assert_eq!(new_order.rolled_back, found.facts.inputs.rollbacks_asked);
        (new_order.rolled_back > 0).then_some(found)
    });
    let new_order = found.kind(StandardKind::NewOrder);
    let minutes = found.window.measured.as_secs_f64() / 60.0;
    assert!((found.nopm() * minutes - new_order.completed() as f64).abs() < 1e-3);
}

#[test]
fn the_warm_up_has_a_series_of_its_own_and_is_not_counted() {
    longer(1_100, |length| {
        let target = Arc::new(Scripted::good());
        let mut plan = plan(DIRECT, length);
        plan.warmup = Duration::from_millis(length + 100);
        let found = measure(&target, &plan).unwrap();
        let seconds = (length + 100).div_ceil(1_000) as usize;
        assert_eq!((found.warmup_series.len(), found.series.len()), (seconds, seconds));
        let warmup = completed(&found.warmup_series);
        assert_eq!(completed(&found.series), found.completed());
        assert_eq!(warmup + found.completed() + found.straddling, target.calls());
        if warmup == 0 {
            return None;
        }
        assert!(found.series[0].first_p50? <= found.series[0].first_p99.unwrap());
        assert_eq!(found.series[0].connected, 2);
        Some(())
    });
}

#[test]
fn the_pieces_of_a_cut_window_hold_the_new_orders_and_the_aborts_of_their_seconds() {
    longer(1_100, |length| {
        let target = Arc::new(Scripted::new(|call| {
            pause();
            let detail = "try again".to_owned();
            (call.number % 50 == 7).then_some(TxError::Aborted { reason: AbortReason::Deadlock, detail })
        }));
        let mut plan = plan(DIRECT, length);
        (plan.warmup, plan.cuts) = (Duration::from_millis(100), vec![1]);
        let found = measure(&target, &plan).unwrap();
        let [first, second] = &found.pieces[..] else { panic!("two pieces: {:?}", found.pieces) };
        assert_eq!((first.from_s, second.from_s), (0, 1));
        let (before, after) = found.series.split_at(1);
        for (piece, seconds) in [(first, before), (second, after)] {
            let new_order = StandardKind::NewOrder.index();
            let new_orders: u64 = seconds.iter().map(|second| second.completed[new_order]).sum();
            assert_eq!(piece.first_latency.len(), new_orders);
            let aborts: u64 = seconds.iter().map(|second| second.aborts).sum();
            assert_eq!(piece.aborts[AbortReason::Deadlock.index()], aborts);
            assert_eq!(piece.aborts.iter().sum::<u64>(), aborts);
        }
        (first.aborts.iter().sum::<u64>() > 0 && !second.first_latency.is_empty()).then_some(())
    });
    let uncut = measure(&Arc::new(Scripted::good()), &plan(DIRECT, 50)).unwrap();
    assert!(uncut.pieces.is_empty());
}

#[test]
fn the_whole_run_counts_what_was_acknowledged_outside_of_the_window_too() {
    // A fifth of the connections' commits get no answer.
    let lost = TxError::Unavailable { committed: Committed::Unknown, detail: "reset".into() };
    let unknown = Arc::new(AtomicUsize::new(0));
    longer(400, |length| {
        let unknown = Arc::clone(&unknown);
        unknown.store(0, Ordering::SeqCst);
        let (lost, losses) = (lost.clone(), Arc::clone(&unknown));
        let target = Arc::new(Scripted::new(move |call| {
            pause();
            let loses = call.number % 20 == 19
                && matches!(call.transaction, Transaction::Standard(Standard::Payment(_)));
            losses.fetch_add(usize::from(loses), Ordering::SeqCst);
            loses.then(|| lost.clone())
        }));
        let mut plan = plan(DIRECT, length);
        plan.warmup = Duration::from_millis(length);
        let found = measure(&target, &plan).unwrap();
        let seen =
            |kind| target.seen().iter().filter(|transaction| transaction.kind() == kind).count() as u64;
        let whole = |kind: StandardKind| found.whole.committed[kind.index()];
        let unknown = unknown.load(Ordering::SeqCst) as u64;
        let payment = StandardKind::Payment;
        assert_eq!((found.whole.unknown(), found.whole.unknown_of(payment.index())), (unknown, unknown));
        assert_eq!(whole(payment) + unknown, seen(payment));
        // The script rolls back what has an unused item, and delivers an order of each district.
        assert!(whole(StandardKind::NewOrder) <= seen(StandardKind::NewOrder));
        let deliveries = whole(StandardKind::Delivery);
        assert_eq!(deliveries, seen(StandardKind::Delivery));
        assert_eq!(found.whole.delivered, 10 * deliveries);
        let outside = deliveries > found.kind(StandardKind::Delivery).committed;
        (unknown > 0 && deliveries > 0 && outside).then_some(())
    });
}

#[test]
fn a_transaction_that_began_in_the_warm_up_does_not_count_when_it_ends_in_the_window() {
    let target = Arc::new(Scripted::new(|call| {
        if call.number == 0 {
            std::thread::sleep(Duration::from_millis(800));
        }
        pause();
        None
    }));
    let mut plan = plan(Mode::Direct { terminals: 1 }, 700);
    plan.warmup = Duration::from_millis(500);
    let found = measure(&target, &plan).unwrap();
    assert_eq!(completed(&found.warmup_series), 0);
    assert!((1..=2).contains(&found.straddling));
    assert_eq!(found.completed() + found.straddling, target.calls());
    // The slow transaction is not among the latencies.
    assert!(found.kinds.iter().all(|kind| kind.latency.max() < 800_000_000));
}

#[test]
fn a_stop_gives_what_was_measured_so_far() {
    let control = Arc::new(RunControl::default());
    let stopper = Arc::clone(&control);
    let target = Arc::new(Scripted::new(move |call| {
        if call.total == 300 {
            stopper.stop();
        }
        pause();
        None
    }));
    let dynamic: Arc<dyn Target> = Arc::<Scripted>::clone(&target);
    let found = run(&dynamic, &plan(DIRECT, 60_000), &control, &mut |_| {}).unwrap();
    assert_eq!(found.status, Status::Interrupted);
    assert!(found.window.measured < Duration::from_secs(50));
    assert!(found.completed() >= 250);
    assert_eq!(found.completed() + found.straddling, target.calls());
}

#[test]
fn a_stop_in_the_warm_up_measures_nothing() {
    let control = Arc::new(RunControl::default());
    let stopper = Arc::clone(&control);
    let target: Arc<dyn Target> = Arc::new(Scripted::new(move |call| {
        if call.total == 100 {
            stopper.stop();
        }
        pause();
        None
    }));
    let mut plan = plan(DIRECT, 60_000);
    plan.warmup = Duration::from_secs(60);
    let found = run(&target, &plan, &control, &mut |_| {}).unwrap();
    assert_eq!((found.status.clone(), found.completed()), (Status::Interrupted, 0));
    assert_eq!((found.window.measured, found.nopm()), (Duration::ZERO, 0.0));
    assert!(found.window.warmup < Duration::from_secs(60));
    assert!(found.series.is_empty() && completed(&found.warmup_series) >= 50);
}

#[test]
fn a_hung_session_does_not_hang_the_run_and_its_transaction_is_unknown() {
    let (target, found) = longer(300, |length| {
        let hung = Arc::new(AtomicBool::new(false));
        let hangs = Arc::clone(&hung);
        let target = Arc::new(Scripted::new(move |call| {
            if call.session == 0 && call.number == 3 {
                hangs.store(true, Ordering::SeqCst);
                std::thread::sleep(Duration::from_secs(3_600));
            }
            pause();
            None
        }));
        let mut plan = plan(DIRECT, length);
        // Time for the other session to be answered.
        plan.drain = Duration::from_millis(length);
        let found = measure(&target, &plan).unwrap();
        hung.load(Ordering::SeqCst).then_some((target, found))
    });
    assert_eq!(found.kinds.iter().map(|kind| kind.unknown).sum::<u64>(), 1);
    assert_eq!(found.series.iter().map(|second| second.unknown).sum::<u64>(), 1);
    assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
    assert!(found.lost.is_none(), "the other session was answered");
    assert_eq!(found.completed() + found.straddling + 1, target.calls());
}

#[test]
fn a_database_that_hangs_for_good_is_lost() {
    longer(300, |length| {
        let target = Arc::new(Scripted::new(|call| {
            if call.number == 3 {
                std::thread::sleep(Duration::from_secs(3_600));
            }
            None
        }));
        let mut plan = plan(DIRECT, length);
        plan.drain = Duration::from_millis(100);
        let found = measure(&target, &plan).unwrap();
        if target.calls() < 8 {
            return None;
        }
        assert!(found.lost.is_some());
        assert_eq!(found.kinds.iter().map(|kind| kind.unknown).sum::<u64>(), 2);
        assert_eq!(found.completed(), 6);
        Some(())
    });
}

#[test]
fn a_session_that_panics_does_not_hang_the_run() {
    let target = Arc::new(Scripted::new(|call| {
        assert!(call.number < 3, "this driver is broken");
        None
    }));
    let found = measure(&target, &plan(DIRECT, 60_000)).unwrap();
    assert!(matches!(found.status, Status::Failing(_)), "{:?}", found.status);
    assert_eq!(found.kinds.iter().map(|kind| kind.unknown).sum::<u64>(), 2);
    assert!(found.errors[0].message.contains("panicked"), "{:?}", found.errors);
}

#[test]
fn a_session_that_panics_while_others_go_on_spoils_the_run() {
    let target = Arc::new(Scripted::new(|call| {
        assert!(call.session != 1 || call.number < 3, "this driver is broken");
        pause();
        None
    }));
    let found = measure(&target, &plan(DIRECT, 60_000)).unwrap();
    let Status::Failing(message) = &found.status else { panic!("{:?}", found.status) };
    assert!(message.contains("panicked"), "{message}");
    assert!(found.completed() > 0);
}

#[test]
fn nothing_but_errors_ends_the_run_early_and_says_why() {
    let target = Arc::new(Scripted::new(|call| {
        pause();
        Some(TxError::Fatal(format!("table customer does not exist (call {})", call.number)))
    }));
    let found = measure(&target, &plan(DIRECT, 60_000)).unwrap();
    let Status::Failing(message) = &found.status else { panic!("{:?}", found.status) };
    assert!(message.contains("table customer does not exist"), "{message}");
    let failed: u64 = found.kinds.iter().map(|kind| kind.failed).sum();
    assert!(failed >= 100 && found.completed() == 0);
    assert_eq!(failed + found.straddling, target.calls());
    assert_eq!(found.errors.len(), 1, "they differ in digits only: {:?}", found.errors);
    assert_eq!(found.errors[0].count, target.calls());
}

#[test]
fn an_observer_sees_the_run_once_a_second() {
    longer(1_500, |length| {
        let target: Arc<dyn Target> = Arc::new(Scripted::good());
        let mut plan = plan(DIRECT, length);
        plan.warmup = Duration::from_secs(1);
        let mut snapshots = Vec::new();
        run(&target, &plan, &RunControl::default(), &mut |snapshot| snapshots.push(snapshot.clone()))
            .unwrap();
        let last = snapshots.last().unwrap();
        let new_order = last.kinds[0];
        // The observer may stand still for a second, too.
        if snapshots[0].elapsed.as_secs() > 1 || last.phase != Phase::Measuring || new_order.last_second == 0
        {
            return None;
        }
        assert_eq!((last.connected, last.queued), (2, 0));
        assert!(new_order.completed >= new_order.last_second);
        assert!(new_order.p50 <= new_order.p95 && new_order.p95 <= new_order.p99 && new_order.p50.is_some());
        Some(())
    });
}
