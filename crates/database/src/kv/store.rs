//! The traits of a key-value store on which the one text of the transactions runs.

use crate::facts::Description;
use crate::kv::load_lock::LoadLock;
use crate::kv::store_error::StoreError;
use lydite_tpcc::schema::Table;
use std::ops::ControlFlow;

/// An ordered map from byte keys to byte values: one of the nine tables, an index, or Lydite's own notes.
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
    /// Description of the database, and progress of its load.
    Meta,
}

impl KvTable {
    /// Number of tables.
    pub const COUNT: usize = 12;
    /// All tables, in the order of [`KvTable::index`].
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

    /// Returns a dense number from 0, for tables of handles.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns the name in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CustomerByName => "customer_by_name",
            Self::OrderByCustomer => "orders_by_customer",
            Self::Meta => "lydite_meta",
            _ => self.table().map_or("", Table::name),
        }
    }

    /// Returns the table of TPC-C with these rows; `None` for the last three.
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

/// Purpose of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read-only, on one snapshot.
    Read,
    /// One of the five transactions, or a note of Lydite's.
    Write,
    /// Loads or drops many rows without any conflict. A store may leave out concurrency control.
    Load,
}

/// Direction of a scan.
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
    /// The least key, inclusive.
    pub from: &'a [u8],
    /// Upper bound of the keys, exclusive.
    pub below: Option<&'a [u8]>,
}

impl KeyRange<'_> {
    /// All keys.
    pub const ALL: KeyRange<'static> = KeyRange { from: &[], below: None };
}

/// A function that gets a key and its value, until it breaks. It is behind a pointer, so a store's scan is compiled once
/// and not once for each caller.
pub type Each<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// An open store. All its transactions come from it, from any thread.
pub trait Store: Send + Sync + Sized + 'static {
    /// Settings in a target's URL.
    type Config: Send + Sync + 'static;
    /// A transaction.
    type Tx<'a>: StoreTx<Pending = Self::Pending> + 'a;
    /// A commit that is accepted but perhaps not durable yet.
    type Pending: Pending;

    /// False if transactions keep their isolation for the keys that they read, but not for ranges that they scan.
    const ISOLATES_RANGES: bool = true;

    /// Returns the kind and place of the store, for the beginning of messages: `gemel /var/lib/x`.
    fn place(config: &Self::Config) -> String;

    /// Describes the store.
    ///
    /// # Errors
    /// The server must be asked, and is away.
    fn describe(config: &Self::Config) -> Result<Description, StoreError>;

    /// True if its server answers a new connection, even with an error, or if it has no server.
    fn answers(_config: &Self::Config) -> bool {
        true
    }

    /// True if there is a database to open. Leaves no trace: a mere look must not create one.
    fn is_there(config: &Self::Config) -> bool;

    /// Keeps other loads away, on this machine or others, until the returned value is dropped. Does nothing if opening
    /// the store excludes others.
    ///
    /// # Errors
    /// Another load has the right; the message names it.
    fn lock(_config: &Self::Config) -> Result<Box<dyn LoadLock>, StoreError> {
        Ok(Box::new(()))
    }

    /// Opens the store with all of [`KvTable::ALL`]. Creates missing tables.
    ///
    /// # Errors
    /// The store's files can't be created or read, or hold other data.
    fn open(config: &Self::Config) -> Result<Self, StoreError>;

    /// Begins a transaction, on one snapshot. May wait for others to end.
    ///
    /// # Errors
    /// The store accepts no transactions.
    fn begin(&self, access: Access) -> Result<Self::Tx<'_>, StoreError>;

    /// Tells a store that pipelines commits that a session is about to wait. See [`Session::hurry`](crate::Session::hurry).
    fn hurry(&self) {}

    /// Removes all entries of a table.
    ///
    /// # Errors
    /// The store fails. Some entries may be gone then.
    fn clear(&self, table: KvTable) -> Result<(), StoreError> {
        clear_in_batches(self, table)
    }

    /// Prepares the store for a measurement after loading, for example by a checkpoint. Calls `stage` with the name of
    /// each step that begins.
    ///
    /// # Errors
    /// The store fails.
    fn settle(&self, _stage: &(dyn Fn(&str) + Sync)) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A transaction. It sees its own writes. Dropping it rolls it back.
///
/// Snapshot isolation with first-committer-wins is enough for level 3 of clause 3.4.1: the five transactions behave as
/// in serializable execution. A store that rejects a transaction because of another one returns [`StoreError::Retry`],
/// from whichever method finds the conflict.
pub trait StoreTx: Sized {
    /// Commit of the store, see [`Store::Pending`].
    type Pending: Pending;

