//! `lydite drop`: shows what Lydite has made in a database, and removes exactly that.

use crate::cli::DropArgs;
use crate::signals::watched;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::{complain, print, reserve_stdout};
use lydite_console::shell::typed;
use lydite_console::write::write;
use lydite_database::{Inventory, Others, Target, Thing, ThingKind, TxMode};
use lydite_families::{TargetSpec, TemplateList, Templates};
use lydite_plan::destination::{Destination, apart};
use lydite_report::figures::{bytes, count};
use lydite_report::live::Style;
use lydite_run::alone::begin_alone;
use serde::Serialize;
use std::io::{self, IsTerminal};
use std::sync::Arc;

/// The version of the JSON format.
const FORMAT: u32 = 1;
/// Answer that lets the command drop.
const YES: &str = "yes";

/// The JSON document.
#[derive(Serialize)]
struct Document<'a> {
    lydite: &'static str,
    format: u32,
    target: &'a str,
    /// True if everything in `ours` was dropped.
    dropped: bool,
    ours: Vec<Made<'a>>,
    stays: Vec<OfOthers<'a>>,
    in_the_way: Vec<OfOthers<'a>>,
    notes: &'a [String],
}

/// A thing that Lydite has made.
#[derive(Serialize)]
struct Made<'a> {
    kind: &'static str,
    name: &'a str,
    server: Option<&'a str>,
    of: Option<&'a str>,
    rows: Option<u64>,
    bytes: Option<u64>,
}

/// A thing of others.
#[derive(Serialize)]
struct OfOthers<'a> {
    what: &'a str,
    reason: &'a str,
}

/// Runs `lydite drop`.
pub(crate) fn command(args: &DropArgs) -> Outcome {
    let spec = TargetSpec::parse(&args.target, TxMode::Statements).map_err(Failure::Usage)?;
    if spec.is_temporary() {
        return Err(Failure::usage(format!(
            "{} is a temporary database, which is deleted when it is closed: name the path of one that stays",
            args.target
        )));
    }
    let json = args.json.as_ref().map(Destination::new);
    if let Some(place) = &json {
        place.check().map_err(|problem| Failure::usage(format!("--json: {} {problem}", place.shown())))?;
        apart(place, Some(&spec), None).map_err(|problem| Failure::usage(format!("--json: {problem}")))?;
        if place.is_stdout() {
            reserve_stdout();
        }
    }
    let (spec, interrupt) = watched(spec, Style::detect(false))?;
    let url = spec.without_password(&args.target);
    let removal = Removal::look(&spec, url)?;
    print(&removal.text())?;
    let ended = removal.end(args);
    let document = removal.document(ended.is_ok());
    let written = json.map(|place| write_document(&place, &document, interrupt.as_ref()));
    let ended = ended.and_then(|()| removal.check_templates());
    Failure::all(ended.err().into_iter().chain(written.and_then(Result::err)).collect())
}

fn write_document(place: &Destination, document: &Document<'_>, interrupt: Option<&Interrupt>) -> Outcome {
    let document = serde_json::to_value(document)
        .map_err(|error| Failure::usage(format!("the document can't be written as JSON: {error}")))?;
    write(place, format!("{document:#}\n").as_bytes(), interrupt)
}

/// The database and the list of its things.
struct Removal<'a> {
    spec: &'a TargetSpec,
    url: String,
    /// The target; `None` if there is no database to look at.
    target: Option<Arc<dyn Target>>,
    templates: Option<Templates>,
    listed: TemplateList,
    /// Things of the database and its templates.
    seen: Inventory,
}

impl<'a> Removal<'a> {
    /// Looks at the database. Changes nothing.
    fn look(spec: &'a TargetSpec, url: String) -> Result<Self, Failure> {
        let templates = spec.templates();
        // An interrupted restore of a template leaves no database. An account may have no right to look at the others.
        let there = templates.as_ref().is_none_or(|templates| templates.database_is_there().unwrap_or(true));
        let there = spec.stores() && there;
        let target = if there { Some(spec.open()?) } else { None };
        let mut seen = inventory(target.as_deref())?;
        if !spec.stores() {
            seen.notes.push("this target stores nothing, so there is nothing to drop".into());
        }
        let listed = templates.as_ref().map_or(Ok(TemplateList::default()), Templates::list);
        let listed =
            listed.unwrap_or_else(|error| TemplateList { found: Vec::new(), unknown: vec![error.message] });
        seen.notes.extend(listed.unknown.iter().map(|why| may_be_left(why)));
        // A file that is gone was dropped; a database of a server is not Lydite's, so its name is wrong.
        if !there && spec.has_server() && spec.stores() && listed.found.is_empty() {
            return Err(Failure::Target(format!("{url}: there is no such database: nothing was dropped")));
        }
        seen.ours.extend(listed.found.iter().map(|template| {
            let thing = Thing::new(ThingKind::Template, template.shown.as_str());
            Thing { bytes: template.bytes, ..thing }
        }));
        if !listed.found.is_empty() {
            seen.notes.push(
                "templates belong to sweeps, ab and find: an experiment that was killed can't go on without its own".into(),
            );
        }
        Ok(Self { spec, url, target, templates, listed, seen })
    }

