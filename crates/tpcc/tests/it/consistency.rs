//! The evaluator of the twelve conditions (clause 3.3.2). A loaded database keeps them all, also after transactions.
//! Each spoiled row breaks the conditions that speak of it, and no other.

use lydite_tpcc::consistency::{Evaluator, Finding, OFFENDERS_SHOWN};
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::population::Population;
use lydite_tpcc::rows::{Customer, District, History, NewOrder, Order, OrderLine, Row, Warehouse};
use lydite_tpcc::text::Text;
use lydite_tpcc::transactions::{CustomerSelector, Delivery, Payment, Transaction};
use lydite_tpcc::{
    CarrierId, Cents, CustomerId, DistrictId, ITEMS, InputPlan, Mix, OrderId, Standard, Timestamp,
    WarehouseId, transactions,
};
use std::collections::VecDeque;
use std::sync::LazyLock;

const WAREHOUSES: u32 = 2;
const HOME: WarehouseId = WarehouseId(1);

/// A database of two warehouses that executes transactions in the simplest way.
#[derive(Clone)]
struct Model {
    warehouses: Vec<Warehouse>,
    districts: Vec<District>,
    customers: Vec<Customer>,
    history: Vec<History>,
    orders: Vec<Order>,
    new_orders: VecDeque<NewOrder>,
    lines: Vec<OrderLine>,
}

/// The model as loaded, and after 2 000 transactions.
static LOADED: LazyLock<Model> = LazyLock::new(Model::load);
static USED: LazyLock<Model> = LazyLock::new(|| {
    let mut model = Model::load();
    let plan = InputPlan::new(11, WAREHOUSES, CLoad::from_seed(5), Mix::Deck);
    let mut terminals: Vec<_> = (0..plan.terminals()).map(|index| plan.terminal(index)).collect();
    for _ in 0..100 {
        for terminal in &mut terminals {
            model.execute(&terminal.next(&plan));
        }
    }
    model
});

impl Model {
    fn load() -> Self {
        let population = Population::new(WAREHOUSES, 5, Timestamp(1));
        let ids = || population.warehouse_ids();
        Self {
            warehouses: ids().map(|w| population.warehouse(w)).collect(),
            districts: ids().flat_map(|w| population.districts(w)).collect(),
            // The text is most of a row and no condition reads it.
            customers: ids()
                .flat_map(|w| population.customers(w))
                .map(|c| Customer { data: Text::new(), ..c })
                .collect(),
            history: ids().flat_map(|w| population.history(w)).collect(),
            orders: ids().flat_map(|w| population.orders(w)).collect(),
            new_orders: ids().flat_map(|w| population.new_orders(w)).collect(),
            lines: ids().flat_map(|w| population.order_lines(w)).collect(),
        }
    }

    fn district(&mut self, w: WarehouseId, d: DistrictId) -> &mut District {
        &mut self.districts[((w.0 - 1) * 10 + u32::from(d.0) - 1) as usize]
    }

    fn customer(&mut self, w: WarehouseId, d: DistrictId, c: CustomerId) -> &mut Customer {
        &mut self.customers[(((w.0 - 1) * 10 + u32::from(d.0) - 1) * 3_000 + c.0 - 1) as usize]
    }

    fn execute(&mut self, transaction: &Transaction) {
        match transaction {
            Transaction::Standard(Standard::NewOrder(order)) => self.new_order(order),
            Transaction::Standard(Standard::Payment(payment)) => self.payment(payment),
            Transaction::Standard(Standard::Delivery(delivery)) => self.delivery(delivery),
            // The other types of the deck change nothing.
            _ => {}
        }
    }

