//! The chapters of the full disclosure report, in the order of clause 8.

use super::charts::{over_time, response_times, think_times};
use super::parts::{price_sheet, quantities, system};
use crate::audit::AuditPage;
use crate::disclosure::{AuditDocument, Disclosure, Listing, REPRODUCED_PERCENT, SpaceFacts};
use crate::figures::{count, moment, nopm, number, plural};
use crate::html::data::RunData;
use crate::html::markup::{Markup, figures, pill, table, words};
use crate::html::{Section, audit, environment, standard, sweep};
use crate::model::RunResult;
use lydite_tpcc::Size;
use lydite_tpcc::schema::Table;
use lydite_tpcc::sizing::{ROWS, dynamic_bytes, row_bytes};

/// Returns all chapters.
pub(super) fn chapters(of: &Disclosure<'_>) -> Vec<Section> {
    let r = of.result;
    vec![
        Section::new("general", "General", "0  General items", general(of)),
        Section::new("design", "Design", "1  Logical database design", design(of)),
        Section::new("profiles", "Profiles", "2  Transaction and terminal profiles", profiles(r)),
        Section::new("acid", "ACID", "3  Transaction and system properties (ACID)", acid(of)),
        Section::new("scaling", "Scaling", "4  Scaling and database population", scaling(of)),
        Section::new(
            "performance",
            "Performance",
            "5  Performance metrics and response times",
            performance(of),
        ),
        Section::new("sut", "System", "6  System under test, driver and communication", sut(of)),
        Section::new("pricing", "Pricing", "7  Pricing", pricing(of)),
        Section::new("availability", "Availability", "8  Availability", availability()),
        Section::new("audit", "Audit", "9  Audit", audited(of)),
        Section::new("code", "Code", "Appendix A  Code of the transactions", code(&of.transactions)),
        Section::new("settings", "Settings", "Appendix B  Settings", settings(r)),
        Section::new("steps", "Steps", "Appendix C  Steps of the tests", steps(of)),
    ]
}

fn words_of(text: &str) -> Markup {
    Markup::with_text("p", &[], text)
}

fn heading(text: &str) -> Markup {
    Markup::with_text("h3", &[], text)
}

fn general(of: &Disclosure<'_>) -> Markup {
    let r = of.result;
    let mut all = system(of);
    all.push(heading("Changed settings (clause 8.1)"));
    all.push(words_of(&if r.target.changed_settings.is_empty() {
        "The database reports no setting that differs from its default.".to_owned()
    } else {
        let changed = plural(r.target.changed_settings.len() as u64, "setting");
        format!(
            "{changed} of the server differ from the default. Appendix B lists all of them, and the plan."
        )
    }));
    all.push(heading("Measured and priced configuration"));
    let terminals = r.plan.terminals.map_or_else(|| "–".to_owned(), |count| plural(count, "terminal"));
    let sessions = r.plan.sessions.map_or_else(|| "–".to_owned(), |count| plural(count, "session"));
    let database = if r.target.embedded { "database in the same process" } else { "database" };
    // Without a tier the driver's own sessions go to the database.
    let between = match r.terminals.as_ref().and_then(|terminals| terminals.was.as_ref()) {
        Some(was) => format!("{} → WAS at {}, its pool of sessions", plural(was.lines, "line"), was.address),
        None => sessions,
    };
    all.push(words_of(&format!(
        "Driver ({terminals}, {}) → {between} → {database} ({}, {}).",
        r.plan.mode.as_deref().unwrap_or("direct"),
        r.target.kind,
        r.node_count().map_or_else(|| "one node".to_owned(), |nodes| plural(nodes.into(), "node"))
    )));
    all
}

