//! The key `fault` and the tables `[[fault]]`: faults that the run injects into its database.

use crate::controls::replicas::urls;
use crate::controls::{About, Control, Ground, Ran, Schedule};
use crate::entries::{Entries, Entry};
use crate::error::PlanError;
use crate::key::Key;
use crate::values::time;
use lydite_bench::RunPlan;
use lydite_families::TargetSpec;
use lydite_faults::sockets::{Address, addresses};
use lydite_faults::{Commands, FaultSpec, MOST_OCCURRENCES, Parts, Reader, Where};
use lydite_report::controls::Controls;
use lydite_report::plan::PlanInfo;
use std::collections::BTreeMap;
use std::time::Duration;

/// Keys of a table `[[fault]]`.
pub(crate) const TABLE_KEYS: &[&str] =
    &["kind", "args", "from", "to", "every", "where", "begin", "end", "limit"];
/// The key of faults as texts, with `;` between them.
const KEY: &str = "fault";
/// The key of the places of faults that name none.
const PLACES: &str = "fault_where";
/// Longest time of a command whose table sets none.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// Returns the problems of a fault on this machine, of a database with these addresses.
pub type Rehearse<'a> = &'a dyn Fn(&FaultSpec, &[Address]) -> Vec<String>;

/// The faults of a plan.
#[derive(Debug, Default)]
pub struct Faults {
    /// Faults in the order of the plan.
    planned: Vec<Planned>,
    /// The addresses of the database and its replicas.
    pub addresses: Vec<Address>,
    /// Length of the window.
    pub window: Duration,
}

/// A fault with its place in the plan.
#[derive(Debug)]
struct Planned {
    spec: FaultSpec,
    entry: Entry,
}

impl Faults {
    /// Returns the faults, in the order of the plan.
    pub fn specs(&self) -> impl Iterator<Item = &FaultSpec> {
        self.planned.iter().map(|planned| &planned.spec)
    }

    /// Returns the occurrences of the faults in the window, in the order of the plan and, of one fault, of time.
    #[must_use]
    pub fn occurrences(&self) -> Vec<FaultSpec> {
        self.specs().flat_map(|fault| fault.occurrences(self.window)).collect()
    }

    /// Returns a line for each fault with a period that occurs only once, since the window is too short for a second time.
    pub fn too_rare(&self) -> impl Iterator<Item = String> {
        let rare = self.specs().filter(|fault| fault.every.is_some() && fault.repeats(self.window) == 1);
        rare.map(|fault| {
            format!(
                "fault {fault}: occurs once, since the window of {} s ends before its second occurrence does: repeat it \
                 sooner, or measure longer",
                self.window.as_secs_f64()
            )
        })
    }

    /// Adds the problems of the faults on this machine.
    pub(crate) fn rehearse(&self, entries: &mut Entries, rehearse: Rehearse<'_>) {
        for Planned { spec, entry } in &self.planned {
            for problem in rehearse(spec, &self.addresses) {
                entries.wrong_entry(entry, &format!("{spec}: {problem}"));
            }
        }
    }
}

impl Faults {
    /// Reads the faults that flags give for a target, without a plan around them, and asks `rehearse` for their problems.
    ///
    /// # Errors
    /// Everything that is wrong, one line each.
    pub fn of_flags(
        target: &str,
        faults: &[String],
        window: Duration,
        rehearse: Rehearse<'_>,
    ) -> Result<Self, PlanError> {
        let mut entries = Entries::default();
        entries.flag("target", Some(target.to_owned()));
        entries.flag(KEY, (!faults.is_empty()).then(|| faults.join(";")));
        let read = Self::within(&mut entries, window);
        read.rehearse(&mut entries, rehearse);
        if entries.errors.is_empty() { Ok(read) } else { Err(PlanError::Usage(entries.errors)) }
    }

