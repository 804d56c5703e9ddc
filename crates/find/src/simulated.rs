//! Whole searches on queues with one server, whose answer can be computed: how near they come, and what the confidence is worth.

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

/// One server that takes exponential times.
#[derive(Clone, Copy)]
struct Server {
    service_s: f64,
    limit_s: f64,
}

impl Server {
    /// Returns the rate at which one request in a hundred takes longer than the limit (M/M/1).
    fn computed(self) -> f64 {
        1.0 / self.service_s - 100_f64.ln() / self.limit_s
    }

    fn objective(self) -> String {
        format!("latency.p99 < {}ms", 1e3 * self.limit_s)
    }

    /// Simulates a run after a warm-up.
    fn run(self, dice: &mut Dice, rate: f64) -> Played {
        let (warmup, mut now, mut free) = (5.0, 0.0, 0.0_f64);
        let mut seconds = vec![Second::default(); WINDOW];
        let mut of_second = vec![Vec::new(); WINDOW];
        let mut all = Vec::new();
        let mut due = 0_u64;
        while now < warmup + WINDOW as f64 {
            now += dice.exponential() / rate;
            free = free.max(now) + dice.exponential() * self.service_s;
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
            tps: all.len() as f64 / WINDOW as f64,
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
            due_per_s: Some(due as f64 / WINDOW as f64),
            bottleneck: None,
            findings: Vec::new(),
        }
    }

    /// Searches, and returns the answer with the number of runs.
    fn search(self, dice: &mut Dice) -> (Found, usize) {
        let quantity = levels::of_mode(None).unwrap();
        let range = Range { lowest: 10.0, highest: 1e6, start: 100.0, whole: false, resolution: 0.03 };
        let objectives = [Requirement::parse(&self.objective()).unwrap()];
        let mut runs = Vec::new();
        loop {
            let probes = Probes::of(&runs, &objectives, quantity);
            match probes.next(&range) {
                Next::Run(level) => runs.push(self.run(dice, level)),
                Next::Done(_) => {
                    let asked = Searched { objectives: &objectives, quantity, range: &range };
                    return (found(&asked, &runs, &probes), runs.len());
                }
                Next::Unjudged(..) => panic!("{:?}", probes.all),
            }
            assert!(runs.len() < 200, "no end");
        }
    }
}

#[test]
fn found_rates_are_near_the_computed_ones_and_a_high_confidence_is_rarely_wrong() {
    for (service_s, limit_s) in [(0.002, 0.024), (0.005, 0.060), (0.001, 0.020)] {
        let server = Server { service_s, limit_s };
        let computed = server.computed();
        let mut dice = Dice(7);
        let searches: Vec<(Found, usize)> = (0..20).map(|_| server.search(&mut dice)).collect();
        let count = |holds: &dyn Fn(&Found) -> bool| searches.iter().filter(|(of, _)| holds(of)).count();
        let highest = |of: &Found| of.highest.unwrap();
        assert_eq!(count(&|of| of.end == End::Found), 20);
        let near = count(&|of| (highest(of) / computed - 1.0).abs() <= 0.05);
        let below = count(&|of| highest(of) <= computed);
        let between = count(&|of| highest(of) <= computed && computed <= of.next_above.unwrap());
        let sure = count(&|of| of.confidence.unwrap() >= 0.9);
        let right = count(&|of| {
            of.confidence.unwrap() >= 0.9 && highest(of) <= computed && computed <= of.next_above.unwrap()
        });
        let mean = searches.iter().map(|(of, _)| of.confidence.unwrap()).sum::<f64>() / 20.0;
        let runs = searches.iter().map(|(_, runs)| runs).sum::<usize>() / 20;
        let bias = searches.iter().map(|(of, _)| highest(of) / computed - 1.0).sum::<f64>() / 20.0;
        println!(
            "one server of {service_s} s: computed {computed:.1}; of 20 searches {near} within 5 %, {below} at or below, \
             {between} between the neighbours, mean error {:.3}; confidence {mean:.2}, 90 % and more in {sure}, right in {right}; \
             {runs} runs",
            bias
        );
        assert!(near >= 17, "{near}");
        assert!(sure - right <= 2, "{right} of {sure}");
    }
}
