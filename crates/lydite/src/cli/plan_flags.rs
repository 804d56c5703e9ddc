//! The flags that set keys of a plan, made from the table of its keys.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use lydite_plan::key::{Flag, Key};
use lydite_plan::table;

/// The flags that were given, each with its key and its values.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanFlags(pub(crate) Vec<(&'static Key, Vec<String>)>);

impl PlanFlags {
    /// Returns the values of the flag of this key; none if it was not given.
    pub(crate) fn values(&self, key: &str) -> &[String] {
        self.0.iter().find(|(known, _)| known.name == key).map_or(&[], |(_, values)| values)
    }
}

impl Args for PlanFlags {
    fn augment_args(command: Command) -> Command {
        command.args(with_flags().map(|(key, flag)| argument(key, &flag)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for PlanFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let given = |key: &Key| matches.value_source(key.name) == Some(ValueSource::CommandLine);
        for (key, flag) in with_flags().filter(|(key, _)| given(key)) {
            self.0.retain(|(known, _)| known.name != key.name);
            self.0.push((key, values(matches, key, &flag)));
        }
        Ok(())
    }
}

/// Returns the keys that have flags.
fn with_flags() -> impl Iterator<Item = (&'static Key, Flag)> {
    table().filter_map(|key| Some((key, key.flag?)))
}

/// Returns the argument of a flag.
fn argument(key: &Key, flag: &Flag) -> Arg {
    let mut argument = Arg::new(key.name).long(key.name.replace('_', "-")).help(format!(
        "{}{}",
        flag.help,
        flag.listing.map(|listing| listing()).unwrap_or_default()
    ));
    if let Some(short) = flag.short {
        argument = argument.short(short);
    }
    let Some(name) = flag.value else { return argument.action(ArgAction::SetTrue) };
    argument = argument.value_name(name);
    if let Some(bare) = flag.bare {
        argument = argument.num_args(0..=1).require_equals(true).default_missing_value(bare);
    }
    argument.action(if flag.repeated.is_some() { ArgAction::Append } else { ArgAction::Set })
}

/// Returns the values of a flag that was given, as a plan file would have them.
fn values(matches: &ArgMatches, key: &Key, flag: &Flag) -> Vec<String> {
    if flag.value.is_none() {
        return vec![matches.get_flag(key.name).to_string()];
    }
    matches.get_many::<String>(key.name).into_iter().flatten().cloned().collect()
}
