//! The three modes of a run: the inputs that are sent, their times, and the meaning of their latencies.

use crate::scripted::{Scripted, longer, measure, pause, plan};
use lydite_bench::{Arrival, Mode, RunError, RunPlan, Step};
use lydite_database::{Committed, TargetError, TxError};
use lydite_tpcc::{Mix, Placement, StandardKind, Transaction, TransactionKind};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

fn rte(terminals: u32, sessions: u32, wait_factor: f64) -> Mode {
    users(terminals, sessions, wait_factor, None)
}

fn users(terminals: u32, sessions: u32, wait_factor: f64, delivery_log: Option<PathBuf>) -> Mode {
    Mode::Rte { terminals, sessions, wait_factor, display_delay: Duration::ZERO, lines: false, delivery_log }
}

/// Returns the transactions that were sent for each warehouse, in order. Deliveries are left out, because they may
/// overtake or be overtaken.
fn by_warehouse(target: &Scripted) -> BTreeMap<u32, Vec<Transaction>> {
    let mut sequences: BTreeMap<u32, Vec<Transaction>> = BTreeMap::new();
    for transaction in target.seen() {
        if transaction.kind() != StandardKind::Delivery {
            sequences.entry(transaction.home().0).or_default().push(transaction);
        }
    }
    sequences
}

/// Asserts that a run with one session and one with four send the same for each warehouse, up to the end of the shorter
/// one. Repeats them with greater lengths until all warehouses are used.
fn assert_same_sequences(milliseconds: u64, warehouses: usize, run: impl Fn(u32, u64) -> Arc<Scripted>) {
    longer(milliseconds, |length| {
        let (one, four) = (by_warehouse(&run(1, length)), by_warehouse(&run(4, length)));
        for (warehouse, sequence) in &one {
            let Some(other) = four.get(warehouse) else { continue };
            let length = sequence.len().min(other.len());
            assert_eq!(sequence[..length], other[..length], "warehouse {warehouse}");
        }
        (one.len() == warehouses && four.len() == warehouses).then_some(())
    });
}

#[test]
fn a_closed_loop_sends_the_same_whatever_the_number_of_sessions() {
    // Each of the four sessions plays the ten terminals of a warehouse in turn, as a single session does.
    assert_same_sequences(300, 4, |terminals, length| {
        let target = Arc::new(Scripted::good());
        let mut plan = plan(Mode::Direct { terminals }, length);
        plan.warehouses = 4;
        measure(&target, &plan).unwrap();
        target
    });
}

#[test]
fn emulated_terminals_send_the_same_whatever_the_number_of_sessions() {
    assert_same_sequences(500, 10, |sessions, length| {
        let target = Arc::new(Scripted::good());
        let mut plan = plan(rte(10, sessions, 0.001), length);
        // One terminal for each warehouse, so that the warehouse identifies the terminal.
        plan.warehouses = 10;
        measure(&target, &plan).unwrap();
        target
    });
}

#[test]
fn an_open_loop_sends_the_same_whatever_the_number_of_sessions() {
    let run = |sessions| {
        let target = Arc::new(Scripted::good());
        let plan = plan(Mode::Open { rate: 1_000.0, arrival: Arrival::Poisson, sessions }, 300);
        measure(&target, &plan).unwrap();
        target.seen()
    };
    let (one, four) = (run(1), run(4));
    // Both runs took the same first requests; several sessions take them in nearly the same order.
    let mut left = one.clone();
    let mut common = 0;
    for transaction in &four {
        if let Some(at) = left.iter().position(|other| other == transaction) {
            left.swap_remove(at);
            common += 1;
        }
    }
    assert_eq!(common, one.len().min(four.len()));
    assert!(common > 0);
}

#[test]
fn an_open_loop_asks_for_exactly_its_rate_and_loses_no_request() {
    let target = Arc::new(Scripted::good());
    let mut plan = plan(Mode::Open { rate: 500.0, arrival: Arrival::Constant, sessions: 3 }, 600);
    plan.warmup = Duration::from_millis(200);
    let found = measure(&target, &plan).unwrap();
    let open = found.open.unwrap();
    // Request 100 is due when the window begins. Request 400 would be due when it ends.
    assert_eq!(open.due, 300);
    assert!((open.due_per_s - 500.0).abs() < 1e-9 && open.asked_per_s == 500.0);
    assert_eq!(target.calls() + found.backlog, 400);
    assert!(found.completed() + found.straddling + found.backlog >= 300);
}

