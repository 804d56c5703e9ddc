//! Inputs and records: their content, and their dependence on the seed alone.

use lydite_micro::{Data, Engines, Home, Inputs, Meta, Shape, TableId, Transaction};
use std::convert::Infallible;

fn inputs(shape: Shape, engines: Engines) -> Inputs {
    Inputs { seed: 42, data: Data { tables: 4, records: 1_000, record_bytes: 232 }, shape, engines }
}

fn drawn(inputs: &Inputs, terminal: u32, count: usize) -> Vec<Transaction> {
    let mut terminal = inputs.terminal(terminal);
    (0..count).map(|_| inputs.next(&mut terminal)).collect()
}

fn on_disk(transaction: &Transaction) -> usize {
    transaction.accesses.iter().filter(|access| access.table.home == Home::Disk).count()
}

#[test]
fn the_same_seed_and_terminal_give_the_same_transactions_and_others_give_others() {
    let inputs = inputs(Shape::default(), Engines::Two);
    assert_eq!(drawn(&inputs, 3, 100), drawn(&inputs, 3, 100));
    assert_ne!(drawn(&inputs, 3, 100), drawn(&inputs, 4, 100));
    assert_ne!(drawn(&inputs, 3, 100), drawn(&Inputs { seed: 43, ..inputs }, 3, 100));
    // A change of these values would silently change the meaning of results.
    let first = &drawn(&inputs, 0, 1)[0];
    let shown: Vec<(u32, u32)> = first.accesses.iter().take(3).map(|a| (a.table.number, a.record)).collect();
    assert_eq!(shown, FIRST, "{first:?}");
}

const FIRST: [(u32, u32); 3] = [(3, 220), (1, 247), (3, 620)];

#[test]
fn thirty_percent_of_ten_accesses_are_exactly_three_and_a_crooked_share_is_right_on_average() {
    for (percent, accesses) in [(0, 10), (30, 10), (50, 10), (80, 10), (100, 10), (37, 10), (50, 7)] {
        let shape = Shape { accesses, updates: 2, disk_percent: percent };
        let counts: Vec<usize> = drawn(&inputs(shape, Engines::Two), 0, 20_000).iter().map(on_disk).collect();
        let exact = f64::from(accesses * percent) / 100.0;
        let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
        assert!((mean - exact).abs() < 0.02, "{percent} % of {accesses}: {mean}");
        let (least, most) = (exact.floor() as usize, exact.ceil() as usize);
        assert!(counts.iter().all(|count| (least..=most).contains(count)), "{percent} % of {accesses}");
    }
}

#[test]
fn reads_come_before_updates_and_every_place_is_on_disk_as_often_as_any_other() {
    let shape = Shape { accesses: 10, updates: 3, disk_percent: 30 };
    let drawn = drawn(&inputs(shape, Engines::Two), 0, 20_000);
    let mut places = [0_u32; 10];
    for transaction in &drawn {
        assert_eq!((transaction.reads().count(), transaction.updates().count()), (7, 3));
        for (place, access) in places.iter_mut().zip(&transaction.accesses) {
            *place += u32::from(access.table.home == Home::Disk);
        }
    }
    // Six standard deviations of 20 000 trials at 30 %.
    assert!(places.iter().all(|&count| count.abs_diff(6_000) < 390), "{places:?}");
}

#[test]
fn records_and_tables_are_chosen_uniformly() {
    let shape = Shape { accesses: 10, updates: 0, disk_percent: 50 };
    let (mut tables, mut tenths) = ([0_u32; 8], [0_u32; 10]);
    for access in drawn(&inputs(shape, Engines::Two), 0, 20_000).iter().flat_map(|t| &t.accesses) {
        tables[(access.table.number * 2 + access.table.home as u32) as usize] += 1;
        tenths[(access.record / 100) as usize] += 1;
    }
    // Six standard deviations of 200 000 trials.
    assert!(tables.iter().all(|&count| count.abs_diff(25_000) < 890), "{tables:?}");
    assert!(tenths.iter().all(|&count| count.abs_diff(20_000) < 810), "{tenths:?}");
}

#[test]
fn a_database_with_one_engine_has_no_accesses_on_disk() {
    let shape = Shape { disk_percent: 100, ..Shape::default() };
    assert!(
        drawn(&inputs(shape, Engines::One), 0, 1_000).iter().all(|transaction| on_disk(transaction) == 0)
    );
}

#[test]
fn records_have_their_length_and_depend_on_the_seed_and_the_table() {
    let data = Data { tables: 2, records: 50, record_bytes: 232 };
    let rows = |home, number, seed| {
        let mut rows = Vec::new();
        let written: Result<(), Infallible> = data.write_table(TableId { home, number }, seed, |id, text| {
            rows.push((id, text.to_string()));
            Ok(())
        });
        assert!(written.is_ok());
        rows
    };
    let one = rows(Home::Memory, 0, 1);
    assert_eq!(one, rows(Home::Memory, 0, 1));
    assert!(one.iter().map(|(id, _)| *id).eq(0..50));
    assert!(one.iter().all(|(_, text)| text.len() == 216 && text.bytes().all(|b| b.is_ascii_alphanumeric())));
    for other in [rows(Home::Disk, 0, 1), rows(Home::Memory, 1, 1), rows(Home::Memory, 0, 2)] {
        assert_ne!(one, other);
    }
}

#[test]
fn what_a_database_was_loaded_with_can_be_read_back_and_damage_is_named() {
    let meta = Meta::new(Data { tables: 3, records: 9, record_bytes: 17 }, 5, "1.2.3");
    let notes = meta.notes();
    let find = |name: &str| notes.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str());
    assert_eq!(Meta::from_notes(find), Ok(meta.clone()));
    for (name, value) in [("tables", "0"), ("records", "many"), ("record_bytes", "16")] {
        let damaged = |key: &str| if key == name { Some(value) } else { find(key) };
        assert_eq!(Meta::from_notes(damaged), Err(name));
    }
    assert_eq!(Meta::from_notes(|key| find(key).filter(|_| key != "seed")), Err("seed"));
}