    /// Reads the faults of a window of this length.
    fn within(entries: &mut Entries, window: Duration) -> Self {
        let mut planned = Vec::new();
        let places = entries.entry(PLACES);
        let places = places.filter(|entry| entries.read_entry(entry, Where::list).is_some());
        let places = places.as_ref().map(Entry::text);
        let time = |text: &str| time(text).map_err(|problem| problem.to_string());
        let reader = Reader { time: &time, unknown_kind: &Entries::unknown, places };
        for entry in entries.entry(KEY).map(|list| list.split(';')).unwrap_or_default() {
            // A list may end with its separator.
            if entry.text().trim().is_empty() {
                continue;
            }
            let spec = entries.read_entry(&entry, |text| FaultSpec::parse(text, &reader));
            planned.extend(spec.map(|spec| Planned { spec, entry }));
        }
        for table in std::mem::take(&mut entries.faults) {
            planned.extend(of_table(entries, &table, &reader));
        }
        check_times(entries, window, &planned);
        let target = entries.text("target").map(|url| TargetSpec::url_of(&url));
        let replicas = entries.text("replicas").map(|list| urls(&list)).unwrap_or_default();
        let replicas = replicas.iter().map(|url| TargetSpec::url_of(url));
        let addresses = target.into_iter().chain(replicas).flat_map(|url| addresses_of(&url)).collect();
        Self { planned, addresses, window }
    }
}

impl Control for Faults {
    const KEYS: &'static [Key] = &[
        Key::new(KEY)
            .flag(
                "KIND@FROM[..TO][,every=TIME]/WHERE",
                "Fault to inject into the database, as stop@8s..11s/lab:pg; repeat it for more. every repeats it until the \
                 end of the window. WHERE: lab:NAME[/NODE], nodes=N, pid:N, service:NAME, local, ssh://HOST[/pid:N]; \
                 kinds: ",
            )
            .listing(|| lydite_faults::kinds::forms().join(", "))
            .repeated(";"),
        Key::new(PLACES),
    ];
    type Step = ();
    type Settled = ();

    fn read(entries: &mut Entries, about: &About<'_>) -> Self {
        Self::within(entries, about.duration)
    }

    fn read_step(_: &mut Entries) {}

    fn settle(&self, _: &Schedule, _: &Ground) -> Result<(), PlanError> {
        Ok(())
    }

    /// Cuts the window at the begin and the end of each fault, to the whole seconds around it.
    fn shape(&self, (): &(), run: &mut RunPlan) {
        let edges = |fault: &FaultSpec| [Some(begin_s(fault)), end_s(fault)];
        run.cuts = self.occurrences().iter().flat_map(edges).flatten().collect();
        run.cuts.sort_unstable();
        run.cuts.dedup();
    }

    fn write_plan(&self, _: &Ran<'_>, info: &mut PlanInfo) {
        info.faults = self.specs().map(FaultSpec::to_string).collect();
    }

    /// Writes nothing: the run adds what the faults did itself, since it injects them.
    fn write(&self, _: &Ran<'_>, _: &mut Controls) {}
}

/// Returns the second of the window when a fault begins.
#[must_use]
pub fn begin_s(fault: &FaultSpec) -> u64 {
    fault.from.as_secs()
}

/// Returns the first whole second of the window after a fault; none if the plan sets no end.
#[must_use]
pub fn end_s(fault: &FaultSpec) -> Option<u64> {
    fault.to.map(|to| to.as_secs() + u64::from(to.subsec_nanos() > 0))
}

/// Reads a table `[[fault]]`.
fn of_table(entries: &mut Entries, table: &BTreeMap<String, Entry>, reader: &Reader<'_>) -> Option<Planned> {
    let text = |key: &str| table.get(key).map(Entry::text);
    let any = table.get("kind").or_else(|| table.values().next());
    let (Some(kind), Some(from)) = (table.get("kind"), text("from")) else {
        let missing = [("kind", "kind = \"stop\""), ("from", "from = \"8s\"")];
        let missing = missing.into_iter().filter(|(key, _)| !table.contains_key(*key)).map(|(_, line)| line);
        let lines = missing.collect::<Vec<_>>().join(" and ");
        let problem = format!("a table [[fault]] needs a kind and a from: add {lines}");
        match any {
            Some(entry) => entries.wrong_entry(entry, &problem),
            None => entries.errors.push(problem),
        }
        return None;
    };
    if kind.text() == "command" && !table.contains_key("begin") {
        entries.wrong_entry(kind, "needs the command that breaks something: add begin = \"COMMAND\"");
        return None;
    }
    for key in ["end", "limit"] {
        if let (Some(entry), None) = (table.get(key), table.get("begin")) {
            entries
                .wrong_entry(entry, "is for the kind command: add begin = \"COMMAND\" too, or leave it out");
        }
    }
    if let Some(entry) = table.get("begin").filter(|_| kind.text() != "command") {
        entries.wrong_entry(entry, "is for the kind command: leave it out");
    }
    let limit = match table.get("limit") {
        Some(limit) => entries.read_entry(limit, time)?,
        None => COMMAND_LIMIT,
    };
    let commands = text("begin").map(|begin| Commands {
        begin: begin.to_owned(),
        end: text("end").map(str::to_owned),
        limit,
    });
    let parts = Parts {
        kind: kind.text(),
        arguments: text("args"),
        from,
        to: text("to"),
        every: text("every"),
        places: text("where"),
        commands,
    };
    let read = entries.read_entry(kind, |_| FaultSpec::of_parts(&parts, reader));
    read.map(|spec| Planned { spec, entry: kind.clone() })
}

