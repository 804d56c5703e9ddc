//! Whole searches on queues, whose answer can be computed: how near they come, and what the confidence is worth.

use crate::document::{found, of_run};
use crate::experiment::Searched;
use crate::judge::{Verdict, judge};
use crate::levels;
use crate::played::Played;
use crate::probes::{Next, Probes};
use lydite_decide::{ERROR, Growth, Range, Second, Share, growth, share_over};
use lydite_report::Requirement;
use lydite_report::find::{End, Found, RunVerdict};
use lydite_report::model::{OverLimit, RequirementResult};
use lydite_testkit::queue::Queue;

/// Seconds of a run.
const WINDOW: usize = 24;

/// Uniform and exponential numbers with a fixed seed (xorshift64*).
struct Dice(u64);

impl Dice {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }
}

/// A queue with the limit of its objective.
#[derive(Clone, Copy)]
struct Limited {
    queue: Queue,
    limit_s: f64,
}

impl Limited {
    fn objective(self) -> String {
        format!("latency.p99 < {}ms", 1e3 * self.limit_s)
    }

    /// Simulates a run of so many seconds after a warm-up.
    fn run(self, dice: &mut Dice, rate: f64, window: usize) -> Played {
        let (warmup, mut now) = (5.0, 0.0);
        let mut servers = self.queue.idle();
        let mut seconds = vec![Second::default(); window];
        let mut of_second = vec![Vec::new(); window];
        let mut all = Vec::new();
        let mut due = 0_u64;
        while now < warmup + window as f64 {
            now += dice.exponential() / rate;
            let free = servers.take(now, dice.exponential() * self.queue.service_s);
            due += u64::from(now >= warmup);
            if free < warmup {
                continue;
            }
            if let Some(second) = seconds.get_mut((free - warmup) as usize) {
                second.all += 1;
                second.over += u64::from(free - now > self.limit_s);
                of_second[(free - warmup) as usize].push(free - now);
                all.push(free - now);
            }
        }
        all.sort_by(f64::total_cmp);
        let p99 = all.get(all.len() * 99 / 100).copied().unwrap_or_default();
        let median = |of: &mut Vec<f64>| {
            of.sort_by(f64::total_cmp);
            of.get(of.len() / 2).copied()
        };
        let medians: Vec<Option<f64>> = of_second.iter_mut().map(median).collect();
        Played {
            p99_ms: Some(1e3 * p99),
            growth: growth(&medians, 0.01),
            completed: all.len() as u64,
            backlog: due.saturating_sub(all.len() as u64),
            due_per_s: Some(due as f64 / window as f64),
            ..played(rate, &[(self.objective(), share_over(&seconds, ERROR).unwrap())])
        }
    }

    fn search(self, dice: &mut Dice) -> (Found, usize) {
        let range = Range { lowest: 10.0, highest: 1e6, start: 100.0, whole: false, resolution: 0.02 };
        let (found, runs) = search(&range, None, &[&self.objective()], |level| self.run(dice, level, WINDOW));
        (found, runs.len())
    }
}

/// Returns a run without failures, whose objectives have these shares, all with one request in a hundred allowed.
fn played(level: f64, objectives: &[(String, Share)]) -> Played {
    let judged = |(text, share): &(String, Share)| RequirementResult {
        text: text.clone(),
        metric: "latency.p99".to_owned(),
        value: Some(0.0),
        unit: "ms".to_owned(),
        met: share.share < 0.01,
        note: String::new(),
        over: Some(OverLimit { allowed: 0.01, share: share.share, low: share.low, high: share.high }),
    };
    Played {
        number: 0,
        level,
        checks_failed: 0,
        is_busy: false,
        tps: level,
        p50_ms: None,
        p99_ms: None,
        is_thin: false,
        objectives: objectives.iter().map(judged).collect(),
        growth: None,
        completed: (level * WINDOW as f64) as u64,
        failed: 0,
        unknown: 0,
        backlog: 0,
        due_per_s: None,
        bottleneck: None,
        findings: Vec::new(),
    }
}

/// Searches, and returns the answer with the runs.
fn search(
    range: &Range,
    mode: Option<&str>,
    objectives: &[&str],
    run: impl FnMut(f64) -> Played,
) -> (Found, Vec<Played>) {
    go_on(Vec::new(), range, mode, objectives, run)
}

