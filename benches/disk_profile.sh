#!/usr/bin/env bash
# Shows where Gemel's disk engine spends its processor time under TPC-C, with all rows on disk and in the cache: shares of
# the threads, and of the parts of the code within the sessions. Needs Linux' `perf`.
# Variables: SECONDS_EACH (12), WAREHOUSES (2), LYDITE (the release build).
source "$(dirname "$0")/server.bash"

perf record -o "$work/try" true >/dev/null 2>&1 || { say "left out: perf is not there, or may not record"; exit 0; }

url="gemel:$work/db?placement=all-disk&durability=relaxed&cache=1GB"
"$lydite" load "$url" --warehouses "${WAREHOUSES:-2}" --quiet >/dev/null
perf record -F 999 -o "$work/perf" "$lydite" run "$url" --duration "${SECONDS_EACH:-12}s" --warmup 2s --no-check --quiet \
  --json "$work/r.json" >/dev/null 2>"$work/errors" || { cat "$work/errors" >&2; exit 1; }
perf report -i "$work/perf" --no-children --sort comm,sym -t ';' --stdio 2>/dev/null >"$work/symbols"
python3 - "$work" <<'PYTHON'
import json, re, sys
from collections import Counter

work = sys.argv[1]
# The first pattern that a function's name matches decides.
PARTS = [
    ("kernel", r"^\[k\]"),
    ("client", r"^\[\.\] <?lydite"),
    ("Gemel: memtable", r"gemel::(mvcc|disk::memtable|disk::merge)|LsmStore as gemel::disk::store::Store>::(insert|scan)"),
    ("Gemel: the rest", r"^\[\.\] <?gemel|drop_in_place<gemel"),
    ("library: block cache", r"quick_cache"),
    ("library: filters", r"lsm_tree.*filter"),
    ("library: index blocks", r"index_block|block_index"),
    ("library: data blocks", r"data_block|lsm_tree.*block|varint"),
    ("library: merging, versions, keys", r"lsm_tree|byteview|interval_heap"),
    ("comparing and copying bytes, memory management", r"mem(cmp|move|set|cpy)|malloc|free|mi_|\balloc::"),
    ("rest", r""),
]
threads, parts = Counter(), Counter()
for line in open(f"{work}/symbols"):
    fields = [field.strip() for field in line.split(";")]
    if len(fields) < 3 or not fields[0].endswith("%"):
        continue
    share, thread, symbol = float(fields[0][:-1]), fields[1], fields[2]
    threads[re.sub(r"-?\d+$", "", thread)] += share
    if thread.startswith("session"):
        parts[next(name for name, pattern in PARTS if re.search(pattern, symbol))] += share
result = json.load(open(f"{work}/r.json"))
print(f"{result['tps']:.0f} transactions/s, {result['client']['cpu_us_per_transaction']:.0f} us of processor time each")
for title, shares in [("threads", threads), ("within the sessions", parts)]:
    print(f"{title}:")
    total = sum(shares.values())
    for name, share in shares.most_common():
        if share >= total / 200:
            print(f"{100 * share / total:5.1f} %  {name}")
if not parts["kernel"]:
    print("perf may not sample the kernel here: its share is missing")
PYTHON
