//! The quantities that are searched, one for each mode: the key of the plan that sets it, and its usual range.

use lydite_plan::Problem;

/// A quantity that is searched.
#[derive(Debug)]
pub(crate) struct Quantity {
    /// Mode of the runs.
    pub(crate) mode: &'static str,
    /// Name, in the plural if it has no unit.
    pub(crate) name: &'static str,
    /// Name in a sentence.
    pub(crate) title: &'static str,
    /// Unit; empty for things that are counted.
    pub(crate) unit: &'static str,
    /// The key of the plan that sets it.
    pub(crate) key: &'static str,
    /// True if only whole numbers are levels.
    pub(crate) whole: bool,
    /// Usual lowest, first and highest level. The highest one is also the highest that may be asked.
    pub(crate) lowest: f64,
    pub(crate) start: f64,
    pub(crate) highest: f64,
    /// Returns the value of the key.
    pub(crate) value: fn(f64) -> String,
    /// True if requests wait in a queue of the client when the database is too slow.
    pub(crate) queues: bool,
}

/// All of them. The first is that of a plan without a mode.
static ALL: [Quantity; 3] = [
    Quantity {
        mode: "open",
        name: "rate",
        title: "rate",
        unit: "transactions/s",
        key: "rate",
        whole: false,
        lowest: 10.0,
        start: 100.0,
        highest: 1e6,
        value: |level| level.to_string(),
        queues: true,
    },
    Quantity {
        mode: "rte",
        name: "warehouses",
        title: "number of warehouses",
        unit: "",
        key: "active_warehouses",
        whole: true,
        lowest: 1.0,
        start: 10.0,
        highest: 1e6,
        value: |level| format!("1-{level}"),
        queues: true,
    },
    Quantity {
        mode: "direct",
        name: "sessions",
        title: "number of sessions",
        unit: "",
        key: "terminals",
        whole: true,
        lowest: 1.0,
        start: 4.0,
        highest: 1024.0,
        value: |level| level.to_string(),
        queues: false,
    },
];

/// Returns the quantity of a mode; `None` is a plan without one.
///
/// # Errors
/// There is no such mode.
pub(crate) fn of_mode(mode: Option<&str>) -> Result<&'static Quantity, Problem> {
    match mode {
        None => Ok(&ALL[0]),
        Some(mode) => ALL
            .iter()
            .find(|quantity| quantity.mode == mode)
            .ok_or_else(|| "is not known: use open, rte or direct".into()),
    }
}

impl Quantity {
    /// Reads a level.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn read(&self, text: &str) -> Result<f64, Problem> {
        let least = if self.whole { 1.0 } else { 0.001 };
        let level = text.parse().ok().filter(|level: &f64| (least..=self.highest).contains(level));
        let level = level.filter(|level| !self.whole || level.fract() == 0.0);
        level.ok_or_else(|| {
            let kind = if self.whole { "a whole number" } else { "a number" };
            format!("must be {kind} from {least} to {}", self.highest).into()
        })
    }
}
