//! Selection of a customer by Payment and Order-Status.

use crate::answer::Contradiction;
use crate::ids::{CustomerId, DistrictId, WarehouseId};
use crate::input::InputPlan;
use crate::random::Stream;
use crate::text::LastName;

/// Selection of a customer: by number, or as the middle one of those with a last name (clauses 2.5.1.2, 2.6.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomerSelector {
    /// By number: C_ID.
    Id(CustomerId),
    /// By last name: of the n rows with this C_LAST, ordered by C_FIRST, the one at position ⌈n/2⌉, counted from 1.
    LastName(LastName),
}

impl CustomerSelector {
    /// Draws a customer: 60 % by last name, 40 % by number (clauses 2.5.1.2 and 2.6.1.2).
    pub(crate) fn draw(plan: &InputPlan, stream: &mut Stream) -> Self {
        if stream.percent(60) {
            Self::LastName(plan.constants.last_name(stream, plan.size))
        } else {
            Self::Id(plan.constants.customer(stream, plan.size))
        }
    }

    /// True if the customer is selected by last name.
    pub(crate) fn is_by_name(&self) -> bool {
        matches!(self, Self::LastName(_))
    }

    /// Returns the contradiction of an answer that is about another customer.
    pub(crate) fn contradiction(&self, c_id: CustomerId, c_last: LastName) -> Option<Contradiction> {
        match *self {
            Self::Id(entered) => {
                (entered != c_id).then_some(Contradiction::Customer { entered, answered: c_id })
            }
            Self::LastName(entered) => {
                (entered != c_last).then_some(Contradiction::Name { entered, answered: c_last })
            }
        }
    }

    /// Returns the customer of a district in words, for messages.
    #[must_use]
    pub fn in_words(&self, w_id: WarehouseId, d_id: DistrictId) -> String {
        match self {
            Self::Id(c_id) => format!("customer {c_id} of district {w_id}/{d_id}"),
            Self::LastName(name) => format!("a customer named \"{name}\" of district {w_id}/{d_id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::truncated;

    #[test]
    fn a_customer_is_the_one_that_was_entered() {
        let name = |text: &str| -> LastName { truncated(text) };
        let (id, other) = (CustomerId(7), CustomerId(8));
        assert_eq!(CustomerSelector::Id(id).contradiction(id, name("A")), None);
        assert_eq!(
            CustomerSelector::Id(id).contradiction(other, name("A")),
            Some(Contradiction::Customer { entered: id, answered: other })
        );
        assert_eq!(CustomerSelector::LastName(name("A")).contradiction(id, name("A")), None);
        assert!(CustomerSelector::LastName(name("A")).contradiction(id, name("B")).is_some());
    }
}
