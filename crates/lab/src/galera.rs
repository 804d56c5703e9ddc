//! New start of Galera's nodes.

use lydite_faults::cluster::Rejoin;

/// Argument of the node that begins a cluster. A start without it joins the others.
pub(crate) const NEW_CLUSTER: &str = "--wsrep-new-cluster";

/// Returns how a node of Galera starts again.
pub(crate) fn rejoin() -> Rejoin {
    Rejoin {
        recover: ["--skip-log-error", "--skip-networking", "--wsrep-recover"].map(str::to_owned).to_vec(),
        recovered: "WSREP: Recovered position: ".into(),
        error: "[ERROR]".into(),
        position: "--wsrep-start-position=".into(),
        new_cluster: NEW_CLUSTER.into(),
        members: "gvwstate.dat".into(),
        state: "grastate.dat".into(),
        forbids: "safe_to_bootstrap: 0".into(),
        permits: "safe_to_bootstrap: 1".into(),
    }
}