#[test]
fn an_open_loop_counts_a_stall_of_the_database_for_every_request_that_it_hit() {
    const STALL: Duration = Duration::from_secs(1);
    let thaw = OnceLock::new();
    let target = Arc::new(Scripted::new(move |call| {
        if call.total >= 50 {
            let thaw = thaw.get_or_init(|| Instant::now() + STALL);
            std::thread::sleep(thaw.saturating_duration_since(Instant::now()));
        }
        None
    }));
    let plan = plan(Mode::Open { rate: 400.0, arrival: Arrival::Constant, sessions: 4 }, 2_000);
    let found = measure(&target, &plan).unwrap();
    let slow: u64 = found.kinds.iter().map(|kind| kind.latency.count_between(500_000_000, u64::MAX)).sum();
    let slowest = found.kinds.iter().map(|kind| kind.latency.max()).max().unwrap();
    assert!(slowest >= 990_000_000, "{slowest}");
    // Requests that were due in the first half of the stall waited for at least half of it. A closed loop would see
    // four of them.
    assert!(slow + found.backlog >= 190, "{slow} slow, {} never begun", found.backlog);
}

#[test]
fn a_request_of_the_warm_up_that_hangs_at_the_end_of_an_open_loop_is_unknown() {
    let target = Arc::new(Scripted::new(|call| {
        if call.total == 5 {
            std::thread::sleep(Duration::from_secs(3_600));
        }
        None
    }));
    let mut plan = plan(Mode::Open { rate: 100.0, arrival: Arrival::Constant, sessions: 2 }, 400);
    (plan.warmup, plan.drain) = (Duration::from_millis(400), Duration::from_millis(100));
    let found = measure(&target, &plan).unwrap();
    // An open loop counts transactions that are answered in the window, whenever they were due.
    assert_eq!(found.kinds.iter().map(|kind| kind.unknown).sum::<u64>(), 1);
}

#[test]
fn a_pool_that_is_too_small_shows_in_the_queue_and_not_in_the_service() {
    const SERVICE: Duration = Duration::from_millis(5);
    let target = Arc::new(Scripted::new(|_| {
        std::thread::sleep(SERVICE);
        None
    }));
    let found = longer(600, |length| {
        let found = measure(&target, &plan(rte(20, 1, 0.001), length)).unwrap();
        (found.kind(StandardKind::Payment).completed() > 0).then_some(found)
    });
    let payment = found.kind(StandardKind::Payment);
    assert!(payment.queue.mean() > 2.0 * payment.service.mean(), "{} µs", payment.queue.mean() / 1e3);
    assert!((payment.latency.mean() / (payment.queue.mean() + payment.service.mean()) - 1.0).abs() < 0.01);
    assert!(found.backlog > 0, "requests are left in the queue");
    assert!(found.lateness.len() >= found.completed());
}