fn design(of: &Disclosure<'_>) -> Markup {
    let keyed = of.result.target.settings.get("history_key").is_some_and(|key| key == "on");
    let others = if keyed {
        "and one more: HISTORY has a primary key, h_id, which the database fills and no transaction reads or names"
    } else {
        "and no others"
    };
    let mut all = words_of(&format!(
        "The nine tables have the columns of clause 1.3 {others}. Sums and counters have more digits than it asks for at \
         least, enough for a year at a million New-Orders and Payments a minute: 18 for W_YTD, D_YTD, C_BALANCE and \
         C_YTD_PAYMENT, 12 for O_ID and what refers to it, C_PAYMENT_CNT, C_DELIVERY_CNT, S_YTD, S_ORDER_CNT and \
         S_REMOTE_CNT. In key-value stores O_ID and the counters have 32 bits. Rows may be inserted and deleted in each \
         of the tables, without limit by the schema (clause 1.4.11).",
    ));
    let rows = Table::ALL.map(|table| {
        let schema = table.schema();
        let list = |names: &[&str]| if names.is_empty() { "–".to_owned() } else { names.join(", ") };
        let references: Vec<&str> = schema.foreign_keys.iter().map(|key| key.references.name()).collect();
        let indexes: Vec<String> = schema.indexes.iter().map(|index| index.columns.join(", ")).collect();
        vec![
            Markup::text(table.name()),
            Markup::text(&schema.columns.len().to_string()),
            Markup::text(&list(schema.primary_key)),
            Markup::text(&list(&references)),
            Markup::text(&if indexes.is_empty() { "–".to_owned() } else { indexes.join("; ") }),
        ]
    });
    let columns = [
        words("Table"),
        figures("columns"),
        words("Primary key"),
        words("Refers to"),
        words("Other indexes"),
    ];
    all.push(table("Keys", &columns, rows.to_vec()));
    all.push(heading("Partitions and copies (clauses 1.4.4 to 1.4.6)"));
    all.push(words_of(&match of.result.node_count() {
        Some(nodes) if nodes > 1 => format!("The warehouses are spread over {nodes} nodes."),
        _ => "No table is spread over nodes, as far as the database reports.".to_owned(),
    }));
    if !of.tables.is_empty() {
        all.push(heading("Definition of the tables"));
        all.push(listings(&of.tables));
    }
    all
}

fn profiles(r: &RunResult) -> Markup {
    let mut all = words_of(
        "Every random number comes from a named stream of the seed (plan, Appendix B). A terminal's inputs depend on \
         the seed, its number, and how many transactions it has entered. The constant of NURand for last names differs \
         between load and run as clause 2.1.6.1 demands.",
    );
    all.push(standard::mix(r));
    all.push(standard::inputs(r));
    all.push(standard::deferred(r));
    all.push(words_of(
        "Lydite sends requests with all fields of clauses 2.4.3 to 2.8.3. It draws no screens.",
    ));
    all
}

fn acid(of: &Disclosure<'_>) -> Markup {
    let mut all = Markup::default();
    match of.audit {
        None => all.push(words_of("The ACID tests were not run: see what is missing.")),
        Some(document) => {
            let under = &document.audit;
            let (length, kind) =
                (number(under.duration_s), if under.quick { "quick: short loads, " } else { "" });
            let begun = match under.start.as_str() {
                "" => String::new(),
                start => format!(", begun {}", moment(start)),
            };
            all.push(words_of(&format!(
                "Run on {} at isolation {}, {}, {kind}loads of {length} s by {}{begun}. Appendix C has the steps.",
                under.target.url,
                under.target.isolation,
                plural(under.warehouses, "warehouse"),
                plural(under.terminals, "terminal"),
            )));
            all.push(audit::tests(&page_of(document, false)));
            let cases: Vec<String> = document
                .tests
                .iter()
                .filter_map(|test| Some(format!("{} ({}): case {}", test.id, test.scope, test.case?)))
                .collect();
            all.push(heading("Cases of the isolation tests (clause 3.4.2)"));
            all.push(words_of(&if cases.is_empty() {
                "No test saw a case.".to_owned()
            } else {
                format!("{}.", cases.join("; "))
            }));
        }
    }
    all.push(heading("Conditions before and after the run"));
    all.push(standard::checks(of.result));
    all
}

/// Returns the tests of an audit that are about the data and the inputs, or all others.
fn page_of(document: &AuditDocument, of_data: bool) -> AuditPage<'_> {
    let mut page = document.page();
    page.tests.retain(|test| test.id.starts_with("data-") == of_data);
    page
}

