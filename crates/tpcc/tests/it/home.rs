//! Imbalance control: homes are drawn by their configured shares.

use lydite_tpcc::home::{Homes, Skew};
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::random::{Purpose, Stream};
use lydite_tpcc::{InputPlan, Mix, WarehouseId};
use std::sync::Arc;

fn homes(skew: &str, warehouses: u32) -> Homes {
    let skew: Skew = skew.parse().unwrap_or_else(|problem| panic!("{skew} {problem}"));
    Homes::new(skew, WarehouseId(5), warehouses).unwrap_or_else(|problem| panic!("{problem}"))
}

#[test]
fn every_warehouse_is_drawn_as_often_as_its_share_says() {
    const DRAWS: u32 = 200_000;
    for skew in [
        "zipf(0)",
        "zipf(0.99)",
        "zipf(1.5)",
        "exponential(0)",
        "exponential(3)",
        "hotspot(0.2,0.8)",
        "explicit(0.8,0.1,0.05,0.05)",
    ] {
        let homes = homes(skew, 30);
        assert!((homes.shares().iter().sum::<f64>() - 1.0).abs() < 1e-9, "{skew}");
        let mut stream = Stream::new(3, Purpose::Terminal, 0);
        let mut drawn = [0_u32; 30];
        for _ in 0..DRAWS {
            drawn[homes.place(homes.draw(&mut stream))] += 1;
        }
        for (place, (&count, &share)) in drawn.iter().zip(homes.shares()).enumerate() {
            let expected = share * f64::from(DRAWS);
            // Five standard deviations.
            let chance = 5.0 * (expected * (1.0 - share)).sqrt();
            assert!(
                (f64::from(count) - expected).abs() <= chance,
                "{skew}, {place}: {count}, not {expected}"
            );
        }
    }
}

#[test]
fn shares_are_those_of_the_formulas() {
    let zipf = homes("zipf(1)", 4);
    let total = 1.0 + 0.5 + 1.0 / 3.0 + 0.25;
    for (share, rank) in zipf.shares().iter().zip([1.0, 2.0, 3.0, 4.0]) {
        assert!((share - 1.0 / rank / total).abs() < 1e-12, "{share}");
    }
    let hot = homes("hotspot(0.2,0.8)", 10);
    assert!((hot.shares()[..2].iter().sum::<f64>() - 0.8).abs() < 1e-12, "{:?}", hot.shares());
    let explicit = homes("explicit(8,1,1)", 7);
    // Ranges of two, two and three warehouses.
    assert!((explicit.shares()[..2].iter().sum::<f64>() - 0.8).abs() < 1e-12, "{:?}", explicit.shares());
    assert!((explicit.shares()[4..].iter().sum::<f64>() - 0.1).abs() < 1e-12, "{:?}", explicit.shares());
    let uniform = homes("exponential(0)", 5);
    assert!(uniform.shares().iter().all(|share| (share - 0.2).abs() < 1e-12));
}

#[test]
fn transactions_have_these_homes_and_the_same_for_the_same_seed() {
    let plan = InputPlan {
        homes: Some(Arc::new(homes("zipf(1.2)", 30))),
        first_warehouse: WarehouseId(5),
        ..InputPlan::new(42, 30, CLoad(100), Mix::Deck)
    };
    let draw = || {
        let mut terminal = plan.terminal(17);
        (0..500).map(|_| terminal.next(&plan)).collect::<Vec<_>>()
    };
    let transactions = draw();
    assert_eq!(transactions, draw());
    let first = transactions.iter().filter(|transaction| transaction.home() == WarehouseId(5)).count();
    assert!((100..200).contains(&first), "{first} of 500 at the first warehouse");
    assert!(transactions.iter().all(|transaction| (5..35).contains(&transaction.home().0)));
}

#[test]
fn an_unknown_distribution_is_rejected_with_the_known_ones() {
    for (text, words) in [
        ("zipf", "is not a distribution: use zipf(0.99)"),
        ("zipf()", "parts that are not numbers"),
        ("zipf(-1)", "parts that are not numbers"),
        ("zipf(nan)", "parts that are not numbers"),
        ("zipf(1,2)", "is not a distribution"),
        ("hotspot(1,0.5)", "between 0 and 1"),
        ("hotspot(0.5,1.5)", "up to 1"),
        ("explicit(0,0)", "more than 0"),
        ("normal(1)", "is not a distribution"),
    ] {
        let refused = text.parse::<Skew>().unwrap_err().to_string();
        assert!(refused.contains(words), "{text}: {refused}");
    }
    let few = Homes::new(Skew::Hotspot { keys: 0.01, accesses: 0.9 }, WarehouseId(1), 10).unwrap_err();
    assert!(few.to_string().contains("makes 0 of 10 warehouses hot"), "{few}");
    let few = Homes::new(Skew::Explicit(vec![1.0; 4]), WarehouseId(1), 3).unwrap_err();
    assert!(few.to_string().contains("4 shares for 3 warehouses"), "{few}");
    for skew in ["zipf(0.99)", "exponential(3)", "hotspot(0.2,0.8)", "explicit(0.8,0.1,0.1)"] {
        assert_eq!(skew.parse::<Skew>().map(|skew| skew.to_string()), Ok(skew.to_string()));
    }
}
