//! The families of databases that Lydite drives, and the choice of a family by URL.
//!
//! [`TargetSpec::parse`] validates a URL without touching anything. [`TargetSpec::open`] makes the
//! [`Target`](lydite_database::Target). [`families`] lists all families.

mod catalogs;
#[cfg(any(test, feature = "conformance"))]
#[allow(clippy::expect_used, reason = "these are tests, wherever they are called from")]
pub mod conformance;
mod duration;
mod etcd;
mod external;
mod family;
mod file_templates;
mod gemel;
mod grants;
mod keeper;
mod kv_server;
mod mysql;
mod net;
mod nodes;
mod null;
mod own_schema;
mod pasted;
mod per_transaction;
mod postgres;
mod redis;
mod registry;
mod schemes;
mod sql_load;
mod sqlite;
mod statement_limit;
#[cfg(test)]
mod statement_texts;
mod stoppable;
mod storage;
mod templates;
mod understood;
mod unread;

pub use duration::duration;
pub use external::{GO_SDK, PYTHON_RUNS, PYTHON_SDK, SdkFile};
pub use family::{Evidence, Family, PlacementSource, Scheme};
pub use gemel::GemelServer;
pub use grants::{Extra, GrantRequest, Grants, Work};
pub use own_schema::{OwnSchema, Script, ScriptError, ScriptKind};
pub use pasted::outcome::Outcome;
pub use postgres::NOT_INTERLEAVED;
pub use registry::{
    TargetSpec, default_port, families, family_of, leaves_out_password, parameters_page, strings_of,
};
pub use templates::{Template, TemplateList, Templates, template_name};
pub use understood::{Understood, understand};
