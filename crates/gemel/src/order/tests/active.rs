//! Tests of the slots of running transactions.

use crate::options::Isolation;
use crate::order::active::{Active, Count};
use crate::order::clock::{Clock, Timestamp};

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
