//! Runs with a random fault each, some killed in the middle: afterwards the machine is as before.

use super::{Lab, text, wait_until};
use std::fs;
use std::path::Path;

/// Runs of the usual suite; `LYDITE_TEST_FAULTS` sets another number.
const RUNS: u64 = 8;
/// Faults without their times and places.
const FAULTS: [&str; 13] = [
    "stop",
    "kill",
    "restart",
    "shutdown",
    "cpu-burn:1",
    "cpu-limit:0.5",
    "net-delay:20ms,5ms",
    "net-loss:20",
    "net-partition",
    "net-rate:500k",
    "disk-read:1",
    "disk-write:1",
    "disk-slow:4000000",
];

/// Returns a random number for each number (SplitMix64).
fn random(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for (shift, factor) in [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb)] {
        mixed = (mixed ^ (mixed >> shift)).wrapping_mul(factor);
    }
    mixed ^ (mixed >> 31)
}

/// Processes of faults whose notes are in a directory.
fn helpers(directory: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path());
    let read = |path: &Path, name: &str| fs::read(path.join(name)).unwrap_or_default();
    let line = |path: &Path| String::from_utf8_lossy(&read(path, "cmdline")).replace('\0', " ");
    let ours = |path: &Path| String::from_utf8_lossy(&read(path, "environ")).contains(text(directory));
    let of_faults = |path: &std::path::PathBuf| {
        let line = line(path);
        ["guard", "burn", "hold", "disk"].iter().any(|helper| line.contains(&format!(" faults {helper}")))
            && ours(path)
    };
    processes.filter(of_faults).map(|path| line(&path)).collect()
}

/// Everything on the machine that a fault may have left behind.
fn left(lab: &Lab) -> Vec<String> {
    let mut all = helpers(lab.place.directory.path());
    all.extend(lab.rules());
    let list = lab.place.list();
    all.extend((list != "no active faults\n").then_some(list));
    match lab.postmaster() {
        None => all.push("the server is down".into()),
        Some(pid) => {
            let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
            all.extend(groups.lines().filter(|group| group.contains("lydite-fault")).map(str::to_owned));
        }
    }
    all.extend(lab.stands_still().then(|| "the server stands still".to_owned()));
    all.extend((!lab.accepts()).then(|| "the server accepts no connection".to_owned()));
    let scratch = fs::read_dir(lab.directory().join("server-0/data")).expect("the data").flatten();
    let names = scratch.map(|entry| entry.file_name().to_string_lossy().into_owned());
    all.extend(names.filter(|name| name.contains("lydite")));
    all
}

#[test]
fn nothing_is_left_of_random_faults_though_a_quarter_of_the_runs_is_killed() {
    let runs = std::env::var("LYDITE_TEST_FAULTS").map_or(RUNS, |runs| runs.parse().expect("a number"));
    let lab = Lab::new();
    assert_eq!(left(&lab), Vec::<String>::new());
    let mut injected = 0;
    for number in 0..runs {
        let kind = FAULTS[(random(number) % FAULTS.len() as u64) as usize];
        let place = if kind.starts_with("cpu-burn") { "local" } else { "lab:pg" };
        let killed = number % 4 == 3;
        let (duration, to) = if killed { ("600s", "590s") } else { ("2s", "1s") };
        let fault = format!("{kind}@0.2s..{to}/{place}");
        let mut run = lab.run(duration, &[&fault], &["--no-check"]);
        if killed {
            // A machine without the means rejects the fault, and a server that recovers from the fault before rejects
            // the run. Either ends it.
            if run
                .reaches("the fault", || lab.place.list().contains(&format!("{kind} on {place}  guarded by")))
            {
                run.signal(libc::SIGKILL);
                assert_eq!(run.wait().code, None, "{fault}");
                injected += 1;
            } else {
                let ended = run.wait();
                assert!(matches!(ended.code, Some(2 | 3)), "{fault}: {ended:?}");
            }
        } else {
            let ended = run.wait();
            // With less than a second of commits the server may look lost: that is no matter here.
            assert!(matches!(ended.code, Some(0 | 2 | 3)), "{fault}: {ended:?}");
            injected += u64::from(ended.code != Some(2));
        }
        wait_until(&format!("nothing is left of {fault}: {:?}", left(&lab)), || left(&lab).is_empty());
    }
    assert!(injected >= runs / 4, "{injected} of {runs} faults were injected");
}
