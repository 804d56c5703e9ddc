//! Measures the memory that rows of the memory engine take: loads the tables of TPC-C that transactions write, runs its
//! transactions on one thread, always the same ones, and prints bytes per transaction and the allocations by their size.
//!
//! `cargo run --release -p gemel --example row_memory -- DIRECTORY [WAREHOUSES] [TRANSACTIONS]`

use gemel::{Database, Durability, Engine, Error, Isolation, Keyspace, Options, Transaction};
use std::alloc::{GlobalAlloc, Layout};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// Largest allocation with a count of its own.
const MOST: usize = 4096;
const DISTRICTS: u8 = 10;
const CUSTOMERS: u32 = 3_000;
const ITEMS: u32 = 100_000;
/// Loaded orders of a district that are delivered already.
const DELIVERED: u32 = 2_100;
/// Bytes of values: the texts that vary have their mean length.
const DISTRICT_BYTES: usize = 95;
const CUSTOMER_BYTES: usize = 600;
const STOCK_BYTES: usize = 292;
const ORDER_BYTES: usize = 15;
const LINE_BYTES: usize = 49;
const HISTORY_BYTES: usize = 43;

/// Allocations that live, by size; larger ones at the end, their bytes in `LARGE`.
static COUNTS: [AtomicI64; MOST + 1] = [const { AtomicI64::new(0) }; MOST + 1];
static LARGE: AtomicI64 = AtomicI64::new(0);

struct Counting;

fn note(size: usize, count: i64) {
    if size > MOST {
        LARGE.fetch_add(count * size as i64, Ordering::Relaxed);
    } else {
        COUNTS[size].fetch_add(count, Ordering::Relaxed);
    }
}

// SAFETY: mimalloc does the work. Programs that hold much in memory use it or one like it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 1);
        // SAFETY: the caller's promise.
        unsafe { mimalloc::MiMalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        note(layout.size(), -1);
        // SAFETY: the caller's promise.
        unsafe { mimalloc::MiMalloc.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the bytes that mimalloc takes for an allocation: multiples of 16 up to 128, then four sizes for each power of
/// two.
fn rounded(size: usize) -> usize {
    if size <= 8 { 8 } else { size.next_multiple_of(((1 << (size - 1).ilog2()) / 4).max(16)) }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(end)) >> 32) as u32
    }
}

struct Shop {
    db: Database,
    warehouses: u32,
    district: Keyspace,
    customer: Keyspace,
    stock: Keyspace,
    order: Keyspace,
    order_by_customer: Keyspace,
    new_order: Keyspace,
    line: Keyspace,
    history: Keyspace,
}

/// Returns a key of a warehouse, a district, and numbers.
fn key(warehouse: u32, district: u8, numbers: &[u32]) -> Vec<u8> {
    let mut key = [&warehouse.to_be_bytes()[..], &[district]].concat();
    numbers.iter().for_each(|number| key.extend(number.to_be_bytes()));
    key
}

fn line_key(warehouse: u32, district: u8, order: u32, number: u8) -> Vec<u8> {
    let mut key = key(warehouse, district, &[order]);
    key.push(number);
    key
}

fn stock_key(warehouse: u32, item: u32) -> [u8; 8] {
    (u64::from(warehouse) << 32 | u64::from(item)).to_be_bytes()
}

fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

impl Shop {
    fn open(directory: &str, warehouses: u32) -> Result<Self, Error> {
        let options = Options { durability: Durability::None, ..Options::default() };
        let db = Database::open(directory, options)?;
        let space = |name| db.keyspace(name, Engine::Memory);
        Ok(Self {
            warehouses,
            district: space("district")?,
            customer: space("customer")?,
            stock: space("stock")?,
            order: space("order")?,
            order_by_customer: space("order_by_customer")?,
            new_order: space("new_order")?,
            line: space("order_line")?,
            history: space("history")?,
            db,
        })
    }

