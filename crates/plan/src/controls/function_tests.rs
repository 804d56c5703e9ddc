//! The key `verify`: function tests before a run whose transactions touch several nodes.

use crate::controls::{About, Control, Ground, Ran, Schedule};
use crate::entries::Entries;
use crate::error::PlanError;
use crate::key::Key;
use crate::problem::Problem;
use lydite_report::controls::Controls;

/// The handling of function tests before a run whose transactions touch several nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FunctionTests {
    /// The tests run, and the result reports failures.
    #[default]
    On,
    /// No tests run.
    Off,
    /// A failure ends the run before it begins.
    Strict,
}

impl Control for FunctionTests {
    const KEYS: &'static [Key] = &[Key::new("verify")];
    type Step = ();
    type Settled = ();

    fn read(entries: &mut Entries, _: &About<'_>) -> Self {
        let verify = entries.read("verify", |text| match text {
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            "strict" => Ok(Self::Strict),
            _ => Err(Problem::from("is not known: use on, off, or strict to reject a database that fails")),
        });
        verify.unwrap_or_default()
    }

    fn read_step(_: &mut Entries) {}

    /// Rejects a database whose real nodes are not known, if a failure of the tests is to end the run.
    fn settle(&self, schedule: &Schedule, ground: &Ground) -> Result<(), PlanError> {
        let strict = *self == Self::Strict && schedule.distributes();
        match ground.place.unread().filter(|_| strict) {
            None => Ok(()),
            Some(why) => Err(PlanError::usage(format!(
                "verify=strict: the function tests need the nodes of the warehouses, and these could not be read \
                 ({why}): use verify=on, which measures without them and warns"
            ))),
        }
    }

    /// Writes nothing: the run adds the findings itself, with their warnings.
    fn write(&self, _: &Ran<'_>, _: &mut Controls) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controls::tests::{DIRECT, entries};

    #[test]
    fn the_tests_are_on_by_default_and_other_values_are_read() {
        assert_eq!(FunctionTests::read(&mut entries(&[]), &DIRECT), FunctionTests::On);
        assert_eq!(
            FunctionTests::read(&mut entries(&[("verify", "strict")]), &DIRECT),
            FunctionTests::Strict
        );
        let mut wrong = entries(&[("verify", "maybe")]);
        FunctionTests::read(&mut wrong, &DIRECT);
        assert!(wrong.errors[0].contains("use on, off, or strict"), "{:?}", wrong.errors);
    }
}
