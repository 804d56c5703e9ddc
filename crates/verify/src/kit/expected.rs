//! Expected answers and rows of a target: those of a reference with the same inputs over the same rows.

use super::{SEED, Trouble, load_rows, meta, words};
use lydite_database::{TableChecksum, Target, TargetError, TxError};
use lydite_tpcc::deck::Mix;
use lydite_tpcc::input::UNUSED_ITEM;
use lydite_tpcc::{
    InputPlan, Outcome, Standard, StandardKind, StandardOutcome, Timestamp, Transaction, TransactionKind,
};

/// Transactions that one session plays.
const INPUTS: usize = 500;
/// Orders that are rolled back.
const ROLLED_BACK: usize = 20;
/// Attempts at a transaction that is aborted though no other session is at work.
const ATTEMPTS: u32 = 20;

/// Sessions that one type of transactions may lose.
const LOST: usize = 2;

/// Answer to a transaction, without the times of the database's clock.
pub(super) type Answer = Result<Outcome, TxError>;

/// Inputs, and the answers and rows that the reference gives for them.
pub(super) struct Expected {
    pub(super) inputs: Vec<Transaction>,
    pub(super) answers: Vec<Answer>,
    /// Checksums before the inputs.
    pub(super) loaded: Vec<TableChecksum>,
    /// Checksums after the inputs.
    pub(super) played: Vec<TableChecksum>,
}

impl Expected {
    pub(super) fn new(target: &dyn Target, warehouses: u32) -> Result<Self, TargetError> {
        target.create_schema(&meta(warehouses))?;
        load_rows(target, warehouses).map_err(|trouble| match trouble {
            Trouble::Failed(why) | Trouble::Anomaly(why) | Trouble::NotSupported(why) => {
                TargetError::database(why)
            }
        })?;
        let loaded = target.checksums()?;
        let inputs = inputs(warehouses, INPUTS);
        let answers = play(target, &inputs)?;
        Ok(Self { answers, inputs, loaded, played: target.checksums()? })
    }
}

fn plan(warehouses: u32) -> InputPlan {
    InputPlan::on(&meta(warehouses), SEED, Mix::Deck)
}

/// Returns the first inputs of the terminals, which take turns.
pub(super) fn inputs(warehouses: u32, count: usize) -> Vec<Transaction> {
    plan(warehouses).in_turn(count)
}

/// Returns orders whose last item does not exist.
pub(super) fn orders_to_roll_back(warehouses: u32) -> Vec<Transaction> {
    let plan = plan(warehouses);
    (0..ROLLED_BACK)
        .map(|index| plan.terminal(index as u32 % plan.terminals()).input(&plan, StandardKind::NewOrder))
        .map(|mut transaction| {
            if let Transaction::Standard(Standard::NewOrder(order)) = &mut transaction
                && let Some(last) = order.lines.last_mut()
            {
                last.i_id = UNUSED_ITEM;
            }
            transaction
        })
        .collect()
}

/// Plays transactions in one session. A lost session is replaced. A type that loses several sessions is not played
/// further, because each loss may last as long as the target waits for an answer.
pub(super) fn play(target: &dyn Target, inputs: &[Transaction]) -> Result<Vec<Answer>, TargetError> {
    let mut session = target.connect()?;
    let mut answers = Vec::with_capacity(inputs.len());
    let mut lost: [Vec<TxError>; TransactionKind::COUNT] = Default::default();
    for input in inputs {
        let lost = &mut lost[input.kind().index()];
        if let (LOST.., Some(last)) = (lost.len(), lost.last()) {
            answers.push(Err(last.clone()));
            continue;
        }
        let mut attempt = 1;
        let answer = loop {
            match session.execute(input) {
                Err(TxError::Aborted { .. }) if attempt < ATTEMPTS => attempt += 1,
                answer => break answer,
            }
        };
        if let Err(error @ TxError::Unavailable { .. }) = &answer {
            lost.push(error.clone());
            session = target.connect()?;
        }
        answers.push(answer.map(timeless));
    }
    Ok(answers)
}

/// Returns the answer without the times of the database's clock and of its load.
fn timeless(outcome: Outcome) -> Outcome {
    let mut outcome = outcome.without_clock();
    if let Outcome::Standard(StandardOutcome::Payment(payment)) = &mut outcome {
        payment.c_since = Timestamp(0);
    }
    outcome
}

/// Returns the first difference of two answers in words; none if they are equal.
pub(super) fn difference(seen: &Answer, wanted: &Answer) -> Option<String> {
    if seen == wanted {
        return None;
    }
    match (seen, wanted) {
        (Err(error), Ok(_)) => Some(format!("it failed: {error}")),
        (Err(TxError::RolledBack(seen)), Err(TxError::RolledBack(wanted))) => {
            Some(words::difference_of_rolled_back(seen, wanted))
        }
        (Ok(seen), Ok(wanted)) => Some(words::difference(seen, wanted)),
        (Ok(_), Err(TxError::RolledBack(_))) => Some("it was committed instead of rolled back".into()),
        (Ok(_), Err(wanted)) => Some(format!("it was committed, and the reference failed: {wanted}")),
        (Err(seen), Err(TxError::RolledBack(_))) => {
            Some(format!("it failed instead of being rolled back: {seen}"))
        }
        (Err(seen), Err(wanted)) => Some(format!("it failed: {seen}; the reference failed: {wanted}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_tpcc::transactions::{DeliveryOutcome, StockLevelOutcome};
    use lydite_tpcc::{DistrictId, OrderId};

    #[test]
    fn a_difference_names_its_field() {
        let level = |low_stock| Ok(Outcome::from(StockLevelOutcome { low_stock }));
        assert_eq!(difference(&level(5), &level(5)), None);
        assert_eq!(difference(&level(6), &level(5)).as_deref(), Some("low_stock is 6 instead of 5"));
        let delivery = |orders: &[u64]| {
            let delivered = orders.iter().map(|&order| (DistrictId(1), OrderId(order))).collect();
            Ok(Outcome::from(DeliveryOutcome { delivered }))
        };
        let words = difference(&delivery(&[7]), &delivery(&[7, 8])).expect("a difference");
        assert!(words.starts_with("delivered is order 7 of district 1 instead of order 7 "), "{words}");
        let failed = Err(TxError::Fatal("no disk".into()));
        assert_eq!(difference(&failed, &level(5)).as_deref(), Some("it failed: no disk"));
    }
}
