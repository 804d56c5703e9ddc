//! Writes the pages of made-up results into a directory, to look at while working on the front end:
//! `cargo run -p lydite-report --example sample_page -- DIRECTORY`.

#[path = "../tests/sample/mod.rs"]
mod sample;

use std::path::PathBuf;

use lydite_report::{RunResult, render_html};
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
    Ok(())
}
