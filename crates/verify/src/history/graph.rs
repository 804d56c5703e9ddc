//! The graph of the order that transactions must have, and its strongly connected components.

use super::model::{History, KeyId, Outcome, TxId};
use std::collections::HashMap;

/// Reason why one transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(super) enum Kind {
    /// The later one overwrote the earlier one's version.
    WriteWrite = 1,
    /// The later one read the earlier one's version.
    WriteRead = 2,
    /// The earlier one read a version that the later one overwrote.
    ReadWrite = 4,
    /// One process ran them in this order.
    Session = 8,
    /// The earlier one had ended when the later one began.
    Realtime = 16,
}

/// A set of kinds of edges.
pub(super) type Kinds = u8;
pub(super) const WW: Kinds = Kind::WriteWrite as Kinds;
pub(super) const WR: Kinds = Kind::WriteRead as Kinds;
pub(super) const RW: Kinds = Kind::ReadWrite as Kinds;
pub(super) const SESSION: Kinds = Kind::Session as Kinds;
pub(super) const REALTIME: Kinds = Kind::Realtime as Kinds;

/// An edge: `from` comes before `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub from: TxId,
    pub to: TxId,
    pub kind: Kind,
    /// True if both wrote the key after the same read, or if `from` overwrote a write of `to` that it had not seen.
    pub lost_update: bool,
    /// Key of the dependency; meaningless for session and real time.
    pub key: KeyId,
    /// The value that was read, or that overwrote.
    pub value: u64,
}

impl Edge {
    /// True if the edge is of one of these kinds.
    pub(super) fn is(&self, kinds: Kinds) -> bool {
        self.kind as Kinds & kinds != 0
    }

    /// Returns an edge that comes from the order of events alone.
    pub(super) fn order(from: TxId, to: TxId, kind: Kind) -> Self {
        Self { from, to, kind, lost_update: false, key: KeyId(0), value: 0 }
    }
}

/// The edges by their start.
pub(super) struct Graph {
    starts: Vec<u32>,
    edges: Vec<Edge>,
}

impl Graph {
    /// Returns the graph over `vertices` transactions. Equal edges are kept once.
    pub(super) fn new(vertices: usize, mut edges: Vec<Edge>) -> Self {
        edges.sort_unstable();
        edges.dedup();
        let mut starts = vec![0u32; vertices + 1];
        for edge in &edges {
            starts[edge.from.0 as usize + 1] += 1;
        }
        for at in 0..vertices {
            starts[at + 1] += starts[at];
        }
        Self { starts, edges }
    }

    /// Returns the number of transactions.
    pub(super) fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns all edges; the number of an edge is its place.
    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Returns the numbers of the edges that start at `v`.
    pub(super) fn leaving(&self, v: u32) -> std::ops::Range<usize> {
        self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize
    }

    /// Returns the components over the edges of some kinds, optionally only inside the components of `within`.
    pub(super) fn components(&self, kinds: Kinds, within: Option<&Components>) -> Components {
        components(self.vertices(), |v, cursor| {
            let leaving = self.leaving(v);
            while *cursor < leaving.len() {
                let edge = &self.edges[leaving.start + *cursor];
                *cursor += 1;
                if edge.is(kinds) && within.is_none_or(|outer| outer.together(v, edge.to.0)) {
                    return Some(edge.to.0);
                }
            }
            None
        })
    }

    /// Returns the components over the states of a walk without two adjacent read-write edges. State `2v` is at `v`
    /// with a free choice of the next edge; state `2v + 1` is at `v` after a read-write edge.
    pub(super) fn non_adjacent_components(&self, kinds: Kinds, within: &Components) -> Components {
        components(2 * self.vertices(), |state, cursor| {
            let leaving = self.leaving(state / 2);
            while *cursor < leaving.len() {
                let edge = &self.edges[leaving.start + *cursor];
                *cursor += 1;
                if !within.together(state / 2, edge.to.0) {
                    continue;
                }
                if let Some(next) = walk_on(state, edge, kinds) {
                    return Some(next);
                }
            }
            None
        })
    }
}

/// Returns the state after an edge in a walk without two adjacent read-write edges; see
/// [`Graph::non_adjacent_components`].
pub(super) fn walk_on(state: u32, edge: &Edge, kinds: Kinds) -> Option<u32> {
    if edge.is(kinds) {
        Some(2 * edge.to.0)
    } else if edge.is(RW) && state.is_multiple_of(2) {
        Some(2 * edge.to.0 + 1)
    } else {
        None
    }
}