    /// Drops what was shown, if the user wants it.
    ///
    /// # Errors
    /// Something is in the way, the user does not want it, or the database fails.
    fn end(&self, args: &DropArgs) -> Outcome {
        if self.seen.ours.is_empty() {
            return Ok(());
        }
        if !self.seen.in_the_way.is_empty() {
            return Err(Failure::usage(format!(
                "{}: nothing was dropped, since others have made something on top: drop or change what is in the way first",
                self.url
            )));
        }
        if !(args.yes || (!args.dry_run && is_confirmed(&self.url)?)) {
            return Err(Failure::Threshold(vec![format!(
                "nothing was dropped: `lydite drop {} --yes` drops what is listed",
                typed(&self.url)
            )]));
        }
        self.remove()?;
        print("dropped\n")
    }

    fn remove(&self) -> Outcome {
        if let Some(target) = &self.target {
            // A run that is at work would fail in its middle. An embedded database itself keeps others away.
            let alone = self.spec.has_server().then(|| begin_alone(&**target)).transpose();
            let _alone = alone.map_err(with_nothing_dropped)?;
            target.capabilities().leaving()?.remove(&self.seen)?;
        }
        if let Some(templates) = &self.templates {
            for template in &self.listed.found {
                templates.delete_listed(&template.name)?;
            }
        }
        match inventory(self.target.as_deref())?.ours.first() {
            None => Ok(()),
            Some(first) => Err(Failure::Target(format!(
                "{}: {first} is still there, or somebody has made it again: run the command again",
                self.url
            ))),
        }
    }

    /// Fails if templates may be left that could not be looked at.
    fn check_templates(&self) -> Outcome {
        match self.listed.unknown.first() {
            None => Ok(()),
            Some(why) => Err(Failure::Target(format!("{}: {}", self.url, may_be_left(why)))),
        }
    }

    /// Returns the document. `ended` is true unless the command failed.
    fn document(&self, ended: bool) -> Document<'_> {
        let Inventory { ours, stays, in_the_way, notes } = &self.seen;
        Document {
            lydite: env!("CARGO_PKG_VERSION"),
            format: FORMAT,
            target: &self.url,
            dropped: ended && !ours.is_empty(),
            ours: ours.iter().map(made).collect(),
            stays: stays.iter().map(of_others_in_json).collect(),
            in_the_way: in_the_way.iter().map(of_others_in_json).collect(),
            notes,
        }
    }

    /// Formats the list for people.
    fn text(&self) -> String {
        let Inventory { ours, stays, in_the_way, notes } = &self.seen;
        let mut text = if ours.is_empty() {
            format!("{}: nothing that Lydite has made\n", self.url)
        } else {
            format!("{}: made by Lydite\n", self.url)
        };
        for thing in ours.iter().filter(|thing| thing.of.is_none()) {
            text += &format!("  {thing}{}\n", self.size(thing));
            let goes_with = |part: &&Thing| {
                part.of.as_deref() == Some(thing.name.as_str())
                    && part.server == thing.server
                    && thing.kind != ThingKind::Keys
            };
            for part in ours.iter().filter(goes_with) {
                text += &format!("    {} {}\n", part.kind.name(), part.name);
            }
        }
        for (title, others) in [
            ("names of Lydite's, made by others: they stay", stays),
            ("in the way: made by others on top of Lydite's", in_the_way),
        ] {
            if !others.is_empty() {
                text += &format!("{title}\n");
                text.extend(others.iter().map(|other| format!("  {}: {}\n", other.what, other.reason)));
            }
        }
        text.extend(notes.iter().map(|note| format!("note: {note}\n")));
        text
    }

    /// Returns rows and bytes in words. Servers estimate the rows of tables.
    fn size(&self, thing: &Thing) -> String {
        let about = if self.spec.has_server() && thing.kind == ThingKind::Table { "about " } else { "" };
        let rows = thing.rows.map(|rows| format!(", {about}{} rows", count(rows)));
        let size = thing.bytes.map(|size| format!(", {}", bytes(size)));
        rows.into_iter().chain(size).collect()
    }
}

/// Lists the things of a database; none if there is no database.
fn inventory(target: Option<&dyn Target>) -> Result<Inventory, Failure> {
    match target {
        Some(target) => Ok(target.capabilities().leaving()?.inventory()?),
        None => Ok(Inventory::default()),
    }
}

/// Returns the sentence about a template that could not be looked at.
fn may_be_left(why: &str) -> String {
    format!("there may be templates of experiments: {why}")
}

fn made(thing: &Thing) -> Made<'_> {
    Made {
        kind: thing.kind.name(),
        name: &thing.name,
        server: thing.server.as_deref(),
        of: thing.of.as_deref(),
        rows: thing.rows,
        bytes: thing.bytes,
    }
}

fn of_others_in_json(other: &Others) -> OfOthers<'_> {
    OfOthers { what: &other.what, reason: &other.reason }
}

/// Adds to the error of a run that is at work what that means for the drop.
fn with_nothing_dropped(failure: Failure) -> Failure {
    match failure {
        Failure::Usage(lines) => {
            Failure::Usage(lines.into_iter().map(|line| format!("nothing was dropped: {line}")).collect())
        }
        failure => failure,
    }
}

/// Asks the user on a terminal; false without one.
fn is_confirmed(url: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(false);
    }
    complain(&format!("drop all of this from {url}? type {YES}:"));
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::usage(format!("the answer can't be read: {error}: say --yes")))?;
    Ok(answer.trim() == YES)
}
