//! The errors that tests expect.

#![allow(dead_code, reason = "each test program uses a part of them")]

use gemel::{Conflict, Error, Result};
use std::fmt::Debug;

/// Checks that a handle is outdated, and the error's text.
#[track_caller]
pub(crate) fn outdated<T: Debug>(outcome: Result<T>, says: &str) {
    let error = outcome.unwrap_err();
    assert!(error.is_outdated() && !error.is_retryable() && error.to_string().contains(says), "{error:?}");
}

/// Checks that a transaction is too old, and the error's text.
#[track_caller]
pub(crate) fn too_old<T: Debug>(outcome: Result<T>, says: &str) {
    let error = outcome.unwrap_err();
    assert!(matches!(&error, Error::TooOld(text) if text.contains(says)), "{error:?}");
}

/// Checks that a call is rejected as misuse, and the error's text.
#[track_caller]
pub(crate) fn rejected<T: Debug>(outcome: Result<T>, says: &str) {
    let error = outcome.unwrap_err();
    assert!(matches!(&error, Error::Usage(text) if text.contains(says)), "{error:?}");
}

/// Checks that a transaction has lost a conflict of this kind.
#[track_caller]
pub(crate) fn conflict<T: Debug>(outcome: Result<T>, expected: Conflict) {
    match outcome {
        Err(Error::Conflict { kind, .. }) if kind == expected => {}
        other => panic!("{other:?} is not a {} conflict", expected.name()),
    }
}
