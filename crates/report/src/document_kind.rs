//! Kinds of JSON documents that Lydite writes, told apart by their keys. A command that reads one kind must not take
//! another one for an empty document of its own.

use serde_json::Value;

/// A kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// Result of a run.
    Result,
    /// Findings of `lydite audit`.
    Audit,
    /// Summary of a sweep.
    Sweep,
    /// Judgement of `lydite verify --isolation`.
    Isolation,
    /// Verdicts of `lydite verify`.
    Functions,
    /// Verdicts of `lydite check --foreign`.
    ForeignCheck,
    /// Counts of `lydite was`.
    Was,
    /// Measures of `lydite load`.
    Load,
    /// Comparison of `lydite compare`.
    Comparison,
    /// Comparison of `lydite ab`.
    Ab,
    /// Search of `lydite find`.
    Find,
    /// Plans of `lydite import`.
    Plans,
    /// List of `lydite drop`.
    Removal,
    /// Sizes of `lydite plan`.
    Sizes,
}

/// Keys of each kind.
const KEYS: [(DocumentKind, &[&str]); 14] = [
    (DocumentKind::Ab, &["ab", "sides"]),
    (DocumentKind::Find, &["find", "runs"]),
    (DocumentKind::Audit, &["audit", "tests"]),
    (DocumentKind::Sweep, &["points", "figures"]),
    (DocumentKind::Isolation, &["isolation"]),
    (DocumentKind::Functions, &["group", "tests"]),
    (DocumentKind::ForeignCheck, &["databases"]),
    (DocumentKind::Was, &["listen", "transactions"]),
    (DocumentKind::Comparison, &["groups", "metrics"]),
    (DocumentKind::Result, &["transactions"]),
    (DocumentKind::Load, &["load", "plan"]),
    (DocumentKind::Plans, &["lydite", "plans"]),
    (DocumentKind::Removal, &["ours", "stays"]),
    (DocumentKind::Sizes, &["warehouses", "slowest_response_s"]),
];

impl DocumentKind {
    /// Returns the kind of a document; `None` if it is none of Lydite's.
    #[must_use]
    pub fn of(document: &Value) -> Option<Self> {
        let has = |keys: &[&str]| keys.iter().all(|key| document.get(key).is_some());
        KEYS.iter().find(|(_, keys)| has(keys)).map(|(kind, _)| *kind)
    }

    /// Returns the reason why a document of this kind is no result of a run; `None` if it is one.
    pub(crate) fn no_result(self) -> Option<&'static str> {
        Some(match self {
            Self::Result => return None,
            Self::Audit => "it is an audit, which only `lydite disclose --audit` reads",
            Self::Sweep => "it is the summary of a sweep: name the results of its runs, which are beside it",
            Self::Isolation => "it is a judgement of `lydite verify --isolation`",
            Self::Functions => "it has verdicts of `lydite verify`",
            Self::ForeignCheck => "it has verdicts of `lydite check --foreign`",
            Self::Was => "it has counts of `lydite was`",
            Self::Comparison => "it is a comparison of `lydite compare --json`",
            Self::Ab => {
                "it compares two variants in turns: name the results of its runs, which are beside it"
            }
            Self::Find => "it searches the highest level: name the results of its runs, which are beside it",
            Self::Plans => "it has plans of `lydite import --json`, which nothing has run yet",
            Self::Removal => "it has the list of `lydite drop --json`",
            Self::Sizes => "it has sizes of `lydite plan --json`",
            Self::Load => "it has measures of `lydite load`, whose page `lydite load --report` writes",
        })
    }
}
