//! `lydite compare`: compares groups of results with the first, and fails if a change is too large.

mod inputs;
mod outputs;

use crate::cli::{CompareArgs, Paired, Undecided};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::{complain, print, reserve_stdout};
use lydite_plan::Problem;
use lydite_plan::requirements::known_reason;
use lydite_report::groups::{
    Case, CaseEnd, Group, GroupProblem, GroupsComparison, Outcome as End, Pairing, Run, cases,
    compare_groups, gate_line, render_annotations, render_badge, render_groups, render_groups_summary,
    render_junit,
};
use lydite_report::model::Status;
use lydite_report::{FailIf, Gate, compare_all, render_comparison_summary, render_comparisons};
use outputs::Places;
use std::path::PathBuf;

/// Runs `lydite compare`.
pub(crate) fn command(args: &CompareArgs) -> Outcome {
    let mut errors = Vec::new();
    let sides = inputs::sides(args, &mut errors);
    let conditions = fail_ifs(&args.fail_if, &mut errors);
    let files: Vec<PathBuf> = sides.iter().flat_map(|side| side.files.clone()).collect();
    let places = Places::new(args, &files, &mut errors);
    if !errors.is_empty() {
        return Err(Failure::Usage(errors));
    }
    let groups = inputs::groups(&sides, !args.a.is_empty())?;
    let found = compare_groups(&groups, pairing(args.paired), &conditions).map_err(usage)?;
    if places.uses_stdout() {
        reserve_stdout();
    }
    let judged = Judged { groups, found, conditions };
    let unfit = if judged.conditions.is_empty() { Vec::new() } else { judged.unfit() };
    let cases = judged.cases(&unfit, args.undecided);

    let mut failures = Vec::new();
    let summary = || judged.summary();
    let mut text = judged.text();
    let documents: [(_, &dyn Fn() -> Result<String, Failure>); 4] = [
        (&places.json, &|| judged.json()),
        (&places.junit, &|| Ok(render_junit(&cases, &judged.found.warnings))),
        (&places.badge, &|| Ok(render_badge(&judged.found, &cases))),
        (&places.summary, &|| Ok(summary())),
    ];
    for (place, document) in documents {
        match place.as_ref().map(|place| place.write(document)).transpose() {
            Ok(written) => text.push_str(&written.unwrap_or_default()),
            Err(failure) => failures.push(failure),
        }
    }
    failures.extend(places.append_step_summary(&summary).err());
    if args.github {
        text.push_str(&render_annotations(&cases, &judged.found.warnings));
    }
    failures.extend(print(&text).err());
    judged.complain_of_single_runs();
    failures.extend(judged.failures(unfit, args.undecided));
    Failure::all(failures)
}

fn pairing(paired: Paired) -> Pairing {
    match paired {
        Paired::Auto => Pairing::Auto,
        Paired::On => Pairing::On,
        Paired::Off => Pairing::Off,
    }
}

fn usage(problems: Vec<GroupProblem>) -> Failure {
    Failure::Usage(problems.iter().map(ToString::to_string).collect())
}

/// Reads all `--fail-if` conditions.
fn fail_ifs(texts: &[String], errors: &mut Vec<String>) -> Vec<FailIf> {
    let read = |text: &String| -> Result<FailIf, Problem> {
        let condition = FailIf::parse(text)?;
        known_reason(condition.metric()).map(|()| condition)
    };
    let mut all = Vec::new();
    for text in texts {
        match read(text) {
            Ok(condition) => all.push(condition),
            Err(problem) => errors.push(format!("--fail-if: {text:?} {problem}")),
        }
    }
    all
}

/// A run that passes no gate, whatever its numbers are.
struct Unfit {
    /// The run and the reason.
    line: String,
    /// True if its database failed checks.
    is_broken: bool,
}

/// The groups with what was found.
struct Judged {
    groups: Vec<Group>,
    found: GroupsComparison,
    conditions: Vec<FailIf>,
}

impl Judged {
    /// Returns true if each group is a single run.
    fn is_of_single_runs(&self) -> bool {
        self.groups.iter().all(|group| group.runs.len() == 1)
    }

    /// Returns the name of a run in messages: that of its group, or its letter and file among several.
    fn name(group: &Group, run: &Run) -> String {
        if group.runs.len() == 1 { group.name() } else { format!("{}\u{a0}{}", group.letter, run.file) }
    }

    /// Returns the runs whose database failed checks, or that did not reach their end.
    fn unfit(&self) -> Vec<Unfit> {
        let mut all = Vec::new();
        for (group, run) in
            self.groups.iter().flat_map(|group| group.runs.iter().map(move |run| (group, run)))
        {
            let name = Self::name(group, run);
            let mut broken: Vec<&str> = Vec::new();
            for check in run.result.checks.iter().filter(|check| !check.ok) {
                // A condition may fail before and after a run.
                if !broken.contains(&check.id.as_str()) {
                    broken.push(&check.id);
                }
            }
            if !broken.is_empty() {
                let line = format!(
                    "{name} can't pass --fail-if: its database failed the checks {}",
                    broken.join(", ")
                );
                all.push(Unfit { line, is_broken: true });
            }
            if run.result.status == Status::Partial {
                let line = format!(
                    "{name} can't pass --fail-if: it is partial: its run ended early or failed, or its database was \
                     not checked to the end"
                );
                all.push(Unfit { line, is_broken: false });
            }
        }
        all
    }

