//! What a key-value store must do so that the one text of the transactions runs on it.

use crate::error::{AbortReason, Committed, TargetError, TxError};
use crate::kv::right::LoadRight;
use crate::target::Description;
use lydite_tpcc::schema::Table;
use std::ops::ControlFlow;

/// An ordered map from byte keys to byte values: the nine tables, what finds their rows by other columns, and
/// Lydite's own notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KvTable {
    /// ITEM, by I_ID.
    Item,
    /// WAREHOUSE.
    Warehouse,
    /// DISTRICT.
    District,
    /// CUSTOMER.
    Customer,
    /// HISTORY, which has no key: by the time and session of the payment.
    History,
    /// ORDERS.
    Order,
    /// NEW_ORDER.
    NewOrder,
    /// ORDER_LINE.
    OrderLine,
    /// STOCK.
    Stock,
    /// Customers of a district by C_LAST and C_FIRST.
    CustomerByName,
    /// Orders of a district by O_C_ID.
    OrderByCustomer,
    /// What the database was loaded with, and how far.
    Meta,
}

impl KvTable {
    /// How many there are.
    pub const COUNT: usize = 12;
    /// All, in the order of [`KvTable::index`].
    pub const ALL: [Self; Self::COUNT] = [
        Self::Item,
        Self::Warehouse,
        Self::District,
        Self::Customer,
        Self::History,
        Self::Order,
        Self::NewOrder,
        Self::OrderLine,
        Self::Stock,
        Self::CustomerByName,
        Self::OrderByCustomer,
        Self::Meta,
    ];

    /// A dense number from 0, for tables of handles.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// The name in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CustomerByName => "customer_by_name",
            Self::OrderByCustomer => "orders_by_customer",
            Self::Meta => "lydite_meta",
            _ => self.table().map_or("", Table::name),
        }
    }

    /// The table of TPC-C whose rows it holds; none for the last three.
    #[must_use]
    pub fn table(self) -> Option<Table> {
        Table::ALL.into_iter().find(|&table| Self::from(table) == self)
    }
}

impl From<Table> for KvTable {
    fn from(table: Table) -> Self {
        match table {
            Table::Item => Self::Item,
            Table::Warehouse => Self::Warehouse,
            Table::District => Self::District,
            Table::Customer => Self::Customer,
            Table::History => Self::History,
            Table::Orders => Self::Order,
            Table::NewOrder => Self::NewOrder,
            Table::OrderLine => Self::OrderLine,
            Table::Stock => Self::Stock,
        }
    }
}

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It only reads, on one snapshot.
    Read,
    /// One of the five transactions, or a note of Lydite's.
    Write,
    /// It loads or drops many rows and meets nobody else at them: a store may leave out what protects against
    /// others.
    Load,
}

/// The way of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the least key to the greatest.
    Forward,
    /// From the greatest key to the least.
    Backward,
}

/// The keys of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRange<'a> {
    /// The least key.
    pub from: &'a [u8],
    /// All keys are less than this one.
    pub below: Option<&'a [u8]>,
}

impl KeyRange<'_> {
    /// All keys.
    pub const ALL: KeyRange<'static> = KeyRange { from: &[], below: None };
}

/// Why a store refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// Lost against a concurrent transaction: the same one may be tried again.
    Retry {
        /// In what way.
        reason: AbortReason,
        /// The store's words.
        detail: String,
    },
    /// The store is away, or was while a transaction was committed. It may be back when it is asked again.
    Unavailable {
        /// Whether the transaction may have been committed.
        committed: Committed,
        /// The store's words.
        detail: String,
    },
    /// The store takes no more transactions until it is opened anew, so every later one would fail too. The transaction was
    /// not committed.
    Broken(String),
    /// Anything else; trying again would not help.
    Failed(String),
}

impl StoreError {
    /// The store's words, on one line.
    pub fn line(&self) -> &str {
        match self {
            Self::Retry { detail, .. }
            | Self::Unavailable { detail, .. }
            | Self::Broken(detail)
            | Self::Failed(detail) => detail,
        }
    }

    /// The error of a transaction that it kept from committing.
    pub fn in_transaction(self) -> TxError {
        match self {
            Self::Retry { reason, detail } => TxError::Aborted { reason, detail },
            Self::Unavailable { committed, detail } => TxError::Unavailable { committed, detail },
            Self::Broken(detail) => TxError::Broken(detail),
            Self::Failed(detail) => TxError::Fatal(detail),
        }
    }

    /// The error of a transaction whose commit was accepted, and then did not become durable for all we know.
    pub fn in_wait(self) -> TxError {
        TxError::Unavailable { committed: Committed::Unknown, detail: self.line().to_string() }
    }

    /// The error of an operation on a whole target.
    pub fn on_target(self, doing: &str, place: &str) -> TargetError {
        let message = format!("{place}: {doing}: {}", self.line());
        match self {
            Self::Unavailable { .. } | Self::Broken(_) => TargetError::unreachable(message),
            Self::Retry { .. } | Self::Failed(_) => TargetError::database(message),
        }
    }
}