    fn new_order(&mut self, input: &transactions::NewOrder) {
        if input.lines.iter().any(|line| line.i_id.0 > ITEMS) {
            return;
        }
        let (w_id, d_id) = (input.w_id, input.d_id);
        let next = &mut self.district(w_id, d_id).next_o_id;
        let id = *next;
        next.0 += 1;
        self.orders.push(Order {
            id,
            d_id,
            w_id,
            c_id: input.c_id,
            entry_d: Timestamp(2),
            carrier_id: None,
            ol_cnt: input.lines.len() as u8,
            all_local: input.all_local(),
        });
        self.new_orders.push_back(NewOrder { o_id: id, d_id, w_id });
        self.lines.extend(input.lines.iter().zip(1..).map(|(line, number)| OrderLine {
            o_id: id,
            d_id,
            w_id,
            number,
            i_id: line.i_id,
            supply_w_id: line.supply_w_id,
            delivery_d: None,
            quantity: line.quantity,
            amount: Cents(1_234).times(u32::from(line.quantity)),
            dist_info: Text::new(),
        }));
    }

    fn payment(&mut self, input: &Payment) {
        let Payment { w_id, d_id, c_w_id, c_d_id, amount, .. } = *input;
        self.warehouses[w_id.0 as usize - 1].ytd += amount;
        self.district(w_id, d_id).ytd += amount;
        let c_id = match input.customer {
            CustomerSelector::Id(id) => id,
            // Any customer of that name will do: the choice of the right one is not under test here.
            CustomerSelector::LastName(name) => (1..=3_000)
                .map(CustomerId)
                .find(|&c| self.customer(c_w_id, c_d_id, c).last == name)
                .unwrap_or(CustomerId(1)),
        };
        let customer = self.customer(c_w_id, c_d_id, c_id);
        customer.balance -= amount;
        customer.ytd_payment += amount;
        customer.payment_cnt += 1;
        let data = Text::new();
        self.history.push(History { c_id, c_d_id, c_w_id, d_id, w_id, date: Timestamp(2), amount, data });
    }

    fn delivery(&mut self, input: &Delivery) {
        let w = input.w_id;
        for d in input.district_ids() {
            let Some(oldest) = self.new_orders.iter().position(|n| n.w_id == w && n.d_id == d) else {
                continue;
            };
            let Some(NewOrder { o_id, .. }) = self.new_orders.remove(oldest) else { continue };
            let mut sum = Cents(0);
            for line in self.lines.iter_mut().filter(|l| l.o_id == o_id && l.d_id == d && l.w_id == w) {
                line.delivery_d = Some(Timestamp(3));
                sum += line.amount;
            }
            let at = self.order_at(w, d, o_id);
            self.orders[at].carrier_id = Some(input.carrier_id);
            let c_id = self.orders[at].c_id;
            let customer = self.customer(w, d, c_id);
            customer.balance += sum;
            customer.delivery_cnt += 1;
        }
    }

    fn order_at(&self, w: WarehouseId, d: DistrictId, id: OrderId) -> usize {
        let found = self.orders.iter().position(|o| o.w_id == w && o.d_id == d && o.id == id);
        found.unwrap_or_else(|| panic!("no order w={w} d={d} o={id}"))
    }

    /// Places of the oldest, a middle and the newest row of NEW-ORDER in district 1.
    fn new_orders_at(&self) -> [usize; 3] {
        let at: Vec<usize> = self
            .new_orders
            .iter()
            .enumerate()
            .filter(|(_, n)| n.w_id == HOME && n.d_id.0 == 1)
            .map(|(index, _)| index)
            .collect();
        [at[0], at[at.len() / 2], at[at.len() - 1]]
    }

    /// Place of a line that a Delivery of the run delivered.
    fn line_delivered_in_the_run(&self) -> usize {
        let found = self.lines.iter().position(|l| l.delivery_d == Some(Timestamp(3)) && l.w_id == HOME);
        found.unwrap_or_else(|| panic!("the run delivered nothing"))
    }

