//! Searches for the highest rate of a queue whose answer can be computed, by probes that are simulated.

use super::dice::Dice;
use lydite_decide::{
    Crossing, ERROR, LEAST_SECONDS, Limit, Probe, Range, Second, Share, Step, Tried, Zone, crossing, growth,
    pooled, share_over,
};
use lydite_testkit::queue::Queue;

/// Simulates so many seconds of a queue at a rate.
fn seconds(queue: Queue, dice: &mut Dice, rate: f64, seconds: usize, limit_s: f64) -> Vec<Second> {
    let mut servers = queue.idle();
    let mut counts = vec![Second::default(); seconds];
    let mut now = 0.0;
    loop {
        now += dice.exponential() / rate;
        let Some(count) = counts.get_mut(now as usize) else { return counts };
        let answered = servers.take(now, dice.exponential() * queue.service_s);
        count.all += 1;
        count.over += u64::from(answered - now > limit_s);
    }
}

/// Probes a rate: 30 seconds, and up to three times as many as long as chance alone may have decided.
fn probe(queue: Queue, dice: &mut Dice, rate: f64, limit_s: f64) -> bool {
    let mut all = Vec::new();
    loop {
        all.extend(seconds(queue, dice, rate, 30, limit_s));
        let Some(share) = share_over(&all, 0.05) else { panic!("no share of {} seconds", all.len()) };
        if share.low > 0.01 || share.high < 0.01 || all.len() >= 90 {
            return share.share < 0.01;
        }
    }
}

fn search(range: &Range, mut holds: impl FnMut(f64) -> bool) -> (Limit, Vec<Probe>) {
    let mut probes = Vec::new();
    loop {
        match range.next(&probes) {
            Step::Probe(level) => {
                assert!((range.lowest..=range.highest).contains(&level), "{level}");
                assert!(!range.whole || level.fract() == 0.0, "{level}");
                probes.push(Probe { level, held: holds(level) });
            }
            Step::Done(limit) => return (limit, probes),
        }
        assert!(probes.len() < 200, "{probes:?}");
    }
}

#[test]
fn the_rate_that_is_found_is_within_five_percent_of_the_computed_one() {
    for (servers, limit_s) in [(1, 0.020), (4, 0.010)] {
        let queue = Queue { servers, service_s: 0.001 };
        let computed = queue.rate_of_p99(limit_s);
        let mut dice = Dice::new(7);
        for _ in 0..20 {
            let range = Range { lowest: 10.0, highest: 1e6, start: 100.0, whole: false, resolution: 0.03 };
            let (limit, probes) = search(&range, |rate| probe(queue, &mut dice, rate, limit_s));
            let Limit::Between { holds, fails } = limit else { panic!("{limit:?}") };
            println!(
                "{servers} servers: {holds:.0} holds, {fails:.0} fails, computed {computed:.0}; {} probes",
                probes.len()
            );
            assert!((holds / computed - 1.0).abs() < 0.05, "{holds} of {computed}: {probes:?}");
        }
    }
}

#[test]
fn the_answer_of_a_system_without_noise_is_exact() {
    for limit in 1..=300 {
        let range = Range { lowest: 1.0, highest: 256.0, start: 8.0, whole: true, resolution: 0.001 };
        let (found, probes) = search(&range, |level| level < f64::from(limit));
        let expected = match limit {
            1 => Limit::FailsAtLowest,
            257.. => Limit::HoldsAtHighest,
            _ => Limit::Between { holds: f64::from(limit - 1), fails: f64::from(limit) },
        };
        assert_eq!(found, expected, "{limit}: {probes:?}");
        assert!(probes.len() <= 18, "{limit}: {} probes", probes.len());
    }
}

#[test]
fn one_disturbed_probe_does_not_move_the_answer() {
    let range = Range { lowest: 1.0, highest: 1024.0, start: 4.0, whole: true, resolution: 0.02 };
    for disturbed in 0..12 {
        let mut made = 0;
        let (found, probes) = search(&range, |level| {
            made += 1;
            (level < 300.0) != (made - 1 == disturbed)
        });
        let Limit::Between { holds, fails } = found else { panic!("{disturbed}: {found:?} {probes:?}") };
        assert!(
            holds < 300.0 && 300.0 <= fails && fails <= holds * 1.02,
            "{disturbed}: {found:?} {probes:?}"
        );
    }
}

