//! Counts by phase: latencies, queues, aborts and the backlog of an open loop.

use crate::scripted::{Call, Scripted, longer, measure, pause, plan};
use lydite_bench::{
    Arrival, Histogram, Measurement, Merging, Mode, Part, RunControl, RunPlan, Share, Step, run_share,
};
use lydite_database::{AbortReason, Target, TxError};
use lydite_tpcc::{Mix, StandardKind, TransactionKind};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const PAYMENT: usize = StandardKind::Payment.index();
const DELIVERY: usize = StandardKind::Delivery.index();

/// Returns a plan of three phases of this length in milliseconds: Payments, Deliveries, Payments.
fn three_phases(mode: Mode, length: u64, rates: [Option<f64>; 3]) -> RunPlan {
    let payments = Mix::weights([0.0, 100.0, 0.0, 0.0, 0.0]).unwrap();
    let deliveries = Mix::weights([0.0, 0.0, 0.0, 100.0, 0.0]).unwrap();
    let steps = [payments, deliveries, payments].into_iter().zip(rates).enumerate();
    let step = |(phase, (mix, rate)): (usize, (Mix, Option<f64>))| Step {
        from: Duration::from_millis(length * phase as u64),
        phase,
        mix,
        rate,
        ..Step::default()
    };
    RunPlan { steps: steps.map(step).collect(), ..plan(mode, 3 * length) }
}

/// A database whose Payments take 1 ms and whose Deliveries take 20 ms. It aborts one attempt in four at a Payment, each
/// in eight at a Delivery for another reason, and rejects one call in nine.
fn slow_deliveries() -> Arc<Scripted> {
    Arc::new(Scripted::new(|call: &Call<'_>| {
        let delivery = call.transaction.kind() == TransactionKind::Standard(StandardKind::Delivery);
        std::thread::sleep(Duration::from_millis(if delivery { 20 } else { 1 }));
        let aborted = |reason| Some(TxError::Aborted { reason, detail: "try again".to_owned() });
        match (delivery, call.number) {
            (_, number) if number % 9 == 5 => Some(TxError::Fatal("no".to_owned())),
            (true, number) if number.is_multiple_of(8) => aborted(AbortReason::LockTimeout),
            (false, number) if number.is_multiple_of(4) => aborted(AbortReason::Deadlock),
            _ => None,
        }
    }))
}

fn sum<'a>(parts: impl IntoIterator<Item = &'a Histogram<u64>>) -> Histogram<u64> {
    let mut sum = Histogram::new(3).unwrap();
    parts.into_iter().for_each(|part| sum.add(part).unwrap());
    sum
}

#[test]
fn each_phase_has_the_latencies_the_aborts_and_the_ends_of_its_transactions() {
    longer(400, |length| {
        let plan = three_phases(Mode::Direct { terminals: 2 }, length, [None; 3]);
        let found = measure(&slow_deliveries(), &plan).unwrap();
        let [first, middle, last] = [0, 1, 2].map(|number| found.phase(number));
        for (phase, other) in [(&first, DELIVERY), (&middle, PAYMENT), (&last, DELIVERY)] {
            let none = &phase.kinds[other];
            assert_eq!((none.latency.len(), none.retries, none.failed), (0, 0, 0));
        }
        let (payment, delivery) = (found.kind(StandardKind::Payment), found.kind(StandardKind::Delivery));
        let payments = [&first.kinds[PAYMENT], &last.kinds[PAYMENT]];
        assert_eq!(sum(payments.map(|of| &of.latency)), payment.latency);
        assert_eq!(sum(payments.map(|of| &of.queue)), payment.queue);
        assert_eq!(middle.kinds[DELIVERY].latency, delivery.latency);
        assert!(middle.kinds[DELIVERY].latency.is_empty() || delivery.latency.min() >= 20_000_000);
        assert!(payments.iter().all(|of| of.latency.is_empty() || of.latency.min() >= 1_000_000));
        let counts = payments.map(|of| [of.retries, of.failed, of.unknown]);
        let both: Vec<u64> = counts[0].iter().zip(counts[1]).map(|(one, other)| one + other).collect();
        assert_eq!(both, [payment.retries, payment.failed, payment.unknown]);
        let of_middle = &middle.kinds[DELIVERY];
        assert_eq!((of_middle.retries, of_middle.failed), (delivery.retries, delivery.failed));
        let (deadlock, timeout) = (AbortReason::Deadlock.index(), AbortReason::LockTimeout.index());
        assert_eq!(first.aborts[deadlock] + last.aborts[deadlock], found.aborts[deadlock]);
        assert_eq!(middle.aborts[timeout], found.aborts[timeout]);
        assert_eq!(first.aborts[timeout] + middle.aborts[deadlock] + last.aborts[timeout], 0);
        for (number, completed) in found.facts.phases.iter().map(|phase| phase.completed).enumerate() {
            let lengths = found.phase(number).kinds.into_iter().map(|of| of.latency.len());
            assert_eq!(lengths.collect::<Vec<_>>(), completed);
        }
        assert!(found.open_phases.is_empty(), "a closed loop has no requests that are due");
        let enough = [&first.kinds[PAYMENT], of_middle, &last.kinds[PAYMENT]];
        (enough.iter().all(|of| of.latency.len() > 1 && of.retries + of.failed > 0)
            && found.aborts[timeout] > 0)
            .then_some(())
    });
}

