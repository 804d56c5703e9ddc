//! The queue of `null:?service=`: servers that take requests in the order of their arrival, each for a random time. Its
//! response times can be computed (Erlang C), so the measures of Lydite can be held against them.

use lydite_tpcc::random::{Purpose, Stream};
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Distribution of the service times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// All the same.
    Constant,
    /// Negative exponential.
    Exponential,
}

/// Servers with one queue.
#[derive(Debug)]
pub(super) struct Queue {
    service: Duration,
    spread: Spread,
    servers: Mutex<Servers>,
}

#[derive(Debug)]
struct Servers {
    /// Time at which each server has answered everything that it took.
    free: Vec<Instant>,
    dice: Stream,
}

impl Queue {
    /// Makes a queue with so many servers, at least one, and this mean service time. `seed` is that of the service
    /// times.
    pub(super) fn new(service: Duration, spread: Spread, servers: usize, seed: u64) -> Self {
        let free = vec![Instant::now(); servers];
        Self {
            service,
            spread,
            servers: Mutex::new(Servers { free, dice: Stream::new(seed, Purpose::Services, 0) }),
        }
    }

    /// Waits for the first server that is free, and for its service.
    pub(super) fn serve(&self) {
        let until = self.take(Instant::now());
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
    }

    /// Takes the server that is free first, and returns the end of the service of a request that arrives now.
    fn take(&self, now: Instant) -> Instant {
        let mut servers = self.servers.lock();
        let share = match self.spread {
            Spread::Constant => 1.0,
            Spread::Exponential => -servers.dice.unit_open_low().ln(),
        };
        let service = self.service.mul_f64(share);
        match servers.free.iter_mut().min() {
            Some(first) => {
                *first = (*first).max(now) + service;
                *first
            }
            None => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_for_the_first_server_that_is_free() {
        let ms = Duration::from_millis;
        let queue = Queue::new(ms(10), Spread::Constant, 2, 1);
        let now = Instant::now();
        let ends: Vec<Duration> =
            [0, 1, 2, 3, 50].into_iter().map(|at| queue.take(now + ms(at)) - now).collect();
        assert_eq!(ends, [ms(10), ms(11), ms(20), ms(21), ms(60)]);
    }

    #[test]
    fn response_times_are_those_of_the_computed_queue() {
        // One server that is busy for half of the time: the mean response is twice the service (M/M/1).
        let service = Duration::from_millis(1);
        let queue = Queue::new(service, Spread::Exponential, 1, 1);
        let mut dice = Stream::new(7, Purpose::Arrivals, 0);
        let mut now = Instant::now();
        let (mut sum, count) = (0.0, 200_000);
        for _ in 0..count {
            now += service.mul_f64(-2.0 * dice.unit_open_low().ln());
            sum += (queue.take(now) - now).as_secs_f64();
        }
        let mean = sum / f64::from(count) / service.as_secs_f64();
        assert!((mean - 2.0).abs() < 0.05, "{mean}");
    }
}
