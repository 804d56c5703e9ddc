//! The microbenchmark of the Skeena thesis (chapter 6.2), pure and deterministic: no I/O, no clock.
//!
//! The database has tables of equal records in each of its engines. A transaction reads and updates a few records,
//! chosen uniformly; a share of its accesses goes to tables on disk. [`data`] describes the load, [`shape`] a
//! transaction. [`input`] draws the transactions, and [`check`] says what must hold afterwards.
//!
//! ```
//! use lydite_micro::{Data, Engines, Inputs, Shape};
//!
//! let inputs = Inputs { seed: 7, data: Data::default(), shape: Shape::default(), engines: Engines::Two };
//! let mut terminal = inputs.terminal(0);
//! let transaction = inputs.next(&mut terminal);
//! assert_eq!(transaction.accesses.len(), 10);
//! assert_eq!(transaction.updates().count(), 2);
//! assert_eq!(transaction, inputs.next(&mut inputs.terminal(0)), "the same again");
//! ```

pub mod check;
pub mod data;
pub mod input;
pub mod shape;

pub use check::{Bounds, Totals};
pub use data::{Data, Engines, Home, Meta, RECORDS_VERSION, TableId};
pub use input::{Access, Inputs, Outcome, Terminal, Transaction};
pub use shape::Shape;
