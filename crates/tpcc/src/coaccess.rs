//! Co-access (the Dike paper, section 4.3.2): fixed groups of warehouses that appear together in one dUpdateStock, at a
//! configured rate.

use crate::distribution::Remote;
use crate::ids::WarehouseId;
use crate::order_line::MAX_ORDER_LINES;
use crate::placement::Placement;
use crate::random::Stream;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The groups of the active warehouses, and the share of dUpdateStocks that use one whole group.
#[derive(Clone, Debug, PartialEq)]
pub struct CoAccess {
    percent: f64,
    groups: Arc<Groups>,
}

#[derive(Debug, PartialEq)]
struct Groups {
    first: WarehouseId,
    /// The warehouses of all groups, group after group. Each group has `rounds` warehouses in the order of their
    /// numbers.
    members: Vec<WarehouseId>,
    rounds: usize,
    /// The group of each active warehouse.
    group_of: Vec<usize>,
}

/// The reason why active warehouses form no groups, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoAccessError {
    /// A group can't have so many warehouses.
    Rounds(u32),
    /// Warehouses would be left over.
    LeftOver {
        /// Number of active warehouses.
        warehouses: u32,
        /// Warehouses of a group.
        rounds: u32,
    },
    /// All warehouses are in one group, and some transactions need others.
    OneGroup {
        /// Number of active warehouses.
        warehouses: u32,
        /// Warehouses of a group.
        rounds: u32,
    },
}

impl fmt::Display for CoAccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Rounds(rounds) => write!(
                f,
                "groups of {rounds} warehouses are not possible: a group has 2 to {MAX_ORDER_LINES} warehouses"
            ),
            Self::LeftOver { warehouses, rounds } => write!(
                f,
                "{warehouses} active warehouses can't be split into groups of {rounds}: use a multiple of {rounds}"
            ),
            Self::OneGroup { warehouses, rounds } => write!(
                f,
                "{warehouses} active warehouses form one group of {rounds}, and no warehouse is outside of it: use at \
                 least {}",
                2 * rounds
            ),
        }
    }
}

impl std::error::Error for CoAccessError {}

impl CoAccess {
    /// Splits the `warehouses` from `first` on into groups of `rounds`. Members of a group are on different nodes as
    /// far as possible. Without a placement, a group has the warehouses with equal numbers modulo the number of groups.
    ///
    /// # Errors
    /// Fails if no such groups exist.
    pub fn new(
        percent: f64,
        rounds: u32,
        first: WarehouseId,
        warehouses: u32,
        placement: Option<&Placement>,
    ) -> Result<Self, CoAccessError> {
        if !(2..=MAX_ORDER_LINES as u32).contains(&rounds) {
            return Err(CoAccessError::Rounds(rounds));
        }
        if !warehouses.is_multiple_of(rounds) {
            return Err(CoAccessError::LeftOver { warehouses, rounds });
        }
        if percent < 100.0 && warehouses < 2 * rounds {
            return Err(CoAccessError::OneGroup { warehouses, rounds });
        }
        let count = (warehouses / rounds) as usize;
        let mut by_node: Vec<WarehouseId> = (first.0..first.0 + warehouses).map(WarehouseId).collect();
        if let Some(placement) = placement {
            by_node.sort_by_key(|&id| placement.node(id));
        }
        let mut group_of = vec![0; by_node.len()];
        let mut members = Vec::with_capacity(by_node.len());
        for group in 0..count {
            // Warehouses of a node are neighbours here, so the longest possible steps seldom meet the same node.
            let mut of_group: Vec<WarehouseId> = by_node.iter().skip(group).step_by(count).copied().collect();
            of_group.sort_unstable();
            of_group.iter().for_each(|id| group_of[(id.0 - first.0) as usize] = group);
            members.extend(of_group);
        }
        let groups = Arc::new(Groups { first, members, rounds: rounds as usize, group_of });
        Ok(Self { percent, groups })
    }

    /// Returns the same groups, used by `percent` of the transactions.
    #[must_use]
    pub fn at(&self, percent: f64) -> Self {
        Self { percent, groups: Arc::clone(&self.groups) }
    }

    /// Returns the share of dUpdateStocks that use a whole group, in percent.
    #[must_use]
    pub fn percent(&self) -> f64 {
        self.percent
    }

    /// Returns the number of groups.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups.members.len() / self.groups.rounds
    }

    /// Returns the group of an active warehouse, in the order of numbers.
    #[must_use]
    pub fn group(&self, id: WarehouseId) -> &[WarehouseId] {
        let Groups { first, ref members, rounds, ref group_of } = *self.groups;
        let from = group_of[(id.0 - first.0) as usize] * rounds;
        let range: Range<usize> = from..from + rounds;
        &members[range]
    }

    /// Draws the warehouses of a dUpdateStock of `home`: its whole group, or the home and warehouses outside of the
    /// group.
    pub(crate) fn draw(&self, home: WarehouseId, stream: &mut Stream) -> Remote {
        let group = self.group(home);
        if stream.unit_open_low() <= self.percent / 100.0 {
            return group.iter().copied().collect();
        }
        let mut drawn: Remote = std::iter::once(home).collect();
        let Groups { first, ref members, rounds, .. } = *self.groups;
        while drawn.len() < rounds {
            let id = WarehouseId(first.0 + stream.below(members.len() as u32));
            if !group.contains(&id) && !drawn.contains(&id) {
                drawn.push(id);
            }
        }
        drawn
    }
}
