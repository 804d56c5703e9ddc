//! Customers against their payments and deliveries.

use crate::consistency::{ENTRIES_THAT_FIT, may_have_entries};
use crate::ids::{CustomerId, DistrictId, WarehouseId};
use crate::money::Cents;
use crate::rows::Customer;
use std::collections::HashMap;

/// Warehouse, district and number of a customer.
type Who = (WarehouseId, DistrictId, CustomerId);

/// District, warehouse and amount of a payment.
pub(super) type Paid = (DistrictId, WarehouseId, Cents);

/// Differences between a customer and the rows of HISTORY and ORDER at his home; all are zero once both are read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    /// C_PAYMENT_CNT less the number of payments.
    payments: i64,
    /// C_YTD_PAYMENT less the sum of payments.
    paid: Cents,
    /// C_DELIVERY_CNT less the number of deliveries.
    deliveries: i64,
    /// Sum of the hashes of the entries of C_DATA less those of the payments since the load.
    entries: u64,
    /// True if C_DATA has an entry for each payment since the load.
    has_all_entries: bool,
    /// Hash of the columns that must be as loaded.
    loaded: Option<u64>,
}

impl Account {
    /// Takes the customer's row. Returns what is wrong with the row by itself.
    pub(super) fn customer(&mut self, row: &Customer) -> Option<String> {
        self.payments += i64::from(row.payment_cnt);
        self.paid += row.ytd_payment;
        self.deliveries += i64::from(row.delivery_cnt);
        let entries = entries_of(&row.data).count() as u32;
        if entries == 0 {
            self.loaded = Some(hash_of(row));
        }
        let payments = row.payment_cnt.saturating_sub(1);
        let is_bad = &*row.credit == "BC";
        if is_bad && may_have_entries(entries, payments) || !is_bad && entries == 0 {
            if is_bad {
                self.has_all_entries = payments <= ENTRIES_THAT_FIT;
                for entry in entries_of(&row.data) {
                    let Some(paid) = paid(entry, (row.w_id, row.d_id, row.id)) else {
                        return Some(format!("C_DATA has the entry {entry:?}, which is no payment of his"));
                    };
                    self.entries = self.entries.wrapping_add(hash_of_payment(paid));
                }
            }
            return None;
        }
        Some(format!(
            "C_DATA has {entries} entries for {payments} payments since the load, C_CREDIT {}{}",
            row.credit,
            if is_bad { "" } else { ", which gives none" }
        ))
    }

    /// Takes a payment at his home; `entry` if it was made since the load.
    pub(super) fn pay(&mut self, amount: Cents, entry: Option<Paid>) {
        self.payments -= 1;
        self.paid -= amount;
        self.entries = self.entries.wrapping_sub(entry.map_or(0, hash_of_payment));
    }

    /// Takes a delivery since the load.
    pub(super) fn deliver(&mut self) {
        self.deliveries -= 1;
    }

    /// Returns what differs between the customer and his deliveries and what was loaded.
    pub(super) fn against(&self, loaded: &Customer) -> Option<String> {
        if self.deliveries != 0 {
            return Some(format!(
                "C_DELIVERY_CNT differs by {} from the deliveries since the load",
                self.deliveries
            ));
        }
        let changed = self.loaded.is_some_and(|found| found != hash_of(loaded));
        changed.then(|| "C_CREDIT, C_DISCOUNT or C_DATA is not what was loaded".to_owned())
    }
}

/// Returns the entries of C_DATA. Each ends with `|`, which no loaded text has.
pub fn entries_of(data: &str) -> impl Iterator<Item = &str> {
    data.split_inclusive('|').filter_map(|entry| entry.strip_suffix('|'))
}

/// Reads an entry of C_DATA; none if it is no payment of this customer.
pub fn paid(entry: &str, (w, d, c): Who) -> Option<Paid> {
    let mut words = entry.split(' ');
    let mut number = || words.next()?.parse::<u32>().ok();
    let who = (number()?, number()?, number()?);
    let (d_id, w_id) = (number()?, number()?);
    let amount = amount(words.next()?)?;
    let is_his = who == (c.0, u32::from(d.0), w.0) && words.next().is_none();
    is_his.then_some((DistrictId(u16::try_from(d_id).ok()?), WarehouseId(w_id), amount))
}

