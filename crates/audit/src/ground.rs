//! The rows of a test, chosen at random: a district and a customer of one warehouse, a second warehouse, and items.

use crate::finding::Scope;
use lydite_database::Placement;
use lydite_tpcc::input::UNUSED_ITEM;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::random::Stream;
use lydite_tpcc::transactions::{
    CustomerSelector, Delivery, NewOrder, OrderLineInput, OrderStatus, Payment, UpdateItem,
};
use lydite_tpcc::{CarrierId, Cents, CustomerId, Dike, DistrictId, ItemId, Transaction, WarehouseId};

/// Rows of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ground {
    /// Warehouse of the orders.
    pub(crate) home: WarehouseId,
    /// Warehouse that supplies their last lines, and where payments are made: on another node in [`Scope::Nodes`], else
    /// on the same one; it may be the home.
    pub(crate) other: WarehouseId,
    pub(crate) district: DistrictId,
    pub(crate) customer: CustomerId,
    /// Four different items, ascending.
    pub(crate) items: [ItemId; 4],
    /// Districts of the home.
    districts: u16,
    /// Amount of payments.
    pub(crate) amount: Cents,
}

/// Returns a number below `bound`, which is not 0.
fn below(stream: &mut Stream, bound: usize) -> usize {
    stream.below(u32::try_from(bound).unwrap_or(u32::MAX)) as usize
}

impl Ground {
    /// Chooses rows. Returns `None` if the database has no two nodes, and the scope needs them.
    pub(crate) fn choose(
        scope: Scope,
        meta: &DatabaseMeta,
        placement: Option<&Placement>,
        stream: &mut Stream,
    ) -> Option<Self> {
        let all: Vec<WarehouseId> = (1..=meta.warehouses).map(WarehouseId).collect();
        let node = |w_id: WarehouseId| placement.map_or(0, |placement| placement.node(w_id));
        // One node may have a single warehouse, and then its other rows are the home's own.
        let home = all[below(stream, all.len())];
        let others: Vec<WarehouseId> = match scope {
            Scope::Local | Scope::Engines => {
                all.into_iter().filter(|&w_id| w_id != home && node(w_id) == node(home)).collect()
            }
            Scope::Nodes => all.into_iter().filter(|&w_id| node(w_id) != node(home)).collect(),
        };
        let other = match (scope, others.is_empty()) {
            (Scope::Nodes, true) => return None,
            (Scope::Local | Scope::Engines, true) => home,
            _ => others[below(stream, others.len())],
        };
        let districts = meta.districts.of(home);
        Some(Self {
            home,
            other,
            district: DistrictId(stream.uniform(1, districts.into()) as u16),
            customer: CustomerId(stream.uniform(1, meta.size.customers())),
            items: items(meta, stream),
            districts,
            amount: Cents(i64::from(stream.uniform(100, 500_000))),
        })
    }

    /// Returns the customer in words.
    pub(crate) fn who(&self) -> String {
        format!("customer {}/{}/{}", self.home, self.district, self.customer)
    }

    /// Returns a New-Order of the customer: an item twice, from both warehouses, and three others. The first line that
    /// the transaction reads is the first of the item.
    pub(crate) fn order(&self) -> NewOrder {
        let (first, last) = (self.home.min(self.other), self.home.max(self.other));
        let [x, y, z, v] = self.items;
        let line = |i_id, supply_w_id| OrderLineInput { i_id, supply_w_id, quantity: 5 };
        NewOrder {
            w_id: self.home,
            d_id: self.district,
            c_id: self.customer,
            lines: [line(x, first), line(y, last), line(x, last), line(z, last), line(v, last)]
                .into_iter()
                .collect(),
        }
    }

    /// Returns the same New-Order as a transaction.
    pub(crate) fn new_order(&self) -> Transaction {
        Transaction::from(self.order())
    }

    /// Returns the same New-Order with an unused item in its last line, so that it rolls back.
    pub(crate) fn unused(&self) -> Transaction {
        let mut order = self.order();
        if let Some(last) = order.lines.last_mut() {
            last.i_id = UNUSED_ITEM;
        }
        Transaction::from(order)
    }

    /// Returns a Payment of the customer, at the other warehouse.
    pub(crate) fn payment(&self) -> Transaction {
        Transaction::from(Payment {
            w_id: self.other,
            d_id: DistrictId(1),
            c_w_id: self.home,
            c_d_id: self.district,
            customer: CustomerSelector::Id(self.customer),
            amount: self.amount,
        })
    }

    /// Returns an Order-Status of the customer.
    pub(crate) fn order_status(&self) -> Transaction {
        Transaction::from(OrderStatus {
            w_id: self.home,
            d_id: self.district,
            customer: CustomerSelector::Id(self.customer),
        })
    }

    /// Returns a Delivery of the home.
    pub(crate) fn delivery(&self) -> Transaction {
        Transaction::from(Delivery { w_id: self.home, districts: self.districts, carrier_id: CarrierId(7) })
    }

    /// Returns the transaction that swaps the prices of the first two items.
    pub(crate) fn swap_prices(&self) -> Transaction {
        Transaction::Dike(Dike::UpdateItem(UpdateItem::once(self.home, [self.items[0], self.items[1]])))
    }

    /// Chooses other items.
    pub(crate) fn choose_items(&mut self, meta: &DatabaseMeta, stream: &mut Stream) {
        self.items = items(meta, stream);
    }
}

/// Chooses four different items, ascending.
fn items(meta: &DatabaseMeta, stream: &mut Stream) -> [ItemId; 4] {
    let mut chosen = [ItemId(0); 4];
    for place in 0..chosen.len() {
        while {
            chosen[place] = ItemId(stream.uniform(1, meta.size.items()));
            chosen[..place].contains(&chosen[place])
        } {}
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_tpcc::random::Purpose;

    fn stream() -> Stream {
        Stream::new(1, Purpose::Audit, 0)
    }

    #[test]
    fn the_other_warehouse_is_on_another_node_exactly_in_tests_over_nodes() {
        let meta = DatabaseMeta::uniform(6, 1, "test");
        let placement = Placement::ranges(vec!["a".into(), "b".into(), "c".into()], 6);
        let mut stream = stream();
        for _ in 0..100 {
            let mut on_nodes = |scope| {
                let ground = Ground::choose(scope, &meta, Some(&placement), &mut stream).expect("rows");
                (placement.node(ground.home), placement.node(ground.other))
            };
            let (home, other) = on_nodes(Scope::Local);
            assert_eq!(home, other);
            let (home, other) = on_nodes(Scope::Nodes);
            assert_ne!(home, other);
        }
        assert_eq!(Ground::choose(Scope::Nodes, &meta, None, &mut stream), None);
    }

    #[test]
    fn one_warehouse_is_enough_on_one_node() {
        let meta = DatabaseMeta::uniform(1, 1, "test");
        let ground = Ground::choose(Scope::Local, &meta, None, &mut stream()).expect("rows");
        assert_eq!((ground.home, ground.other), (WarehouseId(1), WarehouseId(1)));
    }

    #[test]
    fn an_order_reads_the_item_that_it_has_twice_first() {
        let meta = DatabaseMeta::uniform(4, 1, "test");
        let mut stream = stream();
        for _ in 0..100 {
            let ground = Ground::choose(Scope::Local, &meta, None, &mut stream).expect("rows");
            let order = ground.order();
            assert_eq!(order.access_order()[0], 0);
            assert_eq!(order.lines[0].i_id, order.lines[2].i_id);
            let [a, b, c, d] = ground.items;
            assert!(a < b && b < c && c < d, "{:?}", ground.items);
        }
    }
}
