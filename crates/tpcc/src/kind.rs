//! Types of transactions, by their names in results: those of the standard, and those of the Dike paper.

use crate::named_enum;
use serde::{Deserialize, Serialize};

/// Declares the types of both groups from the table of transactions.
macro_rules! kinds {
    (
        Standard {
            $($(#[$about:meta])* $Name:ident = $name:literal: $module:ident($Input:ty) -> $Outcome:ty;)+
        }
        Dike {
            $($(#[$about_of_dike:meta])* $OfDike:ident = $name_of_dike:literal:
                $module_of_dike:ident($InputOfDike:ty) -> $OutcomeOfDike:ty;)+
        }
    ) => {
        named_enum! {
            /// Type of a transaction of the standard, in its order.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
            #[serde(rename_all = "snake_case")]
            pub enum StandardKind {
                $($(#[$about])* $Name = $name,)+
            }
        }
        named_enum! {
            /// Type of a transaction of the Dike paper. Its indexes follow those of the standard's types, so both are places
            /// in [`TransactionKind::ALL`].
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
            #[serde(rename_all = "snake_case")]
            pub enum DikeKind [from StandardKind::COUNT] {
                $($(#[$about_of_dike])* $OfDike = $name_of_dike,)+
            }
        }
    };
}

crate::transactions!(kinds);

/// Type of a transaction: those of the standard in its order, then those of the Dike paper. Results use these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TransactionKind {
    /// A type of the standard.
    Standard(StandardKind),
    /// A type of the Dike paper.
    Dike(DikeKind),
}

impl TransactionKind {
    /// Number of types.
    pub const COUNT: usize = StandardKind::COUNT + DikeKind::COUNT;
    /// All types, in the order of results.
    pub const ALL: [Self; Self::COUNT] = {
        let mut all = [Self::Standard(StandardKind::ALL[0]); Self::COUNT];
        let mut place = 0;
        while place < StandardKind::COUNT {
            all[place] = Self::Standard(StandardKind::ALL[place]);
            place += 1;
        }
        while place < Self::COUNT {
            all[place] = Self::Dike(DikeKind::ALL[place - StandardKind::COUNT]);
            place += 1;
        }
        all
    };

    /// Returns the place of the type in [`TransactionKind::ALL`], for tables with an entry for each type.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Standard(kind) => kind.index(),
            Self::Dike(kind) => kind.index(),
        }
    }

    /// Returns the name of the type in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard(kind) => kind.name(),
            Self::Dike(kind) => kind.name(),
        }
    }

    /// Returns the type with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the type if the standard has it.
    #[must_use]
    pub const fn standard(self) -> Option<StandardKind> {
        match self {
            Self::Standard(kind) => Some(kind),
            Self::Dike(_) => None,
        }
    }
}

impl From<StandardKind> for TransactionKind {
    fn from(kind: StandardKind) -> Self {
        Self::Standard(kind)
    }
}

impl From<DikeKind> for TransactionKind {
    fn from(kind: DikeKind) -> Self {
        Self::Dike(kind)
    }
}

impl PartialEq<StandardKind> for TransactionKind {
    fn eq(&self, other: &StandardKind) -> bool {
        *self == Self::Standard(*other)
    }
}

impl PartialEq<DikeKind> for TransactionKind {
    fn eq(&self, other: &DikeKind) -> bool {
        *self == Self::Dike(*other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_stands_at_its_index_and_has_its_name() {
        for (index, kind) in TransactionKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), index);
            assert_eq!(TransactionKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(
            TransactionKind::ALL.map(TransactionKind::name),
            [
                "new_order",
                "payment",
                "order_status",
                "delivery",
                "stock_level",
                "update_stock",
                "update_item",
                "update_balance",
                "select_balance",
            ]
        );
    }
}
