//! Prints the table of a made-up result: `cargo run -p lydite-report --example sample_table`.

#[path = "../tests/it/sample/mod.rs"]
#[allow(clippy::unwrap_used, reason = "made-up data fits its histograms")]
mod sample;

use lydite_report::{compare, render_comparison, render_table};
use sample::{Look, sample};

fn main() {
    let usual = sample(Look::default());
    let troubled = sample(Look { seed: 2, speed: 1.2, troubled: true, ..Look::default() });
    let paced = sample(Look { mode: "rte", ..Look::default() });
    println!("{}", render_table(&usual, 140, true));
    println!("{}", render_table(&troubled, 90, true));
    println!("{}", render_table(&paced, 80, false));
    println!("{}", render_comparison(&compare(&usual, &troubled)));
    println!("{}", render_comparison(&compare(&usual, &sample(Look { seed: 3, ..Look::default() }))));
}
