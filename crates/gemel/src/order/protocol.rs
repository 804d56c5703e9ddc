//! The steps of a commit or snapshot over several engines (`DESIGN.md`, "Commit" and "The registry").

use super::clock::{Clock, Timestamp};
use super::csr::{Latch, Refused, Registry};
use crate::files::fail_point;
use crate::options::CommitStamps;

/// The writes of a commit in one engine, and the timestamp that it drew there. Parts are in the order of the engines.
/// If there are several, the first is the anchor's.
pub(crate) struct Part<W> {
    pub(crate) engine: usize,
    pub(crate) writes: W,
    pub(crate) stamp: Option<Timestamp>,
}

/// Draws the timestamps of a commit and enters its pairs, in the way that `how` says. `registries` are those of the
/// other engines. `oldest` returns the oldest anchor snapshot of a running transaction. If the commit is rejected, the
/// caller must still publish the timestamps drawn.
pub(crate) fn stamp<W>(
    registries: &[Registry],
    how: CommitStamps,
    parts: &mut [Part<W>],
    draw: impl Fn(usize) -> Timestamp,
    oldest: impl Fn() -> Timestamp,
) -> Result<(), Refused> {
    if parts.len() == 1 || how == CommitStamps::Independent {
        draw_all(parts, draw);
        return admit(parts, |engine| registries[engine - 1].latch(), oldest);
    }
    // The latches are taken in the order of the engines everywhere, so there is no deadlock.
    let mut latches: Vec<Option<Latch<'_>>> = parts
        .iter()
        .filter(|part| part.engine > 0)
        .map(|part| Some(registries[part.engine - 1].latch()))
        .collect();
    draw_all(parts, draw);
    let mut next = latches.iter_mut();
    let taken = |_| {
        next.next()
            .and_then(Option::take)
            .unwrap_or_else(|| unreachable!("there is one latch for each engine"))
    };
    admit(parts, taken, oldest)
}

/// Draws the timestamps without entering them in a registry.
pub(crate) fn draw_all<W>(parts: &mut [Part<W>], draw: impl Fn(usize) -> Timestamp) {
    for part in parts {
        part.stamp = Some(draw(part.engine));
    }
}

fn admit<'a, W>(
    parts: &[Part<W>],
    mut latch: impl FnMut(usize) -> Latch<'a>,
    oldest: impl Fn() -> Timestamp,
) -> Result<(), Refused> {
    let Some((anchor, others)) = parts.split_first() else { return Ok(()) };
    let Some(anchor) = anchor.stamp else { return Ok(()) };
    others.iter().filter_map(|part| Some((part.engine, part.stamp?))).try_for_each(|(engine, at)| {
        let mut latch = latch(engine);
        let admitted = latch.admit(anchor, at);
        latch.recycle(&oldest);
        admitted
    })
}

/// Installs and publishes a commit, engine by engine. The anchor comes first, so no two commits wait for each other,
/// and commits in the anchor never wait for an install in another engine. `publish` publishes a timestamp of an engine.
pub(crate) fn finish<W>(
    parts: &mut [Part<W>],
    mut install: impl FnMut(&mut Part<W>, Timestamp),
    mut publish: impl FnMut(usize, Timestamp),
) {
    for part in parts {
        if let Some(at) = part.stamp {
            install(part, at);
            fail_point("commit.after_install");
            publish(part.engine, at);
            fail_point("commit.between_publications");
        }
    }
}

/// Publishes the timestamps of an abandoned commit, in the order of the engines.
pub(crate) fn publish<'a, W>(parts: &[Part<W>], clock: impl Fn(usize) -> &'a Clock) {
    for part in parts {
        if let Some(at) = part.stamp {
            clock(part.engine).publish(at);
        }
    }
}

/// Selects the snapshot in another engine that belongs with `anchor`. `oldest` returns the oldest anchor snapshot of a
/// running transaction.
pub(crate) fn select(
    registry: &Registry,
    clock: &Clock,
    anchor: Timestamp,
    oldest: impl FnOnce() -> Timestamp,
) -> Result<Timestamp, Refused> {
    // The horizon is read before the registry is asked: a commit whose half is below this horizon is in the registry by
    // then.
    let horizon = clock.horizon();
    let at = registry.select(anchor, horizon, oldest)?;
    clock.wait_for(at)?;
    Ok(at)
}

/// Returns the newest snapshot in another engine for a reader that has read the anchor at `anchor`.
pub(crate) fn newest(registry: &Registry, clock: &Clock, anchor: Timestamp) -> Result<Timestamp, Refused> {
    let horizon = clock.horizon();
    let at = horizon.max(registry.least(anchor));
    clock.wait_for(at)?;
    Ok(at)
}