#[test]
fn a_search_that_was_broken_off_goes_on_from_its_probes() {
    let range = Range { lowest: 1.0, highest: 1024.0, start: 4.0, whole: true, resolution: 0.02 };
    let (limit, probes) = search(&range, |level| level < 300.0);
    for made in 0..probes.len() {
        assert_eq!(range.next(&probes[..made]), Step::Probe(probes[made].level));
    }
    assert_eq!(range.next(&probes), Step::Done(limit));
}

/// The seconds of a server that stalls now and then: a share of 1 % over the limit, in lumps.
fn lumps(dice: &mut Dice, seconds: usize) -> Vec<Second> {
    let mut second = |stalled: bool| Second { all: 1_000, over: if stalled { 400 } else { dice.below(4) } };
    let mut stalls = Vec::new();
    for place in 0..seconds {
        stalls.push(second(place % 47 == 23));
    }
    stalls
}

#[test]
fn the_interval_of_a_share_misses_it_rarely_and_knows_lumps() {
    let mut dice = Dice::new(7);
    let missed = (0..1_000).filter(|_| {
        let seconds: Vec<Second> = (0..60)
            .map(|_| Second { all: 500, over: (0..500).filter(|_| dice.unit() < 0.01).count() as u64 })
            .collect();
        let found = share_over(&seconds, 0.05).unwrap();
        found.low > 0.01 || found.high < 0.01
    });
    let missed = missed.count();
    println!("independent requests: {missed} of 1000 intervals missed");
    assert!(missed <= 72, "{missed}");

    let lumps = share_over(&lumps(&mut dice, 60), 0.05).unwrap();
    assert!(
        lumps.low < 0.005 && lumps.high > 0.012,
        "a few stalls are no 24 000 independent requests: {lumps:?}"
    );
}

#[test]
fn what_shows_no_variation_has_no_share_or_a_wide_one() {
    let quiet = vec![Second { all: 100, over: 0 }; LEAST_SECONDS];
    let found = share_over(&quiet, 0.05).unwrap();
    assert!(found.share == 0.0 && found.low == 0.0 && found.high > 0.0 && found.high < 0.01, "{found:?}");
    assert_eq!(share_over(&quiet[1..], 0.05), None, "too short");
    assert_eq!(share_over(&vec![Second::default(); 60], 0.05), None, "no request");
}

/// The median response of the requests that one server ended in each second; it takes `service_s` and gets `load`
/// times what it can answer.
fn medians(dice: &mut Dice, service_s: f64, load: f64, seconds: usize) -> Vec<Option<f64>> {
    let (mut free, mut now) = (0.0_f64, 0.0);
    let mut all = vec![Vec::new(); seconds];
    while now < seconds as f64 {
        now += dice.exponential() * service_s / load;
        free = free.max(now) + dice.exponential() * service_s;
        if let Some(second) = all.get_mut(free as usize) {
            second.push(free - now);
        }
    }
    let median = |mut of: Vec<f64>| {
        of.sort_by(f64::total_cmp);
        of.get(of.len() / 2).copied()
    };
    all.into_iter().map(median).collect()
}

#[test]
fn a_queue_that_gets_too_much_grows_by_what_is_too_much() {
    let mut dice = Dice::new(7);
    for seconds in [12, 30, 60] {
        for _ in 0..50 {
            let found = growth(&medians(&mut dice, 0.002, 1.2, seconds), 0.01).unwrap();
            // In a second as much is answered as arrives in 1 / 1.2 seconds.
            assert!(found.low > 0.0 && (found.slope - 1.0 / 6.0).abs() < 0.06, "{seconds} s: {found:?}");
        }
    }
}

#[test]
fn a_stable_queue_rarely_seems_to_grow() {
    let mut dice = Dice::new(7);
    for (service_s, at_most) in [(0.002, 20), (0.02, 90), (0.05, 130)] {
        let grows = (0..1_000).filter(|_| {
            let found = growth(&medians(&mut dice, service_s, 0.9, 30), 0.01);
            found.is_some_and(|found| found.low > 0.0 && found.slope > 0.005)
        });
        let grows = grows.count();
        println!("one server of {service_s} s, busy for 90 % of the time: {grows} of 1000 runs seem to grow");
        assert!(grows <= at_most, "{grows}");
    }
}

