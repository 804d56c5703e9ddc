//! A queue whose response times can be computed: requests at random moments, servers that take exponential times (M/M/c).

/// A queue with so many servers. Each answers after an exponential time with this mean.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Servers, at least one.
    pub servers: usize,
    /// Mean service time in seconds.
    pub service_s: f64,
}

impl Queue {
    /// Returns the share of requests that take longer than `limit_s` at a rate (Erlang C; Gross and Harris, 2.4).
    #[must_use]
    pub fn share_over(self, rate: f64, limit_s: f64) -> f64 {
        let (servers, load) = (self.servers as f64, rate * self.service_s);
        if load >= servers {
            return 1.0;
        }
        // Erlang B by its recursion, then Erlang C: the share of requests that wait.
        let blocked = (1..=self.servers).fold(1.0, |blocked, n| load * blocked / (n as f64 + load * blocked));
        let waits = blocked / (1.0 - load / servers * (1.0 - blocked));
        let (t, spare) = (limit_s / self.service_s, servers - 1.0 - load);
        if spare.abs() < 1e-9 {
            return (-t).exp() * (1.0 + waits * t);
        }
        (-t).exp() * (1.0 + waits * (1.0 - (-t * spare).exp()) / spare)
    }

    /// Returns the rate at which one request in a hundred takes longer than `limit_s`.
    #[must_use]
    pub fn rate_of_p99(self, limit_s: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.servers as f64 / self.service_s);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if self.share_over(middle, limit_s) > 0.01 { high = middle } else { low = middle }
        }
        low
    }

    /// Returns its servers, all of them free.
    #[must_use]
    pub fn idle(self) -> Servers {
        Servers(vec![0.0; self.servers])
    }
}

/// The moments at which each server has answered everything that it took, in seconds.
#[derive(Clone, Debug)]
pub struct Servers(Vec<f64>);

impl Servers {
    /// Gives the server that is free first a request that arrives at `now` and takes `service_s`. Returns the moment of
    /// its answer.
    ///
    /// # Panics
    /// There is no server.
    pub fn take(&mut self, now: f64, service_s: f64) -> f64 {
        let first = self.0.iter_mut().min_by(|a, b| a.total_cmp(b)).expect("a server");
        *first = first.max(now) + service_s;
        *first
    }
}
