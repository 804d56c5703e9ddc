//! The languages of drivers.

/// The language of a new driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Python 3.9 or later.
    Python,
    /// Go 1.19 or later.
    Go,
}

impl Language {
    /// Returns the name for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Go => "Go",
        }
    }

    /// Returns the value in flags and specifications.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Go => "go",
        }
    }
}
