//! Known answers. The intervals are those of SciPy's `ttest_1samp` and `ttest_ind(equal_var=False)` on the logarithms.

use lydite_decide::{
    Difference, ERROR, Looks, NoRatio, Side, difference_of_groups, difference_of_pairs, first_of,
    mean_of_runs, of_groups, of_pairs, pairs_needed,
};

const A: [f64; 5] = [100.0, 104.0, 98.0, 101.0, 97.0];
const B: [f64; 5] = [106.0, 107.0, 104.0, 109.0, 103.0];

const KNOWN_RATIO: f64 = 1.058_100_297_2;
const PAIRED: (f64, f64) = (1.035_581_008_8, 1.081_109_280_1);
const WELCH: (f64, f64) = (1.026_480_714_6, 1.105_307_041_0);

fn near(found: f64, known: f64) -> bool {
    (found / known - 1.0).abs() < 2e-6
}

#[test]
fn pairs_of_runs_have_the_interval_of_their_differences() {
    let pairs: Vec<(f64, f64)> = A.into_iter().zip(B).collect();
    let found = of_pairs(&pairs, ERROR).unwrap();
    assert!(near(found.ratio, KNOWN_RATIO), "{found:?}");
    assert!(near(found.low, PAIRED.0) && near(found.high, PAIRED.1), "{found:?}");
    assert!(found.above(1.0) && !found.below(1.0), "{found:?}");
    assert_eq!(found.runs, [5, 5]);
}

#[test]
fn groups_of_runs_have_the_interval_of_welch() {
    let found = of_groups(&A, &B[..4], ERROR).unwrap();
    assert!(near(found.low, WELCH.0) && near(found.high, WELCH.1), "{found:?}");
    assert_eq!(found.runs, [5, 4]);
}

#[test]
fn values_that_may_be_zero_have_differences_and_means_with_intervals() {
    let (a, b) = ([0.0, 1.5, 0.5, 2.0, 0.0], [2.0, 3.5, 1.0, 4.0, 1.0]);
    let pairs: Vec<(f64, f64)> = a.into_iter().zip(b).collect();
    let is = |found: Difference, middle: f64, low: f64, high: f64| {
        let near = |found: f64, known: f64| (found - known).abs() < 1e-9;
        assert!(
            near(found.difference, middle) && near(found.low, low) && near(found.high, high),
            "{found:?}"
        );
    };
    is(difference_of_pairs(&pairs, ERROR).unwrap(), 1.5, 0.622_010_966_914_9, 2.377_989_033_085_1);
    is(difference_of_groups(&a, &b[..4], ERROR).unwrap(), 1.825, -0.230_029_931_106_5, 3.880_029_931_106_5);
    is(mean_of_runs(&b, ERROR).unwrap(), 2.3, 0.566_110_587_537_7, 4.033_889_412_462_3);
    is(difference_of_groups(&[0.0; 3], &[0.0; 3], ERROR).unwrap(), 0.0, 0.0, 0.0);
    assert_eq!(difference_of_pairs(&pairs[..1], ERROR), Err(NoRatio::TooFewRuns(Side::A)));
    assert_eq!(difference_of_groups(&a, &b[..1], ERROR), Err(NoRatio::TooFewRuns(Side::B)));
    assert_eq!(mean_of_runs(&[1.0, f64::NAN], ERROR), Err(NoRatio::NotFinite(Side::B)));
}

#[test]
fn what_has_no_ratio_says_why() {
    assert_eq!(of_pairs(&[(1.0, 2.0)], ERROR), Err(NoRatio::TooFewRuns(Side::A)));
    assert_eq!(of_groups(&A, &[1.0], ERROR), Err(NoRatio::TooFewRuns(Side::B)));
    assert_eq!(of_groups(&[0.0, 1.0], &B, ERROR), Err(NoRatio::NotPositive(Side::A)));
    assert_eq!(of_pairs(&[(1.0, 2.0), (1.0, f64::NAN)], ERROR), Err(NoRatio::NotPositive(Side::B)));
}

#[test]
fn equal_values_of_all_runs_are_a_ratio_without_noise() {
    let found = of_pairs(&[(2.0, 3.0), (2.0, 3.0), (2.0, 3.0)], ERROR).unwrap();
    assert!(near(found.low, 1.5) && near(found.high, 1.5), "{found:?}");
}

#[test]
fn looks_come_rarely_and_spend_five_percent_together() {
    for most in 3..=100 {
        let looks = Looks::new(most).unwrap();
        let errors: Vec<(usize, f64)> =
            (0..=most).filter_map(|pairs| looks.error_at(pairs).map(|error| (pairs, error))).collect();
        let sum: f64 = errors.iter().map(|(_, error)| error).sum();
        assert!(near(sum, ERROR), "{most}: {errors:?}");
        assert!(errors.iter().all(|(_, error)| *error > 0.0), "{most}: {errors:?}");
        assert_eq!((looks.most(), errors.last().unwrap().0), (most, most));
        // An experiment that ends at its last look has what that look has.
        assert!(near(looks.error_left(most), errors.last().unwrap().1), "{most}: {errors:?}");
    }
    let twelve = Looks::new(12).unwrap();
    let at: Vec<usize> = (0..=12).filter(|pairs| twelve.error_at(*pairs).is_some()).collect();
    assert_eq!(at, [3, 4, 6, 8, 12]);
    assert!(near(twelve.error_left(2), ERROR), "nothing is spent before the first look");
    assert_eq!(Looks::new(2), None);
}

#[test]
fn of_two_pairs_one_begins_with_each_side_and_chance_decides_which() {
    let begun = |seed: u64| (0..200).map(move |pair| first_of(seed, pair));
    for seed in 0..50 {
        let all: Vec<Side> = begun(seed).collect();
        assert!(all.chunks(2).all(|two| two[0] != two[1]), "{seed}: {all:?}");
        let a = all.iter().step_by(2).filter(|side| **side == Side::A).count();
        // 50 on average, with a standard deviation of 5.
        assert!((25..=75).contains(&a), "{seed}: {a}");
    }
    let different = (0..50).filter(|seed| first_of(*seed, 0) == Side::A).count();
    assert!((10..=40).contains(&different), "{different} of 50 seeds begin with A");
}

#[test]
fn the_pairs_that_are_needed_are_those_of_the_power_of_the_interval() {
    // The first n with t(0.975, n - 1) * 0.04 / sqrt(n) < 0.02 is 18.
    assert_eq!(pairs_needed(0.04, 0.02, ERROR, 3), Some(18));
    assert_eq!(pairs_needed(0.04, -0.02, ERROR, 30), Some(30), "that many were made already");
    assert_eq!(pairs_needed(0.04, 0.0001, ERROR, 3), None);
    assert_eq!(pairs_needed(0.0, 0.01, ERROR, 3), Some(3), "without noise any number decides");
}