    /// Place of a line of a new order. Such lines have an amount.
    fn undelivered_line(&self) -> usize {
        let found = self.lines.iter().position(|l| l.delivery_d.is_none() && l.w_id == HOME);
        found.unwrap_or_else(|| panic!("no line is undelivered"))
    }

    fn feed_to(&self, evaluator: &mut Evaluator, wanted: impl Fn(WarehouseId) -> bool) {
        fn feed<'a, R: Row + 'a>(evaluator: &mut Evaluator, rows: impl Iterator<Item = &'a R>) {
            rows.for_each(|row| evaluator.add(row));
        }
        feed(evaluator, self.lines.iter().filter(|r| wanted(r.w_id)));
        feed(evaluator, self.history.iter().filter(|r| wanted(r.w_id)));
        feed(evaluator, self.warehouses.iter().filter(|r| wanted(r.id)));
        feed(evaluator, self.new_orders.iter().filter(|r| wanted(r.w_id)));
        feed(evaluator, self.customers.iter().filter(|r| wanted(r.w_id)));
        feed(evaluator, self.districts.iter().filter(|r| wanted(r.w_id)));
        feed(evaluator, self.orders.iter().filter(|r| wanted(r.w_id)));
    }

    fn check(&self) -> Vec<Finding> {
        self.check_all_of(WAREHOUSES)
    }

    fn check_all_of(&self, warehouses: u32) -> Vec<Finding> {
        let mut evaluator = Evaluator::new();
        self.feed_to(&mut evaluator, |_| true);
        evaluator.finish(warehouses)
    }
}

fn violated(findings: &[Finding]) -> Vec<u8> {
    findings.iter().filter(|finding| !finding.ok).map(|finding| finding.condition.number).collect()
}

#[test]
fn a_loaded_database_keeps_all_twelve_conditions() {
    let findings = LOADED.check();
    assert_eq!(findings.len(), 12);
    assert!(violated(&findings).is_empty(), "{findings:?}");
}

#[test]
fn a_database_keeps_all_twelve_conditions_after_any_transactions() {
    let findings = USED.check();
    assert!(violated(&findings).is_empty(), "{findings:?}");
    assert!(USED.customers.iter().any(|c| c.delivery_cnt > 0));
    assert!(USED.history.iter().any(|h| h.c_w_id != h.w_id));
}

