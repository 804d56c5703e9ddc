//! Delivery (clause 2.7), the deferred part.

use super::profile::{Limited, Profile};
use crate::answer::Contradiction;
use crate::ids::{CarrierId, DistrictId, OrderId, WarehouseId};
use crate::input::{InputPlan, Seat};
use crate::limits::KindLimits;
use serde::Deserialize;

/// Input of Delivery (clause 2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The terminal's home warehouse. One order of each of its districts is delivered.
    pub w_id: WarehouseId,
    /// Number of districts of the warehouse: ten, unless data is skewed.
    pub districts: u16,
    /// O_CARRIER_ID, 1 to 10.
    pub carrier_id: CarrierId,
}

/// Output of the deferred part of a Delivery: the lines of its result file (clause 2.7.2.3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct DeliveryOutcome {
    /// Order that each district delivered, by D_ID. A district without an undelivered order is missing (a skipped
    /// district, clause 2.7.4.2).
    pub delivered: Vec<(DistrictId, OrderId)>,
}

impl Delivery {
    /// Returns the districts that deliver an order.
    pub fn district_ids(&self) -> impl DoubleEndedIterator<Item = DistrictId> + ExactSizeIterator + use<> {
        DistrictId::up_to(self.districts)
    }
}

impl Limited for Delivery {
    const LIMITS: KindLimits =
        KindLimits { min_mix_percent: Some(4.0), keying_s: 2.0, mean_think_s: 5.0, p90_response_s: 5.0 };
}

impl Profile for Delivery {
    type Input = Self;
    type Outcome = DeliveryOutcome;

    const TITLE: &'static str = "Delivery";

    /// Makes a Delivery (clause 2.7.1).
    fn draw(seat: &mut Seat, plan: &InputPlan) -> Self {
        let Seat { ref mut stream, w_id, .. } = *seat;
        Self { w_id, districts: plan.districts.of(w_id), carrier_id: CarrierId(stream.uniform(1, 10) as u8) }
    }

    fn contradiction(entered: &Self, answered: &DeliveryOutcome) -> Option<Contradiction> {
        let known = |district: DistrictId| (1..=entered.districts).contains(&district.0);
        let districts = || answered.delivered.iter().map(|(district, _)| *district);
        let again = |(index, district)| districts().take(index).any(|before| before == district);
        let wrong = districts().enumerate().find(|each| !known(each.1) || again(*each));
        wrong.map(|(_, district)| Contradiction::District(district))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_delivers_once_in_each_district_of_its_warehouse() {
        let entered = Delivery { w_id: WarehouseId(1), districts: 10, carrier_id: CarrierId(1) };
        let delivered = |districts: &[u16]| {
            let delivered = districts.iter().map(|district| (DistrictId(*district), OrderId(1))).collect();
            Delivery::contradiction(&entered, &DeliveryOutcome { delivered })
        };
        assert_eq!(delivered(&[]), None);
        assert_eq!(delivered(&[1, 2, 10]), None);
        assert_eq!(delivered(&[1, 2, 1]), Some(Contradiction::District(DistrictId(1))));
        assert_eq!(delivered(&[11]), Some(Contradiction::District(DistrictId(11))));
    }
}
