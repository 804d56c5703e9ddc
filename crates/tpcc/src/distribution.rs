//! Distribution control: the share of transactions that touch several nodes, and the number of nodes that they touch
//! (the Dike paper, section 4.2.1).
//!
//! A New-Order is distributed if it touches more than one node. Its degree is the number of nodes that it touches, its
//! home's node included. A [`Placement`] says which warehouse is on which node.

use crate::ids::WarehouseId;
use crate::named_enum;
use crate::order_line::MAX_ORDER_LINES;
use crate::placement::Placement;
use crate::random::Stream;
use arrayvec::ArrayVec;
use std::fmt;

named_enum! {
    /// Strategy that picks the warehouses of a distributed order. The command line and results use these names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum Strategy {
        /// The paper's text: Equation 2 for the number of keys, Algorithm 1 for the keys. It knows only the shares of
        /// the nodes, draws as if with replacement, and may draw the home warehouse. So both ratio and degree fall
        /// short.
        Paper = "paper",
        /// A number of different warehouses that makes the mean degree exactly the configured one. It knows the number
        /// of warehouses on each node. If all drawn warehouses are on the home's node, it draws again, because the
        /// order would not be distributed.
        Expected = "expected",
        /// One warehouse on each of as many nodes as the degree: every distributed order has exactly this degree.
        #[default]
        Placed = "placed",
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The configured distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistributionAsked {
    /// Share of New-Orders that touch more than one node, in percent from 0 to 100; none for the remote lines of clause
    /// 2.4.1.5.
    pub ratio_percent: Option<f64>,
    /// Nodes that each distributed New-Order touches, from 2.
    pub degree: u32,
    /// Strategy that picks the warehouses.
    pub strategy: Strategy,
    /// Share of Payments by a customer of a warehouse on another node, in percent; none for clause 2.5.1.2.
    pub payment_percent: Option<f64>,
    /// Share of Stock-Levels over several nodes (the paper's dStockLevel), in percent; none for the standard's
    /// Stock-Level.
    pub stock_level_percent: Option<f64>,
    /// Nodes that each of them touches, from 2; none for the degree of New-Orders.
    pub stock_level_degree: Option<u32>,
}

/// Number of keys of a distributed order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Keys {
    /// Number of keys, the home warehouse's included; an order may get one more.
    fewest: u32,
    /// Probability of one more key, from 0 to 1.
    more: f64,
}

/// The configured distribution on a placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    asked: DistributionAsked,
    placement: Placement,
    first: WarehouseId,
    warehouses: u32,
    /// Active warehouses of each node; empty for some.
    on: Vec<Vec<WarehouseId>>,
    /// Nodes with active warehouses.
    nodes: Vec<u32>,
    /// Number of keys of a New-Order by the home's node.
    keys: Vec<Keys>,
    /// Number of keys of a Stock-Level by the home's node.
    stock_level_keys: Vec<Keys>,
}

/// The reason why a placement can't give the configured distribution, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub enum DistributionError {
    /// The degree is more than the nodes.
    Nodes {
        /// Configured degree.
        degree: u32,
        /// Number of nodes with active warehouses.
        nodes: usize,
    },
    /// An order needs more warehouses than are active.
    Warehouses {
        /// Warehouses that an order needs.
        needed: u32,
        /// Number of active warehouses.
        active: u32,
    },
    /// An order needs more warehouses than it can have lines.
    Lines {
        /// Warehouses that an order needs.
        needed: u32,
    },
    /// Equation 2 has no solution, since the degree is the number of nodes.
    Unsolvable {
        /// Configured degree.
        degree: u32,
    },
    /// The orders of a node can't reach the mean degree.
    MeanDegree {
        /// Configured degree.
        degree: u32,
        /// Most warehouses of an order.
        most: u32,
        /// Mean degree of orders with so many warehouses.
        reached: f64,
        /// Node of the home.
        node: String,
    },
}

impl fmt::Display for DistributionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes { degree, nodes } => write!(
                f,
                "degree {degree} is more than the {nodes} nodes with active warehouses: use a smaller degree or more \
                 nodes"
            ),
            Self::Warehouses { needed, active } => write!(
                f,
                "each order needs {needed} different warehouses, and {active} are active: use more warehouses or a \
                 smaller degree"
            ),
            Self::Lines { needed } => write!(
                f,
                "each order needs {needed} different warehouses, and an order has at most {MAX_ORDER_LINES} lines \
                 (clause 2.4.1.3): use a smaller degree"
            ),
            Self::Unsolvable { degree } => write!(
                f,
                "Equation 2 has no solution for a degree of all {degree} nodes, which it reaches with infinitely many \
                 keys only: use the strategy expected or placed"
            ),
            Self::MeanDegree { degree, most, reached, node } => write!(
                f,
                "a mean degree of {degree} takes more than {most} different warehouses for each order, which reach \
                 {reached:.3}: use a smaller degree or the strategy placed (home on {node})"
            ),
        }
    }
}

impl std::error::Error for DistributionError {}

