//! `lydite disclose`: an executive summary and a full disclosure report, as HTML and PDF.

mod inputs;
mod pdf;

use super::plan::{bytes_of, facts, finish, usual_bytes_of};
use crate::cli::{DiscloseArgs, PaperSize};
use crate::scratch::Scratch;
use inputs::Inputs;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::{complain, reserve_stdout};
use lydite_console::shell::typed;
use lydite_console::write::write;
use lydite_database::TxMode;
use lydite_database::code::{self, Code};
use lydite_families::TargetSpec;
use lydite_plan::destination::Destination;
use lydite_report::RunResult;
use lydite_report::disclosure::{
    Disclosure, Gap, Listing, Paper, Priced, SpaceFacts, render_executive_summary, render_full_disclosure,
};
use lydite_report::figures::plural;
use lydite_tpcc::sizing::{Prices, SpacePlan, judge, price};
use pdf::{ADVICE, Browser};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of a document without its end, and the function that renders it.
type Rendering = (&'static str, fn(&Disclosure<'_>) -> String);

/// The documents.
const DOCUMENTS: [Rendering; 2] =
    [("executive-summary", render_executive_summary), ("full-disclosure", render_full_disclosure)];

/// The JSON document.
#[derive(Serialize)]
struct Written<'a> {
    lydite: &'static str,
    files: Vec<String>,
    missing: &'a [Gap],
}

/// Runs `lydite disclose`.
pub(crate) fn command(args: &DiscloseArgs) -> Outcome {
    let inputs = inputs::read(args).map_err(Failure::Usage)?;
    if inputs.json.as_ref().is_some_and(Destination::is_stdout) {
        reserve_stdout();
    }
    let Some((result, again)) = inputs.results.split_first() else {
        return Err(Failure::usage("no result of a run is named"));
    };
    let prices = inputs.prices.as_ref().map(|sheet| price(&sheet.currency, &sheet.parts, result.nopm));
    let disclosure = disclosure(&inputs, (result, again), prices.as_ref(), args.paper);
    let pages: Vec<(&str, String)> =
        DOCUMENTS.iter().map(|(name, render)| (*name, render(&disclosure))).collect();
    // The unit of audited results; only a text of the user's can contain it.
    if pages.iter().any(|(_, page)| page.to_ascii_lowercase().contains("tpmc")) {
        return Err(Failure::usage(
            "a label, part, setting or URL says tpmC, the unit of audited results: write NOPM instead",
        ));
    }
    fs::create_dir_all(&args.output)
        .map_err(|error| Failure::usage(format!("cannot make {}: {error}", args.output.display())))?;
    let browser = if args.no_pdf { None } else { Browser::find() };
    let mut files = Vec::new();
    let mut failures = Vec::new();
    for (name, page) in &pages {
        let html = args.output.join(format!("{name}.html"));
        write(&Destination::new(&html), page.as_bytes(), None)?;
        files.push(html.clone());
        if let Some(browser) = &browser {
            match printed(browser, &html) {
                Ok(pdf) => files.push(pdf),
                Err(failure) => failures.push(failure),
            }
        }
    }
    if browser.is_none() && !args.no_pdf {
        complain(ADVICE);
    }
    let gaps = disclosure.gaps();
    let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let text =
        format!("{} missing, listed first\n{}\n", plural(gaps.len() as u64, "thing"), files.join("\n"));
    let document = Written { lydite: env!("CARGO_PKG_VERSION"), files, missing: &gaps };
    finish(&document, &text, inputs.json.as_ref(), failures)
}

/// Prints a page beside itself.
fn printed(browser: &Browser, html: &Path) -> Result<PathBuf, Failure> {
    let pdf = html.with_extension("pdf");
    let profile = Scratch::make("browser")?;
    let printed = browser.print(html, &pdf, profile.path());
    printed.map(|()| pdf).map_err(|error| Failure::usage(error.to_string()))
}

/// Collects the contents of the documents.
fn disclosure<'a>(
    inputs: &'a Inputs,
    (result, again): (&'a RunResult, &'a [RunResult]),
    prices: Option<&'a Prices>,
    paper: PaperSize,
) -> Disclosure<'a> {
    let code = code_of(result);
    let listings = |all: Vec<code::Listing>| {
        all.into_iter().map(|each| Listing { title: each.title, text: each.text }).collect()
    };
    let (tables, transactions) =
        code.map_or_else(Default::default, |code| (listings(code.tables), listings(code.transactions)));
    Disclosure {
        result,
        again,
        sweeps: &inputs.sweeps,
        audit: inputs.audit.as_ref(),
        prices: prices.zip(inputs.prices.as_ref()).map(|(prices, sheet)| Priced {
            prices,
            years: sheet.parts.iter().map(|part| part.years).min().unwrap_or(0),
        }),
        space: space(inputs, result),
        tables,
        transactions,
        target: typed(&result.target.url).into_owned(),
        paper: match paper {
            PaperSize::A4 => Paper::A4,
            PaperSize::Letter => Paper::Letter,
        },
    }
}

/// Returns the code that the run sent to the database. `None` if it is not Lydite's, or if this version does not know
/// the database.
fn code_of(result: &RunResult) -> Option<Code> {
    let mode = result.plan.tx.as_deref().and_then(TxMode::from_name).unwrap_or_default();
    let mut code = TargetSpec::parse(&result.target.url, mode).ok()?.code(&result.target.version)?;
    if let Some(schema) = &result.plan.schema {
        let text = schema.text.clone().unwrap_or_else(|| format!("-- The statements of {schema}"));
        code.tables = vec![code::Listing::new(format!("Tables by {schema}"), text)];
    }
    let after = result.plan.after_load.as_ref();
    code.tables.extend(
        after.and_then(|file| Some(code::Listing::new(format!("After the rows {file}"), file.text.clone()?))),
    );
    Some(code)
}

/// Computes the space: by the user's size of a warehouse, else that in the result, else the usual one of the database.
fn space(inputs: &Inputs, result: &RunResult) -> Option<SpaceFacts> {
    let warehouses = u32::try_from(result.warehouses()?).ok()?;
    let (bytes_per_warehouse, source, measured) = match (inputs.bytes_per_warehouse, bytes_of(result)) {
        (Some(bytes), _) => (bytes, "given with --bytes-per-warehouse", true),
        (None, Some(bytes)) => (bytes, "measured at the begin of the run", true),
        (None, None) => (usual_bytes_of(result)?, "typical of this kind of database, not measured", false),
    };
    let plan = SpacePlan { copies: u64::from(inputs.copies), ..SpacePlan::new(bytes_per_warehouse) };
    let space = plan.space(warehouses, result.nopm);
    let rules = judge(&facts(result, warehouses, Some(space), inputs.disk));
    Some(SpaceFacts { bytes_per_warehouse, source, measured, space, rules })
}
