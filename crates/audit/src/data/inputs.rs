//! Inputs that the terminals of a run would enter, judged without sending them.

use super::Judged;
use crate::finding::{Seen, Trouble};
use crate::stage::Stage;
use lydite_tpcc::chi_squared::uniform;
use lydite_tpcc::compliance::{WindowVerdict, judge_inputs};
use lydite_tpcc::deck::Mix;
use lydite_tpcc::input::InputPlan;
use lydite_tpcc::nurand::{delta_is_valid, last_name};
use lydite_tpcc::transactions::CustomerSelector;
use lydite_tpcc::{InputStatistics, Standard, Terminal, Transaction};
use std::collections::HashMap;

/// Inputs to draw.
const INPUTS: usize = 400_000;
/// Most terminals that enter them.
const TERMINALS: u32 = 1_000;

/// Counts of drawn values.
struct Drawn {
    items: Vec<u64>,
    customers: Vec<u64>,
    names: Vec<u64>,
    quantities: Vec<u64>,
    inputs: InputStatistics,
}

/// Draws inputs of a plan, of its terminals in turn.
fn draw(plan: &InputPlan) -> Drawn {
    let size = plan.size;
    let mut drawn = Drawn {
        items: vec![0; size.items() as usize],
        customers: vec![0; size.customers() as usize],
        names: vec![0; size.last_names() as usize],
        quantities: vec![0; 10],
        inputs: InputStatistics::default(),
    };
    let numbers: HashMap<_, usize> =
        (0..size.last_names()).map(|number| (last_name(number), number as usize)).collect();
    let mut terminals: Vec<Terminal> =
        (0..plan.terminals().min(TERMINALS)).map(|index| plan.terminal(index)).collect();
    let count = |cells: &mut [u64], place: usize| {
        // Unused items are beyond the last one.
        if let Some(cell) = cells.get_mut(place) {
            *cell += 1;
        }
    };
    for terminal in 0..INPUTS {
        let terminal = terminal % terminals.len();
        let transaction = terminals[terminal].next(plan);
        drawn.inputs.record(&transaction);
        let customer = match &transaction {
            Transaction::Standard(Standard::NewOrder(order)) => {
                count(&mut drawn.customers, order.c_id.0 as usize - 1);
                for line in &order.lines {
                    count(&mut drawn.items, line.i_id.0 as usize - 1);
                    count(&mut drawn.quantities, usize::from(line.quantity) - 1);
                }
                continue;
            }
            Transaction::Standard(Standard::Payment(payment)) => &payment.customer,
            Transaction::Standard(Standard::OrderStatus(status)) => &status.customer,
            _ => continue,
        };
        match customer {
            CustomerSelector::Id(id) => count(&mut drawn.customers, id.0 as usize - 1),
            CustomerSelector::LastName(name) => {
                count(&mut drawn.names, numbers.get(name).copied().unwrap_or(usize::MAX));
            }
        }
    }
    drawn
}

/// Judges the inputs by the exact probabilities of NURand and by the windows of clause 5.5.1.5.
pub(super) fn distributions(stage: &Stage<'_>) -> Result<Seen, Trouble> {
    let (meta, seed) = (stage.meta, stage.audit.seed);
    let plan = InputPlan::on(meta, seed, Mix::Deck);
    let drawn = draw(&plan);
    let (size, constants) = (plan.size, plan.constants);
    stage.step(format!(
        "{INPUTS} inputs of up to {TERMINALS} terminals were drawn with seed {seed}, and not sent"
    ));
    let mut judged = Judged::default();
    let (c_load, c_run) = (u32::from(meta.c_load.0), constants.c_last);
    judged.judge(
        stage,
        delta_is_valid(c_load, c_run),
        format!("2.1.6.1 C-Load {c_load} and C-Run {c_run} differ by {}", c_load.abs_diff(c_run)),
    );
    for (title, counts, probabilities) in [
        ("2.4.1.5 OL_I_ID by NURand(8191, …)", &drawn.items, constants.item_probabilities(size)),
        ("2.4.1.2 C_ID by NURand(1023, …)", &drawn.customers, constants.customer_probabilities(size)),
        ("2.5.1.2 C_LAST by NURand(255, …)", &drawn.names, constants.last_name_probabilities(size)),
        ("2.4.1.5 OL_QUANTITY from 1 to 10", &drawn.quantities, uniform(10)),
    ] {
        judged.judge_counts(stage, title, counts, &probabilities);
    }
    let lines = &drawn.inputs.orders_by_lines[5..];
    judged.judge_counts(stage, "2.4.1.3 lines of an order from 5 to 15", lines, &uniform(lines.len()));
    for verdict in judge_inputs(&drawn.inputs, meta.warehouses) {
        let value = verdict.value.map_or_else(|| "none".into(), |value| format!("{value:.3}"));
        let window = format!("{} to {}", verdict.low, verdict.high);
        let words = format!("5.5.1.5 {}: {value} in {window}, {} samples", verdict.title, verdict.samples);
        match verdict.verdict {
            WindowVerdict::TooFewSamples => stage.step(format!("{words}: too few samples for a verdict")),
            inside => judged.judge(stage, inside == WindowVerdict::Inside, words),
        }
    }
    judged.end("distributions and windows of inputs")
}