#[test]
fn latencies_that_are_missing_or_too_few_say_nothing_of_growth() {
    assert_eq!(growth(&[Some(1.0); 11], 0.01), None, "fewer seconds than batches");
    let mut gap = vec![Some(1.0); 24];
    (gap[2], gap[3]) = (None, None);
    assert_eq!(growth(&gap, 0.01), None, "a batch without an answer");
    let flat = growth(&[Some(1.0); 24], 0.01).unwrap();
    assert_eq!((flat.slope, flat.low), (0.0, 0.0));
    let rising: Vec<Option<f64>> = (0..24).map(|n| Some(f64::from(n) * 0.5)).collect();
    assert!((growth(&rising, 0.01).unwrap().slope - 0.5).abs() < 1e-9);
}

#[test]
fn runs_together_are_surer_than_one_unless_they_differ() {
    let run = |share: f64| Share { share, low: share - 0.002, high: share + 0.002 };
    let alike = pooled(&[run(0.010), run(0.010), run(0.010), run(0.010)]).unwrap();
    assert!((alike.share - 0.010).abs() < 1e-12 && (alike.high - 0.011).abs() < 1e-12, "{alike:?}");
    let apart = pooled(&[run(0.002), run(0.018)]).unwrap();
    assert!(apart.low == 0.0 && apart.high > 0.02, "{apart:?}");
    assert_eq!(pooled(&[]), None);
}

#[test]
fn a_zone_is_what_chance_left_in_doubt() {
    let range = Range { lowest: 1.0, highest: 1e6, start: 4.0, whole: false, resolution: 0.02 };
    let zone = |probes: &[(f64, bool)]| {
        let probes: Vec<Probe> =
            probes.iter().map(|(level, held)| Probe { level: *level, held: *held }).collect();
        range.zone(&probes)
    };
    let of = |holds, fails| Some(Zone { holds, fails });
    assert_eq!(zone(&[(100.0, true), (120.0, false)]), of(100.0, 120.0));
    assert_eq!(zone(&[(100.0, true), (110.0, false), (112.0, true), (120.0, false)]), of(100.0, 120.0));
    assert_eq!(zone(&[(100.0, true), (200.0, false)]), None, "too far apart");
    assert_eq!(zone(&[(100.0, false), (200.0, true)]), None, "a contradiction without ends");
    assert_eq!(zone(&[(100.0, true), (100.0, false), (120.0, false)]), None, "100 is even");
}

#[test]
fn the_interval_of_the_limit_chooses_the_next_level_and_ends_the_search() {
    let range = Range { lowest: 1.0, highest: 1e6, start: 4.0, whole: false, resolution: 0.02 };
    let zone = Zone { holds: 95.0, fails: 105.0 };
    let limit = |deviation, runs| Crossing { at: 100.0, deviation, runs, stalled: 0 };
    assert!(zone.admits(&limit(1.0, 8)) && !zone.admits(&Crossing { at: 130.0, ..limit(1.0, 8) }));
    let wide = range.close_in(&limit(5.0, 8), 8, &[], zone);
    assert!(matches!(wide, Some(Step::Probe(level)) if (96.0..=104.0).contains(&level)), "{wide:?}");
    let tried = |level, held, is_settled| Tried { level, held, is_settled };
    let next = |all: &[Tried]| range.close_in(&limit(1.0, 12), 12, all, zone).unwrap();
    let Step::Probe(low) = next(&[]) else { panic!("{:?}", next(&[])) };
    assert!((97.5..99.0).contains(&low), "the lower end first: {low}");
    assert_eq!(next(&[tried(low, true, false)]), Step::Probe(low), "until its runs are sure");
    let Step::Probe(lower) = next(&[tried(low, false, true)]) else { panic!("an end that fails is none") };
    assert!(lower < low, "{lower}");
    let Step::Probe(high) = next(&[tried(low, true, true)]) else { panic!("then the upper end") };
    assert!((101.0..102.5).contains(&high), "{high}");
    let done = next(&[tried(99.9, true, true), tried(low, true, true), tried(high, false, true)]);
    assert_eq!(done, Step::Done(Limit::Between { holds: low, fails: high }));
    // Noise that no number of runs beats ends too, with the interval that is there.
    let Step::Probe(end) = range.close_in(&limit(5.0, 40), 40, &[], zone).unwrap() else { panic!("no end") };
    assert!(end < 95.0, "{end}");
    let last = range.close_in(&limit(5.0, 60), 60, &[], zone);
    assert_eq!(last, Some(Step::Done(Limit::Between { holds: 95.0, fails: 105.0 })));
}

