//! What a run is asked for.

use crate::fleet::joining::Asked;
use lydite_console::interrupt::Interrupt;
use lydite_faults::Fault;
use lydite_plan::Plan;
use lydite_report::live::Style;

/// The settings of a run.
pub struct Request {
    /// The plan.
    pub plan: Plan,
    /// The faults of the plan, with their places on this machine.
    pub faults: Vec<Fault>,
    /// True to load the database anew.
    pub fresh: bool,
    /// Name of the template to restore before the run.
    pub template: Option<String>,
    /// True to list every rule of the standard at the end.
    pub verbose: bool,
    /// What is shown in the terminal meanwhile.
    pub style: Style,
    /// The wish to end the run early.
    pub interrupt: Interrupt,
    /// The fleet that plays the run; `None` for this process.
    pub fleet: Option<Asked>,
}

impl Request {
    /// Asks for a run of a plan in this process, on the database as it is. `faults` are those of the plan.
    #[must_use]
    pub fn new(plan: Plan, faults: Vec<Fault>, style: Style, interrupt: Interrupt) -> Self {
        Self { plan, faults, fresh: false, template: None, verbose: false, style, interrupt, fleet: None }
    }
}
