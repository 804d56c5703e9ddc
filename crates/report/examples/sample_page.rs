//! Writes the pages of made-up results into a directory, to look at while working on the front end:
//! `cargo run -p lydite-report --example sample_page -- DIRECTORY`.

#[path = "../tests/it/sample/mod.rs"]
#[allow(clippy::unwrap_used, reason = "made-up data fits its histograms")]
mod sample;

use std::path::PathBuf;

use lydite_report::metrics::{Asked, Event, Metrics};
use lydite_report::model::{NodeBytes, NodeFigures};
use lydite_report::{RunResult, render_html, render_report};
use sample::{Look, sample};

fn main() -> std::io::Result<()> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    std::fs::create_dir_all(&directory)?;
    let usual = sample(Look::default());
    let troubled = sample(Look { seed: 2, speed: 1.2, troubled: true, ..Look::default() });
    let paced = sample(Look { seed: 3, mode: "rte", ..Look::default() });
    let mut slower = sample(Look { seed: 4, speed: 0.7, ..Look::default() });
    slower.target.kind = "mysql".to_owned();
    slower.target.version = "9.1.0".to_owned();
    let pages: [(&str, &[RunResult]); 5] = [
        ("usual.html", std::slice::from_ref(&usual)),
        ("troubled.html", std::slice::from_ref(&troubled)),
        ("paced.html", std::slice::from_ref(&paced)),
        ("pair.html", &[usual.clone(), slower.clone()]),
        ("several.html", &[usual.clone(), troubled.clone(), slower]),
    ];
    for (name, results) in pages {
        std::fs::write(directory.join(name), render_html(results))?;
    }
    // A cluster of three sizes with a node that goes and comes back.
    let cluster = |(seed, nodes, speed): (u64, u64, f64)| {
        let mut result = sample(Look { seed, speed, troubled: nodes == 6, ..Look::default() });
        let of = |node: u64| {
            (result.series.second.iter().map(|_| 90 + 10 * node).collect(), vec![node << 24, node << 25])
        };
        let (ops, bytes) = (1..=nodes).map(of).unzip();
        result.nodes = Some(NodeFigures {
            names: (1..=nodes).map(|node| format!("node-{node}")).collect(),
            second: result.series.second.clone(),
            ops,
            bytes: Some(NodeBytes { second: vec![-20.0, 300.0], of: bytes }),
        });
        result
    };
    let sizes = [(5, 3, 1.0), (6, 6, 1.8), (7, 9, 2.4)].map(cluster);
    let asked = Asked {
        events: vec![Event { name: "shutdown".to_owned(), from_s: 200.0, to_s: Some(207.0) }],
        nodes: Some(vec![3, 6, 9]),
        ..Asked::default()
    };
    let metrics = Metrics::of(&sizes, &asked).map_err(std::io::Error::other)?;
    std::fs::write(directory.join("metrics.html"), render_report(&sizes, &[], &metrics))
}
