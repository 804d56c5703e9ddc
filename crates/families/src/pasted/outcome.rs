//! Outcomes of the parameters of connection strings.

/// Outcome of a parameter of a connection string. It has no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is a part of the URL, such as `user`, or an option with its value, such as `sslmode=require`.
    Used(String),
    /// Lydite does the same without being told.
    Same,
    /// It is left out, since it changes nothing for Lydite. The text is the reason.
    LeftOut(String),
    /// Lydite can't follow it. The text is the reason and the way out.
    Rejected(String),
    /// The name or the value is unknown. The text is the reason and the way out.
    Unknown(String),
    /// It is a password.
    Secret,
}

impl Outcome {
    /// Returns the outcome with another text, if it has a reason.
    pub(crate) fn map_reason(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::LeftOut(why) => Self::LeftOut(change(why)),
            Self::Rejected(why) => Self::Rejected(change(why)),
            Self::Unknown(why) => Self::Unknown(change(why)),
            other @ (Self::Used(_) | Self::Same | Self::Secret) => other,
        }
    }
}
