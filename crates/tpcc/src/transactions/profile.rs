//! Traits that each transaction's file implements for the table of transactions.

use crate::answer::Contradiction;
use crate::ids::WarehouseId;
use crate::input::{InputPlan, Seat};
use crate::limits::KindLimits;
use crate::statistics::{InputStatistics, NodesTouched};

/// A type of transaction: its input and its answer, and how they are counted and checked.
pub(crate) trait Profile {
    /// The fields that a terminal enters.
    type Input;
    /// The fields of the answer.
    type Outcome;

    /// Name in the standard; for types beyond it, in the Dike paper.
    const TITLE: &'static str;
    /// True if the type changes nothing.
    const ONLY_READS: bool = false;

    /// Draws the input of a terminal from its stream.
    fn draw(seat: &mut Seat, plan: &InputPlan) -> Self::Input;

    /// Passes each warehouse that the transaction uses, except its home, to `touch`. A warehouse may come several times.
    fn touch(_input: &Self::Input, _touch: impl FnMut(WarehouseId)) {}

    /// Counts an input, except for its type.
    fn count(_input: &Self::Input, _counts: &mut InputStatistics) {}

    /// Counts a transaction by the number of nodes that it touched.
    fn count_nodes(_touched: &mut NodesTouched, _nodes: usize) {}

    /// Returns the first contradiction in the answer to a committed transaction; none if the answer is consistent.
    fn contradiction(_entered: &Self::Input, _answered: &Self::Outcome) -> Option<Contradiction> {
        None
    }

    /// Replaces the times of the database's clock, so answers of two runs compare equal.
    fn forget_times(_answered: &mut Self::Outcome) {}
}

/// A type of transaction for which the standard has limits.
pub(crate) trait Limited: Profile {
    /// The limits.
    const LIMITS: KindLimits;
}

/// A type of transaction beyond the standard.
pub(crate) trait Extra: Profile {
    /// Returns an answer of the right form with invented numbers, for a target that stores nothing.
    fn invent(input: &Self::Input) -> Self::Outcome;
}
