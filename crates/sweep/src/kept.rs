//! The templates that runs of an experiment begin with. Each is noted in the experiment's directory before it is made, so
//! that whoever goes on or starts over finds it again, and no other experiment takes it for its own.

use crate::origin::Origin;
use crate::subject::Subject;
use crate::templates::template_name;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::complain;
use lydite_database::{DatabaseState, TargetError};
use lydite_families::{TargetSpec, Templates, template_name as name_of_template};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use xxhash_rust::xxh3::xxh3_64;

/// A noted template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// Place of the subject whose runs begin with it, among those of the experiment.
    pub of: usize,
    /// Name of the template.
    pub name: String,
    /// URL of the database, without password and options.
    pub database: String,
    /// True if it has what the database held before the first run. Else the first run loads the database and makes it.
    pub is_original: bool,
}

/// The notes of an experiment's directory.
pub trait Notes {
    /// Returns the templates that are noted.
    fn templates(&self) -> &[Noted];

    /// Notes these templates and no others.
    ///
    /// # Errors
    /// They can't be written.
    fn note_templates(&mut self, templates: Vec<Noted>) -> Outcome;
}

/// The subjects of an experiment, each with the origin of its database.
pub struct Kept<'a> {
    /// The subjects in their order.
    pub subjects: Vec<(&'a Subject, Origin)>,
    /// Directory of the experiment.
    pub out: &'a Path,
    /// Runs of the experiment as its user calls them, as `pairs`.
    pub runs: &'static str,
    /// Waits for servers end with it.
    pub interrupt: &'a Interrupt,
}