#[test]
fn a_terminal_does_not_wait_for_its_deliveries() {
    const DELIVERY: Duration = Duration::from_millis(150);
    let spans: Arc<Mutex<Vec<(TransactionKind, Instant, Instant)>>> = Arc::default();
    let seen = Arc::clone(&spans);
    let target = Arc::new(Scripted::new(move |call| {
        let begun = Instant::now();
        let kind = call.transaction.kind();
        if kind == StandardKind::Delivery {
            std::thread::sleep(DELIVERY);
        }
        seen.lock().unwrap().push((kind, begun, Instant::now()));
        None
    }));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("delivery.jsonl");
    let mode = users(1, 4, 0.001, Some(path.clone()));
    let mut plan = plan(mode, 1_000);
    plan.steps[0].mix = Mix::weights([0.0, 80.0, 0.0, 20.0, 0.0]).unwrap();
    let found = measure(&target, &plan).unwrap();

    let spans = spans.lock().unwrap();
    let deliveries: Vec<_> = spans.iter().filter(|(kind, ..)| *kind == StandardKind::Delivery).collect();
    let overtaken = deliveries.iter().any(|(_, begun, ended)| {
        spans.iter().any(|(kind, other, _)| *kind == StandardKind::Payment && begun < other && other < ended)
    });
    assert!(overtaken, "the only terminal went on while its delivery was under way");

    let delivery = found.kind(StandardKind::Delivery);
    assert!(delivery.completed() > 0);
    assert!(u128::from(delivery.latency.min()) >= DELIVERY.as_nanos() * 999 / 1_000);
    assert_eq!(found.facts.delivery.interactive.len(), found.facts.delivery.queued);
    assert!(found.facts.delivery.queued >= delivery.completed());
    assert_eq!(found.facts.delivery.within_80_s, delivery.completed());

    // The result file has a line for each delivery, with its ten orders.
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), deliveries.len());
    for line in text.lines() {
        assert!(line.starts_with("{\"queued_us\":"), "{line}");
        assert!(line.contains("\"result\":\"committed\",\"delivered\":[[1,2101],[2,2101],"), "{line}");
        assert!(line.ends_with(",[10,2101]]}"), "{line}");
    }
    assert!(found.warnings.is_empty());
}

#[test]
fn terminals_wait_as_long_as_the_standard_says_times_the_factor() {
    const FACTOR: f64 = 0.001;
    let target = Arc::new(Scripted::new(|_| None));
    let mut plan = plan(rte(400, 2, FACTOR), 1_500);
    plan.warehouses = 40;
    plan.warmup = Duration::from_millis(300);
    let found = measure(&target, &plan).unwrap();
    let waits = found.facts.waits.unwrap();
    for kind in StandardKind::ALL {
        let (wait, limits) = (waits[kind.index()], kind.limits());
        let mean = limits.mean_think_s * FACTOR;
        // Five standard deviations of the mean of that many exponential times.
        let tolerance = 5.0 * mean / (wait.think.count as f64).sqrt();
        assert!(wait.think.count > 100, "{kind:?}: {}", wait.think.count);
        assert!((wait.think.mean_s().unwrap() - mean).abs() < tolerance, "{kind:?}: {:?}", wait.think);
        assert!(wait.think.max.as_secs_f64() <= 10.0 * mean + 1e-6);
        assert!(
            wait.keying.min.as_secs_f64() >= limits.keying_s * FACTOR - 1e-6,
            "{kind:?}: {:?}",
            wait.keying
        );
    }
}

#[test]
fn terminals_start_in_the_steady_state() {
    let judged = (0..20).any(|_| {
        let target = Arc::new(Scripted::new(|_| None));
        let mut plan = plan(rte(20_000, 2, 0.1), 500);
        plan.warehouses = 2_000;
        let found = measure(&target, &plan).unwrap();
        // On a machine that stood still, terminals are late for their next requests.
        if Duration::from_nanos(found.lateness.max()) > Duration::from_millis(100) {
            return false;
        }
        // 23 transactions take 476 s; the window is a quarter of a cycle.
        let due = (found.lateness.len() + found.backlog) as f64;
        let expected = 20_000.0 * 0.5 * 23.0 / 47.6;
        assert!((due / expected - 1.0).abs() < 0.06, "{due} requests, {expected} expected");
        true
    });
    assert!(judged, "the machine stood still in each of 20 runs");
}

#[test]
fn without_waiting_every_terminal_is_always_busy() {
    let target = Arc::new(Scripted::new(|_| {
        pause();
        None
    }));
    longer(300, |length| {
        let found = measure(&target, &plan(rte(8, 2, 0.0), length)).unwrap();
        assert_eq!(found.facts.waits.as_ref().unwrap()[0].think.max, Duration::ZERO);
        (found.completed() > 0).then_some(())
    });
}

