//! Choice of the type of the next transaction (clause 5.2.4): from a deck of cards or by weights.

use crate::kind::StandardKind::{self, Delivery, NewOrder, OrderStatus, Payment, StockLevel};
use crate::kind::{DikeKind, TransactionKind};
use crate::random::Stream;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Cards in a deck (clause 5.2.4.2).
pub const CARDS: usize = 23;

/// The cards of a new deck: ten New-Order, ten Payment and one of each other type.
const NEW_DECK: [StandardKind; CARDS] = {
    let mut cards = [NewOrder; CARDS];
    let mut index = 10;
    while index < 20 {
        cards[index] = Payment;
        index += 1;
    }
    cards[20] = OrderStatus;
    cards[21] = Delivery;
    cards[22] = StockLevel;
    cards
};

/// A terminal's deck. It is dealt without replacement and shuffled again for every pass.
#[derive(Clone, Debug)]
pub struct Deck {
    cards: [StandardKind; CARDS],
    dealt: u8,
}

impl Default for Deck {
    fn default() -> Self {
        // The deck is dealt to the end, so the first draw shuffles it.
        Self { cards: NEW_DECK, dealt: CARDS as u8 }
    }
}

impl Deck {
    /// Draws the next card.
    pub fn draw(&mut self, stream: &mut Stream) -> StandardKind {
        if usize::from(self.dealt) == CARDS {
            stream.shuffle(&mut self.cards);
            self.dealt = 0;
        }
        let card = self.cards[usize::from(self.dealt)];
        self.dealt += 1;
        card
    }
}

/// Choice of the transaction types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Mix {
    /// Each terminal deals from its own [`Deck`] (clause 5.2.4.2): 43.48 % New-Order, 43.48 % Payment, 4.35 % of each
    /// other type, exact over every pass.
    #[default]
    Deck,
    /// Each transaction is drawn by weight (clause 5.2.4.1).
    Weights(Weights),
}

/// Shares of the types. They sum to 100 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Shares in thousandths of a percent, in the order of [`TransactionKind::ALL`].
    thousandths: [u32; TransactionKind::COUNT],
}

/// The reason why a text is not a mix. The message continues a sentence that begins with the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MixError(String);

impl fmt::Display for MixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; give five percentages that sum to 100, like 45,43,4,4,4, or shares by name, like \
             new_order=80,update_stock=20, or the word deck",
            self.0
        )
    }
}

impl std::error::Error for MixError {}

/// One percent in the unit of [`Weights`].
const PERCENT: u32 = 1_000;

impl Weights {
    /// Returns shares from percentages, kept to a thousandth of a percent. Types without a name in `shares` get none.
    ///
    /// # Errors
    /// Fails if a share is negative or not a number, or if the shares do not sum to 100.
    pub fn new(
        shares: impl IntoIterator<Item = (impl Into<TransactionKind>, f64)>,
    ) -> Result<Self, MixError> {
        let mut percent = [0.0; TransactionKind::COUNT];
        for (kind, share) in shares {
            percent[kind.into().index()] += share;
        }
        if let Some(wrong) = percent.iter().find(|share| !(0.0..=100.0).contains(*share)) {
            return Err(MixError(format!("is not a mix: {wrong} is not a percentage")));
        }
        let thousandths = percent.map(|share| (share * f64::from(PERCENT)).round() as u32);
        if thousandths.iter().sum::<u32>() != 100 * PERCENT {
            let sum: f64 = percent.iter().sum();
            return Err(MixError(format!("is not a mix: the shares sum to {sum}")));
        }
        Ok(Self { thousandths })
    }

    fn draw(&self, stream: &mut Stream) -> TransactionKind {
        let mut ticket = stream.below(100 * PERCENT);
        for kind in TransactionKind::ALL {
            let share = self.thousandths[kind.index()];
            if ticket < share {
                return kind;
            }
            ticket -= share;
        }
        unreachable!("the shares sum to 100 %")
    }
}

impl Mix {
    /// Returns a draw by weight with shares of the standard's types in percent; see [`Weights::new`].
    ///
    /// # Errors
    /// Fails if a share is negative or not a number, or if the shares do not sum to 100.
    pub fn weights(percent: [f64; StandardKind::COUNT]) -> Result<Self, MixError> {
        Self::shares(StandardKind::ALL.into_iter().zip(percent))
    }

    /// Returns a draw by weight; see [`Weights::new`].
    ///
    /// # Errors
    /// Fails if a share is negative or not a number, or if the shares do not sum to 100.
    pub fn shares(
        shares: impl IntoIterator<Item = (impl Into<TransactionKind>, f64)>,
    ) -> Result<Self, MixError> {
        Weights::new(shares).map(Self::Weights)
    }

    /// True if a type has a share.
    #[must_use]
    pub fn has(&self, kind: impl Into<TransactionKind>) -> bool {
        self.percent()[kind.into().index()] > 0.0
    }

    /// Returns the types with a share that the standard does not have.
    pub fn extra(&self) -> impl Iterator<Item = DikeKind> + use<> {
        let mix = *self;
        DikeKind::ALL.into_iter().filter(move |&kind| mix.has(kind))
    }

    /// Returns the expected share of each type in percent, in the order of [`TransactionKind::ALL`].
    #[must_use]
    pub fn percent(&self) -> [f64; TransactionKind::COUNT] {
        match self {
            Self::Deck => TransactionKind::ALL.map(|kind| {
                let cards = NEW_DECK.iter().filter(|&&card| kind == card).count();
                100.0 * cards as f64 / CARDS as f64
            }),
            Self::Weights(weights) => weights.thousandths.map(|share| f64::from(share) / f64::from(PERCENT)),
        }
    }