/// Reads an amount. The standard leaves the number of decimals open, and drivers write more or fewer than two.
fn amount(text: &str) -> Option<Cents> {
    let (units, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_whole = decimals.bytes().skip(2).all(|digit| digit == b'0');
    let cents: String = decimals.chars().chain("00".chars()).take(2).collect();
    let cents = cents.parse::<u32>().ok().filter(|_| is_whole)?;
    Some(Cents(units.parse::<u32>().ok()?.checked_mul(100)?.checked_add(cents)?.into()))
}

fn mix(value: u64) -> u64 {
    let mixed = (value ^ value >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

fn hash_of_payment((d_id, w_id, amount): Paid) -> u64 {
    mix(mix(u64::from(w_id.0) << 16 | u64::from(d_id.0)) ^ amount.0 as u64)
}

/// Returns a hash of C_CREDIT, C_DISCOUNT and C_DATA.
fn hash_of(row: &Customer) -> u64 {
    let credit = u64::from(&*row.credit == "BC");
    let start = mix(credit << 32 ^ u64::from(row.discount.0.unsigned_abs()));
    row.data.as_bytes().chunks(8).fold(start, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash ^ u64::from_le_bytes(word)).wrapping_add(chunk.len() as u64)
    })
}

/// Customers whose payments at other warehouses are not all read, or whose row is not.
#[derive(Debug, Default)]
pub(super) struct Accounts(HashMap<Who, Pending>);

#[derive(Debug, Default)]
struct Pending {
    payments: i64,
    paid: Cents,
    entries: u64,
    /// True if `entries` must be zero; none until the customer's row is read.
    has_all_entries: Option<bool>,
}

impl Pending {
    fn is_settled(&self) -> bool {
        let entries = self.has_all_entries.is_some_and(|all| !all || self.entries == 0);
        (self.payments, self.paid) == (0, Cents(0)) && entries
    }
}

impl Accounts {
    /// Takes a payment at another warehouse than the customer's; `entry` if it was made since the load.
    pub(super) fn pay(&mut self, who: Who, amount: Cents, entry: Option<Paid>) {
        let pending = self.0.entry(who).or_default();
        pending.payments -= 1;
        pending.paid -= amount;
        pending.entries = pending.entries.wrapping_sub(entry.map_or(0, hash_of_payment));
        if pending.is_settled() {
            self.0.remove(&who);
        }
    }

    /// Takes the differences at his home.
    pub(super) fn settle(&mut self, who: Who, account: Account) {
        let mut pending = self.0.remove(&who).unwrap_or_default();
        pending.payments += account.payments;
        pending.paid += account.paid;
        pending.entries = pending.entries.wrapping_add(account.entries);
        pending.has_all_entries = Some(account.has_all_entries);
        if !pending.is_settled() {
            self.0.insert(who, pending);
        }
    }

    /// Returns the customers that are not settled, with the difference.
    pub(super) fn unsettled(self) -> impl Iterator<Item = (Who, String)> {
        self.0.into_iter().map(|(who, Pending { payments, paid, .. })| {
            let what = if (payments, paid) == (0, Cents(0)) {
                "the entries of C_DATA are not his payments since the load".to_owned()
            } else {
                format!(
                    "C_PAYMENT_CNT and C_YTD_PAYMENT differ by {payments} and {paid} from his rows of HISTORY"
                )
            };
            (who, what)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_with_any_number_of_decimals() {
        let read = ["12.34", "12.340000", "12.3", "12", "12.345", "a.00", ""].map(amount);
        let cents = [1_234, 1_234, 1_230, 1_200].map(|cents| Some(Cents(cents)));
        assert_eq!(read, [cents[0], cents[1], cents[2], cents[3], None, None, None]);
    }
}