    fn load(&self, random: &mut Random) -> Result<(), Error> {
        for warehouse in 1..=self.warehouses {
            for first in (0..ITEMS).step_by(1000) {
                self.commit(|transaction| {
                    (first..first + 1000).try_for_each(|item| {
                        transaction.put(&self.stock, &stock_key(warehouse, item), &[1; STOCK_BYTES])
                    })
                })?;
            }
            for district in 1..=DISTRICTS {
                let mut row = [0; DISTRICT_BYTES];
                row[..4].copy_from_slice(&CUSTOMERS.to_le_bytes());
                self.commit(|transaction| {
                    transaction.put(&self.district, &key(warehouse, district, &[]), &row)
                })?;
                for customer in 0..CUSTOMERS {
                    self.commit(|transaction| {
                        let place = key(warehouse, district, &[customer]);
                        transaction.put(&self.customer, &place, &[1; CUSTOMER_BYTES])?;
                        // Each customer has one order: the loop is through the orders, too.
                        let owner = customer.wrapping_mul(1_000_003) % CUSTOMERS;
                        self.add_order(transaction, (warehouse, district, customer), owner, random)?;
                        if customer < DELIVERED {
                            transaction.delete(&self.new_order, &key(warehouse, district, &[customer]))?;
                        }
                        Ok(())
                    })?;
                }
            }
        }
        Ok(())
    }

    fn commit(&self, work: impl FnOnce(&mut Transaction) -> Result<(), Error>) -> Result<(), Error> {
        let mut transaction = self.db.begin(Isolation::Snapshot)?;
        work(&mut transaction)?;
        transaction.commit().map(drop)
    }

    fn add_order(
        &self,
        transaction: &mut Transaction,
        (warehouse, district, order): (u32, u8, u32),
        customer: u32,
        random: &mut Random,
    ) -> Result<(), Error> {
        let place = key(warehouse, district, &[order]);
        let mut row = [0; ORDER_BYTES];
        row[..4].copy_from_slice(&customer.to_le_bytes());
        transaction.put(&self.order, &place, &row)?;
        transaction.put(&self.order_by_customer, &key(warehouse, district, &[customer, order]), &[])?;
        transaction.put(&self.new_order, &place, &[])?;
        let lines = 5 + random.below(11) as u8;
        (1..=lines).try_for_each(|line| {
            transaction.put(&self.line, &line_key(warehouse, district, order, line), &[1; LINE_BYTES])
        })
    }

    fn draw_district(&self, random: &mut Random) -> (u32, u8) {
        (1 + random.below(self.warehouses), 1 + random.below(DISTRICTS.into()) as u8)
    }

    fn order_goods(&self, transaction: &mut Transaction, random: &mut Random) -> Result<(), Error> {
        let (warehouse, district) = self.draw_district(random);
        let customer = random.below(CUSTOMERS);
        transaction.read(&self.customer, &key(warehouse, district, &[customer]), |_| ())?;
        let mut order = 0;
        transaction.update_in_place(&self.district, &key(warehouse, district, &[]), |row| {
            order = number(row);
            row[..4].copy_from_slice(&(order + 1).to_le_bytes());
        })?;
        self.add_order(transaction, (warehouse, district, order), customer, random)?;
        let items: Vec<_> = (0..10).map(|_| stock_key(warehouse, random.below(ITEMS))).collect();
        transaction.update_each(&self.stock, items, |_, row| row[0] ^= 1)
    }

    fn pay(&self, transaction: &mut Transaction, random: &mut Random, time: u64) -> Result<(), Error> {
        let (warehouse, district) = self.draw_district(random);
        let customer = key(warehouse, district, &[random.below(CUSTOMERS)]);
        transaction.update_in_place(&self.district, &key(warehouse, district, &[]), |row| row[8] ^= 1)?;
        transaction.update_in_place(&self.customer, &customer, |row| row[0] ^= 1)?;
        let (high, low) = ((time >> 32) as u32, time as u32);
        let mut place = key(warehouse, district, &[high, low]);
        place.extend([0, 0, 1]);
        transaction.put(&self.history, &place, &[1; HISTORY_BYTES])
    }

