//! Cycles of dependencies: existence, the shortest one through each dependency, and their names.
//!
//! Strongly connected components decide exactly and in linear time whether a cycle of some kind exists. Searches only
//! find examples and count. The rules come from Adya and, for snapshot isolation, from Cerone and Gotsman ("Analysing
//! Snapshot Isolation", 2018): read committed forbids cycles of write-write and write-read edges. Snapshot isolation
//! also forbids cycles without two adjacent read-write edges. Serializability forbids all cycles.

use super::explain::Explain;
use super::graph::{Components, Edge, Graph, Kind, Kinds, REALTIME, RW, SESSION, WR, WW};
use super::graph::{ended_before, walk_on};
use super::level::{AnomalyKind, Order};
use super::model::{History, TxId};
use super::report::Collector;
use std::collections::VecDeque;

/// Finds and names cycles, first those of the data alone, then those that need more and more order.
pub(super) fn find(history: &History, graph: &Graph, orders: &[Order], budget: u64, found: &mut Collector) {
    let states = 2 * graph.vertices();
    let mut search = Search {
        history,
        graph,
        explain: Explain::new(history),
        found,
        budget,
        round: 0,
        met: vec![0; states],
        came_by: vec![NONE; states],
        came_from: vec![0; states],
        told: vec![false; graph.edges().len()],
        told_adjacent: vec![false; graph.edges().len()],
    };
    let mut extra = 0;
    for order in orders {
        extra |= match order {
            Order::Data => 0,
            Order::Session => SESSION,
            Order::Realtime => REALTIME,
        };
        let all = graph.components(WW | WR | RW | extra, None);
        if all.any() {
            search.cycles(*order, extra, &all);
        }
    }
}

/// No edge.
const NONE: u32 = u32::MAX;

struct Search<'a> {
    history: &'a History,
    graph: &'a Graph,
    explain: Explain<'a>,
    found: &'a mut Collector,
    /// Number of edges that may still be followed.
    budget: u64,
    round: u32,
    /// Visit of each state of a walk: the round and the edge of arrival.
    met: Vec<u32>,
    came_by: Vec<u32>,
    came_from: Vec<u32>,
    /// True for each edge on a reported cycle of a kind up to G-nonadjacent.
    told: Vec<bool>,
    /// True for each edge on a reported cycle with two adjacent read-write edges.
    told_adjacent: Vec<bool>,
}