/// A store that is open. All its transactions come from it, from any thread.
pub trait Store: Send + Sync + Sized + 'static {
    /// What a target's URL says.
    type Config: Send + Sync + 'static;
    /// A transaction.
    type Tx<'a>: StoreTx<Pending = Self::Pending>;
    /// A commit that is accepted and perhaps not durable yet.
    type Pending: Pending;

    /// What and where it is, for the beginning of messages: `gemel /var/lib/x`.
    fn place(config: &Self::Config) -> String;

    /// What it is.
    ///
    /// # Errors
    /// It has to be asked, and is not there.
    fn describe(config: &Self::Config) -> Result<Description, StoreError>;

    /// True if its server answers a new connection, in whatever words, or if there is no server.
    fn answers(_config: &Self::Config) -> bool {
        true
    }

    /// Whether there is something to open. Leaves no trace: merely looking must not make a database.
    fn is_there(config: &Self::Config) -> bool;

    /// Keeps other loads away, on this machine or others, until what it gives is dropped; nothing where opening does.
    ///
    /// # Errors
    /// Another load has it; the message says who.
    fn lock(_config: &Self::Config) -> Result<Box<dyn LoadRight>, StoreError> {
        Ok(Box::new(()))
    }

    /// Opens it, with all of [`KvTable::ALL`]; what is not there is made, empty.
    ///
    /// # Errors
    /// Its files can't be made or read, or hold something else.
    fn open(config: &Self::Config) -> Result<Self, StoreError>;

    /// Begins a transaction, on one snapshot. May wait for others to end.
    ///
    /// # Errors
    /// The store takes no more transactions.
    fn begin(&self, access: Access) -> Result<Self::Tx<'_>, StoreError>;

    /// Removes all entries of a table.
    ///
    /// # Errors
    /// The store fails; some entries may be gone then.
    fn clear(&self, table: KvTable) -> Result<(), StoreError> {
        clear_in_batches(self, table)
    }

    /// After loading: whatever makes the store ready to be measured, a checkpoint perhaps. `stage` is told what
    /// begins.
    ///
    /// # Errors
    /// The store fails.
    fn settle(&self, _stage: &(dyn Fn(&str) + Sync)) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A transaction. Sees its own writes. Dropping it rolls it back.
///
/// Snapshot isolation with the first committer winning is enough for level 3 of clause 3.4.1: the five transactions
/// can't tell it from serializable execution. A store that refuses a transaction because of another one says
/// [`StoreError::Retry`], from whichever method finds it out.
pub trait StoreTx: Sized {
    /// See [`Store::Pending`].
    type Pending: Pending;

    /// Hands the value of `key` to `found`, without a copy where the store can; none when there is none.
    ///
    /// # Errors
    /// The store fails, or refuses the transaction. So for all that follow.
    fn read<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError>;

    /// Lets `change` change the value of `key` and writes it back; none when there is none. Whoever returns an
    /// error from `change` gives up the transaction, so what is written then does not matter.
    ///
    /// # Errors
    /// See [`StoreTx::read`].
    fn modify<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        change: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> Result<Option<R>, StoreError> {
        let Some(mut value) = self.read(table, key, <[u8]>::to_vec)? else { return Ok(None) };
        let changed = change(&mut value);
        self.put(table, key, &value)?;
        Ok(Some(changed))
    }

    /// Writes an entry, new or not. Values may be empty.
    ///
    /// # Errors
    /// See [`StoreTx::read`].
    fn put(&mut self, table: KvTable, key: &[u8], value: &[u8]) -> Result<(), StoreError>;

    /// Removes an entry, which may not be there.
    ///
    /// # Errors
    /// See [`StoreTx::read`].
    fn delete(&mut self, table: KvTable, key: &[u8]) -> Result<(), StoreError>;

    /// Hands over the entries of a range, in order, until `each` breaks.
    ///
    /// # Errors
    /// See [`StoreTx::read`].
    fn scan(
        &mut self,
        table: KvTable,
        range: KeyRange<'_>,
        direction: Direction,
        each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError>;

    /// Commits. The transaction is not to be acknowledged before [`Pending::wait`] has returned.
    ///
    /// # Errors
    /// See [`StoreTx::read`]; nothing is committed then, unless it says [`Committed::Unknown`].
    fn commit(self) -> Result<Self::Pending, StoreError>;
}

/// A commit that is accepted: no other transaction can undo it, a crash perhaps.
pub trait Pending: Send + 'static {
    /// Whether the session is to take other transactions meanwhile.
    fn is_pipelined(&self) -> bool {
        false
    }

    /// Waits until it survives a crash, as far as the store's settings promise.
    ///
    /// # Errors
    /// It may not: the store failed meanwhile.
    fn wait(self) -> Result<(), StoreError>;

    /// Calls `done` when it does, at once or on another thread.
    fn on_done(self, done: impl FnOnce(Result<(), StoreError>) + Send + 'static)
    where
        Self: Sized,
    {
        done(self.wait());
    }
}

/// For stores whose commits are done when they return.
impl Pending for () {
    fn wait(self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// How many entries are dropped in one transaction.
const DROPPED_AT_ONCE: usize = 4_096;

/// Removes all entries of a table in transactions of some thousand: what a store does that knows no faster way.
pub fn clear_in_batches<S: Store>(store: &S, table: KvTable) -> Result<(), StoreError> {
    loop {
        let mut tx = store.begin(Access::Load)?;
        let mut keys: Vec<Vec<u8>> = Vec::with_capacity(DROPPED_AT_ONCE);
        tx.scan(table, KeyRange::ALL, Direction::Forward, |key, _| {
            keys.push(key.to_vec());
            if keys.len() < DROPPED_AT_ONCE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        for key in &keys {
            tx.delete(table, key)?;
        }
        tx.commit()?.wait()?;
        if keys.len() < DROPPED_AT_ONCE {
            return Ok(());
        }
    }
}
