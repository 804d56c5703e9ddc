#!/usr/bin/env bash
# Compares Gemel with Silo (Tu et al., SOSP 2013) under TPC-C, all rows in memory: in turns, so a machine whose speed
# changes disturbs both alike. Silo's program is its own benchmark; docs/src/performance.md tells how to build it.
# Variables: SILO (its program `dbtest`), ROUNDS (5), SECONDS_EACH (8), SESSIONS (2), WAREHOUSES (2),
# LYDITE (the release build).
source "$(dirname "$0")/server.bash"
[ -x "${SILO:-}" ] || { say "Set SILO to Silo's program dbtest; docs/src/performance.md tells how to build it."; exit 1; }

python3 - "$SILO" "$lydite" "$work" "${ROUNDS:-5}" "${SECONDS_EACH:-8}" "${SESSIONS:-2}" "${WAREHOUSES:-2}" <<'PYTHON'
import json, os, pathlib, shutil, statistics, subprocess, sys
silo, lydite, work = sys.argv[1:4]
rounds, seconds, sessions, warehouses = map(int, sys.argv[4:8])
tick = os.sysconf("SC_CLK_TCK")


def of_silo(*flags):
    """Transactions/s of one run, and µs of processor per transaction."""
    program = subprocess.Popen(
        [silo, "--verbose", "--bench", "tpcc", "--num-threads", str(sessions), "--scale-factor", str(warehouses),
         "--runtime", str(seconds), *flags],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=work)
    loaded = rate = took = None
    lines = []
    for line in program.stderr:
        lines.append(line)
        name, _, value = line.partition(":")
        if line.startswith("starting benchmark"):
            # The fields after the program's name, which may contain spaces: utime and stime.
            stat = open(f"/proc/{program.pid}/stat").read().rpartition(")")[2].split()
            loaded = (int(stat[11]) + int(stat[12])) / tick
        elif name == "runtime":
            took = float(value.split()[0])
        elif name == "agg_persist_throughput":
            rate = float(value.split()[0])
    _, status, usage = os.wait4(program.pid, 0)
    if status or None in (loaded, rate, took):
        sys.exit("".join(lines[-20:]) + f"{silo} failed with status {status}, or its output has changed")
    return rate, (usage.ru_utime + usage.ru_stime - loaded) / (rate * took) * 1e6


def of_silo_with_log():
    log = pathlib.Path(work, "silo.log")
    try:
        return of_silo("--logfile", str(log))
    finally:
        log.unlink(missing_ok=True)


def of_gemel(durability):
    database, result = os.path.join(work, "db"), os.path.join(work, "r.json")
    subprocess.run(
        [lydite, "run", f"gemel:{database}?placement=all-memory&durability={durability}", "--terminals", str(sessions),
         "--warehouses", str(warehouses), "--duration", f"{seconds}s", "--warmup", "2s", "--no-check", "--quiet",
         "--json", result],
        check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(database)
    found = json.load(open(result))
    return found["tps"], found["client"]["cpu_us_per_transaction"]


cases = {
    "Silo without a log": of_silo,
    "Gemel, durability=none": lambda: of_gemel("none"),
    "Silo with its log": of_silo_with_log,
    "Gemel, durability=relaxed": lambda: of_gemel("relaxed"),
}
found = {name: [] for name in cases}
for turn in range(rounds):
    for name, case in cases.items() if turn % 2 == 0 else reversed(cases.items()):
        found[name].append(case())
        print(f"{name}: {found[name][-1][0]:.0f} transactions/s", file=sys.stderr)

print(f"{'':27} {'tx/s':>8} {'µs CPU':>8}  rates of the rounds")
for name, runs in found.items():
    rate, cpu = (statistics.median(column) for column in zip(*runs))
    print(f"{name:27} {rate:8.0f} {cpu:8.1f}  " + " ".join(f"{run[0]:.0f}" for run in runs))
for gemel, silo in (("Gemel, durability=none", "Silo without a log"), ("Gemel, durability=relaxed", "Silo with its log")):
    ratios = sorted(ours[0] / theirs[0] for ours, theirs in zip(found[gemel], found[silo]))
    print(f"{gemel} / {silo}: {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
print("Medians. µs CPU: of the process, client included, for one transaction; for Silo all of it after the load.")
PYTHON