/// Sets of vertices that can reach each other.
pub(super) struct Components {
    of: Vec<u32>,
    largest: u32,
}

impl Components {
    /// True if two vertices lie on a common cycle or are the same.
    pub(super) fn together(&self, a: u32, b: u32) -> bool {
        self.of[a as usize] == self.of[b as usize]
    }

    /// True if a cycle exists.
    pub(super) fn any(&self) -> bool {
        self.largest > 1
    }
}

/// Returns the components by Tarjan's algorithm with a stack of its own, because a path of a history is longer than a
/// thread's stack. `next(v, cursor)` returns the next successor of `v` and advances the cursor. No vertex is its own
/// successor.
fn components(vertices: usize, next: impl Fn(u32, &mut usize) -> Option<u32>) -> Components {
    const NEW: u32 = u32::MAX;
    let mut number = vec![NEW; vertices];
    let mut low = vec![0u32; vertices];
    // A vertex without a component is on the stack or not visited yet.
    let mut of = vec![NEW; vertices];
    let mut open = Vec::new();
    let mut path: Vec<(u32, usize)> = Vec::new();
    let (mut met, mut found, mut largest) = (0u32, 0u32, 0u32);
    for root in 0..vertices as u32 {
        if number[root as usize] != NEW {
            continue;
        }
        path.push((root, 0));
        while let Some((v, cursor)) = path.last_mut() {
            let v = *v;
            if *cursor == 0 && number[v as usize] == NEW {
                number[v as usize] = met;
                low[v as usize] = met;
                met += 1;
                open.push(v);
            }
            match next(v, cursor) {
                Some(w) if number[w as usize] == NEW => path.push((w, 0)),
                Some(w) => {
                    if of[w as usize] == NEW {
                        low[v as usize] = low[v as usize].min(number[w as usize]);
                    }
                }
                None => {
                    path.pop();
                    if let Some((parent, _)) = path.last() {
                        low[*parent as usize] = low[*parent as usize].min(low[v as usize]);
                    }
                    if low[v as usize] == number[v as usize] {
                        let mut size = 0;
                        while let Some(w) = open.pop() {
                            of[w as usize] = found;
                            size += 1;
                            if w == v {
                                break;
                            }
                        }
                        largest = largest.max(size);
                        found += 1;
                    }
                }
            }
        }
    }
    Components { of, largest }
}

/// True if one transaction ended before another one began. A transaction of unknown outcome may take effect at any time
/// after its begin, so it never ends.
pub(super) fn ended_before(history: &History, a: TxId, b: TxId) -> bool {
    let a = history.tx(a);
    a.outcome == Outcome::Committed && a.completed < history.tx(b).invoked
}

/// Adds edges between consecutive transactions of each process.
pub(super) fn session_edges(history: &History, counted: &[bool], edges: &mut Vec<Edge>) {
    let mut order: Vec<TxId> = counted_ids(counted).collect();
    order.sort_unstable_by_key(|id| history.tx(*id).invoked);
    let mut last: HashMap<u32, TxId> = HashMap::new();
    for id in order {
        let tx = history.tx(id);
        if let Some(before) = last.get(&tx.process) {
            edges.push(Edge::order(*before, id, Kind::Session));
        }
        if tx.outcome == Outcome::Committed {
            last.insert(tx.process, id);
        }
    }
}

/// Reports edges that imply, over any number of steps, every pair of transactions in which one ended before the other
/// began. Only the latest ended transactions start edges, so each transaction has as many edges as there are clients.
pub(super) fn realtime_edges(
    history: &History,
    transactions: impl Iterator<Item = TxId>,
    mut edge: impl FnMut(TxId, TxId),
) {
    // Beginnings sort before ends at the same position: only an end strictly before a beginning counts.
    let mut events: Vec<(u64, bool, TxId)> = Vec::new();
    for id in transactions {
        let tx = history.tx(id);
        events.push((tx.invoked, false, id));
        if tx.outcome == Outcome::Committed {
            events.push((tx.completed, true, id));
        }
    }
    events.sort_unstable();
    let mut latest: Vec<TxId> = Vec::new();
    for (_, ends, id) in events {
        if ends {
            latest.retain(|before| !ended_before(history, *before, id));
            latest.push(id);
        } else {
            for before in &latest {
                edge(*before, id);
            }
        }
    }
}

/// Returns the transactions that count.
pub(super) fn counted_ids(counted: &[bool]) -> impl Iterator<Item = TxId> + '_ {
    counted.iter().enumerate().filter(|(_, yes)| **yes).map(|(at, _)| TxId(at as u32))
}
