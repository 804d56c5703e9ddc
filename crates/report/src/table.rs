//! The end-of-run table for the terminal.

use std::fmt::Write as _;

use crate::controls::contention::Competing;
use crate::controls::distribution::Distribution;
use crate::fault_words;
use crate::figures::{P95, THIN_NOTE, count, duration, moment, number, percent, plural, type_name};
use crate::findings::{Weight, disclaimer, findings, shown_types};
use crate::model::{
    CHECKS_OF_RUNS, EndpointResult, RunResult, Status, TransactionResult, agents_in_words, is_own_condition,
};
use crate::numbers::latency::{OF_LATENCY, OfLatency};
use crate::numbers::types::OF_TYPE;
use crate::numbers::{Headline, NUMBERS, client_cost, embedded_in_words};
use crate::phases::{self, rate_in_words};
use lydite_tpcc::consistency::CONDITION_COUNT;

/// Most error messages that the table shows; the document holds all.
const ERRORS_SHOWN: usize = 5;

/// Renders the table, at most `width` columns wide as far as the numbers allow (at least 60), with ANSI colours if
/// `colour`. The headline comes last, after the findings, so that it stands above the prompt of a terminal that has
/// scrolled. Text from the database loses its control characters, so that no error message can drive the terminal.
#[must_use]
pub fn render_table(result: &RunResult, width: usize, colour: bool) -> String {
    Page { width: width.max(60), colour, verbose: false }.render(result)
}

/// Renders the table with every rule of the standard; [`render_table`] only counts them.
#[must_use]
pub fn render_verbose_table(result: &RunResult, width: usize, colour: bool) -> String {
    Page { width: width.max(60), colour, verbose: true }.render(result)
}

#[derive(Clone, Copy)]
enum Style {
    Plain,
    Bold,
    Dim,
    Good,
    Warning,
    Bad,
}

struct Page {
    width: usize,
    colour: bool,
    /// True to list the rules of the standard.
    verbose: bool,
}

impl Page {
    /// Renders the most important parts last, since small terminals have 24 rows: latencies, findings, the headline.
    fn render(&self, result: &RunResult) -> String {
        let mut out = String::new();
        self.subject(&mut out, result);
        self.distribution(&mut out, result);
        self.replicas(&mut out, result);
        self.endpoints(&mut out, result);
        self.imbalance(&mut out, result);
        self.coaccess(&mut out, result);
        self.contention(&mut out, result);
        self.phases(&mut out, result);
        self.faults(&mut out, result);
        if let Some(words) = agents_in_words(&result.agents) {
            self.wrapped(&mut out, "agents   ", &words, Style::Plain);
        }
        self.client(&mut out, result);
        self.terminals(&mut out, result);
        self.compliance(&mut out, result);
        out.push('\n');
        self.wrapped(&mut out, "", disclaimer(result), Style::Dim);
        self.transactions(&mut out, result);
        self.aborts_and_errors(&mut out, result);
        self.findings(&mut out, result);
        out.push('\n');
        self.headline(&mut out, result);
        out
    }