/// Warehouses other than the home that supply a distributed order, each once.
pub type Remote = ArrayVec<WarehouseId, MAX_ORDER_LINES>;

impl Distribution {
    /// Fits the configured distribution to the `warehouses` from `first` on.
    ///
    /// # Errors
    /// Fails if the placement can't give this distribution.
    pub fn new(
        asked: DistributionAsked,
        placement: &Placement,
        first: WarehouseId,
        warehouses: u32,
    ) -> Result<Self, DistributionError> {
        let active = first.0..first.0 + warehouses;
        let on: Vec<Vec<WarehouseId>> = (0..placement.nodes.len() as u32)
            .map(|node| placement.warehouses_of(node).filter(|id| active.contains(&id.0)).collect())
            .collect();
        let nodes: Vec<u32> = (0..).zip(&on).filter(|(_, of)| !of.is_empty()).map(|(node, _)| node).collect();
        let counts: Vec<u32> = nodes.iter().map(|&node| on[node as usize].len() as u32).collect();
        let of_degree = |degree: u32| {
            if degree as usize > nodes.len() {
                return Err(DistributionError::Nodes { degree, nodes: nodes.len() });
            }
            let mut keys = vec![Keys { fewest: degree, more: 0.0 }; on.len()];
            for (at, &node) in nodes.iter().enumerate() {
                keys[node as usize] = match asked.strategy {
                    Strategy::Paper => paper_keys(&counts, warehouses, degree)?,
                    Strategy::Expected => {
                        let home = (at, placement.nodes[node as usize].as_str());
                        expected_keys(&counts, home, warehouses, degree)?
                    }
                    Strategy::Placed => fitting(degree, warehouses)?,
                };
            }
            Ok(keys)
        };
        let keys = of_degree(asked.degree)?;
        let stock_level_keys = asked.stock_level_degree.map_or_else(|| Ok(keys.clone()), of_degree)?;
        Ok(Self { asked, placement: placement.clone(), first, warehouses, on, nodes, keys, stock_level_keys })
    }

    /// Returns the configured distribution.
    #[must_use]
    pub fn asked(&self) -> DistributionAsked {
        self.asked
    }

    /// Returns the placement of the warehouses.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Returns the mean number of keys of a distributed order over all homes, the home's key included.
    #[must_use]
    pub fn mean_keys(&self) -> f64 {
        let of = |&node: &u32| {
            let Keys { fewest, more } = self.keys[node as usize];
            self.on[node as usize].len() as f64 * (f64::from(fewest) + more)
        };
        self.nodes.iter().map(of).sum::<f64>() / f64::from(self.warehouses)
    }

    /// Returns the shortfall of the mean degree that Theorem 4.1 predicts for orders with as many keys as the degree,
    /// drawn uniformly over equal nodes.
    #[must_use]
    pub fn theorem_4_1(&self) -> f64 {
        let (nodes, degree) = (self.nodes.len() as f64, f64::from(self.asked.degree));
        degree - nodes + nodes * (1.0 - 1.0 / nodes).powf(degree)
    }

    /// Draws the other warehouses that supply an order of `home`, no warehouse if the order is not distributed. Returns
    /// `None` if orders are not controlled.
    #[must_use]
    pub fn remote(&self, home: WarehouseId, stream: &mut Stream) -> Option<Remote> {
        self.asked.ratio_percent.map(|percent| self.remote_of(percent, &self.keys, home, stream))
    }

    /// Draws the other warehouses whose stock a Stock-Level of `home` counts; none if it is not distributed.
    #[must_use]
    pub fn stock_level_remote(&self, home: WarehouseId, stream: &mut Stream) -> Remote {
        match self.asked.stock_level_percent {
            Some(percent) => self.remote_of(percent, &self.stock_level_keys, home, stream),
            None => Remote::new(),
        }
    }

    /// Draws the other warehouses of a transaction, with the number of keys by the home's node.
    fn remote_of(&self, percent: f64, keys: &[Keys], home: WarehouseId, stream: &mut Stream) -> Remote {
        if stream.unit_open_low() > percent / 100.0 {
            return Remote::new();
        }
        let home_node = self.placement.node(home);
        let Keys { fewest, more } = keys[home_node as usize];
        match self.asked.strategy {
            Strategy::Paper => self.draw(fewest - 1, None, stream),
            Strategy::Expected => {
                let keys = fewest + u32::from(more > 0.0 && stream.unit_open_low() <= more);
                loop {
                    let drawn = self.draw(keys - 1, Some(home), stream);
                    if drawn.iter().any(|&id| self.placement.node(id) != home_node) {
                        return drawn;
                    }
                }
            }
            Strategy::Placed => self.draw_on_nodes(fewest - 1, home_node, stream),
        }
    }

