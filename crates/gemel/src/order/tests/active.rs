//! Tests of the slots of running transactions.

use crate::options::Isolation;
use crate::order::active::{Active, Count};
use crate::order::clock::{Clock, Timestamp};
use std::time::Duration;

#[test]
fn the_watermark_is_the_oldest_running_snapshot() {
    let clock = Clock::new(Timestamp(5));
    let active = Active::new();
    let old = active.begin(Isolation::Snapshot).unwrap();
    assert_eq!(active.refresh(old, [&clock].into_iter()), Timestamp(5));
    clock.publish(clock.draw());
    let young = active.begin(Isolation::Snapshot).unwrap();
    assert_eq!(active.refresh(young, [&clock].into_iter()), Timestamp(6));
    assert_eq!(active.watermark(0, &clock), Timestamp(5));
    assert_eq!(active.running().len(), 2);
    active.end(old, Count::ReadOnly);
    assert_eq!(active.watermark(0, &clock), Timestamp(6));
    active.end(young, Count::Csr);
    assert_eq!(active.count(Count::ReadOnly), 1);
    assert_eq!(active.count(Count::Csr), 1);
}

#[test]
fn thousands_of_transactions_run_at_once() {
    let clock = Clock::new(Timestamp(5));
    let active = Active::new();
    let seats: Vec<_> = (0..5000).map(|_| active.begin(Isolation::Snapshot).unwrap()).collect();
    for seat in &seats {
        active.refresh(*seat, [&clock].into_iter());
    }
    assert_eq!(active.running().len(), 5000);
    for seat in seats {
        active.end(seat, Count::RolledBack);
    }
    assert_eq!(active.watermark(0, &clock), Timestamp(5));
}

#[test]
fn an_expired_snapshot_does_not_count_and_its_slot_can_be_used_again() {
    let clock = Clock::new(Timestamp(5));
    let active = Active::new();
    let old = active.begin(Isolation::Snapshot).unwrap();
    active.limit(old, Duration::ZERO);
    active.refresh(old, [&clock].into_iter());
    let lasting = active.begin(Isolation::Snapshot).unwrap();
    active.limit(lasting, Duration::MAX);
    clock.publish(clock.draw());
    active.refresh(lasting, [&clock].into_iter());
    assert_eq!((active.watermark(0, &clock), active.expired_at(old)), (Timestamp(5), None));
    for _ in 0..2 {
        active.expire();
    }
    assert_eq!((active.watermark(0, &clock), active.expired()), (Timestamp(6), 1));
    assert!(active.expired_at(old).is_some() && active.expired_at(lasting).is_none());
    let running: Vec<_> = active.running().iter().map(|one| (one.number, one.expired)).collect();
    assert_eq!(running, [(old.number, true), (lasting.number, false)]);
    active.end(lasting, Count::ReadOnly);
    active.end(old, Count::TooOld);
    // This thread takes the slot again that it used last.
    let next = active.begin(Isolation::Snapshot).unwrap();
    active.refresh(next, [&clock].into_iter());
    active.expire();
    assert_eq!((active.expired_at(next), active.expired()), (None, 1), "a new transaction has no limit yet");
}
