//! `null:` answers at once and stores nothing. A run on it measures Lydite itself.

mod queue;

use crate::duration::time_option;
use crate::family::{Configured, Evidence, Family, PlacementSource, Scheme};
use lydite_database::target_url::{OptionSpec, ParsedUrl};
use lydite_database::{
    Capabilities, ConditionFinding, DatabaseState, Demand, Description, FoundRows, HalfCounts, LedgerCounts,
    LoadProgress, LoadRows, LoadUnit, Loader, Micro, MicroLoader, MicroTarget, Nodes, RowKeys, Session,
    TableChecksum, Target, TargetError, TxError, TxMode, Written,
};
use lydite_micro::{Engines, Meta, TableId, Totals};
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::RowWriter;
use lydite_tpcc::rows::{Address, ColumnSink, Row};
use lydite_tpcc::text::{Credit, LastName, Text};
use lydite_tpcc::transactions::{
    CustomerSelector, DeliveryOutcome, NewOrderLine, NewOrderOutcome, OrderStatusOutcome, PaymentOutcome,
    StockLevelOutcome,
};
use lydite_tpcc::{
    Cents, CustomerId, OrderId, Outcome, Placement, Rate, RolledBackOrder, Standard, Timestamp, Transaction,
    TransactionKind,
};
use queue::{Queue, Spread};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// Options after `?`.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "nodes",
        values: "1 to 10000",
        default: "none",
        about: "nodes that it pretends to have, with a contiguous range of the warehouses each",
    },
    OptionSpec {
        name: "service",
        values: "a time from 1us to 1m",
        default: "none",
        about: "mean time in which a server answers a transaction, for a queue whose response times can be computed",
    },
    OptionSpec {
        name: "servers",
        values: "1 to 10000",
        default: "1",
        about: "transactions that are answered at the same time, with service=",
    },
    OptionSpec {
        name: "service_times",
        values: "exponential, constant",
        default: "exponential",
        about: "distribution of the service times",
    },
];

/// Shortest and longest mean service time.
const SERVICES: [Duration; 2] = [Duration::from_micros(1), Duration::from_secs(60)];

/// The target `null:`.
#[derive(Clone, Debug)]
pub(crate) struct Null {
    /// The URL with all options.
    url: String,
    /// Number of simulated nodes.
    nodes: Option<u32>,
    /// The queue that all sessions share.
    queue: Option<Arc<Queue>>,
}

