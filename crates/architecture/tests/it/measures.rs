//! Functions stay short and errors have types: numbers that may only get smaller.

use crate::WORKSPACE;
use lydite_architecture::measures::{LONG, functions, text_errors};

/// Most functions of more than [`LONG`] lines, in percent of all.
const MOST_LONG_PERCENT: f64 = 0.5;
/// Most results whose error is a text. It is lowered whenever there are fewer.
const MOST_TEXT_ERRORS: usize = 59;

#[test]
fn few_functions_are_long() {
    let all = functions(&WORKSPACE);
    let long: Vec<_> = all.iter().filter(|function| function.lines > LONG).collect();
    let percent = 100.0 * long.len() as f64 / all.len() as f64;
    assert!(
        percent <= MOST_LONG_PERCENT,
        "{percent:.2} % of the functions have more than {LONG} lines, and {MOST_LONG_PERCENT} % may: shorten one of {long:#?}"
    );
}

#[test]
fn no_further_result_has_a_text_as_its_error() {
    let found: usize = text_errors(&WORKSPACE).iter().map(|(_, count)| count).sum();
    assert!(
        found <= MOST_TEXT_ERRORS,
        "{found} results have a text as their error, and {MOST_TEXT_ERRORS} may: give the new one a type, whose variants say \
         what a caller can do"
    );
}