impl Search<'_> {
    fn cycles(&mut self, order: Order, extra: Kinds, all: &Components) {
        if order == Order::Data {
            self.lost_updates(all);
        }
        self.without_reads_of_old_versions(order, extra, all);
        let apart = self.graph.non_adjacent_components(WW | WR | extra, all);
        if apart.any() {
            self.reads_of_old_versions_apart(order, extra, &apart);
        }
        self.write_skews(order, extra, all);
    }

    /// Returns the edges of these kinds with their numbers.
    fn numbered(&self, kinds: Kinds) -> impl Iterator<Item = (usize, Edge)> + use<'_> {
        self.graph.edges().iter().copied().enumerate().filter(move |(_, edge)| edge.is(kinds))
    }

    /// Reports lost updates. Every edge marked so is one; the search only finds how the other write came after.
    fn lost_updates(&mut self, all: &Components) {
        let anchors: Vec<(usize, Edge)> = self.numbered(RW).filter(|(_, edge)| edge.lost_update).collect();
        for (at, anchor) in anchors {
            if self.told[at] {
                continue;
            }
            let mut steps = vec![at as u32];
            let key = anchor.key;
            if all.together(anchor.from.0, anchor.to.0) {
                let onward = |state: u32, edge: &Edge| {
                    let follows = edge.is(WW | RW) && edge.key == key && state.is_multiple_of(2);
                    (follows && all.together(state / 2, edge.to.0)).then_some(2 * edge.to.0)
                };
                if let Some(path) = self.path(2 * anchor.to.0, 2 * anchor.from.0, onward, false) {
                    steps.extend(path);
                }
            }
            for step in &steps {
                let edge = self.graph.edges()[*step as usize];
                if edge.lost_update {
                    self.told[*step as usize] = true;
                    self.told_adjacent[*step as usize] = true;
                }
            }
            let cycle = self.edges_of(&steps);
            self.found.add(AnomalyKind::LostUpdate, || self.explain.cycle(&cycle));
        }
    }

    /// Reports G0 and G1c.
    fn without_reads_of_old_versions(&mut self, order: Order, extra: Kinds, all: &Components) {
        for (kinds, anchors, kind) in [
            (WW | extra, WW, AnomalyKind::DirtyWrite),
            (WW | WR | extra, WR, AnomalyKind::CircularInformation),
        ] {
            let within = self.graph.components(kinds, Some(all));
            if !within.any() {
                continue;
            }
            let onward = |state: u32, edge: &Edge| {
                (edge.is(kinds) && within.together(state / 2, edge.to.0)).then_some(2 * edge.to.0)
            };
            let close = extra & REALTIME != 0;
            let list: Vec<(usize, Edge)> =
                self.numbered(anchors).filter(|(_, edge)| within.together(edge.from.0, edge.to.0)).collect();
            for (at, anchor) in list {
                if self.told[at] {
                    continue;
                }
                if self.spent() {
                    self.found.cut_short(order, &[kind]);
                    break;
                }
                if let Some(path) = self.path(2 * anchor.to.0, 2 * anchor.from.0, onward, close) {
                    self.tell(kind, order, at, path, anchors);
                }
            }
        }
    }

    /// Reports G-single and longer cycles that snapshot isolation forbids.
    fn reads_of_old_versions_apart(&mut self, order: Order, extra: Kinds, apart: &Components) {
        use AnomalyKind::{LongFork, NonAdjacent, ReadSkew, SkewedSnapshots};
        let kinds = WW | WR | extra;
        let close = extra & REALTIME != 0;
        let list: Vec<(usize, Edge)> = self
            .numbered(RW)
            .filter(|(_, edge)| apart.together(2 * edge.from.0, 2 * edge.to.0 + 1))
            .collect();
        for (at, anchor) in list {
            if self.told[at] {
                continue;
            }
            if self.spent() {
                self.found.cut_short(order, &[LongFork, NonAdjacent, ReadSkew, SkewedSnapshots]);
                break;
            }
            let (from, to) = (2 * anchor.to.0 + 1, 2 * anchor.from.0);
            let without = |state: u32, edge: &Edge| {
                walk_on(state, edge, kinds)
                    .filter(|next| next.is_multiple_of(2) && apart.together(state, *next))
            };
            let with = |state: u32, edge: &Edge| {
                walk_on(state, edge, kinds).filter(|next| apart.together(state, *next))
            };
            let path = match self.path(from, to, without, close) {
                Some(path) => Some(path),
                None => self.path(from, to, with, close),
            };
            if let Some(path) = path {
                // The name depends on the whole cycle.
                self.tell(NonAdjacent, order, at, path, RW);
            }
        }
    }

    /// Reports all other cycles.
    fn write_skews(&mut self, order: Order, extra: Kinds, all: &Components) {
        let close = extra & REALTIME != 0;
        let onward = |state: u32, edge: &Edge| {
            let follows = edge.is(WW | WR | RW | extra) && all.together(state / 2, edge.to.0);
            follows.then_some(2 * edge.to.0)
        };
        let list: Vec<(usize, Edge)> =
            self.numbered(RW).filter(|(_, edge)| all.together(edge.from.0, edge.to.0)).collect();
        for (at, anchor) in list {
            if self.told[at] || self.told_adjacent[at] {
                continue;
            }
            if self.spent() {
                self.found.cut_short(order, &[AnomalyKind::WriteSkew, AnomalyKind::Phantom]);
                break;
            }
            if let Some(path) = self.path(2 * anchor.to.0, 2 * anchor.from.0, onward, close) {
                self.tell(AnomalyKind::WriteSkew, order, at, path, RW);
            }
        }
    }

    /// True if the budget is used up.
    fn spent(&self) -> bool {
        self.budget == 0
    }

    /// Finds a shortest walk between two states. Its last step may be [`NONE`]: then real time closes the cycle. A
    /// search that has begun runs to its end, so each cycle that the components prove is found.
    fn path(
        &mut self,
        from: u32,
        to: u32,
        onward: impl Fn(u32, &Edge) -> Option<u32>,
        realtime_closes: bool,
    ) -> Option<Vec<u32>> {
        self.round += 1;
        let goal = TxId(to / 2);
        let mut queue = VecDeque::from([from]);
        self.met[from as usize] = self.round;
        while let Some(state) = queue.pop_front() {
            if realtime_closes && ended_before(self.history, TxId(state / 2), goal) {
                return Some(self.walk_to(from, state, NONE));
            }
            for at in self.graph.leaving(state / 2) {
                self.budget = self.budget.saturating_sub(1);
                let Some(next) = onward(state, &self.graph.edges()[at]) else { continue };
                if next == to {
                    return Some(self.walk_to(from, state, at as u32));
                }
                if self.met[next as usize] != self.round {
                    self.met[next as usize] = self.round;
                    self.came_by[next as usize] = at as u32;
                    self.came_from[next as usize] = state;
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// Returns the edges of the search's walk, and the last one.
    fn walk_to(&self, from: u32, mut state: u32, last: u32) -> Vec<u32> {
        let mut walk = vec![last];
        while state != from {
            walk.push(self.came_by[state as usize]);
            state = self.came_from[state as usize];
        }
        walk.reverse();
        walk
    }

    /// Names the cycle, counts it, and marks its edges that need no further report.
    fn tell(&mut self, kind: AnomalyKind, order: Order, anchor: usize, path: Vec<u32>, marks: Kinds) {
        let mut steps = vec![anchor as u32];
        steps.extend(path);
        for step in steps.iter().filter(|step| **step != NONE) {
            if self.graph.edges()[*step as usize].is(marks) {
                let told =
                    if kind == AnomalyKind::WriteSkew { &mut self.told_adjacent } else { &mut self.told };
                told[*step as usize] = true;
            }
        }
        let cycle = simple(self.edges_of(&steps));
        if order != Order::Data && misses_earlier(&cycle) {
            self.found.miss(order);
        }
        let kind = match kind {
            AnomalyKind::NonAdjacent => name(&cycle, &self.explain),
            AnomalyKind::WriteSkew if self.explain.has_phantom(&cycle) => AnomalyKind::Phantom,
            kind => kind,
        };
        self.found.add_ordered(kind, order, || self.explain.cycle(&cycle));
    }

    /// Returns the cycle of these steps. Several steps of real time become one.
    fn edges_of(&self, steps: &[u32]) -> Vec<Edge> {
        let mut cycle: Vec<Edge> = Vec::with_capacity(steps.len());
        for step in steps {
            let edge = match self.graph.edges().get(*step as usize) {
                Some(edge) => *edge,
                None => {
                    // Only the last step can be none, and the first is always an edge.
                    let (Some(last), Some(first)) = (cycle.last(), cycle.first()) else { continue };
                    Edge::order(last.to, first.from, Kind::Realtime)
                }
            };
            match cycle.last_mut() {
                Some(last) if last.kind == Kind::Realtime && edge.kind == Kind::Realtime => last.to = edge.to,
                _ => cycle.push(edge),
            }
        }
        cycle
    }
}

/// Removes detours from a cycle. A walk may pass a transaction twice, once by a read-write edge and once not. It splits
/// into two cycles there, and one of them has no more adjacent read-write edges than the walk.
fn simple(mut cycle: Vec<Edge>) -> Vec<Edge> {
    let adjacent =
        |cycle: &[Edge]| (0..cycle.len()).any(|at| cycle[at].is(RW) && cycle[(at + 1) % cycle.len()].is(RW));
    let allowed = adjacent(&cycle);
    'again: loop {
        for from in 0..cycle.len() {
            for to in from + 1..cycle.len() {
                if cycle[from].from != cycle[to].from {
                    continue;
                }
                let inner: Vec<Edge> = cycle.drain(from..to).collect();
                if !adjacent(&inner) || (allowed && adjacent(&cycle)) {
                    cycle = inner;
                }
                continue 'again;
            }
        }
        return cycle;
    }
}

/// True if a cycle shows that a transaction missed what an order puts before it, whatever the isolation level: it began
/// after another one, but read what that one knew to be old. Any other cycle with an order may come from a reader whose
/// snapshot is torn, which weak levels allow.
fn misses_earlier(cycle: &[Edge]) -> bool {
    let mut old = (0..cycle.len()).filter(|at| cycle[*at].is(RW));
    match (old.next(), old.next()) {
        (None, _) => true,
        (Some(at), None) => cycle[(at + cycle.len() - 1) % cycle.len()].is(SESSION | REALTIME),
        (Some(_), Some(_)) => false,
    }
}

/// Names a cycle without two adjacent reads of old versions.
fn name(cycle: &[Edge], explain: &Explain<'_>) -> AnomalyKind {
    let old = cycle.iter().filter(|edge| edge.is(RW)).count();
    if old == 1 {
        return if explain.cycle(cycle).engines.len() > 1 {
            AnomalyKind::SkewedSnapshots
        } else {
            AnomalyKind::ReadSkew
        };
    }
    if old == 2 && cycle.len() == 4 && cycle.iter().all(|edge| edge.is(RW | WR)) {
        AnomalyKind::LongFork
    } else {
        AnomalyKind::NonAdjacent
    }
}
