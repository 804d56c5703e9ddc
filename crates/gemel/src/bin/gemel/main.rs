//! The command `gemel` reads, checks, backs up and changes a database from a shell.

mod arguments;
mod backup;
mod check;
mod compact;
mod dump;
mod failure;
mod get;
mod listing;
mod load;
mod move_table;
mod parts;
mod prepared;
mod scan;
mod stat;
mod statistics;
mod values;

use arguments::{Arguments, Command, flag, valued};
use failure::{Failure, Outcome};
use listing::{say, tell};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::process::ExitCode;

const COMMANDS: &[Command] = &[
    Command {
        name: "check",
        synopsis: "PATH",
        help: "opens the database in the directory PATH, reads all of it, and lists its parts and their faults",
        places: 1..=1,
        takes: "one PATH",
        options: &[],
        run: check::run,
    },
    Command {
        name: "stat",
        synopsis: "PATH [TABLE] [--exact] [--format text|json]",
        help: "shows tables with their columns and indexes, keyspaces, rows, bytes, files, log and checkpoint.
Rows and bytes of tables on disk are estimates, marked ~; with --exact all rows are read and counted.
With a TABLE, shows the nulls, different values and common values of its columns, from a sample",
        places: 1..=2,
        takes: "PATH, and maybe one TABLE",
        options: &[flag("--exact"), valued("--format")],
        run: stat::run,
    },
    Command {
        name: "get",
        synopsis: "PATH TABLE KEY… [--format text|json|csv]",
        help: "shows the row with a primary key, one KEY for each of its columns, or the value of a keyspace's KEY.
See \"Values\" below for their form",
        places: 3..=usize::MAX,
        takes: "PATH, TABLE and KEY",
        options: &[valued("--format")],
        run: get::run,
    },
    Command {
        name: "scan",
        synopsis: "PATH TABLE [--index NAME] [--from V | --after V] [--to V | --before V] [--prefix V] [--reverse] \
                   [--limit N] [--format text|json|csv]",
        help: "lists rows in the order of the primary key, or of an index. V has values for the first columns of the
key, with commas in between; for an index, those of the primary key follow its own. --from and --to
include the rows that begin with them, --after and --before leave them out. These are whole values:
--prefix ring finds ring and not rings, but --from ring --before rinh finds all texts that begin with
ring. TABLE may be a keyspace: then V is a key, and for --prefix the first bytes of keys",
        places: 2..=2,
        takes: "PATH and TABLE",
        options: &[
            valued("--index"),
            valued("--from"),
            valued("--after"),
            valued("--to"),
            valued("--before"),
            valued("--prefix"),
            flag("--reverse"),
            valued("--limit"),
            valued("--format"),
        ],
        run: scan::run,
    },
    Command {
        name: "dump",
        synopsis: "PATH [TABLE…]",
        help: "writes the schemas and rows of all or some tables and keyspaces as lines of JSON, at one snapshot.
The page of the manual, gemel(1), describes the lines",
        places: 1..=usize::MAX,
        takes: "PATH",
        options: &[],
        run: dump::run,
    },
    Command {
        name: "load",
        synopsis: "PATH FILE [--replace]",
        help: "reads a dump, or the standard input if FILE is -, into the database in the directory PATH, and makes
what does not exist. All of the dump is checked first, so a damaged one changes nothing. A row that
exists ends the load, and nothing of its table is loaded; with --replace it is replaced. A
transaction has some thousand rows: after an interruption, repeat the load with --replace",
        places: 2..=2,
        takes: "PATH and FILE",
        options: &[flag("--replace")],
        run: load::run,
    },
    Command {
        name: "compact",
        synopsis: "PATH [TABLE…] [--format text|json]",
        help: "merges the files of all or some tables and keyspaces on disk, and drops deleted rows and old versions.
It needs twice as much free space as the files of the largest table or index take",
        places: 1..=usize::MAX,
        takes: "PATH",
        options: &[valued("--format")],
        run: compact::run,
    },
    Command {
        name: "backup",
        synopsis: "PATH TO",
        help: "copies the database in the directory PATH to the directory TO, which is empty, missing, or an
earlier backup of the same database; then only files that it lacks are copied",
        places: 2..=2,
        takes: "PATH and TO",
        options: &[],
        run: backup::run,
    },
    Command {
        name: "move",
        synopsis: "PATH TABLE memory|disk",
        help: "moves a table with its indexes, or a keyspace, to an engine of the database in the directory PATH",
        places: 3..=3,
        takes: "PATH, TABLE, and memory or disk",
        options: &[],
        run: move_table::run,
    },
    Command {
        name: "prepared",
        synopsis: "PATH [--format text|json|csv]",
        help: "lists the prepared transactions that are undecided, oldest first: name, time, rows and bytes",
        places: 1..=1,
        takes: "one PATH",
        options: &[valued("--format")],
        run: prepared::list,
    },
    Command {
        name: "decide",
        synopsis: "PATH NAME commit|roll-back",
        help: "commits a prepared transaction or rolls it back. If a program coordinates several databases, decide as
it has decided in the others",
        places: 3..=3,
        takes: "PATH, NAME, and commit or roll-back",
        options: &[],
        run: prepared::decide,
    },
];

