//! A line of a success log, as it is written and read.

use lydite_database::PaymentKey;
use lydite_tpcc::{
    Cents, CustomerId, DistrictId, OrderId, Outcome, Standard, StandardOutcome, Transaction, WarehouseId,
};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::str::FromStr;

/// First lines of a log.
pub(crate) const HEAD: &str = "\
    # Success log of Lydite, version 1: acknowledged transactions; those with ? have an unknown outcome\n\
    # new_order O_W_ID O_D_ID O_C_ID O_ID\n\
    # new_order? O_W_ID O_D_ID O_C_ID\n\
    # payment H_W_ID H_D_ID H_C_W_ID H_C_D_ID H_AMOUNT(cents) H_C_ID\n\
    # payment? H_W_ID H_D_ID H_C_W_ID H_C_D_ID H_AMOUNT(cents)\n";

/// A line of a success log. The `Display` form is the line without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logged {
    /// A New-Order.
    NewOrder {
        /// O_W_ID.
        w_id: WarehouseId,
        /// O_D_ID.
        d_id: DistrictId,
        /// O_C_ID.
        c_id: CustomerId,
        /// O_ID of the answer; `None` if the outcome is unknown.
        o_id: Option<OrderId>,
    },
    /// A Payment.
    Payment {
        /// Columns of its row of HISTORY, except for the customer.
        key: PaymentKey,
        /// H_C_ID of the answer; `None` if the outcome is unknown.
        c_id: Option<CustomerId>,
    },
}

impl Logged {
    /// Returns the line of a transaction, or `None` if its type is not logged. The outcome is `None` if it is unknown.
    pub(crate) fn of(transaction: &Transaction, outcome: Option<&Outcome>) -> Option<Self> {
        let Transaction::Standard(transaction) = transaction else { return None };
        match transaction {
            Standard::NewOrder(input) => {
                let o_id = match outcome {
                    Some(Outcome::Standard(StandardOutcome::NewOrder(outcome))) => Some(outcome.o_id),
                    _ => None,
                };
                Some(Self::NewOrder { w_id: input.w_id, d_id: input.d_id, c_id: input.c_id, o_id })
            }
            Standard::Payment(input) => {
                let c_id = match outcome {
                    Some(Outcome::Standard(StandardOutcome::Payment(outcome))) => Some(outcome.c_id),
                    _ => None,
                };
                let (w_id, d_id, c_w_id, c_d_id) = (input.w_id, input.d_id, input.c_w_id, input.c_d_id);
                Some(Self::Payment {
                    key: PaymentKey { w_id, d_id, c_w_id, c_d_id, amount: input.amount },
                    c_id,
                })
            }
            Standard::OrderStatus(_) | Standard::Delivery(_) | Standard::StockLevel(_) => None,
        }
    }

    /// Passes the lines of a log to `each`.
    ///
    /// # Errors
    /// The file can't be read, or a line is none of a success log.
    pub fn read(path: &Path, mut each: impl FnMut(Self)) -> io::Result<()> {
        for (number, line) in BufReader::new(File::open(path)?).lines().enumerate() {
            let line = line?;
            if line.starts_with('#') {
                continue;
            }
            each(line.parse().map_err(|()| {
                let words = format!("line {} is no line of a success log: {line:?}", number + 1);
                io::Error::new(ErrorKind::InvalidData, words)
            })?);
        }
        Ok(())
    }
}

impl fmt::Display for Logged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewOrder { w_id, d_id, c_id, o_id: Some(o_id) } => {
                write!(f, "new_order {w_id} {d_id} {c_id} {o_id}")
            }
            Self::NewOrder { w_id, d_id, c_id, o_id: None } => write!(f, "new_order? {w_id} {d_id} {c_id}"),
            Self::Payment { key: PaymentKey { w_id, d_id, c_w_id, c_d_id, amount }, c_id } => {
                let unknown = if c_id.is_none() { "?" } else { "" };
                write!(f, "payment{unknown} {w_id} {d_id} {c_w_id} {c_d_id} {}", amount.0)?;
                c_id.map_or(Ok(()), |c_id| write!(f, " {c_id}"))
            }
        }
    }
}

impl FromStr for Logged {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let mut words = line.split(' ');
        let (kind, known) = match words.next() {
            Some("new_order") => ("new_order", true),
            Some("new_order?") => ("new_order", false),
            Some("payment") => ("payment", true),
            Some("payment?") => ("payment", false),
            _ => return Err(()),
        };
        let w_id = WarehouseId(next(&mut words)?);
        let d_id = DistrictId(next(&mut words)?);
        let read = if kind == "new_order" {
            let c_id = CustomerId(next(&mut words)?);
            let o_id = if known { Some(OrderId(next(&mut words)?)) } else { None };
            Self::NewOrder { w_id, d_id, c_id, o_id }
        } else {
            let (c_w_id, c_d_id) = (WarehouseId(next(&mut words)?), DistrictId(next(&mut words)?));
            let key = PaymentKey { w_id, d_id, c_w_id, c_d_id, amount: Cents(next(&mut words)?) };
            Self::Payment { key, c_id: if known { Some(CustomerId(next(&mut words)?)) } else { None } }
        };
        if words.next().is_none() { Ok(read) } else { Err(()) }
    }
}

/// Reads the next number of a line.
fn next<'a, T: FromStr>(words: &mut impl Iterator<Item = &'a str>) -> Result<T, ()> {
    words.next().and_then(|word| word.parse().ok()).ok_or(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> PaymentKey {
        let (w_id, d_id) = (WarehouseId(1), DistrictId(10));
        let (c_w_id, c_d_id) = (WarehouseId(2), DistrictId(3));
        PaymentKey { w_id, d_id, c_w_id, c_d_id, amount: Cents(433_705) }
    }

    #[test]
    fn each_line_is_read_as_it_was_written() {
        let (w_id, d_id, c_id) = (WarehouseId(1), DistrictId(10), CustomerId(17));
        for (line, logged) in [
            ("new_order 1 10 17 3001", Logged::NewOrder { w_id, d_id, c_id, o_id: Some(OrderId(3_001)) }),
            ("new_order? 1 10 17", Logged::NewOrder { w_id, d_id, c_id, o_id: None }),
            ("payment 1 10 2 3 433705 17", Logged::Payment { key: key(), c_id: Some(c_id) }),
            ("payment? 1 10 2 3 433705", Logged::Payment { key: key(), c_id: None }),
        ] {
            assert_eq!(logged.to_string(), line);
            assert_eq!(line.parse(), Ok(logged));
            for wrong in [&line[..line.len() - 3], &format!("{line} 5"), &line.replace('1', "x")] {
                assert_ne!(wrong.parse(), Ok(logged), "{wrong}");
            }
        }
    }

    #[test]
    fn a_file_with_another_line_is_rejected_with_its_number() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut read = 0;
        std::fs::write(&path, format!("{HEAD}new_order? 1 2 3\nnew_order 1 2")).unwrap();
        let error = Logged::read(&path, |_| read += 1).unwrap_err().to_string();
        assert_eq!(error, "line 7 is no line of a success log: \"new_order 1 2\"");
        assert_eq!(read, 1);
    }
}