impl Kept<'_> {
    /// Returns a subject's target. The interrupt ends waits for its server.
    fn target(&self, subject: &Subject) -> TargetSpec {
        subject.plan.target.clone().waited_for_by(self.interrupt.waiter())
    }

    /// Returns the templates of a subject's database; none if the database keeps none.
    fn templates(&self, of: usize) -> Option<Templates> {
        let (subject, _) = self.subjects.get(of)?;
        self.target(subject).templates()
    }

    /// Rejects a directory whose templates are of other databases: this experiment could not give them back.
    ///
    /// # Errors
    /// The template and its database.
    pub fn check(&self, noted: &[Noted]) -> Outcome {
        let is_another = |noted: &&Noted| {
            let subject = self.subjects.get(noted.of);
            subject.is_none_or(|(subject, _)| subject.url_without_options() != noted.database)
        };
        match noted.iter().find(is_another) {
            Some(Noted { name, database, .. }) => Err(Failure::usage(format!(
                "{}: an experiment there keeps what {database} held in the template {name}: go on with that experiment, or \
                 name another directory with --out",
                self.out.display()
            ))),
            None => Ok(()),
        }
    }

    /// Makes templates of the databases that are loaded, before the first run, so that nothing that somebody loaded is lost.
    /// Databases that are empty are loaded by the first run. With runs, the templates that were made must be there.
    /// `program` is the digest of the program.
    ///
    /// # Errors
    /// A database holds something else than a whole load of Lydite's, or is away; a template is gone.
    pub fn keep(&self, notes: &mut impl Notes, program: &str, has_runs: bool) -> Outcome {
        let are_new = notes.templates().is_empty() || (!has_runs && !self.any_is_there(notes.templates())?);
        if are_new {
            // A process that was killed in the first run may have left half of a load.
            for noted in notes.templates() {
                self.empty_again(noted)?;
            }
            let noted = self.plan(program)?;
            notes.note_templates(noted)?;
        }
        for noted in notes.templates().iter().filter(|of| of.is_original) {
            let Some(templates) = self.templates(noted.of) else { continue };
            if templates.has(&noted.name)? {
                continue;
            }
            if has_runs && !are_new {
                return Err(Failure::usage(format!(
                    "the template {} is gone, and with it what {} held before the first run: load the database again, and \
                     name another directory with --out",
                    noted.name, noted.database
                )));
            }
            templates.save(&noted.name)?;
        }
        Ok(())
    }

    /// True if one of the noted templates was made. Else a process was killed before it made any, and what the databases
    /// hold now is what counts.
    fn any_is_there(&self, noted: &[Noted]) -> Result<bool, Failure> {
        for of in noted {
            if let Some(templates) = self.templates(of.of)
                && templates.has(&of.name)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Drops the unfinished load of a database that was empty before the first run, which was broken off while it
    /// loaded.
    ///
    /// # Errors
    /// The database is away, holds something that Lydite did not make, or rejects the drop.
    fn empty_again(&self, noted: &Noted) -> Result<(), TargetError> {
        let (Some((subject, _)), Some(templates)) = (self.subjects.get(noted.of), self.templates(noted.of))
        else {
            return Ok(());
        };
        if noted.is_original || templates.has(&noted.name)? || !templates.database_is_there()? {
            return Ok(());
        }
        let open = || self.target(subject).open();
        if !matches!(open()?.state()?, DatabaseState::Loading { .. } | DatabaseState::Partial { .. }) {
            return Ok(());
        }
        // Nobody may have it open, nor this process.
        templates.check()?;
        open()?.reset()
    }

    /// Looks at the databases, and names their templates. Subjects share one if they begin with the same rows.
    fn plan(&self, program: &str) -> Result<Vec<Noted>, Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let unique = format!("{} {} {now}", self.out.display(), std::process::id());
        let mut all = Vec::new();
        for (of, (subject, origin)) in self.subjects.iter().enumerate() {
            if *origin != Origin::Restore {
                continue;
            }
            let Some(templates) = self.templates(of) else { continue };
            let is_original = self.is_loaded(subject, &templates)?;
            let database = subject.url_without_options().to_owned();
            // The rows of a database are the same by each of its URLs; what a run loads depends on the plan.
            let rows = if is_original {
                database.clone()
            } else {
                template_name(&subject.plan, subject.url(), program)
            };
            let name = name_of_template(xxh3_64(format!("{unique} {rows}").as_bytes()));
            all.push(Noted { of, name, database, is_original });
        }
        Ok(all)
    }

    /// True if the database has a whole load of Lydite's; false if it is empty.
    ///
    /// # Errors
    /// It holds something else, or is away.
    fn is_loaded(&self, subject: &Subject, templates: &Templates) -> Result<bool, Failure> {
        if !templates.database_is_there()? {
            return Ok(false);
        }
        let state = self.target(subject).open()?.state()?;
        let url = subject.url_without_options();
        let problem = match state {
            DatabaseState::Ready { .. } => {
                templates.check()?;
                return Ok(true);
            }
            DatabaseState::Empty | DatabaseState::AnyScale | DatabaseState::Foreign { .. } => {
                return Ok(false);
            }
            DatabaseState::Loading { .. } => {
                format!("{url} has an unfinished load: finish it with lydite load --resume")
            }
            DatabaseState::Partial { problem, .. } => format!("{url} has no whole load: {problem}"),
            DatabaseState::Micro { .. } => format!("{url} has records of the microbenchmark"),
        };
        Err(Failure::usage(format!(
            "{problem}; or name an empty database, or say --reload each-run, which drops all that is there"
        )))
    }

    /// Gives the databases what their templates have, and deletes the templates. Databases that were empty and have an
    /// unfinished load are empty again. What can't be given back stays noted, and the same command tries it again.
    ///
    /// # Errors
    /// A database is away, or somebody has it open; or the note can't be written.
    pub fn give_back(&self, notes: &mut impl Notes) -> Outcome {
        let mut left = Vec::new();
        let mut failures = Vec::new();
        for noted in notes.templates().to_vec() {
            let Some(templates) = self.templates(noted.of) else { continue };
            let from_template = || format!("restored from the template {}, which stays", noted.name);
            let (given_back, what) = match templates.has(&noted.name) {
                Ok(true) => {
                    let restored = templates.restore(&noted.name);
                    (restored.and_then(|()| templates.delete(&noted.name)), from_template())
                }
                // Subjects may share a template: the second one finds it gone.
                Ok(false) => (self.empty_again(&noted), "emptied of an unfinished load".to_owned()),
                Err(error) => (Err(error), from_template()),
            };
            if let Err(error) = given_back {
                failures.push(Failure::Target(format!(
                    "{} could not be {what}: {error}: the same command tries it again",
                    noted.database
                )));
                left.push(noted);
            }
        }
        failures.extend(notes.note_templates(left).err());
        Failure::all(failures)
    }

    /// Names the templates that remaining runs need.
    pub fn complain_of(&self, noted: &[Noted]) {
        let mut names: Vec<&str> = noted.iter().map(|of| of.name.as_str()).collect();
        names.dedup();
        if !names.is_empty() {
            complain(&format!("templates kept for the remaining {}: {}", self.runs, names.join(", ")));
        }
    }
}

/// Returns the name of the template of a subject, if it has one.
pub(crate) fn template_of(noted: &[Noted], of: usize) -> Option<String> {
    noted.iter().find(|noted| noted.of == of).map(|noted| noted.name.clone())
}