/// Goes on with a search that has these runs.
fn go_on(
    mut runs: Vec<Played>,
    range: &Range,
    mode: Option<&str>,
    objectives: &[&str],
    mut run: impl FnMut(f64) -> Played,
) -> (Found, Vec<Played>) {
    let objectives: Vec<Requirement> = objectives.iter().map(|of| Requirement::parse(of).unwrap()).collect();
    let asked = Searched { objectives: &objectives, quantity: levels::of_mode(mode).unwrap(), range };
    loop {
        let probes = Probes::of(&asked, &runs);
        match probes.next(range) {
            Next::Run(level) => {
                assert!((range.lowest..=range.highest).contains(&level), "{level}");
                runs.push(run(level));
            }
            Next::Done(_) => return (found(&asked, &runs, &probes), runs),
            Next::Unjudged(..) => panic!("{:?}", probes.all),
        }
        assert!(runs.len() < 100, "no end: {:?}", runs.iter().map(|run| run.level).collect::<Vec<_>>());
    }
}

/// Searches for each queue. `FIND_SEARCHES` asks for more of them, on more queues.
const SEARCHES: usize = 10;

#[test]
fn found_rates_are_near_the_computed_ones_and_the_limit_is_above_them() {
    let limited = |servers, service_s, limit_s| Limited { queue: Queue { servers, service_s }, limit_s };
    let asked: Option<usize> = std::env::var("FIND_SEARCHES").ok().map(|asked| asked.parse().unwrap());
    let mut all = vec![limited(1, 0.001, 0.020), limited(4, 0.006, 0.072)];
    if asked.is_some() {
        let more = [(1, 0.002, 0.024), (1, 0.005, 0.060), (2, 0.004, 0.048), (8, 0.008, 0.096)];
        all.extend(more.map(|(servers, service_s, limit_s)| limited(servers, service_s, limit_s)));
    }
    let searches = asked.unwrap_or(SEARCHES);
    for limited in all {
        let computed = limited.queue.rate_of_p99(limited.limit_s);
        let mut dice = Dice(7);
        let found: Vec<(Found, usize)> = (0..searches).map(|_| limited.search(&mut dice)).collect();
        let count = |holds: &dyn Fn(&Found) -> bool| found.iter().filter(|(of, _)| holds(of)).count();
        let highest = |of: &Found| of.highest.unwrap();
        assert_eq!(count(&|of| of.end == End::Found), searches);
        let near = count(&|of| (highest(of) / computed - 1.0).abs() <= 0.05);
        let below = count(&|of| highest(of) <= computed);
        let between = count(&|of| highest(of) <= computed && computed <= of.next_above.unwrap());
        let mean = |of: &dyn Fn(&Found) -> f64| {
            found.iter().map(|(found, _)| of(found)).sum::<f64>() / searches as f64
        };
        let covered = count(&|of| of.limit.is_some_and(|limit| (limit.low..=limit.high).contains(&computed)));
        let confidence = mean(&|of| of.confidence.unwrap());
        let error = mean(&|of| highest(of) / computed - 1.0);
        let runs = found.iter().map(|(_, runs)| runs).sum::<usize>() / searches;
        let mut fresh = |factor: f64| {
            let held = |(of, _): &&(Found, usize)| {
                limited.run(&mut dice, factor * highest(of), 60).objectives[0].met
            };
            found.iter().filter(held).count()
        };
        let (holds, holds_above) = (fresh(1.0), fresh(1.15));
        println!(
            "{} x {} s, p99 < {} s: {computed:.1}/s; of {searches} searches {near} within 5 %, {below} at or below, {between} \
             with the limit between, {covered} with it in the interval; mean error {error:.3}, confidence {confidence:.2}, {runs} runs; of {searches} fresh \
             minutes {holds} hold, {holds_above} at 1.15 times",
            limited.queue.servers, limited.queue.service_s, limited.limit_s
        );
        if asked.is_none() {
            assert!(10 * near >= 9 * searches && 10 * below >= 8 * searches, "{near}, {below}");
            assert!(10 * covered >= 7 * searches, "{covered}");
            assert!(10 * holds_above <= searches, "{holds_above}");
        }
    }
}

/// The runs of a system that a formula describes: the share over the limit doubles with each twentieth of the limit,
/// and varies.
struct System {
    dice: Dice,
    made: usize,
}

impl System {
    fn new(seed: u64) -> Self {
        Self { dice: Dice(seed), made: 0 }
    }

    /// Returns the share of a run whose expected share is this one.
    fn noisy(&mut self, expected: f64) -> Share {
        // A sum of exponential times varies by a quarter of its mean here.
        let factor = (0..16).map(|_| self.dice.exponential()).sum::<f64>() / 16.0;
        let share = (expected * factor).min(1.0);
        let reach = 0.55 * share.max(0.000_5);
        Share { share, low: (share - reach).max(0.0), high: (share + reach).min(1.0) }
    }

