//! The verdict: what the pairs so far show, and whether the experiment has ended.

use crate::experiment::Looking;
use lydite_decide::{ERROR, Ratio, of_pairs, pairs_needed};
use lydite_report::Verdict;
use lydite_report::ab::{End, Judgement, Look};
use lydite_report::compare::Better;
use std::time::Duration;

/// Returns the verdict after these pairs. `took` is the time of all runs.
pub(crate) fn judge(pairs: &[(f64, f64)], looking: &Looking, took: Duration) -> Judgement {
    let looks = &looking.looks;
    let count = pairs.len();
    // The values are above 0: other runs don't count.
    let found = |error: f64| of_pairs(pairs, error).ok();
    let decided = |ratio: &Ratio| ratio.above(1.0) || ratio.below(1.0);
    let at_look = looks.error_at(count).and_then(found);
    let over = count >= looks.most();
    let late = looking.most_time.is_some_and(|most| took >= most);
    let (end, error) = match &at_look {
        Some(ratio) if decided(ratio) => (End::Decided, ratio.error),
        Some(ratio) if over => (End::Pairs, ratio.error),
        _ if late => (End::Time, looks.error_left(count)),
        _ => (End::Open, looks.error_at(count).unwrap_or_else(|| looks.error_left(count))),
    };
    let ratio = found(error);
    let verdict = match &ratio {
        Some(ratio) if end != End::Open => {
            let better = looking.metric.better().unwrap_or(Better::Higher);
            Verdict::of((ratio.low, ratio.high), 1.0, better)
        }
        _ => Verdict::Undecided,
    };
    let needed = ratio.as_ref().filter(|_| verdict == Verdict::Undecided).and_then(|ratio| {
        // The error of the last look of a plan with more pairs.
        let error = looks.error_at(looks.most()).unwrap_or(ERROR);
        pairs_needed(ratio.deviation, ratio.ratio.ln(), error, count + 1)
    });
    Judgement {
        verdict,
        ratio: ratio.map(|ratio| ratio.ratio),
        low: ratio.map(|ratio| ratio.low),
        high: ratio.map(|ratio| ratio.high),
        error,
        error_of_all: ERROR,
        pairs: count,
        more_pairs: needed.map(|needed| needed - count),
        end,
    }
}

/// Returns the ratio after each pair, from the second. Between two looks it has the error of the next one.
pub(crate) fn course(pairs: &[(f64, f64)], looking: &Looking) -> Vec<Look> {
    let looks = &looking.looks;
    let next = |count: usize| (count..=looks.most()).find_map(|pairs| looks.error_at(pairs));
    let look = |count: usize| {
        let error = next(count)?;
        let found = of_pairs(pairs.get(..count)?, error).ok()?;
        let Ratio { ratio, low, high, .. } = found;
        Some(Look { pairs: count, ratio, low, high, error, decides: looks.error_at(count).is_some() })
    };
    (2..=pairs.len()).filter_map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_decide::Looks;
    use lydite_report::metric::Metric;

    fn looking(metric: &str) -> Looking {
        Looking {
            looks: Looks::new(6).unwrap(),
            most_time: Some(Duration::from_secs(60)),
            metric: Metric::parse(metric).unwrap(),
            order_seed: 1,
        }
    }

    const FAST: [(f64, f64); 3] = [(100.0, 150.0), (101.0, 152.0), (99.0, 149.0)];
    const ALIKE: [(f64, f64); 6] =
        [(100.0, 102.0), (101.0, 100.0), (99.0, 100.0), (100.0, 99.0), (100.0, 102.0), (102.0, 100.0)];

    #[test]
    fn a_difference_is_decided_at_the_first_look_and_its_direction_is_that_of_the_metric() {
        for (metric, verdict) in [("tps", Verdict::Better), ("new_order.p99", Verdict::Worse)] {
            let judged = judge(&FAST, &looking(metric), Duration::ZERO);
            assert_eq!((judged.verdict, judged.end, judged.pairs), (verdict, End::Decided, 3), "{metric}");
            assert!(judged.low > Some(1.4) && judged.high < Some(1.6), "{judged:?}");
            assert_eq!(judged.more_pairs, None);
        }
        let between = judge(&FAST[..2], &looking("tps"), Duration::ZERO);
        assert_eq!(
            (between.verdict, between.end),
            (Verdict::Undecided, End::Open),
            "nobody looks at two pairs"
        );
    }

    #[test]
    fn equal_sides_end_undecided_and_say_how_many_pairs_more() {
        let judged = judge(&ALIKE, &looking("tps"), Duration::ZERO);
        assert_eq!((judged.verdict, judged.end), (Verdict::Undecided, End::Pairs));
        assert!(judged.more_pairs.is_some_and(|more| more > 6), "{judged:?}");
        let none = judge(&[], &looking("tps"), Duration::ZERO);
        assert_eq!((none.verdict, none.end, none.ratio), (Verdict::Undecided, End::Open, None));
    }

    #[test]
    fn an_experiment_whose_time_is_over_ends_with_all_the_error_that_is_left() {
        let minute = Duration::from_secs(60);
        let judged = judge(&ALIKE[..2], &looking("tps"), minute);
        assert_eq!((judged.verdict, judged.end, judged.error), (Verdict::Undecided, End::Time, ERROR));
        assert_eq!(judge(&ALIKE[..2], &looking("tps"), minute / 2).end, End::Open);
    }

    #[test]
    fn the_course_has_each_pair_and_says_at_which_the_plan_looks() {
        let course = course(&ALIKE, &looking("tps"));
        let looked: Vec<(usize, bool)> = course.iter().map(|look| (look.pairs, look.decides)).collect();
        assert_eq!(looked, [(2, false), (3, true), (4, true), (5, false), (6, true)]);
    }
}
