//! Shared parts of the URLs of key-value servers.

use crate::family::Configured;
use lydite_database::code::Code;
use lydite_database::kv::{KvTarget, Store};
use lydite_database::patience::TIMEOUT;
use lydite_database::target_url::OptionSpec;
use lydite_database::{Target, TargetError};
use std::fmt::Debug;
use std::sync::Arc;

/// Options after `?`.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "prefix",
        values: "a name",
        default: "lydite",
        about: "prefix of all keys; other keys are left alone",
    },
    TIMEOUT,
];

/// Settings in the URL of a server that is a key-value store.
pub(crate) trait KvServer: Debug + Clone + Send + Sync + 'static {
    /// The store.
    type Store: Store<Config = Self>;

    /// Returns the URL without the password.
    fn url(&self) -> &str;
}

/// A valid URL of such a server.
#[derive(Debug)]
pub(crate) struct OfKvServer<C>(pub(crate) C);

impl<C: KvServer> Configured for OfKvServer<C> {
    fn shown_url(&self) -> Option<&str> {
        Some(self.0.url())
    }

    fn plays_micro(&self) -> bool {
        false
    }

    fn loads_one_node(&self) -> bool {
        true
    }

    fn has_server(&self) -> bool {
        true
    }

    fn code(&self, _version: &str) -> Option<Code> {
        Some(Code::key_value())
    }

    fn open(&self) -> Result<Arc<dyn Target>, TargetError> {
        Ok(Arc::new(KvTarget::<C::Store>::new(self.0.clone())))
    }
}