    /// Passes the value of `key` to `found`, without a copy if the store can. Returns `None` if the key does not exist.
    ///
    /// # Errors
    /// The store fails, or rejects the transaction. The same holds for all following methods.
    fn read<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError>;

    /// Lets `change` change the value of `key`, and writes it back. Returns `None` if the key does not exist. A caller
    /// that returns an error from `change` abandons the transaction, so the value written then does not matter.
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

    /// Passes the values of several keys to `found`, each with the number of its key. A key that does not exist is left
    /// out.
    ///
    /// # Errors
    /// See [`StoreTx::read`].
    fn read_each<K: AsRef<[u8]>>(
        &mut self,
        table: KvTable,
        keys: impl IntoIterator<Item = K>,
        mut found: impl FnMut(usize, &[u8]),
    ) -> Result<(), StoreError> {
        for (number, key) in keys.into_iter().enumerate() {
            self.read(table, key.as_ref(), |value| found(number, value))?;
        }
        Ok(())
    }

    /// Does the same as [`StoreTx::modify`] with a change that keeps the value's length.
    ///
    /// # Errors
    /// See [`StoreTx::read`].
    fn modify_in_place<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        change: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        self.modify(table, key, |value| change(value))
    }

    /// Does the same as [`StoreTx::modify_in_place`] for several keys, one after the other. Passes the number of each
    /// key to `change`. A key that does not exist is left out.
    ///
    /// # Errors
    /// See [`StoreTx::read`].
    fn modify_each<K: AsRef<[u8]>>(
        &mut self,
        table: KvTable,
        keys: impl IntoIterator<Item = K>,
        mut change: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), StoreError> {
        for (number, key) in keys.into_iter().enumerate() {
            self.modify_in_place(table, key.as_ref(), |value| change(number, value))?;
        }
        Ok(())
    }

    /// Writes an entry, new or not. Values may be empty.
    ///
    /// # Errors
    /// See [`StoreTx::read`].
    fn put(&mut self, table: KvTable, key: &[u8], value: &[u8]) -> Result<(), StoreError>;

    /// Removes an entry, which may not exist.
    ///
    /// # Errors
    /// See [`StoreTx::read`].
    fn delete(&mut self, table: KvTable, key: &[u8]) -> Result<(), StoreError>;

    /// Passes the entries of a range to `each`, in order, until `each` breaks.
    ///
    /// # Errors
    /// See [`StoreTx::read`].
    fn scan(
        &mut self,
        table: KvTable,
        range: KeyRange<'_>,
        direction: Direction,
        each: &mut Each<'_>,
    ) -> Result<(), StoreError>;

    /// Commits. The transaction must not be acknowledged before [`Pending::wait`] has returned.
    ///
    /// # Errors
    /// See [`StoreTx::read`]. Nothing is committed then, unless the error has
    /// [`Committed::Unknown`](crate::Committed::Unknown).
    fn commit(self) -> Result<Self::Pending, StoreError>;
}

/// An accepted commit. No other transaction can undo it, but a crash may.
pub trait Pending: Send + 'static {
    /// True if the session can take other transactions before the commit is durable.
    fn is_pipelined(&self) -> bool {
        false
    }

    /// Waits until the commit survives a crash, as far as the store's settings promise.
    ///
    /// # Errors
    /// The commit may be lost: the store failed meanwhile.
    fn wait(self) -> Result<(), StoreError>;

    /// Calls `done` once the commit survives a crash, at once or on another thread.
    fn on_done(self, done: impl FnOnce(Result<(), StoreError>) + Send + 'static)
    where
        Self: Sized,
    {
        done(self.wait());
    }
}

/// Commits of stores that are durable when they return.
impl Pending for () {
    fn wait(self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Entries that are dropped in one transaction.
const DROPPED_AT_ONCE: usize = 4_096;

/// Removes all entries of a table in transactions of some thousand entries, for stores without a faster way.
pub fn clear_in_batches<S: Store>(store: &S, table: KvTable) -> Result<(), StoreError> {
    loop {
        let mut tx = store.begin(Access::Load)?;
        let mut keys: Vec<Vec<u8>> = Vec::with_capacity(DROPPED_AT_ONCE);
        tx.scan(table, KeyRange::ALL, Direction::Forward, &mut |key, _| {
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
