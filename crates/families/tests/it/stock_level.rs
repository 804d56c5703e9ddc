//! Stock-Levels of several warehouses (dStockLevel of the Dike paper), whose low stock one statement counts.

use crate::playing::{load, on_mariadb, on_postgres, open, play};
use lydite_database::{Target, TxError, TxMode};
use lydite_testkit::{mariadb, postgres};
use lydite_tpcc::transactions::{StockLevel, StockLevelOutcome};
use lydite_tpcc::{DistrictId, Outcome, Size, Standard, StandardOutcome, Transaction, WarehouseId};

/// Makes a Stock-Level of these districts. The first is the terminal's own.
fn level(districts: &[(u32, u16)], threshold: u8) -> Transaction {
    let mut districts = districts.iter().map(|&(w_id, d_id)| (WarehouseId(w_id), DistrictId(d_id)));
    let (w_id, d_id) = districts.next().expect("a district");
    Transaction::Standard(Standard::StockLevel(StockLevel {
        w_id,
        d_id,
        threshold,
        others: districts.collect(),
    }))
}

/// Returns the answer of a Stock-Level.
fn low_stock(target: &dyn Target, districts: &[(u32, u16)], threshold: u8) -> u32 {
    match play(target, &[level(districts, threshold)]).remove(0) {
        Ok(Outcome::Standard(StandardOutcome::StockLevel(StockLevelOutcome { low_stock }))) => low_stock,
        other => panic!("{districts:?}: {other:?}"),
    }
}

/// Asserts that the low stock of several districts is the sum of the low stock of each, and that there is some.
pub(crate) fn assert_many_are_the_sum(target: &dyn Target) {
    for districts in [&[(1, 1), (2, 5)][..], &[(3, 10), (1, 2), (2, 2)], &[(2, 1), (4, 1), (1, 9), (3, 3)]] {
        let each: u32 = districts.iter().map(|&district| low_stock(target, &[district], 20)).sum();
        assert_eq!(low_stock(target, districts, 20), each, "{districts:?}");
        assert!(each > 0, "{districts:?}");
    }
}

/// Statements after which the newest 20 orders of each district have the items 1 to 3, and the 21st has the item 4.
/// Only these items have low stock: 1 in all warehouses, 2 and 4 in the first one, 3 in the second one.
fn known() -> Vec<String> {
    let newest = Size::Tiny.customers() - 20;
    vec![
        format!("UPDATE order_line SET ol_i_id = 1 + ol_number % 3 WHERE ol_o_id > {newest}"),
        format!("UPDATE order_line SET ol_i_id = 4 WHERE ol_o_id = {newest}"),
        "UPDATE stock SET s_quantity = 50".into(),
        "UPDATE stock SET s_quantity = 12 WHERE s_i_id = 1".into(),
        "UPDATE stock SET s_quantity = 12 WHERE s_w_id = 1 AND s_i_id IN (2, 4)".into(),
        "UPDATE stock SET s_quantity = 12 WHERE s_w_id = 2 AND s_i_id = 3".into(),
    ]
}

#[test]
fn one_statement_counts_the_low_stock_of_several_warehouses_as_one_after_the_other_would() {
    let mut targets = Vec::new();
    let statements = known();
    on_postgres("levels", 4, "");
    postgres::shared().psql("levels", &statements.join("; "));
    let mariadb = on_mariadb(&mariadb::FAST, 4, "");
    mariadb.sql("tpcc", &statements.join("; "));
    for mode in TxMode::ALL {
        targets.push((format!("PostgreSQL {mode}"), open(&postgres::shared().url("levels"), mode)));
        targets.push((format!("MariaDB {mode}"), open(&mariadb.url("tpcc"), mode)));
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("levels.sqlite");
    let sqlite = open(&format!("sqlite:{}", path.display()), TxMode::Statements);
    load(&*sqlite, 4);
    let file = rusqlite::Connection::open(&path).expect("the file");
    file.execute_batch(&statements.join("; ")).expect("the known rows");
    drop(file);
    targets.push(("SQLite".into(), sqlite));

    for (name, target) in &targets {
        // An item counts once for each district, and not once for all of them.
        for (districts, low) in [
            (&[(1, 1)][..], 2),
            (&[(4, 1)], 1),
            (&[(1, 1), (2, 5)], 4),
            (&[(4, 10), (2, 1), (1, 1), (3, 7)], 6),
        ] {
            assert_eq!(low_stock(&**target, districts, 13), low, "{name}: {districts:?}");
        }
        assert_eq!(low_stock(&**target, &[(1, 1), (2, 5)], 12), 0, "{name}: none is below 12");
        assert_many_are_the_sum(&**target);
        let answer = play(&**target, &[level(&[(1, 1), (2, 11)], 13)]).remove(0);
        assert!(
            matches!(&answer, Err(TxError::WrongRows { detail: text, .. }) if text.contains("district 2/11 is missing")),
            "{name}: {answer:?}"
        );
    }
}