    fn run(&mut self, level: f64, limit: f64) -> Played {
        self.made += 1;
        let share = self.noisy((0.01 * 2_f64.powf((level / limit - 1.0) / 0.05)).min(1.0));
        played(level, &[(P99.to_owned(), share)])
    }
}

const P99: &str = "latency.p99 < 50ms";
const RATES: Range = Range { lowest: 10.0, highest: 1e6, start: 100.0, whole: false, resolution: 0.02 };

/// Asserts that most of twenty searches find the limit, each in at most so many runs on average.
fn assert_found(
    name: &str,
    most_runs: usize,
    least_near: usize,
    mut search: impl FnMut(u64) -> (Found, usize, f64),
) {
    let all: Vec<(Found, usize, f64)> = (1..=20).map(&mut search).collect();
    let near =
        all.iter().filter(|(of, _, limit)| (of.highest.unwrap_or(0.0) / limit - 1.0).abs() <= 0.06).count();
    let runs = all.iter().map(|(_, runs, _)| runs).sum::<usize>() / all.len();
    println!("{name}: {near} of 20 near the limit, {runs} runs on average");
    assert!(near >= least_near && runs <= most_runs, "{name}: {near} of 20 near, {runs} runs");
    assert!(all.iter().all(|(of, ..)| of.highest < of.next_above), "{name}");
}

#[test]
fn stalled_and_broken_runs_do_not_move_the_answer() {
    assert_found("undisturbed", 30, 19, |seed| {
        let mut system = System::new(seed);
        let (found, runs) = search(&RATES, None, &[P99], |level| system.run(level, 4_000.0));
        (found, runs.len(), 4_000.0)
    });
    // A second of 24 in which all requests took too long, in two runs of each search.
    assert_found("two runs stalled", 40, 17, |seed| {
        let mut system = System::new(seed);
        let (found, runs) = search(&RATES, None, &[P99], |level| {
            let mut run = system.run(level, 4_000.0);
            if [seed as usize % 14, (5 * seed as usize) % 13].contains(&system.made) {
                let over = run.objectives[0].over.as_mut().unwrap();
                (over.share, over.low, over.high) = (over.share + 0.042, 0.0, over.share + 0.13);
            }
            run
        });
        (found, runs.len(), 4_000.0)
    });
    assert_found("the first run broken", 40, 18, |seed| {
        let mut system = System::new(seed);
        let (found, runs) = search(&RATES, None, &[P99], |level| {
            let run = system.run(level, 4_000.0);
            let failed = if system.made == 1 { run.completed } else { 0 };
            Played { failed, ..run }
        });
        (found, runs.len(), 4_000.0)
    });
}

#[test]
fn a_limit_that_no_line_shows_is_found_and_no_line_is_claimed() {
    let second = "latency.p99 < 80ms";
    assert_found("one objective collapses, the other crosses a little later", 30, 20, |seed| {
        let mut system = System::new(seed);
        let (found, runs) = search(&RATES, None, &[P99, second], |level| {
            let collapsing = system.noisy(if level < 4_000.0 { 0.000_1 } else { 0.9 });
            let crossing = system.run(level, 4_160.0).objectives[0].over.unwrap();
            let crossing = Share { share: crossing.share, low: crossing.low, high: crossing.high };
            played(level, &[(P99.to_owned(), collapsing), (second.to_owned(), crossing)])
        });
        assert!(found.highest.unwrap() < 4_000.0 && found.next_above.unwrap() >= 4_000.0, "{found:?}");
        (found, runs.len(), 4_000.0)
    });
    assert_found("transactions fail before latency does", 30, 20, |seed| {
        let mut system = System::new(seed);
        let (found, runs) = search(&RATES, None, &[P99], |level| {
            let run = system.run(level, 5_000.0);
            let failed = if level < 4_000.0 { 0 } else { run.completed };
            Played { failed, ..run }
        });
        assert_eq!(found.limit, None);
        assert!(found.confidence.unwrap() >= 0.5, "{found:?}");
        (found, runs.len(), 4_000.0)
    });
}

#[test]
fn whole_levels_and_a_narrower_range_are_kept() {
    let warehouses = Range { lowest: 1.0, highest: 100.0, start: 10.0, whole: true, resolution: 0.02 };
    assert_found("97 of 100 warehouses", 40, 19, |seed| {
        let mut system = System::new(seed);
        let (found, runs) = search(&warehouses, Some("rte"), &[P99], |level| system.run(level, 97.0));
        (found, runs.len(), 97.0)
    });
    // Somebody goes on with the runs of a wider search.
    let mut system = System::new(7);
    let (_, before) = search(&RATES, None, &[P99], |level| system.run(level, 500.0));
    let narrower = Range { highest: 300.0, ..RATES };
    let (found, _) = go_on(before, &narrower, None, &[P99], |level| system.run(level, 500.0));
    assert_eq!((found.end, found.highest), (End::HoldsAtHighest, Some(300.0)), "{found:?}");
}