    /// Returns the tests of JUnit and of the annotations.
    fn cases(&self, unfit: &[Unfit], undecided: Option<Undecided>) -> Vec<Case> {
        let end = match undecided {
            None => CaseEnd::Undecided,
            Some(Undecided::Fail) => CaseEnd::Failed,
            Some(Undecided::Pass) => CaseEnd::Passed,
        };
        let name = |of: &Unfit| if of.is_broken { "checks of the database" } else { "whole runs" };
        let of_runs = unfit.iter().map(|of| Case {
            name: name(of).to_owned(),
            end: CaseEnd::Failed,
            text: of.line.clone(),
        });
        of_runs.chain(cases(&self.found, end)).collect()
    }

    /// Returns the comparison for a terminal.
    fn text(&self) -> String {
        if !self.is_of_single_runs() {
            return render_groups(&self.found);
        }
        let name = |group: &Group| match group.runs.first() {
            Some(run) if run.file != group.title => format!("{} ({})", group.name(), run.file),
            _ => group.name(),
        };
        let names: Vec<String> = self.groups.iter().map(name).collect();
        let (results, files) = self.single_runs();
        let mut text =
            format!("{}\n\n{}", names.join("\n"), render_comparisons(&compare_all(&results, &files)));
        let marked = |gate: &lydite_report::groups::GroupGate| {
            let mark = if gate.outcome == End::Failed { "✗" } else { "✓" };
            format!("{mark} {}\n", gate_line(gate))
        };
        if !self.found.gates.is_empty() {
            text.push('\n');
        }
        text.extend(self.found.gates.iter().map(marked));
        text
    }

    /// Returns the first result of each group with the name of its file.
    fn single_runs(&self) -> (Vec<lydite_report::RunResult>, Vec<PathBuf>) {
        let runs = self.groups.iter().filter_map(|group| group.runs.first());
        runs.map(|run| (run.result.clone(), PathBuf::from(&run.file))).unzip()
    }

    /// Returns the comparison in Markdown.
    fn summary(&self) -> String {
        if !self.is_of_single_runs() {
            return render_groups_summary(&self.groups, &self.found);
        }
        let (results, files) = self.single_runs();
        let names: Vec<String> = self.groups.iter().map(Group::name).collect();
        let judge = |other| -> Vec<Gate> {
            let first = results.first();
            let judged = first.map(|a| self.conditions.iter().map(|condition| condition.judge(a, other)));
            judged.into_iter().flatten().collect()
        };
        let judged: Vec<Vec<Gate>> = results.iter().skip(1).map(judge).collect();
        render_comparison_summary(&results, &names, &compare_all(&results, &files), &judged)
    }

    /// Returns the document.
    fn json(&self) -> Result<String, Failure> {
        let text = serde_json::to_string_pretty(&self.found);
        text.map(|text| text + "\n").map_err(|error| Failure::usage(format!("--json: {error}")))
    }

    /// Says of each group that its gates judged a single run of each: whoever reads only the exit code must learn that
    /// chance may have decided it.
    fn complain_of_single_runs(&self) {
        let Some((a, others)) = self.groups.split_first() else { return };
        for b in
            others.iter().filter(|b| !self.conditions.is_empty() && a.runs.len() == 1 && b.runs.len() == 1)
        {
            complain(&format!(
                "--fail-if judged {} by one run each: how much runs of one configuration differ is unknown, so chance may \
                 have decided it: compare several runs, see --a and --b",
                b.name()
            ));
        }
    }

    /// Returns the failures of the runs and of the conditions.
    fn failures(&self, unfit: Vec<Unfit>, undecided: Option<Undecided>) -> Vec<Failure> {
        let (broken, partial): (Vec<Unfit>, Vec<Unfit>) = unfit.into_iter().partition(|of| of.is_broken);
        let mut failures: Vec<Failure> = broken.into_iter().map(|of| Failure::CheckFailed(of.line)).collect();
        let lines = |end: End, words: &str| -> Vec<String> {
            let gates = self.found.gates.iter().filter(|gate| gate.outcome == end);
            gates.map(|gate| format!("{words} {}", gate_line(gate))).collect()
        };
        let mut failed = lines(End::Failed, "failed by");
        let open = lines(End::Undecided, "not decided by");
        let open = match undecided {
            None => open,
            Some(Undecided::Pass) => Vec::new(),
            Some(Undecided::Fail) => {
                failed.extend(open);
                Vec::new()
            }
        };
        failed.extend(partial.into_iter().map(|of| of.line));
        failures.extend((!failed.is_empty()).then_some(Failure::Threshold(failed)));
        failures.extend((!open.is_empty()).then_some(Failure::Undecided(open)));
        failures
    }
}