/// Rejects faults beyond the window, and those that overlap at one place and are of one kind, or both end servers.
fn check_times(entries: &mut Entries, window: Duration, planned: &[Planned]) {
    let window_s = window.as_secs_f64();
    for (number, Planned { spec, entry }) in planned.iter().enumerate() {
        let (from, to) = (spec.from, spec.to.unwrap_or(spec.from));
        if from >= window || to > window {
            let problem = format!(
                "{spec}: is beyond the end of the window at {window_s} s: let it begin and end before, or measure longer"
            );
            entries.wrong_entry(entry, &problem);
        }
        let repeats = spec.repeats(window);
        if repeats > MOST_OCCURRENCES as u128 {
            let problem = format!(
                "{spec}: occurs {repeats} times in the window of {window_s} s, and a fault may occur \
                 {MOST_OCCURRENCES} times at most: let every be longer, or measure shorter"
            );
            entries.wrong_entry(entry, &problem);
        }
        if let Some(other) = planned[..number].iter().find(|other| other.spec.overlaps(spec, window)) {
            let problem = format!("{spec}: overlaps {} at the same place: let one end before", other.spec);
            entries.wrong_entry(entry, &problem);
        }
    }
}

/// Returns the addresses in a list of URLs.
#[must_use]
pub fn addresses_of(urls: &str) -> Vec<Address> {
    let scheme = urls.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    let usual = lydite_families::default_port(&scheme);
    // A comma separates URLs, and also the addresses within one.
    let mut all = Vec::new();
    let mut url = String::new();
    for part in urls.split(',') {
        if part.contains("://") && !url.is_empty() {
            all.extend(addresses(&url, usual));
            url.clear();
        }
        url += if url.is_empty() { "" } else { "," };
        url += part;
    }
    all.extend(addresses(&url, usual));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controls::tests::{DIRECT, entries};
    use lydite_bench::Mode;
    use lydite_tpcc::nurand::{CLoad, RunConstants};

    /// Asserts that a list of faults has these errors, in their order and no others.
    #[track_caller]
    fn assert_rejected(faults: &str, expected: &[&str]) {
        let mut plan = entries(&[("fault", faults)]);
        Faults::read(&mut plan, &DIRECT);
        let errors = plan.errors;
        assert_eq!(errors.len(), expected.len(), "{errors:?}");
        for (error, words) in errors.iter().zip(expected) {
            assert!(error.starts_with("--set fault: ") && error.contains(*words), "{error}");
        }
    }

    #[test]
    fn faults_are_read_as_a_list_with_the_addresses_of_the_database() {
        let mut plan = entries(&[
            ("fault", "stop@8s..11s/lab:pg; cpu-burn:1@5s..10s/local;"),
            ("target", "postgres://u:p@127.0.0.1:26000/d"),
            ("replicas", "postgres://u:p@h:1/d,postgres://u:p@h/d"),
        ]);
        let faults = Faults::read(&mut plan, &DIRECT);
        assert_eq!(plan.errors, Vec::<String>::new());
        let texts: Vec<String> = faults.specs().map(FaultSpec::to_string).collect();
        assert_eq!(texts, ["stop@8s..11s/lab:pg", "cpu-burn:1@5s..10s/local"]);
        let ports: Vec<u16> = faults.addresses.iter().map(|address| address.port).collect();
        assert_eq!(ports, [26_000, 1, 5432]);
    }

    #[test]
    fn faults_without_a_place_are_at_the_place_that_the_plan_sets() {
        let mut plan = entries(&[
            ("fault", "stop@8s..11s; cpu-burn:1@5s..10s; stop@12s..13s/lab:pg/0"),
            ("fault_where", "nodes=1"),
        ]);
        let faults = Faults::read(&mut plan, &DIRECT);
        assert_eq!(plan.errors, Vec::<String>::new());
        let places: Vec<String> = faults.specs().map(FaultSpec::place).collect();
        assert_eq!(places, ["nodes=1", "local", "lab:pg/0"]);
    }

    #[test]
    fn the_window_is_cut_at_the_whole_seconds_around_each_fault() {
        let mut plan =
            entries(&[("fault", "stop@8.5s..11.2s/lab:pg; kill@12s/lab:pg; stop@15s..16s/lab:pg")]);
        let faults = Faults::read(&mut plan, &DIRECT);
        assert_eq!(plan.errors, Vec::<String>::new());
        let constants = RunConstants::new(1, CLoad(7));
        let mut run = RunPlan::new(Mode::Direct { terminals: 1 }, 1, 1, constants);
        faults.shape(&(), &mut run);
        assert_eq!(run.cuts, [8, 12, 15, 16]);
    }

    #[test]
    fn a_fault_that_repeats_is_kept_as_it_is_written_and_cuts_the_window_at_each_occurrence() {
        let mut plan =
            entries(&[("fault", "net-delay:20ms@5s..7s,every=10s/lab:pg; stop@28s..29s,every=20s/lab:pg")]);
        let faults = Faults::read(&mut plan, &DIRECT);
        assert_eq!(plan.errors, Vec::<String>::new());
        let written: Vec<String> = faults.specs().map(FaultSpec::to_string).collect();
        assert_eq!(written, ["net-delay:20ms@5s..7s,every=10s/lab:pg", "stop@28s..29s,every=20s/lab:pg"]);
        let begins: Vec<u64> = faults.occurrences().iter().map(begin_s).collect();
        assert_eq!(begins, [5, 15, 25, 28]);
        let mut run = RunPlan::new(Mode::Direct { terminals: 1 }, 1, 1, RunConstants::new(1, CLoad(7)));
        faults.shape(&(), &mut run);
        assert_eq!(run.cuts, [5, 7, 15, 17, 25, 27, 28, 29]);
        let [rare] = &faults.too_rare().collect::<Vec<_>>()[..] else { panic!("one of them occurs once") };
        assert!(
            rare.starts_with("fault stop@28s..29s,every=20s/lab:pg: occurs once, since the window of 30 s")
        );
    }

    #[test]
    fn a_fault_that_repeats_too_often_or_into_another_one_is_rejected() {
        let faults = "stop@5s..7s,every=10s/lab:pg; stop@26s..28s/lab:pg/0; net-loss:1%@1s..1.01s,every=20ms/lab:pg; \
                      kill@3s..4s,every=1s/lab:pg; kill@5s..31s,every=40s/lab:pg";
        let expected = [
            "lasts 1 s and repeats every 1 s: let every be longer than the fault",
            "stop@26s..28s/lab:pg/0: overlaps stop@5s..7s,every=10s/lab:pg at the same place",
            "net-loss:1%@1s..1.01s,every=0.02s/lab:pg: occurs 1450 times in the window of 30 s, and a fault may occur",
            "kill@5s..31s,every=40s/lab:pg: is beyond the end of the window at 30 s",
        ];
        assert_rejected(faults, &expected);
    }

    #[test]
    fn all_wrong_faults_are_rejected_together_each_with_its_text() {
        let mut plan = entries(&[("fault_where", "nodes=0")]);
        Faults::read(&mut plan, &DIRECT);
        assert!(plan.errors[0].starts_with("--set fault_where: "), "{:?}", plan.errors);
        let faults = "stpo@1s..2s/lab:pg; stop@3s..2s/lab:pg; stop@28s..31s/lab:pg; kill@30s/lab:pg; stop@1s..5s/lab:pg; \
                      stop@4s..6s/lab:pg/0";
        let expected = [
            "did you mean stop?",
            "ends before it begins",
            "stop@28s..31s/lab:pg: is beyond the end of the window at 30 s",
            "kill@30s/lab:pg: is beyond the end of the window at 30 s",
            "stop@4s..6s/lab:pg/0: overlaps stop@1s..5s/lab:pg",
        ];
        assert_rejected(faults, &expected);
    }

    #[test]
    fn the_problems_of_the_rehearsal_are_errors_of_the_plan() {
        let mut plan = entries(&[("fault", "stop@1s..2s/pid:1")]);
        let faults = Faults::read(&mut plan, &DIRECT);
        faults.rehearse(&mut plan, &|spec, _| vec![format!("no process for {}", spec.place())]);
        assert_eq!(plan.errors, ["--set fault: stop@1s..2s/pid:1: no process for pid:1"]);
    }
}
