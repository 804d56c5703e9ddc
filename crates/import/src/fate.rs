//! Fates of settings: a kind for each, and the value in the plan or a reason.

use serde::Serialize;

/// The kinds of fates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The setting is in the plan or in the URL, or Lydite does it anyway.
    Translated,
    /// Lydite does not need the setting.
    Dropped,
    /// Lydite has nothing like the setting.
    NoCounterpart,
    /// The setting or its value is unknown.
    NotUnderstood,
    /// The setting is a password, which goes nowhere.
    Secret,
}

impl Kind {
    /// Returns the kind in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Translated => "translated",
            Self::Dropped => "dropped",
            Self::NoCounterpart => "no counterpart",
            Self::NotUnderstood => "not understood",
            Self::Secret => "left out",
        }
    }
}

/// The fate of a setting. The text never repeats the value as it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Kind of the fate.
    pub kind: Kind,
    /// Value in the plan, or the reason.
    pub text: String,
}

/// Text about a password.
pub(crate) const PASSWORD: &str = "goes nowhere: set LYDITE_PASSWORD to it";

impl Fate {
    fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    /// The setting is in the plan as `text`.
    pub(crate) fn translated(text: impl Into<String>) -> Self {
        Self::new(Kind::Translated, text)
    }

    /// Lydite does not need the setting, for this reason.
    pub(crate) fn dropped(reason: impl Into<String>) -> Self {
        Self::new(Kind::Dropped, reason)
    }

    /// Lydite has nothing like the setting, for this reason.
    pub(crate) fn none(reason: impl Into<String>) -> Self {
        Self::new(Kind::NoCounterpart, reason)
    }

    /// The setting or its value is not understood, for this reason.
    pub(crate) fn unknown(reason: impl Into<String>) -> Self {
        Self::new(Kind::NotUnderstood, reason)
    }

    /// The setting is a password.
    pub(crate) fn secret() -> Self {
        Self::new(Kind::Secret, PASSWORD)
    }
}
