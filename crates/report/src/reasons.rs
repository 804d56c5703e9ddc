//! Reasons why a text is rejected, or why a number can't be judged. Each is a text that continues a sentence.

use std::ops::Deref;

/// Makes a type of reasons.
macro_rules! reason {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
        #[error("{0}")]
        pub struct $name(pub(crate) String);

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl From<$name> for String {
            fn from(reason: $name) -> Self {
                reason.0
            }
        }
    };
}

reason! {
    /// A name that is no metric. The sentence begins with the name.
    UnknownMetric
}
reason! {
    /// A text that is no value of a metric. The sentence begins with the text.
    BadValue
}
reason! {
    /// A metric that can't be judged in a result: a sentence without a full stop.
    NotJudged
}
reason! {
    /// A text that is no condition of a gate. The sentence begins with the text.
    BadCondition
}
reason! {
    /// A condition of a claim that its figure can't be judged by: a sentence without a full stop.
    BadClaim
}
reason! {
    /// An event whose availability can't be computed: the reason, and what to do.
    Unjudged
}
