//! Whole searches on queues, whose answer can be computed: how near they come, and what the confidence is worth.

use crate::document::found;
use crate::experiment::Searched;
use crate::levels;
use crate::played::Played;
use crate::probes::{Next, Probes};
use lydite_decide::{ERROR, Range, Second, growth, share_over};
use lydite_report::Requirement;
use lydite_report::find::{End, Found};
use lydite_report::model::{OverLimit, RequirementResult};

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

/// A queue with servers that take exponential times (M/M/c).
#[derive(Clone, Copy)]
struct Queue {
    servers: usize,
    service_s: f64,
    limit_s: f64,
}

impl Queue {
    /// Returns the share of requests that take longer than the limit (Erlang C; Gross and Harris, 2.4).
    fn share_over(self, rate: f64) -> f64 {
        let (servers, load) = (self.servers as f64, rate * self.service_s);
        if load >= servers {
            return 1.0;
        }
        let blocked = (1..=self.servers).fold(1.0, |blocked, n| load * blocked / (n as f64 + load * blocked));
        let waits = blocked / (1.0 - load / servers * (1.0 - blocked));
        let (t, spare) = (self.limit_s / self.service_s, servers - 1.0 - load);
        (-t).exp() * (1.0 + waits * (1.0 - (-t * spare).exp()) / spare)
    }

    /// Returns the rate at which one request in a hundred takes longer.
    fn computed(self) -> f64 {
        let (mut low, mut high) = (0.0, self.servers as f64 / self.service_s);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if self.share_over(middle) > 0.01 { high = middle } else { low = middle }
        }
        low
    }

    fn objective(self) -> String {
        format!("latency.p99 < {}ms", 1e3 * self.limit_s)
    }

    /// Simulates a run of so many seconds after a warm-up.
    fn run(self, dice: &mut Dice, rate: f64, window: usize) -> Played {
        let (warmup, mut now) = (5.0, 0.0);
        let mut servers = vec![0.0_f64; self.servers];
        let mut seconds = vec![Second::default(); window];
        let mut of_second = vec![Vec::new(); window];
        let mut all = Vec::new();
        let mut due = 0_u64;
        while now < warmup + window as f64 {
            now += dice.exponential() / rate;
            let next = (0..servers.len()).min_by(|a, b| servers[*a].total_cmp(&servers[*b])).unwrap();
            let free = servers[next].max(now) + dice.exponential() * self.service_s;
            servers[next] = free;
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
        let share = share_over(&seconds, ERROR).unwrap();
        let (share, low, high) = (share.share, share.low, share.high);
        Played {
            level: rate,
            checks_failed: 0,
            is_busy: false,
            tps: all.len() as f64 / window as f64,
            p50_ms: None,
            p99_ms: Some(1e3 * p99),
            is_thin: false,
            objectives: vec![RequirementResult {
                text: self.objective(),
                metric: "latency.p99".to_owned(),
                value: Some(1e3 * p99),
                unit: "ms".to_owned(),
                met: p99 < self.limit_s,
                note: String::new(),
                over: Some(OverLimit { allowed: 0.01, share, low, high }),
            }],
            growth: growth(&medians, 0.01),
            completed: all.len() as u64,
            failed: 0,
            backlog: due.saturating_sub(all.len() as u64),
            due_per_s: Some(due as f64 / window as f64),
            bottleneck: None,
            findings: Vec::new(),
        }
    }

    /// Searches, and returns the answer with the number of runs.
    fn search(self, dice: &mut Dice) -> (Found, usize) {
        let quantity = levels::of_mode(None).unwrap();
        let range = Range { lowest: 10.0, highest: 1e6, start: 100.0, whole: false, resolution: 0.02 };
        let objectives = [Requirement::parse(&self.objective()).unwrap()];
        let mut runs = Vec::new();
        loop {
            let asked = Searched { objectives: &objectives, quantity, range: &range };
            let probes = Probes::of(&asked, &runs);
            match probes.next(&asked, &runs) {
                Next::Run(level) => runs.push(self.run(dice, level, WINDOW)),
                Next::Done(_) => {
                    return (found(&asked, &runs, &probes), runs.len());
                }
                Next::Unjudged(..) => panic!("{:?}", probes.all),
            }
            let made = |run: &Played| (run.level, run.objectives[0].over.map(|over| over.share));
            assert!(runs.len() < 100, "no end: {:?}", runs.iter().map(made).collect::<Vec<_>>());
        }
    }
}

/// Searches for each queue. `FIND_SEARCHES` asks for more of them, on more queues.
const SEARCHES: usize = 10;

#[test]
fn found_rates_are_near_the_computed_ones_and_the_limit_is_above_them() {
    let queue = |servers, service_s, limit_s| Queue { servers, service_s, limit_s };
    let asked: Option<usize> = std::env::var("FIND_SEARCHES").ok().map(|asked| asked.parse().unwrap());
    let mut all = vec![queue(1, 0.001, 0.020), queue(4, 0.006, 0.072)];
    if asked.is_some() {
        let more = [(1, 0.002, 0.024), (1, 0.005, 0.060), (2, 0.004, 0.048), (8, 0.008, 0.096)];
        all.extend(more.map(|(servers, service_s, limit_s)| queue(servers, service_s, limit_s)));
    }
    let searches = asked.unwrap_or(SEARCHES);
    for queue in all {
        let computed = queue.computed();
        let mut dice = Dice(7);
        let found: Vec<(Found, usize)> = (0..searches).map(|_| queue.search(&mut dice)).collect();
        let count = |holds: &dyn Fn(&Found) -> bool| found.iter().filter(|(of, _)| holds(of)).count();
        let highest = |of: &Found| of.highest.unwrap();
        assert_eq!(count(&|of| of.end == End::Found), searches);
        let near = count(&|of| (highest(of) / computed - 1.0).abs() <= 0.05);
        let below = count(&|of| highest(of) <= computed);
        let between = count(&|of| highest(of) <= computed && computed <= of.next_above.unwrap());
        let mean = |of: &dyn Fn(&Found) -> f64| {
            found.iter().map(|(found, _)| of(found)).sum::<f64>() / searches as f64
        };
        let confidence = mean(&|of| of.confidence.unwrap());
        let error = mean(&|of| highest(of) / computed - 1.0);
        let runs = found.iter().map(|(_, runs)| runs).sum::<usize>() / searches;
        let mut fresh = |factor: f64| {
            let held =
                |(of, _): &&(Found, usize)| queue.run(&mut dice, factor * highest(of), 60).objectives[0].met;
            found.iter().filter(held).count()
        };
        let (holds, holds_above) = (fresh(1.0), fresh(1.15));
        println!(
            "{} x {} s, p99 < {} s: {computed:.1}/s; of {searches} searches {near} within 5 %, {below} at or below, {between} \
             with the limit between; mean error {error:.3}, confidence {confidence:.2}, {runs} runs; of {searches} fresh \
             minutes {holds} hold, {holds_above} at 1.15 times",
            queue.servers, queue.service_s, queue.limit_s
        );
        if asked.is_none() {
            assert!(10 * near >= 9 * searches && 10 * below >= 7 * searches, "{near}, {below}");
            assert!(10 * holds_above <= searches, "{holds_above}");
        }
    }
}