fn scaling(of: &Disclosure<'_>) -> Markup {
    let mut all = cardinalities(of.result);
    if let Some(page) = of.audit.map(|document| page_of(document, true)).filter(|page| !page.tests.is_empty())
    {
        all.push(heading("Data and inputs, by the audit (clause 9.2.2)"));
        all.push(audit::tests(&page));
    }
    all.push(environment::load(of.result));
    all.push(heading("Space for 60 days (clause 4.2.3) and 8 hours of log (clause 5.5.1)"));
    match &of.space {
        None => all.push(words_of("The size of a warehouse is not known: see what is missing.")),
        Some(facts) => all.push(space(facts, of.result)),
    }
    all
}

/// The rows of each table after loading.
fn cardinalities(r: &RunResult) -> Markup {
    if r.plan.data_skew.is_some() {
        return words_of("The districts are skewed, so the tables have other rows than the standard's.");
    }
    let warehouses = r.warehouses().unwrap_or(0);
    let items = u64::from(Size::from_name(r.warehouse_size()).unwrap_or_default().items());
    let fewer = u64::from(Size::Standard.items()) / items;
    let rows = ROWS.iter().map(|rows| {
        // WAREHOUSE and DISTRICT are never small.
        let each = if rows.rows >= 1_000 { rows.rows / fewer } else { rows.rows };
        vec![
            Markup::text(rows.table.name()),
            Markup::text(&count(each)),
            Markup::text(&count(each * warehouses)),
            Markup::text(if rows.dynamic { "grows" } else { "" }),
        ]
    });
    let columns = [words("Table"), figures("rows of a warehouse"), figures("rows"), words("")];
    let caption = format!("Cardinalities after loading, {}", plural(warehouses, "warehouse"));
    let mut all = table(&caption, &columns, rows.collect());
    all.push(words_of(
        "ITEM has rows of its own at any scale. Each order has 5 to 15 lines, so ORDER-LINE's number is a mean.",
    ));
    all
}

fn space(facts: &SpaceFacts, r: &RunResult) -> Markup {
    let warehouses = r.warehouses().unwrap_or(0);
    let loaded = facts.bytes_per_warehouse.times(warehouses);
    let share = 100.0 * dynamic_bytes().0 as f64 / row_bytes().0 as f64;
    let of = &facts.space;
    let line = |name: &str, value: String, how: String| {
        vec![Markup::text(name), Markup::text(&value), Markup::text(&how)]
    };
    let rows = vec![
        line("A warehouse", facts.bytes_per_warehouse.to_string(), facts.source.to_owned()),
        line("Loaded data", loaded.to_string(), format!("× {} warehouses", count(warehouses))),
        line(
            "Static",
            of.static_bytes.to_string(),
            format!(
                "all but the {} % in ORDER, ORDER-LINE and HISTORY, with 5 % room (1.4.11)",
                number(share)
            ),
        ),
        line(
            "Daily growth",
            of.daily_growth_bytes.to_string(),
            format!("those tables / ({} warehouses × 62.5) × {} NOPM", count(warehouses), nopm(r.nopm)),
        ),
        line(
            "60 days",
            of.sixty_day_bytes.to_string(),
            format!("(static + 60 × daily growth) × copies of the data: {}", of.copies),
        ),
        line(
            "Log",
            of.log_bytes.to_string(),
            "480 minutes of new orders with their share of the mix".to_owned(),
        ),
        line("Disks", of.disk_bytes.to_string(), "both, filled by 80 %".to_owned()),
    ];
    let columns = [words("Space"), figures("bytes"), words("Computed as")];
    let mut all = table("", &columns, rows);
    let rules = facts.rules.iter().map(|rule| {
        let verdict = match rule.met {
            Some(true) => pill("good", "met"),
            Some(false) => pill("bad", "not met"),
            None => pill("none", "unknown"),
        };
        vec![Markup::text(rule.rule), Markup::text(rule.clause), verdict, Markup::text(&rule.note)]
    });
    let columns = [words("Rule"), words("Clause"), words("Met"), words("Why")];
    all.push(table("Rules of scaling", &columns, rules.collect()));
    all
}

