//! Prints circles, long functions and untyped errors of the sources: `cargo run -p lydite-architecture`.

use lydite_architecture::circles::{back_up, circles};
use lydite_architecture::imports::imports;
use lydite_architecture::measures::{LONG, functions, text_errors};
use lydite_architecture::workspace::Workspace;
use std::process::ExitCode;

/// Number of the longest functions, and of the files with the most texts as errors, that are named.
const NAMED: usize = 10;

fn main() -> ExitCode {
    match Workspace::read() {
        Ok(workspace) => {
            print(&workspace);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn print(workspace: &Workspace) {
    let (mut count, mut greatest, mut up) = (0, 0, 0);
    for of in &workspace.crates {
        let imports = imports(of);
        let found = circles(of, &imports);
        count += found.len();
        greatest = found.iter().map(|circle| circle.len()).max().unwrap_or(0).max(greatest);
        up += back_up(of, &imports).len();
    }
    println!(
        "circles among files: {count}, the greatest of {greatest} files; imports that run back up: {up}"
    );

    let mut functions = functions(workspace);
    functions.sort_by_key(|function| std::cmp::Reverse(function.lines));
    let long = functions.iter().filter(|function| function.lines > LONG).count();
    let percent = 100.0 * long as f64 / functions.len() as f64;
    println!("functions of more than {LONG} lines: {long} of {} ({percent:.2} %)", functions.len());
    functions.iter().take(NAMED).for_each(|function| println!("  {:4} {}", function.lines, function.name));

    let mut texts = text_errors(workspace);
    texts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let all: usize = texts.iter().map(|(_, count)| count).sum();
    println!("results with a text as error: {all}");
    texts.iter().take(NAMED).for_each(|(path, count)| println!("  {count:4} {path}"));
}