#[test]
fn a_delivery_log_that_cannot_be_made_is_an_error_before_anything_is_sent() {
    let target = Arc::new(Scripted::good());
    let path = PathBuf::from("/nonexistent/delivery.jsonl");
    let mode = users(1, 1, 1.0, Some(path));
    let error = measure(&target, &plan(mode, 100)).unwrap_err();
    assert!(matches!(error, RunError::DeliveryLog { .. }));
    assert!(error.to_string().starts_with("delivery log /nonexistent/delivery.jsonl: "), "{error}");
    assert_eq!((target.connections(), target.calls()), (0, 0));
}

/// One session and commits that take 50 ms: a session that waited for them could answer 40 in two seconds.
const COMMIT: Duration = Duration::from_millis(50);

#[test]
fn an_open_loop_goes_on_with_the_next_request_while_a_commit_is_on_its_way() {
    longer(2_000, |length| {
        let target = Arc::new(Scripted::new(|_| None).pipelined(COMMIT));
        let plan = plan(Mode::Open { rate: 200.0, arrival: Arrival::Constant, sessions: 1 }, length);
        let found = measure(&target, &plan).unwrap();
        let payment = found.kind(StandardKind::Payment);
        if payment.completed() == 0 {
            return None;
        }
        assert!(payment.service.min() >= COMMIT.as_nanos() as u64 * 99 / 100, "{}", payment.service.min());
        assert_eq!(found.kinds.iter().map(|kind| kind.unknown).sum::<u64>(), 0, "all were waited for");
        (found.completed() > length / 10).then_some(())
    });
}

#[test]
fn a_pool_takes_other_users_requests_while_a_commit_is_on_its_way_and_each_user_waits_for_his() {
    longer(2_000, |length| {
        let target = Arc::new(Scripted::new(|_| None).pipelined(COMMIT));
        let found = measure(&target, &plan(rte(20, 1, 0.0), length)).unwrap();
        let completed = |kind: TransactionKind| found.kind(kind).completed();
        let interactive: u64 = TransactionKind::ALL
            .into_iter()
            .filter(|kind| *kind != StandardKind::Delivery)
            .map(completed)
            .sum();
        // Twenty users that wait 50 ms for each answer get no more than 800 answers in two seconds.
        assert!(interactive <= length * 2 / 5, "{interactive}");
        (interactive > length / 10).then_some(())
    });
}

#[test]
fn a_session_hurries_a_database_that_gathers_commits_before_it_waits() {
    let open = Mode::Open { rate: 200.0, arrival: Arrival::Constant, sessions: 1 };
    for mode in [Mode::Direct { terminals: 1 }, open, rte(20, 1, 0.0)] {
        longer(300, |length| {
            let target = Arc::new(Scripted::new(|_| None).gathering());
            let found = measure(&target, &plan(mode.clone(), length)).unwrap();
            let unanswered = found.warnings.iter().find(|warning| warning.contains("pipelined commits"));
            assert_eq!(unanswered, None, "the last ones are answered too");
            // Ten terminals of a warehouse, or twenty users, have one commit each on their way.
            (found.completed() > 20).then_some(())
        });
    }
}

#[test]
fn a_run_warns_about_commits_without_an_answer() {
    let target = Arc::new(Scripted::new(|_| None).pipelined(Duration::from_secs(3_600)));
    let mut plan = plan(Mode::Open { rate: 100.0, arrival: Arrival::Constant, sessions: 1 }, 300);
    plan.drain = Duration::from_millis(100);
    let found = measure(&target, &plan).unwrap();
    assert_eq!(found.completed(), 0);
    let warning = found.warnings.iter().find(|warning| warning.contains("pipelined commits")).unwrap();
    assert!(warning.starts_with(&target.calls().to_string()), "{warning}");
    // Any of them may be a Payment.
    let of_payments = found.whole.unknown_of(StandardKind::Payment.index());
    assert_eq!((found.whole.unknown(), of_payments), (target.calls(), target.calls()));
    assert!(found.whole.committed.iter().all(|&committed| committed == 0), "{:?}", found.whole);
}

#[test]
fn each_phase_has_its_mix_its_sessions_and_its_counts() {
    // A machine that stands still completes too little in 400 ms; then the next phases are longer.
    let enough = [400, 4_000, 40_000].into_iter().any(|length| three_phases(Duration::from_millis(length)));
    assert!(enough, "phases of 40 s have no ten transactions, or not from each session");
}

