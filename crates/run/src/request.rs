//! Settings of a run.

use crate::fleet::joining::Asked;
use lydite_console::interrupt::Interrupt;
use lydite_console::memory;
use lydite_faults::Fault;
use lydite_plan::Plan;
use lydite_report::live::Style;

/// The settings of a run.
pub struct Request {
    /// The plan.
    pub plan: Plan,
    /// Faults of the plan, with their places on this machine. Each has a guard, which is another process of this program
    /// (`lydite faults guard`): other programs ask for none.
    pub faults: Vec<Fault>,
    /// True to load the database anew.
    pub fresh: bool,
    /// Name of the template to restore before the run.
    pub template: Option<String>,
    /// True to list every rule of the standard at the end.
    pub verbose: bool,
    /// Style of the view in the terminal.
    pub style: Style,
    /// The user's request to end the run early.
    pub interrupt: Interrupt,
    /// The fleet that plays the run; `None` for this process.
    pub fleet: Option<Asked>,
}

impl Request {
    /// Asks for a run of a plan without faults in this process, on the database as it is. Waits for its server end by the
    /// interrupt.
    #[must_use]
    pub fn new(mut plan: Plan, style: Style, interrupt: Interrupt) -> Self {
        plan.waited_for_by(&interrupt.waiter());
        memory::suit(&plan.target);
        let faults = Vec::new();
        Self { plan, faults, fresh: false, template: None, verbose: false, style, interrupt, fleet: None }
    }
}
