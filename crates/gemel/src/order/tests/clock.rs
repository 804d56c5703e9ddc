//! Tests of the clock.

use crate::order::clock::{Clock, Timestamp};

#[test]
fn the_horizon_waits_for_the_oldest_commit_in_progress() {
    let clock = Clock::new(Timestamp(7));
    let (first, second) = (clock.draw(), clock.draw());
    assert_eq!((first, second), (Timestamp(8), Timestamp(9)));
    std::thread::scope(|scope| {
        let late = scope.spawn(|| clock.publish(second));
        assert_eq!(clock.horizon(), Timestamp(7));
        clock.publish(first);
        late.join().unwrap();
    });
    assert_eq!(clock.horizon(), Timestamp(9));
}