#[test]
fn each_spoiled_row_breaks_the_conditions_that_speak_of_it_and_no_other() {
    type Spoil = fn(&mut Model);
    let cases: &[(&str, Spoil, &[u8])] = &[
        ("W_YTD a cent more", |m| m.warehouses[0].ytd += Cents(1), &[1, 8]),
        (
            "no WAREHOUSE row",
            |m| {
                m.warehouses.remove(1);
            },
            &[1, 8],
        ),
        ("D_YTD a cent more", |m| m.districts[3].ytd += Cents(1), &[1, 9]),
        ("D_NEXT_O_ID one more", |m| m.districts[3].next_o_id.0 += 1, &[2]),
        (
            "no DISTRICT row",
            |m| {
                m.districts.remove(3);
            },
            &[1, 2, 9],
        ),
        ("H_AMOUNT a cent more", |m| m.history[7].amount += Cents(1), &[8, 9, 10]),
        (
            "H_AMOUNT of a remote payment a cent more",
            |m| {
                m.history.iter_mut().filter(|h| h.c_w_id != h.w_id).take(1).for_each(|h| h.amount += Cents(1))
            },
            &[8, 9, 10],
        ),
        (
            "no HISTORY row",
            |m| {
                m.history.pop();
            },
            &[8, 9, 10],
        ),
        ("HISTORY row twice", |m| m.history.push(m.history[7].clone()), &[8, 9, 10]),
        ("HISTORY of another customer", |m| m.history[7].c_id.0 += 1, &[10]),
        ("HISTORY of a customer who does not exist", |m| m.history[7].c_id.0 = 9_999, &[10]),
        ("HISTORY at another district", |m| m.history[7].d_id.0 += 1, &[9]),
        ("HISTORY at another warehouse", |m| m.history[7].w_id.0 += 1, &[8, 9]),
        ("C_BALANCE a cent more", |m| m.customers[7].balance += Cents(1), &[10, 12]),
        ("C_YTD_PAYMENT a cent more", |m| m.customers[7].ytd_payment += Cents(1), &[12]),
        ("C_DELIVERY_CNT one more", |m| m.customers[7].delivery_cnt += 1, &[11]),
        (
            "no CUSTOMER row, of one with deliveries",
            |m| {
                let line = m.lines[m.line_delivered_in_the_run()].clone();
                let c = m.orders[m.order_at(line.w_id, line.d_id, line.o_id)].c_id;
                m.customers.retain(|r| (r.w_id, r.d_id, r.id) != (line.w_id, line.d_id, c));
            },
            &[10, 11, 12],
        ),
        (
            "O_CARRIER_ID of a new order",
            |m| {
                let n = m.new_orders[m.new_orders_at()[1]].clone();
                let at = m.order_at(n.w_id, n.d_id, n.o_id);
                m.orders[at].carrier_id = Some(CarrierId(1));
            },
            &[5, 7],
        ),
        ("O_CARRIER_ID lost", |m| m.orders[7].carrier_id = None, &[5, 7]),
        ("O_OL_CNT one more", |m| m.orders[7].ol_cnt += 1, &[4, 6]),
        (
            "O_C_ID of a delivered order",
            |m| {
                let line = m.lines[m.line_delivered_in_the_run()].clone();
                let at = m.order_at(line.w_id, line.d_id, line.o_id);
                m.orders[at].c_id.0 = m.orders[at].c_id.0 % 3_000 + 1;
            },
            &[10, 12],
        ),
        (
            "no ORDER row",
            |m| {
                m.orders.remove(7);
            },
            &[4, 6, 11],
        ),
        (
            "no ORDER row, of the last order",
            |m| {
                let n = m.new_orders[m.new_orders_at()[2]].clone();
                m.orders.remove(m.order_at(n.w_id, n.d_id, n.o_id));
            },
            &[2, 4, 5, 6, 11],
        ),
        (
            "no NEW-ORDER row, of the oldest",
            |m| {
                m.new_orders.remove(m.new_orders_at()[0]);
            },
            &[5, 11],
        ),
        (
            "no NEW-ORDER row",
            |m| {
                m.new_orders.remove(m.new_orders_at()[1]);
            },
            &[3, 5, 11],
        ),
        (
            "no NEW-ORDER row, of the newest",
            |m| {
                m.new_orders.remove(m.new_orders_at()[2]);
            },
            &[2, 5, 11],
        ),
        (
            "NEW-ORDER row of the last delivered order",
            |m| {
                let mut n = m.new_orders[m.new_orders_at()[0]].clone();
                n.o_id.0 -= 1;
                m.new_orders.push_back(n);
            },
            &[5, 11],
        ),
        (
            "a whole new order lost",
            |m| {
                let Some(n) = m.new_orders.remove(m.new_orders_at()[1]) else { return };
                m.orders.retain(|o| (o.w_id, o.d_id, o.id) != (n.w_id, n.d_id, n.o_id));
                m.lines.retain(|l| (l.w_id, l.d_id, l.o_id) != (n.w_id, n.d_id, n.o_id));
            },
            &[3],
        ),
        (
            "no ORDER-LINE row, undelivered",
            |m| {
                m.lines.remove(m.undelivered_line());
            },
            &[4, 6],
        ),
        (
            "no ORDER-LINE row, delivered",
            |m| {
                m.lines.remove(m.line_delivered_in_the_run());
            },
            &[4, 6, 10, 12],
        ),
        (
            "OL_DELIVERY_D of a new order's line",
            |m| {
                let at = m.undelivered_line();
                m.lines[at].delivery_d = Some(Timestamp(3));
            },
            &[7, 10, 12],
        ),
        ("OL_DELIVERY_D lost, of a line worth nothing", |m| m.lines[7].delivery_d = None, &[7]),
        (
            "OL_AMOUNT of a delivered line a cent more",
            |m| {
                let at = m.line_delivered_in_the_run();
                m.lines[at].amount += Cents(1);
            },
            &[10, 12],
        ),
        (
            "OL_AMOUNT of a new order's line a cent more",
            |m| {
                let at = m.undelivered_line();
                m.lines[at].amount += Cents(1);
            },
            &[],
        ),
    ];
    for (name, spoil, expected) in cases {
        let mut model = USED.clone();
        spoil(&mut model);
        let findings = model.check();
        assert_eq!(violated(&findings), *expected, "{name}: {findings:?}");
    }
}