/// Runs three phases of this length, and checks what each sends. Returns false if one completed too few transactions to
/// tell its sessions.
fn three_phases(length: Duration) -> bool {
    let seen: Arc<Mutex<Vec<(usize, TransactionKind)>>> = Arc::default();
    let calls = Arc::clone(&seen);
    let target = Arc::new(Scripted::new(move |call| {
        calls.lock().unwrap().push((call.session, call.transaction.kind()));
        std::thread::sleep(Duration::from_millis(1));
        None
    }));
    let mut plan = plan(Mode::Direct { terminals: 3 }, 3 * length.as_millis() as u64);
    let payments = Mix::weights([0.0, 100.0, 0.0, 0.0, 0.0]).unwrap();
    let deliveries = Mix::weights([0.0, 0.0, 0.0, 100.0, 0.0]).unwrap();
    plan.steps = vec![
        Step { mix: payments, sessions: Some(1), ..Step::default() },
        Step { from: length, phase: 1, mix: deliveries, ..Step::default() },
        Step { from: 2 * length, phase: 2, mix: payments, sessions: Some(2), ..Step::default() },
    ];
    let found = measure(&target, &plan).unwrap();
    let phases: Vec<_> = found.facts.phases.iter().map(|phase| phase.completed).collect();
    let (payment, delivery) = (StandardKind::Payment.index(), StandardKind::Delivery.index());
    assert_eq!(phases.len(), 3);
    for (phase, kind) in phases.iter().zip([payment, delivery, payment]) {
        assert_eq!(phase.iter().sum::<u64>(), phase[kind], "{phases:?}");
    }
    assert_eq!(found.facts.all_phases().completed.iter().sum::<u64>(), found.completed());

    // The number of playing sessions in each phase. The order of the sent transactions shows the phases, because the
    // mix changes with them.
    let seen = seen.lock().unwrap();
    let is_delivery = |(_, kind): &(usize, TransactionKind)| *kind == StandardKind::Delivery;
    let (Some(first), Some(last)) = (seen.iter().position(is_delivery), seen.iter().rposition(is_delivery))
    else {
        return false;
    };
    let sessions = [&seen[..first], &seen[first..=last], &seen[last + 1..]].map(|calls| {
        calls.iter().map(|(session, _)| *session).collect::<std::collections::BTreeSet<_>>().len()
    });
    assert!(sessions.iter().zip([1, 3, 2]).all(|(found, most)| *found <= most), "{sessions:?}");
    sessions == [1, 3, 2] && phases.iter().all(|phase| phase.iter().sum::<u64>() > 10)
}

/// Returns a plan in which two of four sessions compete for a row.
fn contending(milliseconds: u64) -> RunPlan {
    let mut plan = plan(Mode::Direct { terminals: 4 }, milliseconds);
    plan.steps = vec![Step { contention: vec![2], ..Step::default() }];
    plan
}

#[test]
fn transactions_that_end_after_the_run_compete_no_longer_than_it() {
    let begin = OnceLock::new();
    let target = Arc::new(Scripted::new(move |_| {
        let last = begin.get_or_init(Instant::now).elapsed() > Duration::from_millis(1_500);
        std::thread::sleep(Duration::from_millis(if last { 3_000 } else { 1 }));
        None
    }));
    let found = measure(&target, &contending(2_000)).unwrap().contention.unwrap();
    // Transactions that were at the row when the run ended stayed for three seconds; half a second of that counts.
    let competed = found.rows[0].per_second[1];
    assert!((1.0..3.0).contains(&competed), "{found:?}");
}

#[test]
fn a_session_without_a_connection_does_not_compete() {
    let begin = Arc::new(OnceLock::new());
    let gone = {
        let begin = Arc::clone(&begin);
        move || begin.get_or_init(Instant::now).elapsed() > Duration::from_millis(900)
    };
    let of_door = gone.clone();
    let target = Scripted::new(move |_| {
        std::thread::sleep(Duration::from_millis(1));
        gone().then(|| TxError::Unavailable { committed: Committed::No, detail: "gone".into() })
    });
    let refuse = move |number: usize| {
        if number >= 4 && of_door() { Err(TargetError::database("gone")) } else { Ok(()) }
    };
    let found = measure(&Arc::new(target.with_door(refuse)), &contending(3_000)).unwrap().contention.unwrap();
    let per_second = &found.rows[0].per_second;
    assert!(per_second[0] > 1.0 && per_second[2] < 0.1, "{found:?}");
}