#[test]
fn the_numbers_of_the_only_phase_are_those_of_the_window() {
    let mode = Mode::Open { rate: 200.0, arrival: Arrival::Constant, sessions: 2 };
    let plan = RunPlan { warmup: Duration::from_millis(100), ..plan(mode, 500) };
    let found = measure(&Arc::new(Scripted::good()), &plan).unwrap();
    let phase = found.phase(0);
    assert_eq!(phase.aborts, found.aborts);
    for (of_phase, kind) in phase.kinds.iter().zip(&found.kinds) {
        assert_eq!((&of_phase.latency, &of_phase.queue), (&kind.latency, &kind.queue));
    }
    let [open] = found.open_phases[..] else { panic!("one phase: {:?}", found.open_phases) };
    assert_eq!((open.due, open.backlog), (100, found.backlog));
    assert_eq!(open.due, found.open.unwrap().due);
}

/// One session that takes at least 5 ms begins at most 101 requests in half a second.
#[test]
fn the_backlog_grows_in_the_phase_whose_rate_is_too_high() {
    let target = Arc::new(Scripted::new(|_| {
        std::thread::sleep(Duration::from_millis(5));
        None
    }));
    let mode = Mode::Open { rate: 1.0, arrival: Arrival::Constant, sessions: 1 };
    let plan = three_phases(mode, 500, [Some(20.0), Some(1_000.0), Some(0.0)]);
    let found = measure(&target, &plan).unwrap();
    let [calm, flood, after] = found.open_phases[..] else { panic!("{:?}", found.open_phases) };
    assert_eq!((calm.due, flood.due, after.due), (10, 500, 0));
    assert_eq!(calm.backlog_before, 0);
    assert_eq!((flood.backlog_before, after.backlog_before), (calm.backlog, flood.backlog));
    assert!(flood.backlog + 101 >= flood.due, "{flood:?}");
    assert!(after.backlog <= after.backlog_before, "nothing was due: {after:?}");
    assert_eq!(after.backlog, found.backlog);
    assert_eq!(target.calls() + found.backlog, calm.due + flood.due, "begun or in the backlog");
    let (waited, queue) = (found.phase(1), found.phase(1).kinds[DELIVERY].queue.clone());
    assert_eq!(queue.len(), waited.kinds[DELIVERY].latency.len());
    // The last of the first 101 was due after 0.1 s, and cannot have begun before 0.5 s.
    assert!(queue.len() < 101 || queue.max() >= 390_000_000, "{}", queue.max());
    assert_eq!(found.phase(2).kinds[PAYMENT].latency.len(), 0);
}

/// What was due before a stop stays in the phases that the run reached.
#[test]
fn a_run_that_is_stopped_has_the_phases_that_it_reached() {
    let mode = Mode::Open { rate: 100.0, arrival: Arrival::Constant, sessions: 1 };
    let plan = three_phases(mode, 1_000, [None; 3]);
    let control = RunControl::default();
    let target: Arc<dyn Target> = Arc::new(Scripted::new(|_| {
        pause();
        None
    }));
    let found = lydite_bench::run(&target, &plan, &control, &mut |_| control.stop()).unwrap();
    let reached = found.open_phases.len();
    let seconds = found.window.measured.as_secs_f64();
    assert_eq!(reached, (seconds.ceil() as usize).clamp(1, 3), "{seconds} s");
    let due: u64 = found.open_phases.iter().map(|phase| phase.due).sum();
    assert_eq!(due, found.open.unwrap().due);
    assert_eq!(found.open_phases[reached - 1].backlog, found.backlog);
}

/// Returns the parts of one of two shares of a run.
fn parts_of(share: u32, plan: &RunPlan) -> Vec<Part> {
    let target: Arc<dyn Target> = slow_deliveries();
    let plan = RunPlan { share: Share { index: share, of: 2 }, ..plan.clone() };
    let mut parts = Vec::new();
    run_share(&target, &plan, &RunControl::default(), &mut |part| parts.push(part)).unwrap();
    parts
}

fn merged(plan: &RunPlan, agents: &[Vec<Part>]) -> Measurement {
    let names = (0..agents.len()).map(|number| number.to_string());
    let mut merging = Merging::new(plan, names).unwrap();
    for (agent, parts) in agents.iter().enumerate() {
        parts.iter().for_each(|part| merging.add(agent, part.clone()));
    }
    merging.finish(SystemTime::UNIX_EPOCH)
}

#[test]
fn the_phases_of_a_fleet_are_the_sums_of_its_agents_histograms() {
    let mode = Mode::Open { rate: 100.0, arrival: Arrival::Poisson, sessions: 4 };
    let plan = three_phases(mode, 500, [Some(200.0), Some(400.0), Some(100.0)]);
    let agents = [0, 1].map(|share| parts_of(share, &plan));
    let alone = agents.each_ref().map(|parts| merged(&plan, std::slice::from_ref(parts)));
    let together = merged(&plan, &agents);
    for number in 0..3 {
        let (all, each) = (together.phase(number), alone.each_ref().map(|of| of.phase(number)));
        for (kind, of_all) in all.kinds.iter().enumerate() {
            assert_eq!(of_all.latency, sum(each.iter().map(|of| &of.kinds[kind].latency)));
            assert_eq!(of_all.queue, sum(each.iter().map(|of| &of.kinds[kind].queue)));
            let retries = each.iter().map(|of| of.kinds[kind].retries).sum::<u64>();
            assert_eq!(of_all.retries, retries);
        }
        for (reason, count) in all.aborts.iter().enumerate() {
            assert_eq!(*count, each.iter().map(|of| of.aborts[reason]).sum::<u64>());
        }
        let [one, other] = alone.each_ref().map(|of| of.open_phases[number]);
        let open = together.open_phases[number];
        assert_eq!((open.due, open.backlog), (one.due + other.due, one.backlog + other.backlog));
        assert_eq!(open.backlog_before, one.backlog_before + other.backlog_before);
    }
    let due: u64 = together.open_phases.iter().map(|phase| phase.due).sum();
    assert_eq!(due, together.open.unwrap().due);
}
