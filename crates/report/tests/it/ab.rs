//! The page of a comparison in turns: the picture of the interval shows each one whole, or that it goes on.

use lydite_report::ab::{AB_FORMAT, Ab, End, Judged, Judgement, Look, Sides, Variant};
use lydite_report::compare::Better;
use lydite_report::model::Status;
use lydite_report::sweep::Environment;
use lydite_report::{Verdict, render_ab};
use std::collections::BTreeMap;

/// Returns an experiment whose interval had these ends after each pair.
fn ab(ends: &[(f64, f64)]) -> Ab {
    let look = |(place, (low, high)): (usize, &(f64, f64))| Look {
        pairs: place + 2,
        ratio: (low * high).sqrt(),
        low: *low,
        high: *high,
        error: 0.01,
        decides: place > 0,
    };
    let side = || Variant { plan: BTreeMap::new(), server: Vec::new(), before: None, median: Some(1_000.0) };
    Ab {
        lydite: "0.1.0".to_owned(),
        format: AB_FORMAT,
        status: Status::Complete,
        label: None,
        ab: Judgement {
            verdict: Verdict::Undecided,
            ratio: Some(1.0),
            low: Some(0.9),
            high: Some(1.1),
            error: 0.01,
            error_of_all: 0.05,
            pairs: ends.len() + 1,
            more_pairs: None,
            end: End::Pairs,
        },
        metric: Judged {
            name: "tps".to_owned(),
            title: "Throughput".to_owned(),
            unit: "transactions/s".to_owned(),
            better: Better::Higher,
        },
        order_seed: 1,
        most_pairs: 12,
        most_time_s: None,
        took_s: 60.0,
        reload: "made anew for each run".to_owned(),
        sides: Sides { a: side(), b: side() },
        differences: Vec::new(),
        pairs: Vec::new(),
        course: ends.iter().enumerate().map(look).collect(),
        changes: Vec::new(),
        environment: Environment::default(),
        warnings: Vec::new(),
    }
}

/// Returns the number of lines in the colour of intervals, and the number of labels beside the axis.
fn drawn(ends: &[(f64, f64)]) -> (usize, usize) {
    let page = render_ab(&ab(ends));
    let of_interval =
        ["<line class=\"stroke c2\"", "<line class=\"whisker c2\""].map(|line| page.matches(line).count());
    (of_interval.iter().sum(), page.matches("text-anchor=\"end\"").count())
}

#[test]
fn an_interval_that_goes_on_beyond_the_picture_has_arrows() {
    let narrow = [(0.93, 1.05), (0.95, 1.04), (0.97, 1.03)];
    assert_eq!(drawn(&narrow).0, 3, "whole intervals are one line each");
    let goes_on_above = [(0.93, 9.0), (0.95, 1.04), (0.97, 1.03)];
    assert_eq!(drawn(&goes_on_above).0, 3 + 2, "an arrow has two lines");
    let goes_on_to_both_sides = [(0.01, 90.0), (0.95, 1.04), (0.97, 1.03)];
    assert_eq!(drawn(&goes_on_to_both_sides).0, 3 + 4);
}

#[test]
fn the_axis_of_the_ratio_has_three_to_seven_numbers() {
    for ends in [(0.999, 1.001), (0.9, 1.2), (0.55, 1.6), (1.0, 2.01), (0.2, 6.0)] {
        let (_, labels) = drawn(&[ends, ends]);
        assert!((3..=7).contains(&labels), "{ends:?}: {labels}");
    }
}
