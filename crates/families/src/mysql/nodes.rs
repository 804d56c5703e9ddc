//! The other servers of a cluster for sessions (`nodes=`): checks of their contents and their durability.

use crate::mysql::Mysql;
use crate::mysql::connecting::connected_for;
use crate::mysql::describe::{engines_are_durable, settings};
use crate::net::Purpose;
use crate::nodes::{Node, check_one_database};
use crate::unread::Unread;
use lydite_database::sql::meta::Admin;
use lydite_database::{Role, TargetError, TargetErrorKind};
use std::collections::{BTreeMap, BTreeSet};

impl Mysql {
    /// Rejects servers that do not hold the database of the first one.
    pub(super) fn check_nodes(&self) -> Result<(), TargetError> {
        let nodes: Vec<Self> = self.nodes.iter().map(|node| Self::new(node.alone())).collect();
        check_one_database(&nodes)
    }

    /// Returns true if a commit survives the loss of power on these servers. Records the settings that differ from
    /// those of the first server. A server that does not report its settings counts as not durable.
    pub(super) fn nodes_are_durable(
        &self,
        noted: &mut BTreeMap<String, String>,
        engines: &[String],
        unread: &mut Unread,
    ) -> Result<bool, TargetError> {
        let first = noted.clone();
        let mut durable = true;
        for (node, number) in self.nodes.iter().zip(1..).skip(1) {
            let mut wire = match connected_for(node, Purpose::Transactions) {
                Ok(wire) => wire,
                Err(error) if error.kind == TargetErrorKind::Unreachable => {
                    // The cluster works on without the node. Its durability is unknown until it is back.
                    noted.insert(
                        format!("settings of node {number}"),
                        "not asked: it is not reachable".into(),
                    );
                    durable = false;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let mut silent = Unread::default();
            let theirs = silent
                .or_empty(&format!("the settings of {}", node.place()), settings(&mut wire))
                .map_err(self.failed(&format!("ask {} for settings", node.place())))?;
            if !silent.is_empty() {
                durable = false;
                unread.extend(silent);
                continue;
            }
            durable &= wire.product.always_durable || engines_are_durable(&theirs, engines);
            let names: BTreeSet<&String> = first.keys().chain(theirs.keys()).collect();
            for name in names.into_iter().filter(|name| first.get(*name) != theirs.get(*name)) {
                let value = theirs.get(name).map_or("not there", String::as_str);
                noted.insert(format!("{name} of node {number}"), value.to_string());
            }
        }
        Ok(durable)
    }
}

impl Node for Mysql {
    fn place(&self) -> String {
        self.config.place()
    }

    /// A MariaDB server that is in no cluster has its text alone.
    fn cluster(&self) -> Result<Vec<String>, TargetError> {
        let found = self.read_replication()?;
        let mut wire = self.connect_wire()?;
        if found.role == Role::Member || !wire.product.gtids {
            return Ok(found.database.into_iter().collect());
        }
        wire.column("SELECT concat_ws(' ', @@hostname, @@port, @@datadir)")
            .map_err(self.failed("ask for its place"))
    }
}