    fn styled(&self, text: &str, style: Style) -> String {
        let code = match style {
            Style::Plain => return text.to_owned(),
            _ if !self.colour => return text.to_owned(),
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Good => "32",
            Style::Warning => "33",
            Style::Bad => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// Appends `label` and `text`, wrapped at blanks, with further lines indented below the first.
    fn wrapped(&self, out: &mut String, label: &str, text: &str, style: Style) {
        let indent = label.chars().count();
        let room = self.width.saturating_sub(indent).max(20);
        let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let mut lines: Vec<String> = vec![String::new()];
        for word in clean.split_whitespace() {
            let line_length = lines.last().map_or(0, |l| l.chars().count());
            if line_length > 0 && line_length + 1 + word.chars().count() > room {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
        }
        for (i, line) in lines.iter().enumerate() {
            let lead = if i == 0 { label.to_owned() } else { " ".repeat(indent) };
            let _ = writeln!(out, "{lead}{}", self.styled(line, style));
        }
    }

    /// Appends target, plan and time of the measurement.
    fn subject(&self, out: &mut String, r: &RunResult) {
        let target = [&r.target.kind, &r.target.version, &r.target.url].map(String::as_str);
        self.wrapped(out, "target   ", &target.join("  "), Style::Plain);
        self.wrapped(out, "plan     ", &plan_in_words(r), Style::Plain);
        let start =
            if r.window.start.is_empty() { "an unknown time".to_owned() } else { moment(&r.window.start) };
        let measured = format!(
            "{} after {} of warm-up, from {start}",
            duration(r.window.measured_s),
            duration(r.window.warmup_s),
        );
        self.wrapped(out, "measured ", &measured, Style::Plain);
    }

    fn headline(&self, out: &mut String, r: &RunResult) {
        let status = match r.status {
            Status::Complete => "complete",
            Status::Partial => "PARTIAL",
        };
        if let Some(label) = &r.label {
            self.wrapped(out, "label    ", label, Style::Bold);
        }
        for number in NUMBERS.iter().filter(|number| (number.is_shown)(r)) {
            let Some(Headline { label, more }) = &number.headline else { continue };
            let text = format!("{}{}", number.in_words(r), more(r));
            self.wrapped(out, &format!("{label:<9}"), &text, Style::Bold);
        }
        self.checks(out, r);
        self.requirements(out, r);
        let style = if r.status == Status::Complete { Style::Good } else { Style::Warning };
        self.wrapped(out, "status   ", status, style);
    }

    fn transactions(&self, out: &mut String, r: &RunResult) {
        let rows = shown_types(r);
        if rows.is_empty() {
            return;
        }
        let column = |head: String, text: &dyn Fn(&TransactionResult) -> String| -> Vec<String> {
            std::iter::once(head).chain(rows.iter().map(|(_, t)| text(t))).collect()
        };
        let counts_where = |leads: bool| -> Vec<Vec<String>> {
            let these = OF_TYPE.iter().filter(|count| count.leads == leads);
            these.map(|count| column(count.head.to_owned(), &|t| (count.text)(r, t))).collect()
        };
        let (counts, troubles) = (counts_where(true), counts_where(false));
        let in_terminal = || OF_LATENCY.iter().filter(|latency| latency.in_terminal);
        let latency =
            |of: &OfLatency| column(format!("{} ms", of.head), &|t| of.text(t.completed(), &t.latency_ms));
        let latencies: Vec<Vec<String>> = in_terminal().map(latency).collect();
        // In a closed loop nothing waits for a session: service is the whole latency.
        let parts: Vec<Vec<String>> = match r.plan.mode.as_deref() {
            Some("rte" | "open") => vec![
                column("queue p95".to_owned(), &|t| P95.text(t.completed(), t.queue_ms.p95)),
                column("service p95".to_owned(), &|t| P95.text(t.completed(), t.service_ms.p95)),
            ],
            _ => Vec::new(),
        };
        let names = std::iter::once("transaction".to_owned());
        let names: Vec<String> = names.chain(rows.iter().map(|(key, _)| printable(type_name(key)))).collect();
        let table = |columns: &[Vec<String>]| -> Vec<Vec<String>> {
            let cells = |row: usize| columns.iter().filter_map(move |column| column.get(row).cloned());
            let line = |(row, name): (usize, &String)| std::iter::once(name.clone()).chain(cells(row));
            names.iter().enumerate().map(|row| line(row).collect()).collect()
        };
        let whole = [&latencies[..], &parts].concat();
        // A narrow terminal gets the same columns in several tables, so that none is left out and none wraps.
        let layouts = [
            vec![table(&[&counts[..], &whole, &troubles].concat())],
            vec![table(&[&counts[..], &troubles].concat()), table(&whole)],
            // Two narrow tables of latencies, unless the second would hold only names.
            [&counts, &latencies, &parts, &troubles]
                .into_iter()
                .filter(|c| !c.is_empty())
                .map(|c| table(c))
                .collect(),
        ];
        let fits = |tables: &&Vec<Vec<Vec<String>>>| tables.iter().all(|t| table_width(t) <= self.width);
        for rows in layouts.iter().find(fits).unwrap_or(&layouts[2]) {
            out.push('\n');
            self.grid(out, rows);
        }
        let thin =
            |(_, t): &(&str, &TransactionResult)| in_terminal().any(|latency| latency.is_thin(t.completed()));
        if rows.iter().any(thin) || phases::is_thin(r) {
            self.wrapped(out, "", THIN_NOTE, Style::Dim);
        }
    }

    /// Appends a table: the first column to the left, the others to the right, the first row as its head.
    fn grid(&self, out: &mut String, rows: &[Vec<String>]) {
        let widths = column_widths(rows);
        for (i, row) in rows.iter().enumerate() {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if column == 0 {
                    let _ = write!(line, "{cell:<width$}");
                } else {
                    let _ = write!(line, "  {cell:>width$}");
                }
            }
            let style = if i == 0 { Style::Dim } else { Style::Plain };
            let _ = writeln!(out, "{}", self.styled(line.trim_end(), style));
        }
    }

    fn aborts_and_errors(&self, out: &mut String, r: &RunResult) {
        let total = r.aborted();
        out.push('\n');
        if total == 0 {
            self.wrapped(out, "aborts   ", "none", Style::Plain);
        } else {
            let mut reasons: Vec<(&String, &u64)> = r.aborts.iter().filter(|(_, n)| **n > 0).collect();
            reasons.sort_by(|a, b| b.1.cmp(a.1));
            let words: Vec<String> =
                reasons.iter().map(|(reason, n)| format!("{} {reason}", count(**n))).collect();
            let text = format!("{} aborted attempts: {}", count(total), words.join(", "));
            self.wrapped(out, "aborts   ", &text, Style::Plain);
        }
        for (i, error) in r.errors.iter().take(ERRORS_SHOWN).enumerate() {
            let label = if i == 0 { "errors   " } else { "         " };
            self.wrapped(out, label, &format!("{} x {}", count(error.count), error.message), Style::Bad);
        }
        if r.errors.len() > ERRORS_SHOWN {
            let more = plural((r.errors.len() - ERRORS_SHOWN) as u64, "more kind");
            self.wrapped(out, "         ", &format!("and {more} of errors"), Style::Bad);
        }
    }

    /// Appends the faults, one line each, and a line for each that repeats.
    fn faults(&self, out: &mut String, r: &RunResult) {
        for (index, (line, ok)) in fault_words::lines(r).into_iter().enumerate() {
            let label = if index == 0 { "faults   " } else { "         " };
            self.wrapped(out, label, &printable(&line), if ok { Style::Plain } else { Style::Bad });
        }
    }

    /// Appends the measured distribution, with the configured one if there is one.
    fn distribution(&self, out: &mut String, r: &RunResult) {
        let Some(distribution) = &r.controls.distribution else { return };
        let actual = &distribution.actual;
        let Some(ratio) = actual.ratio_percent else { return self.far_stock_levels(out, distribution) };
        let mut text = format!("{ratio:.2} % of New-Orders over several nodes");
        let asked = distribution.asked.as_ref().filter(|asked| asked.ratio_percent.is_some());
        if let Some(percent) = asked.and_then(|asked| asked.ratio_percent) {
            let _ = write!(text, " ({percent} % configured)");
        }
        if let (Some(degree), Some(deviation)) = (actual.degree, actual.degree_stddev) {
            let _ = write!(text, ", {degree:.3} ± {deviation:.3} nodes each");
        }
        if let Some(asked) = asked {
            let _ = write!(text, " ({} configured, strategy {})", asked.degree, printable(&asked.strategy));
        }
        self.wrapped(out, "nodes    ", &text, Style::Plain);
        self.far_stock_levels(out, distribution);
    }

    /// Appends the measured Stock-Levels over several nodes beside the configured ones.
    fn far_stock_levels(&self, out: &mut String, distribution: &Distribution) {
        let Some(asked) = &distribution.asked else { return };
        let (Some(percent), Some(found)) =
            (asked.stock_level_percent, distribution.actual.stock_level_percent)
        else {
            return;
        };
        let degree = distribution.actual.stock_level_degree.unwrap_or(1.0);
        let text = format!(
            "{found:.2} % of Stock-Levels over several nodes ({percent} % configured), {degree:.3} nodes each ({} \
             configured)",
            asked.stock_level_degree.unwrap_or(asked.degree)
        );
        self.wrapped(out, "nodes    ", &text, Style::Plain);
    }

    /// Appends the reads of replicas and of the primary.
    fn replicas(&self, out: &mut String, r: &RunResult) {
        let Some(replicas) = &r.controls.replicas else { return };
        let mut text = format!(
            "staleness {}: {} answered by {}",
            printable(&replicas.staleness),
            plural(replicas.reads, "read"),
            plural(replicas.urls.len() as u64, "replica"),
        );
        let _ = write!(text, ", {} by the primary", count(replicas.to_primary));
        if replicas.waited > 0 {
            let _ = write!(
                text,
                ", {} waited for a replica, {:.3} s in all",
                count(replicas.waited),
                replicas.waited_s
            );
        }
        if let Some(lag) = replicas.lag {
            let _ = write!(text, ", {:.3} s behind on average, {:.3} s at most", lag.mean_s, lag.max_s);
        }
        self.wrapped(out, "replicas ", &text, Style::Plain);
    }

    /// Appends the sessions and transactions of each endpoint.
    fn endpoints(&self, out: &mut String, r: &RunResult) {
        let of = |found: &EndpointResult| {
            let mut text = format!(
                "{} {}, {}, {:.1} % away",
                printable(&found.endpoint),
                plural(found.sessions.into(), "session"),
                plural(found.transactions, "transaction"),
                found.away_percent()
            );
            for (number, what) in
                [(found.lost, "lost"), (found.moved, "moved here"), (found.refreshed, "refreshed")]
            {
                if number > 0 {
                    let _ = write!(text, ", {} {what}", count(number));
                }
            }
            if r.connects_per_transaction() {
                let seconds = r.window.warmup_s + r.window.measured_s;
                let _ = write!(
                    text,
                    ", {:.1} connections per second, {:.1} % of the time in connecting",
                    found.opened_per_s(seconds),
                    found.connecting_percent(seconds)
                );
            }
            text
        };
        if !r.endpoints.is_empty() {
            let all: Vec<String> = r.endpoints.iter().map(of).collect();
            self.wrapped(out, "endpoints ", &all.join("; "), Style::Plain);
        }
    }

    /// Appends the skew of the data, and the configured and measured homes of transactions.
    fn imbalance(&self, out: &mut String, r: &RunResult) {
        let Some(imbalance) = &r.controls.imbalance else { return };
        if let Some(data) = &imbalance.data {
            let counts = || data.districts.iter().copied();
            let text = format!(
                "{}: {} districts at the largest warehouse, {} at the smallest, {} in all",
                printable(&data.asked),
                counts().max().unwrap_or_default(),
                counts().min().unwrap_or_default(),
                counts().sum::<u64>(),
            );
            self.wrapped(out, "data     ", &text, Style::Plain);
        }
        let (Some(asked), Some(actual)) = (&imbalance.asked, &imbalance.actual) else { return };
        let text = format!(
            "{}: {:.2} % of the transactions at the most frequent warehouse ({:.2} % configured), {:.2} points off at \
             most",
            printable(&asked.homes),
            actual.most_frequent_percent,
            asked.most_frequent_percent,
            actual.greatest_deviation_points,
        );
        self.wrapped(out, "homes    ", &text, Style::Plain);
    }

    /// Appends the configured and measured share of dUpdateStocks that update a whole group of warehouses.
    fn coaccess(&self, out: &mut String, r: &RunResult) {
        let Some(coaccess) = &r.controls.coaccess else { return };
        let Some(asked) = coaccess.asked.percent else { return };
        let actual = &coaccess.actual;
        let mut text = format!(
            "{} % of dUpdateStocks on a whole group of {} warehouses ({asked} % configured)",
            actual.percent.map_or("–".into(), percent),
            coaccess.rounds,
        );
        if let Some(nodes) = actual.nodes_mean {
            let _ = write!(text, ", {nodes:.2} nodes on average");
        }
        self.wrapped(out, "groups   ", &text, Style::Plain);
    }

    /// Appends the contention of each phase: measured, configured, and the time until it settled.
    fn contention(&self, out: &mut String, r: &RunResult) {
        let Some(contention) = &r.controls.contention else { return };
        let words = |phase: &Competing| {
            let settled = match phase.settling_s {
                Some(seconds) => format!("settled after {seconds:.1} s"),
                None => "never settled".into(),
            };
            format!("{:.2} ({} configured), {settled}", phase.actual, phase.asked)
        };
        let words: Vec<String> = contention.phases.iter().map(words).collect();
        self.wrapped(out, "contend  ", &words.join("; "), Style::Plain);
    }

    /// Appends a line for each phase: its times, settings and results.
    fn phases(&self, out: &mut String, r: &RunResult) {
        for (place, phase) in r.phases.iter().enumerate() {
            self.wrapped(out, "phase    ", &printable(&phases::in_words(r, place, phase)), Style::Plain);
        }
    }

    fn client(&self, out: &mut String, r: &RunResult) {
        let cost = client_cost(r).map_or(String::new(), |cost| cost.in_words(r));
        let text = format!(
            "{cost}, {} s in all, at most {} of memory{}",
            number(r.client.cpu_s),
            crate::figures::bytes(r.client.peak_rss_bytes),
            embedded_in_words(r)
        );
        self.wrapped(out, "client   ", &text, Style::Plain);
        if let (Some(all), Some(each)) = (r.client.driver_cpu_s, r.client.driver_cpu_us_per_transaction) {
            let text = format!("{} µs of processor per transaction, {} s in all", number(each), number(all));
            self.wrapped(out, "driver   ", &text, Style::Plain);
        }
    }

    fn terminals(&self, out: &mut String, r: &RunResult) {
        let Some(terminals) = &r.terminals else { return };
        if let Some(was) = &terminals.was {
            let text = format!(
                "{} of terminals to {}, {} lost, {} reconnected, {} without their context; menu {} ms (90th percentile)",
                plural(was.lines, "line"),
                was.address,
                was.lost,
                was.reconnected,
                was.contexts_lost,
                number(was.menu_ms.p90)
            );
            let style = if was.lost == 0 { Style::Plain } else { Style::Warning };
            self.wrapped(out, "lines    ", &text, style);
        }
        if terminals.display_delay_ms > 0.0 {
            let delay = number(terminals.display_delay_ms);
            let text = format!("{delay} ms more for each answer than the latencies above (TPC-C 6.6.3.7)");
            self.wrapped(out, "display  ", &text, Style::Plain);
        }
    }

    fn checks(&self, out: &mut String, r: &RunResult) {
        let held = r.checks.iter().filter(|c| c.ok).count();
        if r.checks.is_empty() {
            self.wrapped(out, "checks   ", unchecked(r), Style::Warning);
        } else if held == r.checks.len() && r.any_conditions_cut_short() {
            self.wrapped(out, "checks   ", &checks_in_words(r), Style::Warning);
        } else if held == r.checks.len() {
            self.wrapped(out, "checks   ", &checks_in_words(r), Style::Good);
        } else {
            self.wrapped(out, "checks   ", &checks_in_words(r), Style::Bad);
            for check in r.checks.iter().filter(|c| !c.ok) {
                self.wrapped(out, "         ", &format!("{}: {}", check.id, check.detail), Style::Bad);
            }
        }
    }

    /// Appends a line for each requirement of the plan.
    fn requirements(&self, out: &mut String, r: &RunResult) {
        for (place, requirement) in r.requirements.iter().enumerate() {
            let (mark, style) =
                if requirement.met { ("✓", Style::Good) } else { ("✗ not met:", Style::Bad) };
            let lead = if place == 0 { "require  " } else { "         " };
            self.wrapped(out, lead, &format!("{mark} {requirement}"), style);
        }
    }

    fn compliance(&self, out: &mut String, r: &RunResult) {
        if r.compliance.is_empty() {
            return;
        }
        let with = |met| r.compliance.iter().filter(|c| c.met == met).count() as u64;
        let all = count(r.compliance.len() as u64);
        let open = match with(None) {
            0 => String::new(),
            open => format!(", {} not judged", count(open)),
        };
        let more = if self.verbose { "" } else { "; --verbose lists them" };
        let text = format!("{} of {all} rules of the standard are met{open}{more}", count(with(Some(true))));
        self.wrapped(out, "rules    ", &text, Style::Plain);
        for line in r.compliance.iter().filter(|_| self.verbose) {
            let verdict = match line.met {
                Some(true) => "met",
                Some(false) => "not met",
                None => "not judged",
            };
            let clause = if line.clause.is_empty() { String::new() } else { format!(" ({})", line.clause) };
            let note = if line.note.is_empty() { String::new() } else { format!(": {}", line.note) };
            self.wrapped(out, "         ", &format!("{verdict}: {}{clause}{note}", line.rule), Style::Dim);
        }
    }

    fn findings(&self, out: &mut String, r: &RunResult) {
        let found = findings(r);
        if !found.is_empty() {
            out.push('\n');
        }
        for finding in found {
            let style = match finding.weight {
                Weight::Failure => Style::Bad,
                Weight::Warning => Style::Warning,
            };
            self.wrapped(out, "! ", &finding.text, style);
        }
    }
}

/// Returns the text for a run without checks.
fn unchecked(r: &RunResult) -> &'static str {
    if r.is_tpcc() { "consistency was not checked" } else { "the records were not checked" }
}

/// Returns the plan in one line: warehouses or records, terminals, mode, `tx`, mix, rate, seed.
#[must_use]
pub(crate) fn plan_in_words(r: &RunResult) -> String {
    let mut words = Vec::new();
    if !r.is_tpcc() {
        words.extend(micro_in_words(r));
    }
    if let Some(w) = r.warehouses() {
        let size = if r.has_small_warehouses() { format!("{} ", r.warehouse_size()) } else { String::new() };
        words.push(plural(w, &format!("{size}warehouse")));
    }
    let plan = &r.plan;
    words.extend(plan.terminals.map(|terminals| plural(terminals, "terminal")));
    // Numbers as they are in the document.
    let settings = [
        ("mode", plan.mode.clone()),
        ("tx", plan.tx.clone()),
        ("mix", plan.mix.clone()),
        ("balance_warehouses", plan.extra.balance_warehouses.map(|count| count.to_string())),
        ("balance_order", plan.extra.balance_order.clone()),
    ];
    words.extend(settings.into_iter().filter_map(|(label, value)| Some(format!("{label} {}", value?))));
    words.extend(plan.rate.map(|mean| rate_in_words(mean, &r.phases)));
    words.extend(plan.seed.map(|seed| format!("seed {seed}")));
    words.extend(plan.schema.as_ref().map(|file| format!("tables by {file}")));
    words.join(", ")
}

/// Returns the tables and transactions of the microbenchmark's plan.
fn micro_in_words(r: &RunResult) -> Vec<String> {
    let Some(micro) = &r.plan.micro else { return Vec::new() };
    let mut words = Vec::new();
    if let (Some(tables), Some(records)) = (micro.tables, micro.records) {
        // With a share of accesses on disk there are two engines, each with these tables.
        let engines = if micro.disk_percent.is_some() { " in each engine" } else { "" };
        let tables = plural(tables, "table");
        words.push(format!("{tables}{engines} of {}", plural(records, "record")));
    }
    words.extend(micro.record_bytes.map(|bytes| format!("{bytes} bytes each")));
    if let (Some(accesses), Some(updates)) = (micro.accesses, micro.updates) {
        words.push(format!("{accesses} accesses with {}", plural(updates, "update")));
    }
    words.extend(micro.disk_percent.map(|percent| format!("{percent} % on disk")));
    words
}

/// Returns `12/12 consistency conditions hold`, or for the microbenchmark `2/2 checks hold`, split by the times of the
/// checks if there are several. For an interrupted check it returns the number of conditions checked. Lydite's own
/// conditions come last, as one.
#[must_use]
pub(crate) fn checks_in_words(r: &RunResult) -> String {
    use crate::model::CheckedWhen::{After, Before, Check};
    let mut parts = Vec::new();
    for (when, words) in [(Before, " before the run"), (After, " after the run"), (Check, "")] {
        let (of_runs, of_then): (Vec<_>, Vec<_>) = r
            .checks
            .iter()
            .filter(|c| c.when == when && !is_own_condition(c))
            .partition(|c| CHECKS_OF_RUNS.iter().any(|(id, _)| *id == c.id));
        let held = of_then.iter().filter(|c| c.ok).count();
        let subject = match (parts.is_empty(), r.is_tpcc()) {
            (true, true) => " consistency conditions hold",
            (true, false) => " checks hold",
            (false, _) => "",
        };
        if let Some(made) = r.conditions_cut_short(when) {
            let subject = if parts.is_empty() { " consistency conditions" } else { "" };
            parts.push(match (made, of_then.len() - held) {
                (0, 0) => format!("none{subject} made{words}"),
                (made, 0) => format!("{made} of {CONDITION_COUNT}{subject} made{words}, interrupted"),
                (made, failing) => {
                    format!(
                        "{made} of {CONDITION_COUNT}{subject} made{words}, {failing} failing, interrupted"
                    )
                }
            });
        } else if !of_then.is_empty() {
            parts.push(format!("{held}/{}{subject}{words}", of_then.len()));
        }
        for check in of_runs {
            if parts.is_empty() {
                parts.push(unchecked(r).to_owned());
            }
            let words = CHECKS_OF_RUNS.iter().find(|(id, _)| *id == check.id);
            parts.extend(words.map(|(_, words)| words[usize::from(!check.ok)].to_owned()));
        }
    }
    let own: Vec<bool> =
        [Before, After, Check].into_iter().flat_map(|when| r.own_conditions(when)).map(|c| c.ok).collect();
    if own.contains(&false) {
        parts.push("own conditions FAIL".to_owned());
    } else if !own.is_empty() && !r.any_conditions_cut_short() {
        parts.push("own conditions hold".to_owned());
    }
    parts.join(", ")
}

fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

fn column_widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell_width = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |c| c.chars().count());
    (0..columns).map(|c| rows.iter().map(|row| cell_width(row, c)).max().unwrap_or(0)).collect()
}

fn table_width(rows: &[Vec<String>]) -> usize {
    let widths = column_widths(rows);
    widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)
}