#[test]
fn levels_and_runs_say_what_is_certain_and_why_the_others_are_in_doubt() {
    let objectives = [Requirement::parse(P99).unwrap()];
    let asked = Searched { objectives: &objectives, quantity: levels::of_mode(None).unwrap(), range: &RATES };
    let run = |level: f64, share: f64, reach: f64| {
        played(level, &[(P99.to_owned(), Share { share, low: share - reach, high: share + reach })])
    };
    let runs = [
        run(100.0, 0.001, 0.001),
        run(200.0, 0.0095, 0.005),
        run(210.0, 0.0105, 0.005),
        run(400.0, 0.05, 0.02),
    ];
    let found = found(&asked, &runs, &Probes::of(&asked, &runs));
    assert_eq!((found.highest, found.next_above), (Some(200.0), Some(210.0)));
    let certain: Vec<bool> = found.curve.iter().map(|rung| rung.certain).collect();
    assert_eq!(certain, [true, false, false, true], "{:?}", found.curve);
    let holds: Vec<Option<bool>> = found.curve.iter().map(|rung| rung.holds).collect();
    assert_eq!(holds, [Some(true), Some(true), Some(false), Some(false)]);
    for rung in &found.curve {
        assert_eq!(rung.doubt.is_empty(), rung.certain, "{rung:?}");
        assert!(rung.certain || rung.doubt.contains("% took longer ("), "{rung:?}");
    }

    let steady = run(100.0, 0.001, 0.001);
    let growing = Played { growth: Some(Growth { slope: 0.05, low: 0.02 }), ..steady.clone() };
    let failing = Played { failed: steady.completed, ..steady.clone() };
    let without = RequirementResult { over: None, ..steady.objectives[0].clone() };
    let short = Played { objectives: vec![without], ..steady.clone() };
    for (run, verdict, why) in [
        (&steady, RunVerdict::Holds, ""),
        (&runs[1], RunVerdict::InDoubt, "0.950 % took longer"),
        (&runs[3], RunVerdict::Fails, "latency.p99"),
        (&growing, RunVerdict::InDoubt, "the queue seems to grow in 1 of 1 run"),
        (&failing, RunVerdict::Fails, "failed or have an unknown outcome"),
        (&short, RunVerdict::InDoubt, "runs below 24 s"),
    ] {
        let said = of_run(&asked, run, None);
        assert_eq!(said.verdict, verdict, "{said:?}");
        assert!(said.why.contains(why) && said.why.is_empty() == why.is_empty(), "{said:?}");
        assert_eq!(said.met, Some(verdict != RunVerdict::Fails || why.contains("outcome")), "{said:?}");
    }
}

#[test]
fn an_objective_on_one_kind_of_failure_leaves_the_others_to_the_search() {
    let fails = |objectives: &[&str], change: &dyn Fn(&mut Played)| {
        let objectives: Vec<Requirement> =
            objectives.iter().map(|of| Requirement::parse(of).unwrap()).collect();
        let share = Share { share: 0.001, low: 0.0, high: 0.002 };
        let mut run = played(1_000.0, &[(P99.to_owned(), share)]);
        change(&mut run);
        while run.objectives.len() < objectives.len() {
            run.objectives.push(RequirementResult { over: None, met: true, ..run.objectives[0].clone() });
        }
        let judged = judge(&[&run], &objectives, levels::of_mode(None).unwrap());
        judged.verdict != Verdict::Holds
    };
    let half = 12_000;
    assert!(!fails(&[P99], &|_| ()));
    assert!(fails(&[P99], &|run| run.failed = half) && fails(&[P99], &|run| run.unknown = half));
    assert!(fails(&["latency.p50 < 10ms"], &|run| run.failed = half / 2), "half may be slow, not fail");
    assert!(
        !fails(&[P99, "failed < 99999"], &|run| run.failed = half),
        "the objective says how many may fail"
    );
    assert!(fails(&[P99, "failed < 99999"], &|run| run.unknown = half));
    assert!(fails(&[P99, "unknown == 0"], &|run| run.failed = half));
    // Each below one in a hundred, and together above.
    assert!(fails(&[P99], &|run| (run.failed, run.backlog) = (150, 250)));
}
