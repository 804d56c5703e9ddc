//! Sessions that open a connection for each transaction and close it after: the URL option `connection`.

use lydite_database::sql::connection::Step;
use lydite_database::sql::prepared::Prepared;
use lydite_database::target_url::{OptionSpec, ParsedUrl};
use lydite_database::{Committed, Life, Session, TargetError, TxError, Workload};
use lydite_tpcc::input::Contended;
use std::sync::Arc;
use std::time::Duration;

/// The option.
pub(crate) const CONNECTION: OptionSpec = OptionSpec {
    name: "connection",
    values: "kept, per-transaction",
    default: "kept",
    about: "life of the connections of measured sessions; per-transaction opens and closes one for each transaction",
};

/// Reads the option. `lifetime` is the value of `connection_lifetime`.
pub(crate) fn life(parsed: &ParsedUrl, lifetime: Option<Duration>, errors: &mut Vec<String>) -> Life {
    if parsed.choice(CONNECTION.name, &["kept", "per-transaction"], errors) == "kept" {
        return lifetime.into();
    }
    if lifetime.is_some() {
        errors.push(
            "target option connection_lifetime is not possible with connection=per-transaction: leave one of the two out"
                .into(),
        );
    }
    Life::Transaction
}

/// Returns the setting of a result, and its value, if each transaction has a connection of its own.
pub(crate) fn setting(life: Life) -> Option<(String, String)> {
    (life == Life::Transaction).then(|| (CONNECTION.name.to_owned(), "per-transaction".to_owned()))
}

/// Time at which a connection prepares its statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preparing {
    /// All of them when it is opened.
    AtOnce,
    /// Each before its first use.
    AtUse,
}

impl From<Life> for Preparing {
    fn from(life: Life) -> Self {
        match life {
            Life::Session | Life::AtMost(_) => Self::AtOnce,
            Life::Transaction => Self::AtUse,
        }
    }
}

/// Returns the numbers of the statements of these steps that are to be prepared now, each once.
pub(crate) fn to_prepare<S: Prepared>(steps: &[Step<'_, S>], is_missing: impl Fn(S) -> bool) -> Vec<usize> {
    let mut numbers = Vec::new();
    for (statement, _) in steps {
        let number = statement.index();
        if is_missing(*statement) && !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    numbers
}

/// Function that opens a session on a new connection.
type Open<W> = Box<dyn Fn() -> Result<Box<dyn Session<W>>, TargetError> + Send>;

/// Opens a session whose connections live as long as the option says.
///
/// # Errors
/// The connection fails.
pub(crate) fn session<W: Workload>(
    life: Life,
    open: impl Fn() -> Result<Box<dyn Session<W>>, TargetError> + Send + 'static,
) -> Result<Box<dyn Session<W>>, TargetError> {
    let first = open()?;
    match life {
        Life::Session | Life::AtMost(_) => Ok(first),
        Life::Transaction => {
            Ok(Box::new(PerTransaction { open: Box::new(open), first: Some(first), watching: None }))
        }
    }
}

/// A session that connects for each transaction.
struct PerTransaction<W: Workload> {
    open: Open<W>,
    /// Session that showed that connections can be opened. No transaction uses it.
    first: Option<Box<dyn Session<W>>>,
    watching: Option<(Contended, Arc<dyn Fn() + Send + Sync>)>,
}

impl<W: Workload> Session<W> for PerTransaction<W> {
    fn execute(&mut self, transaction: &W::Transaction) -> Result<W::Outcome, TxError> {
        self.first = None;
        let mut session = (self.open)()
            .map_err(|error| TxError::Unavailable { committed: Committed::No, detail: error.message })?;
        if let Some((row, asked)) = &self.watching {
            session.watch(*row, Arc::clone(asked));
        }
        // It is closed before the answer, so closing counts too.
        session.execute(transaction)
    }

    fn watch(&mut self, row: Contended, asked: Arc<dyn Fn() + Send + Sync>) -> bool {
        let watches = self.first.as_mut().is_some_and(|first| first.watch(row, Arc::clone(&asked)));
        self.watching = watches.then_some((row, asked));
        watches
    }
}
