//! Files that are none, and files in odd forms.

use lydite_import::{Import, Source, SourceError, TOOLS, read_files, tool_of};
use std::io;

fn error(bytes: &[u8]) -> String {
    match Source::from_bytes("f", bytes) {
        Err(error) => error.to_string(),
        Ok(source) => read_files(&[source]).unwrap_err().iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn what_is_no_configuration_is_named_with_what_was_looked_for() {
    let cases: [(&[u8], &str); 8] = [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"\x7fELF\x00\x01\x02", "is not text"),
        (b"SQLite format 3\0 and so on", "is a database file"),
        (b"dear diary, nothing happened", "is no configuration that Lydite knows: name a file of BenchBase"),
        (b"go-tpc tpcc run\n./tpcc.lua run\n", "has settings of go-tpc and of sysbench-tpcc"),
        (b"<parameters>", "ends before its elements do"),
        (b"<parameters/>", "has no setting"),
    ];
    for (bytes, part) in cases {
        let error = error(bytes);
        assert!(error.contains(part), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    for tool in TOOLS {
        assert!(error(b"nothing").contains(tool.mark), "{}", tool.name);
    }
}

#[test]
fn a_file_of_any_size_is_read_up_to_a_limit_only() {
    let endless = Source::read("f", io::repeat(b'a'));
    assert!(matches!(endless, Err(SourceError::Large)));
}

#[test]
fn nested_elements_of_any_depth_are_an_error() {
    let deep = format!("<parameters>{}", "<a>".repeat(100_000));
    assert!(error(deep.as_bytes()).contains("nested more than"), "{}", error(deep.as_bytes()));
}

#[test]
fn utf_16_and_line_ends_of_any_kind_are_read() {
    let text = "\u{feff}db=postgres\rhost=h\r\nset=d\n";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [little, big, text.as_bytes().to_vec()] {
        let source = Source::from_bytes("f", &bytes).unwrap();
        assert_eq!(tool_of(&source).map(|tool| tool.name), Some("Dike"));
    }
}

#[test]
fn files_of_one_run_are_one_plan_and_others_are_plans_of_their_own() {
    let source = |text: &str| Source::from_bytes("f", text.as_bytes()).unwrap();
    let build = source("dbset db pg\ndiset tpcc pg_count_ware 4\nbuildschema\n");
    let run = source("dbset db pg\nvuset vu 3\nloadscript\n");
    let other = source("dbset db pg\ndiset tpcc pg_count_ware 5\nbuildschema\n");
    let dike = source("db=mysql\nhost=h\nset=d\n");
    let plans = read_files(&[build, run, other, dike]).unwrap();
    let warehouses = |plan: &Import| plan.plan()["warehouses"].as_u64();
    let of: Vec<(&str, usize, Option<u64>)> =
        plans.iter().map(|plan| (plan.tool.name, plan.files.len(), warehouses(plan))).collect();
    assert_eq!(of, [("HammerDB", 2, Some(4)), ("HammerDB", 1, Some(5)), ("Dike", 1, Some(60))]);
}

#[test]
fn the_database_of_hammerdb_is_the_one_that_a_file_names_or_whose_settings_it_has() {
    for (first, target) in [
        ("dbset db pg", Some("postgres://tpcc@h:5432/tpcc?sslmode=prefer")),
        ("dbset db pgsql", Some("postgres://tpcc@h:5432/tpcc?sslmode=prefer")),
        ("dbset db ora", None),
        // The settings say it.
        ("vuset delay 5", Some("postgres://tpcc@h:5432/tpcc?sslmode=prefer")),
        ("dbset db $db", Some("postgres://tpcc@h:5432/tpcc?sslmode=prefer")),
    ] {
        let text = format!("{first}\ndiset connection pg_host h\nvuset vu 2\n");
        let plans = read_files(&[Source::from_bytes("f", text.as_bytes()).unwrap()]).unwrap();
        assert_eq!(plans[0].target.as_deref(), target, "{first}");
    }
}

#[test]
fn a_setting_that_is_unknown_is_named_with_the_nearest_one() {
    let source = Source::from_bytes("f", b"db=mysql\nhost=h\nset=d\nwarehuoses=3\n").unwrap();
    let plans = read_files(&[source]).unwrap();
    let unknown: Vec<String> =
        plans[0].not_understood().map(|setting| format!("{} {}", setting.name, setting.fate.text)).collect();
    assert_eq!(
        unknown,
        ["warehuoses is a setting of Dike that Lydite does not know: did you mean warehouses?"]
    );
}

#[test]
fn ends_of_lines_in_a_name_of_a_file_stay_within_comments_and_messages() {
    let name = "w\nrate = 5\n#.sh";
    let source = |text: &str| Source::from_bytes(name, text.as_bytes()).unwrap();
    let plans =
        read_files(&[source("go-tpc tpcc run -T 4 --colour=1\n"), source("go-tpc tpcc run -T 5\n")]).unwrap();
    assert_eq!(plans.len(), 2);
    for plan in &plans {
        assert!(!plan.toml().lines().any(|line| line.starts_with("rate")), "{}", plan.toml());
        for setting in plan.not_understood() {
            let begin = "w?rate = 5?#.sh, line 1: --colour is a setting of go-tpc";
            assert!(setting.sentence().starts_with(begin), "{}", setting.sentence());
        }
    }
    for text in ["nothing", "<parameters>", "go-tpc tpcc run\n./tpcc.lua run\n"] {
        let errors: Vec<String> =
            read_files(&[source(text)]).unwrap_err().iter().map(ToString::to_string).collect();
        assert!(errors.iter().all(|error| !error.contains('\n')), "{errors:?}");
    }
}
