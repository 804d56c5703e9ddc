//! `lydite was`: serves the lines of emulated terminals.

use crate::cli::WasArgs;
use crate::signals::watch;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::memory;
use lydite_console::output::{complain, print, reserve_stdout};
use lydite_console::write::write;
use lydite_database::{Target, TxMode};
use lydite_families::TargetSpec;
use lydite_plan::Problem;
use lydite_plan::destination::Destination;
use lydite_plan::values::whole;
use lydite_report::figures::plural;
use lydite_report::live::Style;
use lydite_run::spread::{few_sessions, usual_sessions};
use lydite_was::server::{Counts, Settings, Was};
use serde::Serialize;
use std::net::SocketAddr;
use std::sync::Arc;

/// Default number of sessions.
const SESSIONS: u32 = 16;
/// Most sessions.
const SESSIONS_MAX: u32 = 100_000;

/// The document of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    lydite: &'static str,
    listen: SocketAddr,
    target: &'a str,
    sessions: u32,
    #[serde(flatten)]
    counts: &'a Counts,
}

/// The arguments, checked.
struct Plan {
    spec: TargetSpec,
    listen: SocketAddr,
    sessions: u32,
    json: Option<Destination>,
}

impl Plan {
    /// Reads the arguments.
    ///
    /// # Errors
    /// All that are wrong, one line each.
    fn read(args: &WasArgs) -> Result<Self, Failure> {
        let mut errors = Vec::new();
        let mut or_note =
            |name: &str, text: &str, problem: Problem| errors.push(format!("--{name}: {text:?} {problem}"));
        let tx = args.tx.as_deref().map_or(Some(TxMode::default()), |text| {
            let known = TxMode::from_name(text);
            if known.is_none() {
                or_note("tx", text, "is not known: use statements, batched or procedures".into());
            }
            known
        });
        let listen = args.listen.parse().map_err(|_| {
            or_note("listen", &args.listen, "must be ADDRESS:PORT, for example 127.0.0.1:7000".into());
        });
        let sessions = args
            .sessions
            .as_deref()
            .map(|text| whole(text, 1, SESSIONS_MAX).map_err(|problem| or_note("sessions", text, problem)));
        let sessions = sessions.transpose();
        let json = args.json.as_ref().map(Destination::new);
        if let Some(place) = &json
            && let Err(problem) = place.check()
        {
            or_note("json", &place.shown(), problem);
        }
        let spec =
            TargetSpec::parse(&args.target, tx.unwrap_or_default()).map_err(|more| errors.extend(more));
        match (spec, listen, sessions) {
            (Ok(spec), Ok(listen), Ok(sessions)) if errors.is_empty() => {
                let sessions = sessions.unwrap_or_else(|| usual_sessions(SESSIONS, spec.endpoints()));
                Ok(Self { spec, listen, sessions, json })
            }
            _ => Err(Failure::Usage(errors)),
        }
    }
}

/// Runs `lydite was`.
pub(crate) fn command(args: &WasArgs) -> Outcome {
    let Plan { spec, listen, sessions, json } = Plan::read(args)?;
    if spec.is_temporary() {
        return Err(Failure::usage(format!(
            "{} is a temporary database, which holds nothing: name one that is loaded",
            args.target
        )));
    }
    if json.as_ref().is_some_and(Destination::is_stdout) {
        reserve_stdout();
    }
    memory::suit(&spec);
    let interrupt = watch(Style::detect(args.quiet))?;
    let target: Arc<dyn Target> = spec.waited_for_by(interrupt.waiter()).open()?;
    let url = target.describe()?.url;
    if let Some(endpoints) = target.capabilities().endpoints {
        let few = few_sessions(endpoints, sessions, "--sessions");
        few.iter().for_each(|warning| complain(warning));
    }
    let was = Was::new(&target, listen, Settings::new(sessions))?;
    let listen =
        was.address().map_err(|error| Failure::usage(format!("the address is not known: {error}")))?;
    print(&format!("WAS at {listen} for {url}, {}; Ctrl-C ends it\n", plural(sessions.into(), "session")))?;
    let counts = was.serve(&|| interrupt.asked())?;
    if !args.quiet {
        print(&lines(&counts))?;
    }
    let Some(place) = json else { return Ok(()) };
    let document =
        Document { lydite: env!("CARGO_PKG_VERSION"), listen, target: &url, sessions, counts: &counts };
    let document = serde_json::to_string_pretty(&document)
        .map_err(|error| Failure::usage(format!("the counts can't be written as JSON: {error}")))?;
    // The signal that ended the tier does not stop the writing.
    write(&place, format!("{document}\n").as_bytes(), None)
}

/// Formats the counts as lines.
fn lines(counts: &Counts) -> String {
    let mut text = format!(
        "terminals  {}, at most {} at once; {} ended\n\
         lines      {} lost, {} reconnected, {} contexts dropped, {} rejected\n\
         requests   {} choices from the menu, at most {} waited for a session\n",
        counts.terminals,
        counts.terminals_most,
        counts.ended,
        counts.lines_lost,
        counts.reconnected,
        counts.contexts_dropped,
        counts.lines_rejected,
        counts.menus,
        counts.queue_most
    );
    for (kind, of) in &counts.transactions {
        text += &format!(
            "{kind:<13} {} committed, {} rolled back, {} failed, {} unknown\n",
            of.committed, of.rolled_back, of.failed, of.unknown
        );
    }
    text
}