    fn deliver(&self, transaction: &mut Transaction, random: &mut Random) -> Result<(), Error> {
        let (warehouse, _) = self.draw_district(random);
        for district in 1..=DISTRICTS {
            let (from, to) = (key(warehouse, district, &[]), key(warehouse, district + 1, &[]));
            let Some((oldest, _)) = transaction.first(&self.new_order, Included(&from), Excluded(&to))?
            else {
                continue;
            };
            transaction.delete(&self.new_order, &oldest)?;
            transaction.update_in_place(&self.order, &oldest, |row| row[4] = 1)?;
            let (mut lines, end) = (Vec::new(), [&oldest[..], &[u8::MAX]].concat());
            let range = (Included(&oldest[..]), Included(&end[..]));
            transaction.scan(&self.line, range.0, range.1, gemel::Direction::Forward, |line, _| {
                lines.push(line.to_vec());
                ControlFlow::Continue(())
            })?;
            transaction.update_each(&self.line, lines, |_, row| row[8] = 1)?;
            let customer = key(warehouse, district, &[random.below(CUSTOMERS)]);
            transaction.update_in_place(&self.customer, &customer, |row| row[1] ^= 1)?;
        }
        Ok(())
    }

    /// Runs a number of transactions that write, in the proportions of TPC-C: 8 % of its transactions only read.
    fn run(&self, count: u64, random: &mut Random) -> Result<(), Error> {
        for time in 0..count {
            self.commit(|transaction| match random.below(100) {
                0..45 => self.order_goods(transaction, random),
                45..88 => self.pay(transaction, random, time),
                88..92 => self.deliver(transaction, random),
                _ => Ok(()),
            })?;
        }
        Ok(())
    }

    /// Waits until the collector has freed everything that nobody needs.
    fn settle(&self) -> Result<u64, Error> {
        self.db.sync()?;
        let mut before = None;
        loop {
            let memory = self.db.state().memory;
            let now = (memory.bytes, memory.unfreed_bytes, memory.versions_collected);
            if before == Some(now) && memory.unfreed_bytes == 0 {
                return Ok(memory.bytes);
            }
            before = Some(now);
            std::thread::sleep(Duration::from_millis(500));
        }
    }
}

/// Returns the living allocations, by size, and the bytes of the large ones.
fn allocations() -> (Vec<i64>, i64) {
    (COUNTS.iter().map(|count| count.load(Ordering::Relaxed)).collect(), LARGE.load(Ordering::Relaxed))
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).map_or(0, |kib| kib << 10)
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numeral = |at: usize, usual: u64| match arguments.get(at) {
        Some(text) => text.parse().map_err(|_| Error::Usage(format!("{text} is no number"))),
        None => Ok(usual),
    };
    let Some(directory) = arguments.first() else {
        return Err(Error::Usage("name a directory for the database".into()));
    };
    let (warehouses, transactions) = (numeral(1, 2)? as u32, numeral(2, 200_000)?);
    let shop = Shop::open(directory, warehouses)?;
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    shop.load(&mut random)?;
    let (bytes, (counts, large), pages) = (shop.settle()?, allocations(), resident());
    println!("loaded: the engine counts {} MB, {} MB are resident", bytes / 1_000_000, pages / 1_000_000);
    shop.run(transactions, &mut random)?;
    let (bytes_after, (counts_after, large_after), pages_after) = (shop.settle()?, allocations(), resident());

    let per = |bytes: i64| bytes as f64 / transactions as f64;
    let mut sizes: BTreeMap<usize, i64> = BTreeMap::new();
    for (size, (before, after)) in counts.iter().zip(&counts_after).enumerate() {
        if after != before {
            sizes.insert(size, after - before);
        }
    }
    let asked: i64 = sizes.iter().map(|(size, count)| *size as i64 * count).sum();
    let taken: i64 = sizes.iter().map(|(size, count)| rounded(*size) as i64 * count).sum();
    println!(
        "bytes per transaction: the engine counts {:.1}; asked of the allocator {:.1}, taken by it {:.1}, larger than \
         {MOST}: {:.1}; resident {:.1}",
        per(bytes_after as i64 - bytes as i64),
        per(asked),
        per(taken),
        per(large_after - large),
        per(pages_after as i64 - pages as i64)
    );
    println!("size, allocations per transaction, bytes taken per transaction");
    for (size, count) in sizes.iter().filter(|(_, count)| per(count.abs()) > 0.002) {
        println!("{size:5} {:9.4} {:8.1}", per(*count), per(rounded(*size) as i64 * count));
    }
    shop.db.close()
}
