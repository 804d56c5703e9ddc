//! The messages of the protocol, as data. Their names are a contract: `docs/src/driver-protocol.md`.

use lydite_tpcc::rows::ColumnSink;
use lydite_tpcc::transactions::{
    CustomerSelector, Delivery, NewOrder, OrderLineInput, OrderStatus, Payment, StockLevel,
};
use lydite_tpcc::{Cents, CustomerId, Rate, RolledBackOrder, Timestamp};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use std::collections::BTreeMap;

/// Protocol version of this file.
pub(crate) const PROTOCOL: u32 = 1;

/// A request or an answer without fields.
#[derive(Serialize, Deserialize)]
pub(super) struct Nothing {}

/// The first request of a connection.
#[derive(Serialize, Deserialize)]
pub(super) struct HelloRequest<'a> {
    pub(super) protocol: u32,
    pub(super) lydite: &'a str,
    /// Password of a server; programs that Lydite starts get none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) password: Option<&'a str>,
}

/// Description of a driver, by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) protocol: u32,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) way: Way,
    pub(crate) guarantee: Guarantee,
    /// Isolation level, in the database's words.
    #[serde(default)]
    pub(crate) isolation: Option<String>,
    /// True if a commit survives the loss of power.
    #[serde(default)]
    pub(crate) durable: bool,
    /// Sessions that one process serves at the same time; 0 for any number.
    #[serde(default = "one")]
    pub(crate) sessions: u32,
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, String>,
}

fn one() -> u32 {
    1
}

/// The two ways of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Way {
    #[serde(rename = "transactions")]
    Transactions,
    #[serde(rename = "key-value")]
    KeyValue,
}

/// Guarantee of transactions over several keys or rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Guarantee {
    /// No guarantee.
    None,
    /// Each key by itself.
    PerKey,
    /// All or nothing, at a level below snapshot isolation with first-committer-wins.
    Atomic,
    /// Snapshot isolation, or validation at commit: of two transactions that conflict, the later one aborts.
    Optimistic,
    /// Serializable.
    Serializable,
}

impl Guarantee {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::PerKey => "per-key",
            Self::Atomic => "atomic",
            Self::Optimistic => "optimistic",
            Self::Serializable => "serializable",
        }
    }
}

/// An answer. Exactly one of the last three fields is set.
#[derive(Serialize, Deserialize)]
pub(super) struct Answer<T> {
    pub(super) id: u64,
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub(super) ok: Option<T>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Refusal>,
    /// Progress of a request at work. The answer follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) alive: Option<String>,
    /// Rows that were stored since the last message, with `alive` of `load_end`.
    #[serde(default)]
    pub(super) stored: u64,
}

/// Error of a driver that did not do what a request wants.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Refusal {
    pub(super) kind: RefusalKind,
    #[serde(default)]
    pub(super) detail: String,
    /// Abort reason of `aborted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<Reason>,
    /// State of the commit, with `unavailable`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) committed: Option<WasCommitted>,
    /// Answer to the order, with `rolled_back`.
    #[serde(default, skip_serializing)]
    pub(super) order: Option<RolledBackOrder>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RefusalKind {
    Aborted,
    RolledBack,
    Unavailable,
    Unsupported,
    Fatal,
}

impl RefusalKind {
    /// Returns the name in the protocol.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Aborted => "aborted",
            Self::RolledBack => "rolled_back",
            Self::Unavailable => "unavailable",
            Self::Unsupported => "unsupported",
            Self::Fatal => "fatal",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reason {
    Serialization,
    Deadlock,
    LockTimeout,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WasCommitted {
    No,
    Unknown,
}

/// Contents of the database.
#[derive(Deserialize)]
pub(super) struct StateAnswer {
    pub(super) tables: Vec<String>,
    pub(super) notes: BTreeMap<String, String>,
    /// False if an interrupted load can't be resumed.
    #[serde(default = "yes")]
    pub(super) resumes: bool,
}

fn yes() -> bool {
    true
}

/// Answer to `load`.
#[derive(Deserialize)]
pub(super) struct LoadAnswer {
    /// True if the driver stores the rows no earlier than in `load_end`.
    #[serde(default)]
    pub(super) kept: bool,
}

/// A note of Lydite's that is stored beside the tables.
#[derive(Serialize)]
pub(super) struct Note<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

#[derive(Serialize)]
pub(super) struct Create {
    pub(super) notes: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
pub(super) struct Unit {
    /// Warehouse; 0 for ITEM.
    pub(super) w_id: u32,
}

#[derive(Serialize)]
pub(super) struct Read {
    pub(super) table: &'static str,
    pub(super) w_id: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct NewOrderRequest<'a> {
    w_id: u32,
    d_id: u16,
    c_id: u32,
    lines: Lines<'a>,
    now: Timestamp,
}

struct Lines<'a>(&'a [OrderLineInput]);

#[derive(Serialize)]
struct Line {
    i_id: u32,
    supply_w_id: u32,
    quantity: u8,
}

impl Serialize for Lines<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|line| Line {
            i_id: line.i_id.0,
            supply_w_id: line.supply_w_id.0,
            quantity: line.quantity,
        }))
    }
}

impl<'a> NewOrderRequest<'a> {
    pub(super) fn new(input: &'a NewOrder, now: Timestamp) -> Self {
        Self { w_id: input.w_id.0, d_id: input.d_id.0, c_id: input.c_id.0, lines: Lines(&input.lines), now }
    }
}

