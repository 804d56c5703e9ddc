"""The table of pytpcc.sh: `pytpcc_report.py DIRECTORY TURNS SECONDS`."""

import collections
import json
import re
import statistics
import sys

work, turns, seconds = sys.argv[1], range(1, int(sys.argv[2]) + 1), int(sys.argv[3])
# The number of committed transactions, and the last column: a rate, or in newer forks the number of aborts.
ROW = re.compile(r"^  (?:DELIVERY|NEW_ORDER|ORDER_STATUS|PAYMENT|STOCK_LEVEL) +(\d+) .*?(\d+|txn/s) *$", re.M)
FAILED = re.compile("Failed to execute Transaction (.*)")


def times(name):
    """Returns the processor time and the duration of a step."""
    with open(f"{work}/{name}.time", encoding="utf-8") as file:
        return [float(word) for word in file.read().split()]


def own(turn):
    """Returns processor time, transactions that committed, rolled back and failed, and the errors of py-tpcc's run."""
    with open(f"{work}/own.{turn}.out", encoding="utf-8", errors="replace") as file:
        text = file.read()
    errors = collections.Counter(FAILED.findall(text))
    failed = sum(errors.values())
    # Aborts are failures and rollbacks.
    aborts = sum(int(last) for _, last in ROW.findall(text) if last != "txn/s")
    committed = sum(int(count) for count, _ in ROW.findall(text))
    return times(f"own.{turn}")[0] - times("own.start")[0], committed, max(aborts - failed, 0), failed, errors


def lydite(turn):
    """Returns the same of Lydite's run."""
    with open(f"{work}/lydite.{turn}.json", encoding="utf-8") as file:
        result = json.load(file)
    kinds, client = result["transactions"].values(), result["client"]
    committed, rolled_back, failed, unknown = (
        sum(each[name] for each in kinds) for name in ("committed", "rolled_back", "failed", "unknown"))
    errors = collections.Counter({each["message"]: each["count"] for each in result["errors"]})
    return client["cpu_s"] + client["driver_cpu_s"], committed, rolled_back, failed + unknown, errors


columns, errors = [], []
for side in (own, lydite):
    runs = [side(turn) for turn in turns]
    load_cpu, load = times(f"{side.__name__}.load")
    if not all(run[1] for run in runs):
        sys.exit(f"a run of {side.__name__} committed nothing: {runs}")
    columns.append({
        "committed transactions/s": [run[1] / seconds for run in runs],
        "µs of processor per committed": [1e6 * run[0] / run[1] for run in runs],
        "rolled back per 1000": [1000 * run[2] / sum(run[1:4]) for run in runs],
        "failed per 1000": [1000 * run[3] / sum(run[1:4]) for run in runs],
        "load: s": [load],
        "load: s of processor": [load_cpu],
    })
    errors.append(sum((run[4] for run in runs), collections.Counter()))
print(f"{'':32} {'py-tpcc':>9} {'Lydite':>9}   Lydite / py-tpcc")
for name, first in columns[0].items():
    second = columns[1][name]
    ratios = [b / a for a, b in zip(first, second)] if all(first) else []
    ratio = f"{statistics.median(ratios):.2f}" if ratios else "-"
    if len(ratios) > 1:
        ratio += f" ({min(ratios):.2f} to {max(ratios):.2f})"
    print(f"{name:32} {statistics.median(first):9.1f} {statistics.median(second):9.1f}   {ratio}")
for name, found in zip(("py-tpcc", "Lydite"), errors):
    for message, count in found.most_common(3):
        print(f"{name}: {count} x {message[:100]}")
