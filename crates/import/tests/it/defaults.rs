//! Settings that a file leaves out have the values that its program takes.

use lydite_import::{Import, Source, read_files};
use serde_json::Value;

fn imported(text: &str) -> Import {
    let source = Source::from_bytes("f", text.as_bytes()).unwrap();
    let mut imports = read_files(&[source]).unwrap();
    assert_eq!(imports.len(), 1, "{text}");
    imports.remove(0)
}

/// Settings of HammerDB 5, `config/*.xml`, for TPROC-C: those of all databases, then those of the kin of MySQL.
const OF_ALL: &[(&str, &str)] = &[
    ("count_ware", "1"),
    ("num_vu", "1"),
    ("dbase", "tpcc"),
    ("partition", "false"),
    ("total_iterations", "10000000"),
    ("raiseerror", "false"),
    ("keyandthink", "false"),
    ("driver", "timed"),
    ("rampup", "2"),
    ("duration", "5"),
    ("allwarehouse", "false"),
    ("timeprofile", "false"),
    ("async_scale", "false"),
    ("async_client", "10"),
    ("async_verbose", "false"),
    ("async_delay", "1000"),
    ("connect_pool", "false"),
];
const OF_MYSQL: &[(&str, &str)] = &[
    ("host", "127.0.0.1"),
    ("port", "3306"),
    ("ssl", "false"),
    ("ssl_two_way", "false"),
    ("ssl_linux_capath", "/etc/mysql/certs"),
    ("ssl_ca", "ca-cert.pem"),
    ("ssl_cert", "client-cert.pem"),
    ("ssl_key", "client-key.pem"),
    ("ssl_cipher", "server"),
    ("user", "root"),
    ("storage_engine", "innodb"),
    ("prepared", "false"),
    ("history_pk", "false"),
    ("no_stored_procs", "false"),
];
const OF_POSTGRES: &[(&str, &str)] = &[
    ("host", "localhost"),
    ("port", "5432"),
    ("sslmode", "prefer"),
    ("user", "tpcc"),
    ("superuser", "postgres"),
    ("defaultdbase", "postgres"),
    ("tspace", "pg_default"),
    ("vacuum", "false"),
    ("dritasnap", "false"),
    ("oracompat", "false"),
    ("cituscompat", "false"),
    ("storedprocs", "false"),
];

#[test]
fn hammerdbs_defaults_give_the_same_plan_written_out_and_left_out() {
    for (name, own) in [("mysql", OF_MYSQL), ("maria", OF_MYSQL), ("pg", OF_POSTGRES)] {
        let written: String = OF_ALL
            .iter()
            .chain(own)
            .map(|(key, value)| format!("diset tpcc {name}_{key} {value}\n"))
            .collect();
        let (begin, end) = (format!("dbset db {name}\n"), "buildschema\nloadscript\nvuset vu 1\nvurun\n");
        let [left_out, written] =
            [format!("{begin}{end}"), format!("{begin}{written}{end}")].map(|text| imported(&text).plan());
        assert_eq!(left_out, written);
        assert_eq!(written["tx"], "procedures", "{name}");
    }
    // Lydite has no procedures there.
    let citus = imported("dbset db pg\ndiset tpcc pg_cituscompat true\nvuset vu 1\nvurun\n").plan();
    assert!(!citus.contains_key("tx"), "{citus:?}");
}

#[test]
fn a_setting_that_is_not_understood_takes_no_other_one_with_it() {
    let has = |text: &str, keys: &[(&str, Value)], lacks: &[&str]| {
        let import = imported(text);
        let plan = import.plan();
        for (key, value) in keys {
            assert_eq!(plan.get(*key), Some(value), "{key} of {text}");
        }
        for key in lacks {
            assert!(!plan.contains_key(*key), "{key} of {text}");
        }
        assert!(import.not_understood().next().is_some(), "{text}");
        assert!(!import.notes.iter().any(|note| note.contains("runs until")), "{text}: {:?}", import.notes);
    };
    let go_tpc = "go-tpc tpcc run -H h1,h2 --warehouses=10 -T $THREADS --wait";
    let keys = [("warmup", "0s".into()), ("mode", "rte".into()), ("warehouses", 10.into())];
    has(&format!("{go_tpc} --time $LONG"), &keys, &["terminals", "sessions", "duration"]);
    let keys = [("warmup", "0s".into()), ("mode", "direct".into()), ("size", "standard".into())];
    for system in ["postgres", "", "$SYSTEM"] {
        has(&format!("python tpcc.py --clients=0 {system}"), &keys, &["terminals", "jobs"]);
    }
    let properties = "db=postgres\nconn=jdbc:postgresql://h/d\nuser=u\nwarehouses=2\n";
    let five = format!("{properties}terminals=many\nrunMins=soon\nlimitTxnsPerMin=0\n");
    has(&five, &[("warmup", "0s".into()), ("mode", "direct".into())], &["terminals", "duration"]);
    let five = format!("{properties}terminals=2\nrunMins=1\nlimitTxnsPerMin=few\n");
    has(&five, &[("warmup", "0s".into()), ("duration", "1m".into())], &["mode", "rate"]);
    let six = format!("{properties}sutThreads=many\nrampupMins=5\nrunMins=10\n");
    has(&six, &[("warmup", "5m".into()), ("mode", "rte".into())], &["sessions"]);
    let bench = "<parameters><type>POSTGRES</type><works><work><time>long</time><rate>unlimited</rate></work></works></parameters>";
    has(bench, &[("warmup", "0s".into()), ("mode", "direct".into())], &["duration"]);
}
