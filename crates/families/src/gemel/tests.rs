//! The tests that every key-value store must pass, on Gemel.

use super::*;
use crate::conformance;
use crate::registry::TargetSpec;
use lydite_database::TxMode;
use lydite_database::playing::load;

fn config(query: &str) -> Config {
    let mut errors = Vec::new();
    let parsed = ParsedUrl::new(&format!("gemel:?{query}"), &mut errors);
    assert!(errors.is_empty(), "{errors:?}");
    parse(&parsed).unwrap().config().unwrap()
}

#[test]
fn the_answers_and_the_rows_are_those_of_sqlite_in_memory() {
    conformance::the_answers_and_the_rows_are_those_of_sqlite::<GemelStore>(config("durability=none"));
}

#[test]
fn the_answers_and_the_rows_are_those_of_sqlite_on_disk() {
    conformance::the_answers_and_the_rows_are_those_of_sqlite::<GemelStore>(config(
        "placement=all-disk&durability=none&write_buffer=4MB",
    ));
}

#[test]
fn fighting_sessions_keep_the_conditions_over_both_engines() {
    for query in [
        "placement=optimize-new-order&isolation=serializable&durability=relaxed",
        "placement=archive-only&commit_stamps=independent&log=per-engine&durability=none",
    ] {
        conformance::sessions_that_fight_for_one_warehouse_keep_the_conditions::<GemelStore>(config(query));
    }
}

#[test]
fn an_interrupted_load_can_be_resumed() {
    conformance::an_interrupted_load_can_be_resumed::<GemelStore>(config("durability=none"));
}

#[test]
fn spoiled_rows_are_found_and_named() {
    conformance::a_spoiled_row_is_found_and_named::<GemelStore>(config("durability=none"));
}

#[test]
fn all_that_is_wrong_in_a_url_is_told_at_once() {
    let errors = TargetSpec::parse(
        "gemel:x?placement=all&item=ram&durability=often&cache=1&csr_capacity=0&isolation=chaos&speed=1",
        TxMode::Batched,
    )
    .unwrap_err();
    for word in
        ["placement", "item", "durability", "cache", "csr_capacity", "isolation", "speed", "--tx batched"]
    {
        assert!(errors.iter().any(|error| error.contains(word)), "{word}: {errors:#?}");
    }
}

#[test]
fn commits_are_gathered_where_sessions_do_not_wait_for_them() {
    let parse = |options: &str| super::parse(&ParsedUrl::new(&format!("gemel:x?{options}"), &mut Vec::new()));
    for (options, gather) in [
        ("", "1"),
        ("gather=20", "20"),
        ("gather=off", "off"),
        ("commit=wait", "off"),
        ("durability=relaxed", "off"),
        ("durability=none&gather=off", "off"),
    ] {
        let settings = config(options).settings;
        assert_eq!(settings.get("gather").map(String::as_str), Some(gather), "{options}");
    }
    for (options, message) in [
        ("gather=0", "gather=\"0\" is not known: use 1 to 1000 (ms) or off"),
        ("gather=1001", "gather=\"1001\" is not known"),
        ("gather=1ms", "gather=\"1ms\" is not known"),
        ("gather=1&commit=wait", "gather needs durability=full and commit=pipelined: leave it out"),
        ("gather=1&durability=relaxed", "gather needs durability=full"),
    ] {
        let errors = parse(options).err().unwrap();
        assert!(matches!(&errors[..], [error] if error.contains(message)), "{options}: {errors:?}");
    }
}

#[test]
fn the_write_buffer_is_a_quarter_of_the_cache_unless_it_is_named() {
    for (options, size, bytes) in [
        ("", "64MB", 64 << 20),
        ("cache=16MB", "64MB", 64 << 20),
        ("cache=1GB", "256MB", 256 << 20),
        ("cache=300000001", "75000000", 75_000_000),
        ("cache=1GB&write_buffer=8MB", "8MB", 8 << 20),
    ] {
        let config = config(options);
        assert_eq!(config.settings.get("write_buffer").map(String::as_str), Some(size), "{options}");
        assert_eq!(config.options.write_buffer_bytes, bytes, "{options}");
    }
}

#[test]
fn compression_and_the_limit_of_background_writing_are_off_unless_they_are_named() {
    for (options, compression, limit) in [
        ("", Compression::None, None),
        ("compression=off&io_limit=off", Compression::None, None),
        ("compression=lz4", Compression::Lz4, None),
        ("io_limit=20MB", Compression::None, Some(20 << 20)),
    ] {
        let config = config(options);
        assert_eq!(config.options.compression, compression, "{options}");
        assert_eq!(config.options.background_bytes_per_second, limit, "{options}");
        let shown = |name| config.settings.get(name).map(String::as_str);
        assert_eq!(shown("compression"), Some(if options == "compression=lz4" { "lz4" } else { "off" }));
        assert_eq!(shown("io_limit"), Some(if limit.is_some() { "20MB" } else { "off" }));
    }
    for (options, message) in [
        ("compression=zstd", "compression=\"zstd\" is not known: use off, lz4"),
        ("io_limit=10", "io_limit=\"10\" is not a size of at least 1048576 bytes"),
        ("io_limit=fast", "io_limit=\"fast\" is not a size"),
    ] {
        let parsed = parse(&ParsedUrl::new(&format!("gemel:x?{options}"), &mut Vec::new()));
        let errors = parsed.err().unwrap();
        assert!(matches!(&errors[..], [error] if error.contains(message)), "{options}: {errors:?}");
    }
}

#[test]
fn another_placement_than_that_of_the_database_is_refused_before_anything_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let at = |placement: &str| {
        let url = format!("gemel:{}?placement={placement}", directory.path().join("db").display());
        TargetSpec::parse(&url, TxMode::Statements).unwrap().open().unwrap()
    };
    let target = at("all-memory");
    load(&*target, 1);
    drop(target);
    let error = at("all-disk").state().unwrap_err();
    assert!(error.message.contains("loaded with another placement than all-disk"), "{error}");
}