/// Reads `null:?nodes=9&service=5ms&servers=4`.
pub(crate) fn parse(url: &ParsedUrl) -> Result<Null, Vec<String>> {
    let mut errors = Vec::new();
    let mut count = |name: &str| {
        let text = url.options.get(name)?;
        let number = text.parse().ok().filter(|number| (1..=10_000).contains(number));
        if number.is_none() {
            errors.push(format!("target option {name}={text:?} is not a number from 1 to 10000"));
        }
        number
    };
    let (nodes, servers) = (count("nodes"), count("servers"));
    let service = time_option(url, "service", SERVICES, "a time from 1us to 1m, as 5ms", &mut errors);
    let spread = match url.options.get("service_times").map(String::as_str) {
        None | Some("exponential") => Spread::Exponential,
        Some("constant") => Spread::Constant,
        Some(text) => {
            errors.push(format!(
                "target option service_times={text:?} is not known: use exponential or constant"
            ));
            Spread::Exponential
        }
    };
    let of_queue = ["servers", "service_times"].into_iter().find(|name| url.options.contains_key(*name));
    if let Some(name) = of_queue.filter(|_| !url.options.contains_key("service")) {
        errors.push(format!("target option {name} needs a service time: add service=5ms"));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    // The times of a database differ from run to run, whatever the seed of the inputs.
    let seed = RandomState::new().hash_one(());
    let servers = servers.unwrap_or(1) as usize;
    let queue = service.map(|service| Arc::new(Queue::new(service, spread, servers, seed)));
    let options: Vec<String> = url.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let url = if options.is_empty() { "null:".to_owned() } else { format!("null:?{}", options.join("&")) };
    Ok(Null { url, nodes, queue })
}

/// The entry in the table of families.
pub(crate) static FAMILY: Family = Family {
    schemes: &[Scheme::without_port("null")],
    url: "null:",
    about: "answers at once and stores nothing: measures Lydite itself",
    modes: &TxMode::ALL,
    guarantees: "none",
    placement: &[PlacementSource { nodes: "as ?nodes= pretends", evidence: Evidence::None }],
    tested: "itself",
    options: OPTIONS,
    tpcc_options: &[],
    parse: |url, _| parse(url).map(|null| Arc::new(null) as _),
};

impl Configured for Null {
    fn stores(&self) -> bool {
        false
    }

    fn engines(&self) -> Engines {
        Engines::Two
    }

    fn loads_one_node(&self) -> bool {
        false
    }

    fn open(&self) -> Result<Arc<dyn Target>, TargetError> {
        Ok(Arc::new(self.clone()))
    }
}

impl Target for Null {
    fn describe(&self) -> Result<Description, TargetError> {
        Ok(Description {
            kind: "null".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            url: self.url.clone(),
            settings: BTreeMap::new(),
            isolation: "none".into(),
            // Only Lydite runs in this process, no database.
            embedded: false,
            isolation_is_level_3: false,
            durable: false,
            in_memory: None,
            unread: Vec::new(),
        })
    }

    fn state(&self) -> Result<DatabaseState, TargetError> {
        Ok(DatabaseState::AnyScale)
    }

    fn admit(&self, _demand: &Demand) -> Result<Vec<String>, TargetError> {
        Ok(Vec::new())
    }

    fn begin_load(&self) -> Result<Box<dyn Send>, TargetError> {
        Ok(Box::new(()))
    }

    fn create_schema(&self, _meta: &DatabaseMeta) -> Result<(), TargetError> {
        Ok(())
    }

    fn loader(&self) -> Result<Box<dyn Loader>, TargetError> {
        Ok(Box::new(NullLoader))
    }

    fn finish_load(&self, _jobs: usize, _stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        Ok(())
    }

    fn note_played(&self, _kinds: &[TransactionKind]) -> Result<(), TargetError> {
        Ok(())
    }

    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        Ok(Box::new(NullSession { next_order: 3_001, queue: self.queue.clone() }))
    }

    fn reset(&self) -> Result<(), TargetError> {
        Ok(())
    }

    fn check(
        &self,
        _conditions: &[Condition],
        _done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError> {
        Err(TargetError::usage("null: stores nothing, so there is nothing to check"))
    }

    fn checksums(&self) -> Result<Vec<TableChecksum>, TargetError> {
        Err(TargetError::usage("null: stores nothing, so it has no checksums"))
    }

    fn counts(&self, _warehouses: &RangeInclusive<u32>) -> Result<LedgerCounts, TargetError> {
        Err(TargetError::usage("null: stores nothing, so there is nothing to count"))
    }

    fn written(
        &self,
        _warehouses: &RangeInclusive<u32>,
        _orders_from: Option<OrderId>,
    ) -> Result<Written, TargetError> {
        Err(TargetError::usage("null: stores nothing, so it has no orders and payments"))
    }

    fn reread(&self, _keys: &RowKeys) -> Result<FoundRows, TargetError> {
        Err(TargetError::usage("null: stores nothing, so it has no rows"))
    }

    fn halves(
        &self,
        _warehouses: &RangeInclusive<u32>,
        _loaded_orders: OrderId,
    ) -> Result<HalfCounts, TargetError> {
        Err(TargetError::usage("null: stores nothing, so there is nothing to count"))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { nodes: Some(self), micro: Some(self), ..Capabilities::default() }
    }
}

impl Nodes for Null {
    fn placement(&self, warehouses: u32) -> Result<Option<Placement>, TargetError> {
        let Some(nodes) = self.nodes else { return Ok(None) };
        if nodes > warehouses {
            return Err(TargetError::usage(format!(
                "null: {nodes} nodes need at least as many warehouses, and there are {warehouses}: raise --warehouses, or \
                 lower ?nodes="
            )));
        }
        Ok(Some(Placement::ranges((1..=nodes).map(|node| format!("node {node}")).collect(), warehouses)))
    }
}

/// Loader that generates every row and drops it.
struct NullLoader;

/// Sink that counts the bytes of the rows' columns.
#[derive(Default)]
struct Discard {
    rows: u64,
    bytes: u64,
}

impl ColumnSink for Discard {
    fn int(&mut self, _value: i64) {
        self.bytes += 8;
    }
    fn money(&mut self, _value: Cents) {
        self.bytes += 8;
    }
    fn rate(&mut self, _value: Rate) {
        self.bytes += 4;
    }
    fn text(&mut self, value: &str) {
        self.bytes += value.len() as u64;
    }
    fn time(&mut self, _value: Timestamp) {
        self.bytes += 8;
    }
    fn null(&mut self) {}
}

impl RowWriter for Discard {
    type Error = TargetError;
    fn write<R: Row>(&mut self, row: &R) -> Result<(), TargetError> {
        row.emit(self);
        self.rows += 1;
        Ok(())
    }
}

impl Loader for NullLoader {
    fn load(&mut self, unit: LoadUnit, rows: &LoadRows, progress: &LoadProgress) -> Result<(), TargetError> {
        for &table in unit.tables() {
            let mut discard = Discard::default();
            progress.timed(|| rows.write_table(table, unit.warehouse(), &mut discard))?;
            progress.add_to(table, discard.rows, discard.bytes);
        }
        Ok(())
    }
}

struct NullSession {
    next_order: u64,
    queue: Option<Arc<Queue>>,
}

fn text<const N: usize>(value: &str) -> Text<N> {
    lydite_tpcc::text::truncated(value)
}

fn address() -> Address {
    Address {
        street_1: text("null"),
        street_2: text("null"),
        city: text("null"),
        state: text("NU"),
        zip: text("000011111"),
    }
}

fn customer_of(selector: &CustomerSelector) -> (CustomerId, LastName) {
    match selector {
        CustomerSelector::Id(id) => (*id, text("NULL")),
        CustomerSelector::LastName(name) => (CustomerId(1), *name),
    }
}

impl Session for NullSession {
    fn execute(&mut self, transaction: &Transaction) -> Result<Outcome, TxError> {
        if let Some(queue) = &self.queue {
            queue.serve();
        }
        let c_credit: Credit = text("GC");
        let transaction = match transaction {
            Transaction::Standard(transaction) => transaction,
            Transaction::Dike(transaction) => return Ok(transaction.invented_outcome().into()),
        };
        Ok(match transaction {
            Standard::NewOrder(input) => {
                let o_id = OrderId(self.next_order);
                if input.has_unused_item() {
                    let rolled_back = RolledBackOrder { o_id, c_last: text("NULL"), c_credit };
                    return Err(TxError::RolledBack(Box::new(rolled_back)));
                }
                self.next_order += 1;
                let lines: Vec<NewOrderLine> = input
                    .lines
                    .iter()
                    .map(|line| NewOrderLine {
                        i_name: text("null"),
                        s_quantity: 50,
                        brand: false,
                        i_price: Cents(100),
                        amount: Cents(100).times(u32::from(line.quantity)),
                    })
                    .collect();
                NewOrderOutcome {
                    o_id,
                    entry_d: Timestamp(0),
                    c_last: text("NULL"),
                    c_credit,
                    c_discount: Rate(0),
                    w_tax: Rate(0),
                    d_tax: Rate(0),
                    total: lines.iter().map(|line| line.amount).sum(),
                    lines,
                }
                .into()
            }
            Standard::Payment(input) => {
                let (c_id, c_last) = customer_of(&input.customer);
                Box::new(PaymentOutcome {
                    h_date: Timestamp(0),
                    warehouse: address(),
                    district: address(),
                    c_id,
                    c_first: text("null"),
                    c_middle: text("OE"),
                    c_last,
                    address: address(),
                    c_phone: text("0"),
                    c_since: Timestamp(0),
                    c_credit,
                    c_credit_lim: Cents(0),
                    c_discount: Rate(0),
                    c_balance: -input.amount,
                    c_data: None,
                })
                .into()
            }
            Standard::OrderStatus(input) => {
                let (c_id, c_last) = customer_of(&input.customer);
                OrderStatusOutcome {
                    c_id,
                    c_first: text("null"),
                    c_middle: text("OE"),
                    c_last,
                    c_balance: Cents(0),
                    o_id: OrderId(1),
                    entry_d: Timestamp(0),
                    carrier_id: None,
                    lines: Vec::new(),
                }
                .into()
            }
            Standard::Delivery(input) => DeliveryOutcome {
                delivered: input.district_ids().map(|district| (district, OrderId(2_101))).collect(),
            }
            .into(),
            Standard::StockLevel(_) => StockLevelOutcome { low_stock: 0 }.into(),
        })
    }
}

impl MicroTarget for Null {
    fn engines(&self) -> Engines {
        Engines::Two
    }

    fn create_tables(&self, _meta: &Meta) -> Result<(), TargetError> {
        Ok(())
    }

    fn table_loader(&self, _meta: &Meta) -> Result<Box<dyn MicroLoader>, TargetError> {
        Err(TargetError::usage("null: stores nothing, so there is nothing to load"))
    }

    fn finish_tables(
        &self,
        _meta: &Meta,
        _jobs: usize,
        _stage: &(dyn Fn(&str) + Sync),
    ) -> Result<(), TargetError> {
        Ok(())
    }

    fn connect_micro(&self, meta: &Meta) -> Result<Box<dyn Session<Micro>>, TargetError> {
        Ok(Box::new(NullMicroSession {
            text_bytes: u64::from(meta.data.text_bytes()),
            queue: self.queue.clone(),
        }))
    }

    fn totals(&self, _meta: &Meta, _table: TableId) -> Result<Totals, TargetError> {
        Err(TargetError::usage("null: stores nothing, so there is nothing to check"))
    }
}

/// Session that answers with the lengths of the texts that a database would read.
struct NullMicroSession {
    text_bytes: u64,
    queue: Option<Arc<Queue>>,
}

impl Session<Micro> for NullMicroSession {
    fn execute(&mut self, transaction: &lydite_micro::Transaction) -> Result<lydite_micro::Outcome, TxError> {
        if let Some(queue) = &self.queue {
            queue.serve();
        }
        let text_bytes = transaction.reads().count() as u64 * self.text_bytes;
        Ok(lydite_micro::Outcome { counters: 0, text_bytes })
    }
}
