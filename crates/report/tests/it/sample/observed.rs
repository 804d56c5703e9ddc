//! Observed values of a made-up result, which follow its throughput.

use lydite_report::model::RunResult;
use lydite_report::observed::Observed;

/// Adds values of the database and of the machine. A checkpoint begins in second 140.
pub(crate) fn add_observed(result: &mut RunResult) {
    let total: Vec<f64> = result.series.total().into_iter().map(|n| n as f64).collect();
    let mut add = |source: &str, name: &str, unit: &str, of: &dyn Fn(usize, f64) -> f64| {
        let values = total.iter().enumerate().map(|(second, tps)| Some(of(second, *tps))).collect();
        result.observed.push(Observed {
            source: source.into(),
            name: name.into(),
            unit: unit.into(),
            values,
        });
    };
    let checkpoint = |second: usize| if (140..152).contains(&second) { 1.0 } else { 0.0 };
    for (name, each) in [
        ("xact_commit", 1.0),
        ("xact_rollback", 0.004),
        ("blks_read", 0.8),
        ("blks_hit", 160.0),
        ("tup_returned", 210.0),
        ("tup_fetched", 95.0),
        ("tup_inserted", 6.1),
        ("tup_updated", 8.2),
        ("tup_deleted", 0.5),
    ] {
        let wave =
            move |second: usize, tps: f64| tps * each * (1.0 + 0.05 * (second as f64 / (9.0 + each)).sin());
        add("db", &format!("pg_stat_database.{name}"), "/s", &wave);
    }
    add("db", "pg_stat_database.deadlocks", "/s", &|_, _| 0.0);
    add("db", "pg_stat_wal.wal_bytes", "bytes/s", &|second, tps| {
        tps * 4200.0 * (1.0 + 2.0 * checkpoint(second))
    });
    add("db", "pg_stat_checkpointer.num_timed", "/s", &|second, _| f64::from(u8::from(second == 140)));
    add("db", "pg_stat_checkpointer.num_requested", "/s", &|_, _| 0.0);
    add("db", "pg_stat_activity.Lock", "", &|second, _| ((second * 7) % 5) as f64);
    add("db", "pg_stat_activity.IO", "", &|second, _| 1.0 + 9.0 * checkpoint(second));
    let user = |second: usize, tps: f64| 20.0 + tps / 25.0 + (second as f64 / 7.0).sin();
    let iowait = |second: usize, _: f64| 1.5 + 22.0 * checkpoint(second);
    add("host", "cpu.user", "percent", &user);
    add("host", "cpu.system", "percent", &|_, tps| tps / 90.0);
    add("host", "cpu.iowait", "percent", &iowait);
    add("host", "cpu.steal", "percent", &|_, _| 0.0);
    add("host", "cpu.idle", "percent", &|second, tps| {
        100.0 - user(second, tps) - iowait(second, tps) - tps / 90.0
    });
    add("host", "memory.used", "bytes", &|second, _| 9e9 + 2e6 * second as f64);
    add("host", "disk.written", "bytes/s", &|second, tps| tps * 6100.0 + 1.4e8 * checkpoint(second));
    add("host", "network.received", "bytes/s", &|_, tps| tps * 1900.0);
    add("host", "network.sent", "bytes/s", &|_, tps| tps * 5100.0);
}