/// Returns the customer's number or last name; the other one is null.
fn customer(selector: &CustomerSelector) -> (Option<CustomerId>, Option<&str>) {
    match selector {
        CustomerSelector::Id(id) => (Some(*id), None),
        CustomerSelector::LastName(name) => (None, Some(name)),
    }
}

#[derive(Serialize)]
pub(super) struct PaymentRequest<'a> {
    w_id: u32,
    d_id: u16,
    c_w_id: u32,
    c_d_id: u16,
    c_id: Option<CustomerId>,
    c_last: Option<&'a str>,
    h_amount: Cents,
    now: Timestamp,
}

impl<'a> PaymentRequest<'a> {
    pub(super) fn new(input: &'a Payment, now: Timestamp) -> Self {
        let (c_id, c_last) = customer(&input.customer);
        let (c_w_id, c_d_id) = (input.c_w_id.0, input.c_d_id.0);
        Self {
            w_id: input.w_id.0,
            d_id: input.d_id.0,
            c_w_id,
            c_d_id,
            c_id,
            c_last,
            h_amount: input.amount,
            now,
        }
    }
}

#[derive(Serialize)]
pub(super) struct OrderStatusRequest<'a> {
    w_id: u32,
    d_id: u16,
    c_id: Option<CustomerId>,
    c_last: Option<&'a str>,
}

impl<'a> OrderStatusRequest<'a> {
    pub(super) fn new(input: &'a OrderStatus) -> Self {
        let (c_id, c_last) = customer(&input.customer);
        Self { w_id: input.w_id.0, d_id: input.d_id.0, c_id, c_last }
    }
}

#[derive(Serialize)]
pub(super) struct DeliveryRequest {
    w_id: u32,
    o_carrier_id: u8,
    now: Timestamp,
}

impl DeliveryRequest {
    pub(super) fn new(input: &Delivery, now: Timestamp) -> Self {
        Self { w_id: input.w_id.0, o_carrier_id: input.carrier_id.0, now }
    }
}

#[derive(Serialize)]
pub(super) struct StockLevelRequest {
    w_id: u32,
    d_id: u16,
    threshold: u8,
}

impl StockLevelRequest {
    pub(super) fn new(input: &StockLevel) -> Self {
        Self { w_id: input.w_id.0, d_id: input.d_id.0, threshold: input.threshold }
    }
}

/// Purpose of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Purpose {
    Read,
    Write,
    Load,
}

/// Clears a table of a key-value store.
#[derive(Serialize, Deserialize)]
pub(super) struct Clear<'a> {
    pub(super) table: &'a str,
}

/// Request for a value. The first request of a transaction has `begin`.
#[derive(Serialize, Deserialize)]
pub(super) struct Get<'a> {
    pub(super) begin: Option<Purpose>,
    pub(super) table: &'a str,
    #[serde(with = "serde_bytes", borrow)]
    pub(super) key: &'a [u8],
}

#[derive(Serialize, Deserialize)]
pub(super) struct Got {
    #[serde(deserialize_with = "Option::deserialize")]
    pub(super) value: Option<ByteBuf>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Scan<'a> {
    pub(super) begin: Option<Purpose>,
    pub(super) table: &'a str,
    #[serde(with = "serde_bytes", borrow)]
    pub(super) from: &'a [u8],
    #[serde(with = "serde_bytes", borrow)]
    pub(super) below: Option<&'a [u8]>,
    pub(super) backward: bool,
    pub(super) limit: u32,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Entries {
    pub(super) entries: Vec<(ByteBuf, ByteBuf)>,
}

/// A list of [`Write`] of the requests `write` and `commit`: an entry without a value is a delete.
#[derive(Serialize, Deserialize)]
pub(super) struct Writes<W> {
    pub(super) begin: Option<Purpose>,
    pub(super) writes: W,
}

/// Table, key, value.
#[derive(Serialize, Deserialize)]
pub(super) struct Write<'a>(
    pub(super) &'a str,
    #[serde(with = "serde_bytes")] pub(super) Vec<u8>,
    #[serde(with = "serde_bytes")] pub(super) Option<Vec<u8>>,
);

/// Buffer of rows, column after column. Writing to memory can't fail.
#[derive(Default)]
pub(super) struct RowBuffer {
    pub(super) bytes: Vec<u8>,
    pub(super) rows: u32,
}

impl RowBuffer {
    /// Begins a row with this number of columns.
    pub(super) fn begin(&mut self, columns: u32) {
        self.rows += 1;
        let _infallible = rmp::encode::write_array_len(&mut self.bytes, columns);
    }
}

impl ColumnSink for RowBuffer {
    fn int(&mut self, value: i64) {
        let _infallible = rmp::encode::write_sint(&mut self.bytes, value);
    }
    fn money(&mut self, value: Cents) {
        self.int(value.0);
    }
    fn rate(&mut self, value: Rate) {
        self.int(i64::from(value.0));
    }
    fn text(&mut self, value: &str) {
        let _infallible = rmp::encode::write_str(&mut self.bytes, value);
    }
    fn time(&mut self, value: Timestamp) {
        self.int(value.0);
    }
    fn null(&mut self) {
        let _infallible = rmp::encode::write_nil(&mut self.bytes);
    }
}