#[test]
fn whole_levels_stay_within_the_range_and_are_none_where_they_are_too_coarse() {
    let range = Range { lowest: 1.0, highest: 100.0, start: 10.0, whole: true, resolution: 0.02 };
    let limit = |at, deviation| Crossing { at, deviation, runs: 8, stalled: 0 };
    for made in 0..60 {
        let step = range.close_in(&limit(99.0, 3.0), made, &[], Zone { holds: 94.0, fails: 100.0 });
        let stays = match step {
            Some(Step::Probe(level)) => level <= 100.0 && level.fract() == 0.0,
            Some(Step::Done(_)) => true,
            None => false,
        };
        assert!(stays, "{made}: {step:?}");
    }
    assert_eq!(range.close_in(&limit(12.0, 0.1), 8, &[], Zone { holds: 11.0, fails: 13.0 }), None);
}

#[test]
fn a_run_that_something_stalled_does_not_move_the_crossing() {
    let share = |level: f64| 0.01 * 2_f64.powf((level - 200.0) / 10.0);
    let noise = [1.1, 0.95, 1.0, 0.9, 1.05, 1.0, 0.92, 1.08, 1.03, 0.97, 1.0, 1.06];
    let run = |(place, noise): (usize, &f64)| {
        let level = 190.0 + 2.0 * place as f64;
        let share = share(level) * noise;
        (level, Share { share, low: share * 0.8, high: share * 1.2 })
    };
    let runs: Vec<(f64, Share)> = noise.iter().enumerate().map(run).collect();
    let clean = crossing(&runs, 0.01, ERROR).unwrap();
    assert!((clean.at - 200.0).abs() < 1.0 && clean.stalled == 0, "{clean:?}");
    let stalled = (192.0, Share { share: 0.06, low: 0.0, high: 0.15 });
    let with = crossing(&[&runs[..], &[stalled]].concat(), 0.01, ERROR).unwrap();
    assert!(with.stalled == 1 && (with.at - clean.at).abs() < 1.0, "{with:?}, without {clean:?}");
}

#[test]
fn the_crossing_of_shares_that_grow_by_a_factor_is_exact() {
    // A tenth more doubles the share, which is 1 % at 200.
    let share = |level: f64| 0.01 * 2_f64.powf((level - 200.0) / 20.0);
    let run = |level: f64| {
        let share = share(level);
        (level, Share { share, low: share * 0.8, high: share * 1.2 })
    };
    let runs: Vec<(f64, Share)> = [160.0, 180.0, 190.0, 210.0, 240.0].map(run).to_vec();
    let found = crossing(&runs, 0.01, ERROR).unwrap();
    assert!((found.at - 200.0).abs() < 1e-6 && found.deviation > 0.5 && found.runs == 5, "{found:?}");
    let reach = found.reach(0.1);
    assert!((found.between(found.at - reach, found.at + reach) - 0.9).abs() < 1e-6, "{found:?}");
    let full = (212.0, Share { share: 0.9, low: 0.8, high: 1.0 });
    let with = |other: (f64, Share)| crossing(&[&runs[..], &[other]].concat(), 0.01, ERROR);
    assert_eq!(with(full).map(|of| of.runs), Some(5), "far above the limit a queue follows another line");
    assert_eq!(with((198.0, full.1)), None, "the limit can't be above a level that fails by far");
    let without = (150.0, Share { share: 0.0, low: 0.0, high: 0.001 });
    assert_eq!(with(without).map(|of| of.runs), Some(6), "no request over the limit says something too");
    assert_eq!(crossing(&runs[..3], 0.01, ERROR), None, "too few");
    assert_eq!(crossing(&[run(200.0); 5], 0.01, ERROR), None, "one level");
    let falling: Vec<(f64, Share)> = runs.iter().map(|(level, share)| (-level, *share)).collect();
    assert_eq!(crossing(&falling, 0.01, ERROR), None, "the share falls");
    let none = Share { share: 0.0, low: 0.0, high: 0.001 };
    assert_eq!(crossing(&[(1.0, none), (2.0, none), (3.0, none), (4.0, none)], 0.01, ERROR), None);
}
