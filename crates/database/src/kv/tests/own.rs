//! Lydite's own conditions over rows: they hold after any transactions, and each row that is spoiled breaks the condition
//! on its table.

use crate::kv::codec::KvRow;
use crate::kv::memory::{Memory, MemoryConfig};
use crate::kv::store::{Access, Direction, KeyRange, Store, StoreTx};
use crate::kv::target::KvTarget;
use crate::playing::{assert_conditions, inputs_on, load_as, play};
use crate::target::Target;
use lydite_tpcc::consistency::all_conditions;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::text::truncated;
use lydite_tpcc::{CarrierId, Cents, ItemId, Rate, Size, rows};
use std::ops::ControlFlow;

type Db = KvTarget<Memory>;

/// Two tiny warehouses after 800 transactions.
fn used() -> Db {
    let meta = DatabaseMeta { size: Size::Tiny, ..DatabaseMeta::uniform(2, 7, "test") };
    let target = Db::new(MemoryConfig::default());
    load_as(&target, &meta);
    assert_conditions(&target);
    play(&target, &inputs_on(&meta, 800));
    target
}

/// Replaces the first rows that `change` changes, up to `count`.
fn spoil<R: KvRow>(target: &Db, count: usize, mut change: impl FnMut(&mut R) -> bool) {
    let store = target.store().expect("open");
    let mut tx = store.begin(Access::Write).expect("begin");
    let mut changed = Vec::new();
    tx.scan(R::KV_TABLE, KeyRange::ALL, Direction::Forward, &mut |key, value| {
        let mut row = R::decode(key, value).expect("a row");
        if change(&mut row) {
            let mut value = Vec::new();
            row.encode(&mut value).expect("a value");
            changed.push((key.to_vec(), value));
        }
        if changed.len() < count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .expect("scan");
    assert_eq!(changed.len(), count, "{} has such rows", R::TABLE.name());
    for (key, value) in changed {
        tx.put(R::KV_TABLE, &key, &value).expect("put");
    }
    tx.commit().expect("commit");
}

/// Returns the broken conditions, and checks that each names a key.
fn broken(target: &Db) -> Vec<&'static str> {
    let findings = target.check(&all_conditions(), &|_| ()).expect("check");
    let broken = findings.iter().filter(|finding| !finding.holds());
    broken
        .map(|finding| {
            let example = finding.examples.first().expect("an example");
            assert!(example.starts_with("w=") || example.starts_with("i="), "{example}");
            finding.condition.clause
        })
        .collect()
}

/// First order of a tiny district since the load.
const NEW: u64 = 31;

#[test]
fn each_spoiled_row_breaks_the_conditions_that_speak_of_it_and_no_other() {
    type Case = (&'static str, fn(&Db), &'static [&'static str]);
    let cases: &[Case] = &[
        ("nothing", |_| {}, &[]),
        (
            "a lost update of STOCK",
            |db| {
                spoil(db, 1, |row: &mut rows::Stock| {
                    let before = row.quantity + row.ytd as i32;
                    let was_once = row.order_cnt == 1;
                    (row.ytd, row.order_cnt, row.remote_cnt) = (0, 0, 0);
                    row.quantity = if before > 100 { before - 91 } else { before };
                    was_once
                });
            },
            &["stock"],
        ),
        (
            "updates of STOCK on each other's row",
            |db| {
                let mut by = [1, -1].into_iter();
                spoil(db, 2, |row: &mut rows::Stock| {
                    let Some(by) = (row.order_cnt > 1).then(|| by.next()).flatten() else { return false };
                    row.order_cnt = row.order_cnt.wrapping_add_signed(by);
                    true
                });
            },
            &["stock"],
        ),
        (
            "an S_QUANTITY that is kept",
            |db| {
                spoil(db, 1, |row: &mut rows::Stock| {
                    row.quantity = if row.quantity > 50 { row.quantity - 3 } else { row.quantity + 3 };
                    row.order_cnt > 0
                });
            },
            &["stock"],
        ),
        (
            "an OL_AMOUNT a cent more",
            |db| {
                spoil(db, 1, |row: &mut rows::OrderLine| {
                    row.amount += Cents(1);
                    row.o_id.0 >= NEW && row.delivery_d.is_none()
                });
            },
            &["order_line"],
        ),
        (
            "an OL_QUANTITY one more, at its price",
            |db| {
                spoil(db, 1, |row: &mut rows::OrderLine| {
                    if row.o_id.0 < NEW || row.delivery_d.is_some() || row.quantity > 9 {
                        return false;
                    }
                    row.amount = Cents(row.amount.0 / i64::from(row.quantity) * i64::from(row.quantity + 1));
                    row.quantity += 1;
                    true
                });
            },
            &["stock"],
        ),
        (
            "the item of a loaded line",
            |db| {
                spoil(db, 1, |row: &mut rows::OrderLine| {
                    row.i_id = ItemId(row.i_id.0 % 100 + 1);
                    row.o_id.0 < NEW
                });
            },
            &["order_line"],
        ),
        (
            "an O_ALL_LOCAL",
            |db| {
                spoil(db, 1, |row: &mut rows::Order| {
                    row.all_local = !row.all_local;
                    row.id.0 >= NEW
                });
            },
            &["orders"],
        ),
        (
            "an O_CARRIER_ID",
            |db| {
                spoil(db, 1, |row: &mut rows::Order| row.carrier_id.replace(CarrierId(11)).is_some());
            },
            &["orders"],
        ),
        (
            "a C_PAYMENT_CNT that is kept",
            |db| {
                spoil(db, 1, |row: &mut rows::Customer| {
                    row.payment_cnt -= 1;
                    row.payment_cnt > 0
                });
            },
            &["customer"],
        ),
        (
            "payments that another customer counts",
            |db| {
                let mut by = [1, -1].into_iter();
                spoil(db, 2, |row: &mut rows::Customer| {
                    let is_good = &*row.credit == "GC" && row.payment_cnt > 1;
                    let Some(by) = is_good.then(|| by.next()).flatten() else { return false };
                    row.payment_cnt = row.payment_cnt.wrapping_add_signed(by);
                    true
                });
            },
            &["customer"],
        ),
        (
            "a delivery that another customer counts",
            |db| {
                let (mut by, mut of) = ([-1, 1].into_iter(), None);
                spoil(db, 2, |row: &mut rows::Customer| {
                    if *of.get_or_insert((row.w_id, row.d_id)) != (row.w_id, row.d_id)
                        || row.delivery_cnt == 0
                    {
                        of = None;
                        return false;
                    }
                    row.delivery_cnt = row.delivery_cnt.wrapping_add_signed(by.next().expect("two"));
                    true
                });
            },
            &["customer"],
        ),
        (
            "a C_DATA that a payment kept",
            |db| {
                spoil(db, 1, |row: &mut rows::Customer| {
                    let data = row.data;
                    let Some((_, rest)) = data.split_once('|') else { return false };
                    row.data = truncated(rest);
                    row.payment_cnt < 12
                });
            },
            &["customer"],
        ),
        (
            "an entry of C_DATA with another amount",
            |db| {
                spoil(db, 1, |row: &mut rows::Customer| {
                    let data = row.data;
                    let Some((entry, rest)) = data.split_once('|') else { return false };
                    let (rest_of_entry, _) = entry.rsplit_once(' ').expect("words");
                    row.data = truncated(&format!("{rest_of_entry} 0.99|{rest}"));
                    row.payment_cnt < 12
                });
            },
            &["customer"],
        ),
        (
            "a C_DATA of good credit",
            |db| {
                spoil(db, 1, |row: &mut rows::Customer| {
                    row.data = truncated(&row.data.chars().rev().collect::<String>());
                    &*row.credit == "GC"
                });
            },
            &["customer"],
        ),
        (
            "an H_DATA",
            |db| {
                spoil(db, 1, |row: &mut rows::History| {
                    let is_new = row.data.contains(' ');
                    row.data = truncated("nowhere    at all");
                    is_new
                });
            },
            &["history"],
        ),
        (
            "a W_NAME",
            |db| {
                spoil(db, 1, |row: &mut rows::Warehouse| {
                    row.name = truncated("elsewhere");
                    true
                });
            },
            &["warehouse"],
        ),
        (
            "a D_TAX",
            |db| {
                spoil(db, 1, |row: &mut rows::District| {
                    row.tax = Rate((row.tax.0 + 1) % 2_000);
                    true
                });
            },
            &["district"],
        ),
        (
            "two prices that are exchanged",
            |db| {
                let mut prices = Vec::new();
                spoil(db, 2, |row: &mut rows::Item| {
                    prices.push(row.price);
                    prices.len() < 3
                });
                prices.reverse();
                let mut prices = prices.into_iter();
                spoil(db, 2, |row: &mut rows::Item| {
                    prices.next().is_some_and(|price| {
                        row.price = price;
                        true
                    })
                });
            },
            &["item"],
        ),
    ];
    for (what, change, wanted) in cases {
        let database = used();
        change(&database);
        assert_eq!(broken(&database), *wanted, "{what}");
    }
}