#[test]
fn an_open_loop_keeps_the_rate_of_each_phase() {
    longer(1_500, |length| {
        let target = Arc::new(Scripted::good());
        let mode = Mode::Open { rate: 1.0, arrival: Arrival::Constant, sessions: 4 };
        let mut plan = plan(mode, length);
        let step = |number: u64, rate: f64| Step {
            from: Duration::from_millis(length / 3 * number),
            phase: number as usize,
            rate: Some(rate),
            ..Step::default()
        };
        plan.steps = vec![step(0, 400.0), step(1, 0.0), step(2, 100.0)];
        let found = measure(&target, &plan).unwrap();
        let open = found.open.unwrap();
        let times = length / 1_500;
        assert_eq!(open.due, 250 * times);
        assert!((open.asked_per_s - 250.0 / 1.5).abs() < 1e-6, "{open:?}");
        let phases: Vec<u64> = found.facts.phases.iter().map(|phase| phase.completed.iter().sum()).collect();
        assert!(phases[0] + phases[1] == 200 * times && phases[2] <= 50 * times, "{phases:?}");
        // Transactions at the very end may be answered after it; and those of the first phase after that, if the machine
        // stands still just then.
        (phases[1] == 0 && phases[2] >= 40 * times).then_some(())
    });
}

#[test]
fn when_the_database_moves_warehouses_what_is_controlled_and_counted_moves_along() {
    let placements =
        [vec![0, 0], vec![0, 1]].map(|node_of| Placement { nodes: vec!["a".into(), "b".into()], node_of });
    let (before, after) = (Arc::new(placements[0].clone()), placements[1].clone());
    let target = Arc::new(Scripted::good().placed(move || after.clone()));
    let mut plan = plan(Mode::Direct { terminals: 2 }, 1_500);
    (plan.placement, plan.refresh) = (Some(before), Some(Duration::from_millis(400)));
    let found = measure(&target, &plan).unwrap();
    assert_eq!(found.moves.len(), 1, "{:?}", found.moves);
    assert_eq!(found.moves[0].warehouses, 1);
    assert_eq!(found.placement.as_deref(), Some(&placements[1]));
    let touched = found.facts.all_phases().touched;
    assert!(touched.of_node[0] > touched.of_node[1] && touched.of_node[1] > 0, "{touched:?}");
    assert_eq!(
        found.series[0].touched.of_node.iter().sum::<u64>()
            + found.series[1].touched.of_node.iter().sum::<u64>(),
        touched.of_node.iter().sum::<u64>()
    );
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
}

#[test]
fn emulated_users_begin_with_the_mix_of_the_first_phase() {
    let target = Arc::new(Scripted::new(|_| None));
    let mut plan = plan(rte(200, 2, 0.02), 1_200);
    plan.warehouses = 20;
    let only = |shares| Mix::weights(shares).unwrap();
    plan.steps = vec![
        Step { mix: only([0.0, 100.0, 0.0, 0.0, 0.0]), ..Step::default() },
        Step {
            from: Duration::from_millis(600),
            phase: 1,
            mix: only([0.0, 0.0, 0.0, 0.0, 100.0]),
            ..Step::default()
        },
    ];
    let found = measure(&target, &plan).unwrap();
    let [first, second] = &found.facts.phases[..] else { panic!("two phases") };
    let (payment, stock_level) = (StandardKind::Payment.index(), StandardKind::StockLevel.index());
    assert!(first.completed[payment] > 20, "{first:?}");
    assert_eq!(first.completed[stock_level], 0, "a request of the second phase before it");
    // A transaction that was chosen in the first phase may be due in the second.
    assert!(second.completed[stock_level] > 20, "{second:?}");
}