#[test]
fn a_finding_names_the_row_and_both_sides_of_the_condition() {
    let mut model = LOADED.clone();
    let at = model.order_at(HOME, DistrictId(4), OrderId(17));
    let lines = model.orders[at].ol_cnt;
    model.orders[at].ol_cnt += 1;
    let findings = model.check();
    assert_eq!(findings[5].offenders, [format!("w=1 d=4 o=17: O_OL_CNT {}, lines {lines}", lines + 1)]);
    model.customer(HOME, DistrictId(2), CustomerId(9)).balance -= Cents(5);
    let findings = model.check();
    assert_eq!(findings[9].offenders, ["w=1 d=2 c=9: C_BALANCE differs from delivered less paid by -0.05"]);
    assert_eq!(
        findings[11].offenders,
        ["w=1 d=2 c=9: C_BALANCE -10.05, C_YTD_PAYMENT 10.00, delivered 0.00"]
    );
}

#[test]
fn a_finding_counts_all_offenders_and_shows_the_first_by_key() {
    let mut model = LOADED.clone();
    model.customers.iter_mut().rev().for_each(|customer| customer.ytd_payment += Cents(1));
    let findings = model.check();
    assert_eq!(findings[11].total, 60_000);
    assert_eq!(findings[11].offenders.len(), OFFENDERS_SHOWN);
    assert!(findings[11].offenders[0].starts_with("w=1 d=1 c=1: "));
    assert!(findings[11].offenders[4].starts_with("w=1 d=1 c=5: "));
}

#[test]
fn a_warehouse_that_is_not_there_at_all_is_found() {
    let findings = LOADED.check_all_of(3);
    assert_eq!(violated(&findings), [1, 8]);
    assert_eq!(findings[0].offenders, ["w=3: no WAREHOUSE row"]);
    assert_eq!(violated(&Evaluator::new().finish(1)), [1, 8]);
}

#[test]
fn warehouses_read_one_by_one_or_by_several_threads_give_the_same_findings() {
    let mut spoiled = USED.clone();
    spoiled.customers[7].balance += Cents(1);
    spoiled.lines.remove(400_000);
    for model in [&*USED, &spoiled] {
        let at_once = model.check();

        let mut one_by_one = Evaluator::new();
        for w in [2, 1].map(WarehouseId) {
            model.feed_to(&mut one_by_one, |id| id == w);
            one_by_one.close(w);
        }
        assert_eq!(one_by_one.finish(WAREHOUSES), at_once);

        let threads: Vec<Evaluator> = std::thread::scope(|scope| {
            let handles = [2, 1].map(WarehouseId).map(|w| {
                scope.spawn(move || {
                    let mut evaluator = Evaluator::new();
                    model.feed_to(&mut evaluator, |id| id == w);
                    evaluator
                })
            });
            handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
        });
        let mut merged = Evaluator::new();
        threads.into_iter().for_each(|evaluator| merged.merge(evaluator));
        assert_eq!(merged.finish(WAREHOUSES), at_once);
    }
}