fn performance(of: &Disclosure<'_>) -> Markup {
    let r = of.result;
    let run = RunData::new(r, "");
    let mut all = quantities(of);
    all.push(heading("Response times by type (clause 5.6.1)"));
    all.push(response_times(r, &run));
    all.push(heading("Response times against throughput (clause 5.6.2)"));
    if of.sweeps.is_empty() {
        all.push(words_of("Not measured: see what is missing."));
    }
    for each in of.sweeps {
        all.push(words_of(&each.title));
        all.push(each.figures.iter().map(|figure| sweep::figure(figure, each)).collect());
    }
    all.push(heading("Think times (clause 5.6.3)"));
    let think = think_times(r, &run);
    if r.pacing.as_ref().is_none_or(|pacing| pacing.values().all(|of| of.think_hdr.is_empty())) {
        all.push(words_of("The terminals did not wait, so there are no think times."));
    }
    all.push(think);
    all.push(standard::pacing(r));
    all.push(heading("Throughput over time (clause 5.6.4)"));
    all.push(over_time(r));
    all.push(heading("Reproducibility"));
    all.push(reproducibility(of));
    all.push(heading("Rules of measurement"));
    all.push(standard::rules(r));
    all
}

fn reproducibility(of: &Disclosure<'_>) -> Markup {
    if of.again.is_empty() {
        return words_of("There is one run: see what is missing.");
    }
    let mut rows = vec![vec![
        Markup::text("disclosed"),
        Markup::text(&moment(&of.result.window.start)),
        Markup::text(&nopm(of.result.nopm)),
        Markup::text("–"),
    ]];
    for ((place, other), percent) in (2..).zip(of.again).zip(of.differences()) {
        let text = format!("{}{} %", if percent < 0.0 { "−" } else { "+" }, number(percent.abs()));
        let kind = if percent.abs() <= REPRODUCED_PERCENT { "good" } else { "bad" };
        rows.push(vec![
            Markup::text(&format!("run {place}")),
            Markup::text(&moment(&other.window.start)),
            Markup::text(&nopm(other.nopm)),
            pill(kind, &text),
        ]);
    }
    let columns = [words("Run"), words("Measured from"), figures("NOPM"), words("Difference, at most 2 %")];
    Markup::element("div", &[("class", "narrow")], table("", &columns, rows))
}

fn sut(of: &Disclosure<'_>) -> Markup {
    let r = of.result;
    let mut tables = environment::target(r);
    tables.push(environment::host(r));
    tables.push(environment::client(r));
    let mut all = Markup::element("div", &[("class", "columns")], tables);
    all.push(words_of(if r.target.embedded {
        "The database runs inside the driver's process, so both share a machine and there is no network between them."
    } else {
        "The driver generates inputs, emulates terminals, takes times and counts. It holds no copy of any part of the \
         database (clause 6.4)."
    }));
    all
}

fn pricing(of: &Disclosure<'_>) -> Markup {
    match of.prices {
        Some(priced) => price_sheet(priced.prices),
        None => words_of("There is no price sheet: see what is missing."),
    }
}

fn availability() -> Markup {
    words_of(
        "The dates on which all priced parts are generally available are not known to Lydite: add them by hand.",
    )
}

fn audited(of: &Disclosure<'_>) -> Markup {
    let tests = match of.audit {
        Some(document) => format!("Lydite ran the tests of clause 3: {}.", document.acid_counts()),
        None => "Lydite ran none of the tests of clause 3.".to_owned(),
    };
    words_of(&format!(
        "No auditor has seen this system. {tests} Only an auditor certified by the TPC can attest a result (clause 9.1.1)."
    ))
}

fn listings(listings: &[Listing]) -> Markup {
    let each = listings.iter().map(|listing| {
        let mut one = Markup::with_text("h4", &[], &listing.title);
        one.push(Markup::with_text("pre", &[], listing.text.trim_end()));
        one
    });
    each.collect()
}

fn code(transactions: &[Listing]) -> Markup {
    if transactions.is_empty() {
        return words_of("The transactions are played by code that is not Lydite's: add its source by hand.");
    }
    let mut all = words_of("The transactions as the database gets them.");
    all.push(listings(transactions));
    all
}

fn settings(r: &RunResult) -> Markup {
    let mut tables = environment::plan(r);
    tables.push(environment::settings(r));
    Markup::element("div", &[("class", "columns")], tables)
}

fn steps(of: &Disclosure<'_>) -> Markup {
    of.audit.map_or_else(Markup::default, |document| document.page().tests.iter().map(audit::steps).collect())
}