    /// Draws the warehouse of a Payment's customer if that is controlled. It is on another node than the home in the
    /// configured share of cases, all such warehouses equally likely; else it is the home.
    #[must_use]
    pub fn customer_warehouse(&self, home: WarehouseId, stream: &mut Stream) -> Option<WarehouseId> {
        let percent = self.asked.payment_percent?;
        if stream.unit_open_low() > percent / 100.0 {
            return Some(home);
        }
        let home_node = self.placement.node(home);
        // The least degree is 2, so there are at least two nodes and the loop ends.
        loop {
            let id = WarehouseId(self.first.0 + stream.below(self.warehouses));
            if self.placement.node(id) != home_node {
                return Some(id);
            }
        }
    }

    /// Draws `count` different active warehouses other than `but`, all equally likely.
    fn draw(&self, count: u32, but: Option<WarehouseId>, stream: &mut Stream) -> Remote {
        let mut drawn = Remote::new();
        while drawn.len() < count as usize {
            let id = WarehouseId(self.first.0 + stream.below(self.warehouses));
            if Some(id) != but && !drawn.contains(&id) {
                drawn.push(id);
            }
        }
        drawn
    }

    /// Draws a warehouse on each of `count` nodes other than the home's. All nodes are equally likely, and so are the
    /// warehouses of a node.
    fn draw_on_nodes(&self, count: u32, home: u32, stream: &mut Stream) -> Remote {
        let mut drawn = Remote::new();
        let mut taken = [home; MAX_ORDER_LINES + 1];
        while drawn.len() < count as usize {
            let node = self.nodes[stream.below(self.nodes.len() as u32) as usize];
            if !taken[..=drawn.len()].contains(&node) {
                let on = &self.on[node as usize];
                drawn.push(on[stream.below(on.len() as u32) as usize]);
                taken[drawn.len()] = node;
            }
        }
        drawn
    }
}

/// Returns this number of keys if an order can have so many.
fn fitting(keys: u32, warehouses: u32) -> Result<Keys, DistributionError> {
    if keys > warehouses {
        return Err(DistributionError::Warehouses { needed: keys, active: warehouses });
    }
    if keys > MAX_ORDER_LINES as u32 {
        return Err(DistributionError::Lines { needed: keys });
    }
    Ok(Keys { fewest: keys, more: 0.0 })
}

/// Solves Equation 2 for the number of keys c: N - Σ (1 - p_i)^c = n. Algorithm 1 draws the next whole number of keys,
/// the home's included.
fn paper_keys(counts: &[u32], warehouses: u32, degree: u32) -> Result<Keys, DistributionError> {
    if degree as usize == counts.len() {
        return Err(DistributionError::Unsolvable { degree });
    }
    let all = f64::from(warehouses);
    let touched = |keys: f64| -> f64 {
        counts.iter().map(|&count| 1.0 - (1.0 - f64::from(count) / all).powf(keys)).sum()
    };
    let (mut low, mut high) = (1.0, 2.0);
    while touched(high) < f64::from(degree) {
        high *= 2.0;
        if high > all.max(MAX_ORDER_LINES as f64) * 2.0 {
            break;
        }
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if touched(middle) < f64::from(degree) { low = middle } else { high = middle }
    }
    fitting(high.ceil() as u32, warehouses)
}

/// Returns the mean degree of orders with `keys` different keys, at least one of them on another node than the home's.
/// The home is on node `home`. Keys are drawn without replacement.
fn expected_degree(counts: &[u32], home: usize, warehouses: u32, keys: u32) -> f64 {
    // Probability that a node with `count` warehouses gets none of the other keys.
    let none_of = |count: u32| -> f64 {
        (0..keys - 1)
            .map(|drawn| {
                let left = f64::from(warehouses - 1 - drawn);
                (left - f64::from(count)).max(0.0) / left
            })
            .product()
    };
    let all_at_home: f64 = none_of(warehouses - counts[home]);
    let others = counts.iter().enumerate().filter(|&(node, _)| node != home);
    let touched: f64 = others.map(|(_, &count)| 1.0 - none_of(count)).sum();
    1.0 + touched / (1.0 - all_at_home)
}

/// Returns the number of keys, and the probability of one more, for which the mean degree is exactly the configured
/// one. The home is on a node with this number and this name.
fn expected_keys(
    counts: &[u32],
    (home, node): (usize, &str),
    warehouses: u32,
    degree: u32,
) -> Result<Keys, DistributionError> {
    let asked = f64::from(degree);
    let most = warehouses.min(MAX_ORDER_LINES as u32);
    let mean = |keys| expected_degree(counts, home, warehouses, keys);
    let mut below = mean(2);
    for keys in 2..=most {
        if keys == most {
            // Only rounding may leave the mean short here.
            if below >= asked - 1e-9 {
                return Ok(Keys { fewest: keys, more: 0.0 });
            }
            break;
        }
        let above = mean(keys + 1);
        if asked <= above {
            // More keys need not mean more nodes: two nodes stay two.
            let more = if asked <= below { 0.0 } else { (asked - below) / (above - below) };
            return Ok(Keys { fewest: keys, more });
        }
        below = above;
    }
    Err(DistributionError::MeanDegree { degree, most, reached: below, node: node.to_owned() })
}