    /// Draws the type of a terminal's next transaction; `deck` is the terminal's own.
    pub fn draw(&self, deck: &mut Deck, stream: &mut Stream) -> TransactionKind {
        match self {
            Self::Deck => deck.draw(stream).into(),
            Self::Weights(weights) => weights.draw(stream),
        }
    }
}

/// Writes `deck`, or the percentages of the standard's types separated by commas. If other types have a share, writes
/// each type that has one with its name.
impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.percent();
        let parts: Vec<String> = match self {
            Self::Deck => return f.pad("deck"),
            Self::Weights(_) if self.extra().next().is_none() => {
                percent[..StandardKind::COUNT].iter().map(f64::to_string).collect()
            }
            Self::Weights(_) => {
                let shares = TransactionKind::ALL.into_iter().zip(percent).filter(|(_, share)| *share > 0.0);
                shares.map(|(kind, share)| format!("{}={share}", kind.name())).collect()
            }
        };
        f.pad(&parts.join(","))
    }
}

/// Reads one share by name, like `new_order=80`. `text` is the whole mix.
fn named_share(part: &str, text: &str) -> Result<(TransactionKind, f64), MixError> {
    let unreadable = || MixError(format!("is not a mix: cannot read {text:?}"));
    let (name, share) = part.split_once('=').ok_or_else(unreadable)?;
    let name = name.trim();
    let kind = TransactionKind::from_name(name).ok_or_else(|| {
        let names = TransactionKind::ALL.map(TransactionKind::name).join(", ");
        MixError(format!("is not a mix: there is no type {name:?}, only {names}"))
    })?;
    Ok((kind, share.trim().parse().map_err(|_| unreadable())?))
}

impl FromStr for Mix {
    type Err = MixError;

    fn from_str(text: &str) -> Result<Self, MixError> {
        if text.trim() == "deck" {
            return Ok(Self::Deck);
        }
        if text.contains('=') {
            let mut shares: Vec<(TransactionKind, f64)> = Vec::new();
            for part in text.split(',') {
                let (kind, share) = named_share(part, text)?;
                if shares.iter().any(|(named, _)| *named == kind) {
                    return Err(MixError(format!("is not a mix: {} is named twice", kind.name())));
                }
                shares.push((kind, share));
            }
            return Self::shares(shares);
        }
        let shares: Vec<f64> = text
            .split(',')
            .map(|share| share.trim().parse())
            .collect::<Result<_, _>>()
            .map_err(|_| MixError(format!("is not a mix: cannot read {text:?}")))?;
        let shares: [f64; StandardKind::COUNT] = shares
            .try_into()
            .map_err(|shares: Vec<f64>| MixError(format!("is not a mix: {} shares", shares.len())))?;
        Self::weights(shares)
    }
}

impl TryFrom<String> for Mix {
    type Error = MixError;
    fn try_from(text: String) -> Result<Self, MixError> {
        text.parse()
    }
}

impl From<Mix> for String {
    fn from(mix: Mix) -> Self {
        mix.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn a_mix_reads_back_as_it_prints() {
        for text in [
            "deck",
            "45,43,4,4,4",
            "44.85,43.05,4.02,4.04,4.04",
            "100,0,0,0,0",
            "update_stock=100",
            "new_order=45,payment=43,order_status=4,delivery=4,update_stock=4",
        ] {
            assert_eq!(text.parse::<Mix>().unwrap().to_string(), text);
        }
        // Names may come in any order, and the standard's types alone print without names.
        assert_eq!("payment = 50, new_order=50 ".parse::<Mix>().unwrap().to_string(), "50,50,0,0,0");
        assert_eq!(" 45, 43,4,4,4 ".parse::<Mix>().unwrap(), Mix::weights([45., 43., 4., 4., 4.]).unwrap());
    }

    #[test]
    fn a_wrong_mix_says_what_is_wrong_and_what_to_give() {
        for (text, wrong) in [
            ("45,43,4,4,5", "is not a mix: the shares sum to 101"),
            ("45,43,4,4", "is not a mix: 4 shares"),
            ("45,43,4,4,x", "is not a mix: cannot read \"45,43,4,4,x\""),
            ("145,-45,0,0,0", "is not a mix: 145 is not a percentage"),
            ("NaN,50,50,0,0", "is not a mix: NaN is not a percentage"),
            ("45,43,4,4,4,0", "is not a mix: 6 shares"),
            ("update_stock=99", "is not a mix: the shares sum to 99"),
            ("update_stock=50,new_order", "is not a mix: cannot read \"update_stock=50,new_order\""),
            ("update_stock=50,update_stock=50", "is not a mix: update_stock is named twice"),
            ("restock=100", "is not a mix: there is no type \"restock\", only new_order, payment,"),
            ("update_stock=-1,new_order=101", "is not a mix: 101 is not a percentage"),
        ] {
            let error = text.parse::<Mix>().unwrap_err().to_string();
            assert!(error.starts_with(wrong), "{error}");
            assert!(error.ends_with("or the word deck"), "{error}");
        }
    }

    #[test]
    fn weights_are_drawn_in_their_proportion_and_a_zero_never() {
        let mix = Mix::weights([50.5, 0.0, 30.0, 19.5, 0.0]).unwrap();
        let mut stream = Stream::new(1, Purpose::Terminal, 0);
        let mut counts = [0_u32; TransactionKind::COUNT];
        for _ in 0..100_000 {
            counts[mix.draw(&mut Deck::default(), &mut stream).index()] += 1;
        }
        assert_eq!((counts[1], counts[4]), (0, 0));
        for (count, share) in counts.iter().zip(mix.percent()) {
            assert!((f64::from(*count) / 1_000.0 - share).abs() < 0.7, "{counts:?}");
        }
    }
}
