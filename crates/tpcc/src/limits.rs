//! The limits of the standard with their clauses, as tables.

/// Limits of the standard for one type of transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KindLimits {
    /// Least share of all transactions in percent (clause 5.2.3); none for New-Order, which takes the rest.
    pub min_mix_percent: Option<f64>,
    /// Least keying time in seconds, a constant (clause 5.2.5.7).
    pub keying_s: f64,
    /// Least mean think time in seconds, exponentially distributed (clause 5.2.5.7).
    pub mean_think_s: f64,
    /// Bound of the 90th percentile of response times, in seconds (clause 5.2.5.7). For Delivery it bounds the
    /// interactive part, the answer that the Delivery was queued.
    pub p90_response_s: f64,
}

/// Bound of the 90th percentile of the times until an input screen, in seconds (clause 5.2.5.7).
pub const MENU_P90_S: f64 = 2.0;

/// Least multiple of their mean at which think times may be cut (clause 5.2.5.4).
pub const THINK_CUT_MEANS: f64 = 10.0;

/// Bound in seconds for the excess of the mean response time over the 90th percentile (clause 5.2.5.6).
pub const MEAN_ABOVE_P90_TOLERANCE_S: f64 = 0.1;

/// Bound in seconds for nine in ten Deliveries, from queueing to completion (clause 2.7.2.2).
pub const DEFERRED_DELIVERY_S: f64 = 80.0;

/// Most Deliveries that may find a district without an undelivered order, in percent (clause 2.7.4.2). One is always
/// allowed.
pub const MAX_SKIPPED_DELIVERIES_PERCENT: f64 = 1.0;

/// Least new orders per minute for each configured warehouse (clause 4.1.3).
pub const MIN_NOPM_PER_WAREHOUSE: f64 = 9.0;

/// Most new orders per minute that a warehouse can reach at the standard's keying and think times (clause 4.1.3).
pub const MAX_NOPM_PER_WAREHOUSE: f64 = 12.86;

/// Shortest measurement interval in minutes (clause 5.5.2.1).
pub const MIN_MEASURED_MINUTES: f64 = 120.0;

/// Most drift of the throughput in percent (clause 5.5.1), and most distance of the running mean from the reported one.
pub const MAX_DRIFT_PERCENT: f64 = 2.0;

/// Hours for which a system must be able to run at the reported rate (clause 5.5.1).
pub const SUSTAINED_HOURS: f64 = 8.0;

/// Least number of checkpoints that begin in the measurement interval (clause 5.5.2).
pub const MIN_CHECKPOINTS: usize = 4;

/// Most minutes between the starts of two checkpoints (clause 5.5.2).
pub const MAX_CHECKPOINT_MINUTES: f64 = 30.0;

/// Isolation level that all types but Stock-Level need: no dirty write, dirty read, non-repeatable read or phantom
/// (clause 3.4.1).
pub const ISOLATION_LEVEL: u8 = 3;

/// Quantity that must lie within a window for the inputs of a run to be valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InputQuantity {
    /// New-Orders that roll back, in percent of New-Orders.
    Rollbacks,
    /// Lines per New-Order.
    LinesPerOrder,
    /// Lines supplied by another warehouse, in percent of lines.
    RemoteLines,
    /// Payments by customers of another warehouse, in percent of Payments.
    RemotePayments,
    /// Payments that select the customer by last name, in percent of Payments.
    PaymentsByName,
    /// Order-Statuses that select the customer by last name, in percent of Order-Statuses.
    OrderStatusByName,
}

/// A window of clauses 5.5.1.5 and 9.2.2.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputWindow {
    /// The quantity.
    pub quantity: InputQuantity,
    /// Name of the quantity, with its unit.
    pub title: &'static str,
    /// Least valid value.
    pub low: f64,
    /// Value at which the inputs aim.
    pub prescribed: f64,
    /// Greatest valid value.
    pub high: f64,
    /// Standard deviation of one sample around `prescribed`, in the same unit.
    pub deviation: f64,
}

/// Clause of all [`INPUT_WINDOWS`].
pub const INPUT_WINDOWS_CLAUSE: &str = "5.5.1.5";

/// All windows. A percentage p has the deviation sqrt(p (100 - p)). Eleven equally likely numbers of lines have the
/// deviation sqrt(10).
pub const INPUT_WINDOWS: [InputWindow; 6] = [
    InputWindow {
        quantity: InputQuantity::Rollbacks,
        title: "New-Orders rolled back, %",
        low: 0.9,
        prescribed: 1.0,
        high: 1.1,
        deviation: 9.949_874_371_066_2,
    },
    InputWindow {
        quantity: InputQuantity::LinesPerOrder,
        title: "lines per order",
        low: 9.5,
        prescribed: 10.0,
        high: 10.5,
        deviation: 3.162_277_660_168_379_5,
    },
    InputWindow {
        quantity: InputQuantity::RemoteLines,
        title: "remote order lines, %",
        low: 0.95,
        prescribed: 1.0,
        high: 1.05,
        deviation: 9.949_874_371_066_2,
    },
    InputWindow {
        quantity: InputQuantity::RemotePayments,
        title: "remote payments, %",
        low: 14.0,
        prescribed: 15.0,
        high: 16.0,
        deviation: 35.707_142_142_714_25,
    },
    InputWindow {
        quantity: InputQuantity::PaymentsByName,
        title: "payments by last name, %",
        low: 57.0,
        prescribed: 60.0,
        high: 63.0,
        deviation: 48.989_794_855_663_56,
    },
    InputWindow {
        quantity: InputQuantity::OrderStatusByName,
        title: "order-status by last name, %",
        low: 57.0,
        prescribed: 60.0,
        high: 63.0,
        deviation: 48.989_794_855_663_56,
    },
];

/// Most warehouses that Lydite accepts: ten million emulated users, several times what one machine can play. This limit
/// is not the standard's.
pub const MAX_WAREHOUSES: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::StandardKind;

    #[test]
    fn each_window_holds_its_prescribed_value_and_its_deviation_is_that_of_the_distribution() {
        for window in INPUT_WINDOWS {
            assert!(window.low < window.prescribed && window.prescribed < window.high, "{window:?}");
            let variance = match window.quantity {
                InputQuantity::LinesPerOrder => 10.0,
                _ => window.prescribed * (100.0 - window.prescribed),
            };
            assert!((window.deviation - f64::sqrt(variance)).abs() < 1e-12, "{window:?}");
        }
    }

    #[test]
    fn a_full_deck_at_zero_response_time_stays_below_the_upper_bound_of_clause_4_1_3() {
        // Seconds that a terminal needs for 23 cards. In this time ten terminals make ten new orders each.
        let cycle: f64 = [10.0, 10.0, 1.0, 1.0, 1.0]
            .iter()
            .zip(StandardKind::ALL.map(StandardKind::limits))
            .map(|(n, k)| n * (k.keying_s + k.mean_think_s))
            .sum();
        let nopm = 10.0 * 10.0 * 60.0 / cycle;
        assert!((nopm - 12.605).abs() < 0.001);
        assert!(nopm > MIN_NOPM_PER_WAREHOUSE && nopm < MAX_NOPM_PER_WAREHOUSE);
    }
}