/// Maximum number of characters of a synopsis in a line of the help.
const SYNOPSIS_WIDTH: usize = 95;

const NOTES: &str = "\
A database must not be open elsewhere, except for a backup: then the other process makes it. To read a database that
is open, make a copy with gemel backup and read that. Each command opens the database as a program does: with
recovery after a crash, a lock until the command ends, memory for all tables in memory, and merges of files in the
background if they are due. check, stat, get, scan, dump and prepared change nothing else.

Values in arguments and in text: numbers as 7, 0.5, -inf, NaN; decimals as 12.50; true, false; bytes as hexadecimal
digits, 00ff; times as 2024-05-01T12:30:00Z or in microseconds since 1970; null as \\N. In texts and in the keys and
values of keyspaces, a backslash is written \\\\, a comma in a list \\,, a line's end \\n or \\r, a tab \\t, and any byte
\\xNN. After -- all arguments are values. In CSV, null is empty, an empty text is \"\", and texts have no escapes.

In JSON, integers have all their digits: 9007199254740993. Floats are numbers, and \"inf\", \"-inf\" and \"NaN\" are
strings. Decimals, bytes, times and texts are strings: \"12.50\", \"00ff\", \"2024-05-01T12:30:00Z\". Keys and values of
keyspaces are strings with the escapes above. Null is null.

Exit codes: 0 good, 1 the database, the backup or the dump is damaged, 2 wrong usage, 3 another reason why the work
cannot be done, such as no table of that name, no row with that key, or a database that is open elsewhere
";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut options = arguments.iter().take_while(|argument| *argument != "--");
    let asks_for_help = arguments.first().is_some_and(|argument| argument == "help");
    if asks_for_help || options.clone().any(|argument| argument == "--help" || argument == "-h") {
        say(&help());
        return ExitCode::SUCCESS;
    }
    if options.any(|argument| argument == "--version" || argument == "-V") {
        say(concat!("gemel ", env!("CARGO_PKG_VERSION"), "\n"));
        return ExitCode::SUCCESS;
    }
    let failure = match run(&arguments) {
        Ok(code) => return ExitCode::from(code),
        Err(failure) => failure,
    };
    if let Some(message) = failure.message() {
        tell(&message);
    }
    ExitCode::from(failure.code())
}

fn run(arguments: &[OsString]) -> Outcome<u8> {
    let names = || COMMANDS.iter().map(|command| command.name).collect::<Vec<_>>().join(", ");
    let Some((name, rest)) = arguments.split_first() else {
        return Err(Failure::Usage(format!("name a command: {}; gemel --help explains them", names())));
    };
    let Some(command) = COMMANDS.iter().find(|command| *name == *command.name) else {
        return Err(Failure::Usage(format!(
            "{} is no command: use {}; gemel --help explains them",
            name.display(),
            names()
        )));
    };
    (command.run)(&Arguments::parse(command, rest)?)
}

fn help() -> String {
    let mut text = String::new();
    for command in COMMANDS {
        // Writing to a string does not fail.
        let _ = writeln!(text, "gemel {} {}", command.name, wrapped(command.synopsis));
        for line in command.help.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    let _ = writeln!(text, "gemel --version\n    prints the version\n");
    text + NOTES
}

/// Returns a synopsis in lines that are not too wide, broken before an argument in brackets.
fn wrapped(synopsis: &str) -> String {
    let (mut text, mut width) = (String::new(), 0);
    for (number, argument) in synopsis.split(" [").enumerate() {
        let begin = if number == 0 { "" } else { "[" };
        if number > 0 && width + argument.len() > SYNOPSIS_WIDTH {
            text.push_str("\n         ");
            width = 0;
        } else if number > 0 {
            text.push(' ');
        }
        text.push_str(begin);
        text.push_str(argument);
        width += argument.len() + 2;
    }
    text
}
