//! Co-access (the Dike paper, section 4.3.2): fixed groups of warehouses that appear together in one dUpdateStock, as often as
//! was asked for.

use crate::distribution::Remote;
use crate::ids::WarehouseId;
use crate::placement::Placement;
use crate::random::Stream;
use crate::transaction::{MAX_ORDER_LINES, UpdateStock};
use std::ops::Range;
use std::sync::Arc;

/// The groups of the active warehouses, and how often a dUpdateStock is of one whole group.
#[derive(Clone, Debug, PartialEq)]
pub struct CoAccess {
    percent: f64,
    groups: Arc<Groups>,
}

#[derive(Debug, PartialEq)]
struct Groups {
    first: WarehouseId,
    /// The warehouses of all groups, each as long as a transaction has rounds, and in the order of their numbers.
    members: Vec<WarehouseId>,
    rounds: usize,
    /// The group of each active warehouse.
    group_of: Vec<usize>,
}

impl CoAccess {
    /// Groups of `rounds` warehouses each, of the `warehouses` from `first` on. Members of a group are on different nodes as
    /// far as that can be had; where nothing is known of nodes, a group is what is the same modulo the number of groups.
    ///
    /// # Errors
    /// There can't be such groups: why, and what to do.
    pub fn new(
        percent: f64,
        rounds: u32,
        first: WarehouseId,
        warehouses: u32,
        placement: Option<&Placement>,
    ) -> Result<Self, String> {
        if !(2..=MAX_ORDER_LINES as u32).contains(&rounds) {
            return Err(format!(
                "groups of {rounds} can't be had: a group has 2 to {MAX_ORDER_LINES} warehouses"
            ));
        }
        if !warehouses.is_multiple_of(rounds) {
            return Err(format!(
                "{warehouses} active warehouses can't be parted into groups of {rounds}: use a multiple of {rounds}"
            ));
        }
        if percent < 100.0 && warehouses < 2 * rounds {
            return Err(format!(
                "{warehouses} active warehouses are one group of {rounds}, and nothing is outside of it: use at least {}",
                2 * rounds
            ));
        }
        let count = (warehouses / rounds) as usize;
        let mut by_node: Vec<WarehouseId> = (first.0..first.0 + warehouses).map(WarehouseId).collect();
        if let Some(placement) = placement {
            by_node.sort_by_key(|&id| placement.node(id));
        }
        let mut group_of = vec![0; by_node.len()];
        let mut members = Vec::with_capacity(by_node.len());
        for group in 0..count {
            // A node's warehouses are neighbours, so that steps as long as possible seldom meet the same node.
            let mut of_group: Vec<WarehouseId> = by_node.iter().skip(group).step_by(count).copied().collect();
            of_group.sort_unstable();
            of_group.iter().for_each(|id| group_of[(id.0 - first.0) as usize] = group);
            members.extend(of_group);
        }
        let groups = Arc::new(Groups { first, members, rounds: rounds as usize, group_of });
        Ok(Self { percent, groups })
    }

    /// The same groups, met more often: as many percent, at least as now.
    #[must_use]
    pub fn at(&self, percent: f64) -> Self {
        Self { percent, groups: Arc::clone(&self.groups) }
    }

    /// How often, in percent.
    #[must_use]
    pub fn percent(&self) -> f64 {
        self.percent
    }

    /// How many groups there are.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups.members.len() / self.groups.rounds
    }

    /// The group of an active warehouse, in the order of numbers.
    #[must_use]
    pub fn group(&self, id: WarehouseId) -> &[WarehouseId] {
        let Groups { first, ref members, rounds, ref group_of } = *self.groups;
        let from = group_of[(id.0 - first.0) as usize] * rounds;
        let range: Range<usize> = from..from + rounds;
        &members[range]
    }

    /// The warehouses of a dUpdateStock of `home`: its whole group, or it and others from outside of the group.
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

    /// Whether it is of one whole group.
    #[must_use]
    pub fn is_of_a_group(&self, update: &UpdateStock) -> bool {
        let warehouses = update.rounds.iter().map(|round| &round.supply_w_id);
        self.group(update.w_id).iter().eq(warehouses)
    }
}
