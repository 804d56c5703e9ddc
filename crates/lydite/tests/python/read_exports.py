"""Reads what `lydite export` wrote with other programs' parsers, and compares it with the results that are named."""

import csv
import json
import sys
from datetime import datetime, timedelta

from prometheus_client.openmetrics.parser import text_fd_to_metric_families

RESULTS = {name: json.load(open(name)) for name in sys.argv[1:]}


def table(name):
    with open(f"tables/{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, strict=True))


def number(text):
    return None if text == "" else float(text)


def moment(text):
    return datetime.fromisoformat(text[:26].rstrip("Z") + "+00:00")


def check_series():
    rows = table("series")
    for name, result in RESULTS.items():
        of = [row for row in rows if row["run"] == name]
        assert all(row["label"] == result.get("label", "") for row in of), of[0]["label"]
        for window, series in (("warmup", result["warmup_series"]), ("measured", result["series"])):
            part = [row for row in of if row["window"] == window]
            assert [int(row["second"]) for row in part] == series["second"], name
            for column in ("new_order", "payment", "aborts", "new_order_p50_ms", "sessions_connected"):
                assert [number(row[column]) for row in part] == series[column], (name, column)
            assert all(row["micro"] == "" for row in part)
        start = moment(result["window"]["start"])
        for row in of:
            if row["length_s"] == "1.0":
                assert moment(row["time"]) - start == timedelta(seconds=int(row["second"])), row


def check_transactions():
    rows = {(row["run"], row["transaction"]): row for row in table("transactions")}
    for name, result in RESULTS.items():
        for kind, of in result["transactions"].items():
            row = rows[name, kind]
            assert int(row["committed"]) == of["committed"]
            for percentile, value in of["latency_ms"].items():
                assert number(row[f"latency_{percentile}_ms"]) == value, (name, kind, percentile)
            assert number(row["queue_p99_ms"]) == of["queue_ms"]["p99"]
    assert len(rows) == sum(len(result["transactions"]) for result in RESULTS.values())


def check_other_tables():
    assert {row["run"]: number(row["nopm"]) for row in table("runs")} == {
        name: result["nopm"] for name, result in RESULTS.items()
    }
    phases = [(row["run"], int(row["phase"])) for row in table("phases")]
    assert phases == [(name, at + 1) for name, result in RESULTS.items() for at in range(len(result.get("phases", [])))]
    observed = table("observed")
    wanted = [
        (name, of["source"], of["name"], value)
        for name, result in RESULTS.items()
        for of in result.get("observed", [])
        for value in of["values"]
    ]
    assert [(row["run"], row["source"], row["name"], number(row["value"])) for row in observed] == wanted
    assert wanted and table("statements") == []


def check_openmetrics():
    with open("all.om", encoding="utf-8") as file:
        families = {family.name: family for family in text_fd_to_metric_families(file)}
    for name, result in RESULTS.items():
        def of(family, kind):
            samples = families[family].samples
            mine = [s for s in samples if s.labels["run"] == name and s.name == family + kind]
            assert all(s.labels.get("label", "") == result.get("label", "") for s in mine), mine
            return [s for s in mine if s.labels.get("window", "measured") == "measured"]

        counted = of("lydite_series_new_order", "_total")
        assert counted[0].value == 0 and counted[-1].value == sum(result["series"]["new_order"])
        p99 = [s.value for s in of("lydite_series_new_order_p99_seconds", "")]
        assert p99 == [value / 1000 for value in result["series"]["new_order_p99_ms"] if value is not None]
        assert of("lydite_runs_nopm", "")[0].value == result["nopm"]
        [info] = of("lydite_runs", "_info")
        assert info.labels["target"] == "null" and info.value == 1
    assert families["lydite_series_new_order_p99_seconds"].unit == "seconds"


def check_influx():
    with open("all.lp", encoding="utf-8", newline="\n") as file:
        lines = file.read().splitlines()
    tables = ("runs", "series", "transactions", "phases", "phase_transactions", "statements")
    rows = sum(len(table(name)) for name in tables)
    # A sample that is missing has its second as a field.
    assert len(lines) == rows + len(table("observed")), len(lines)


check_series()
check_transactions()
check_other_tables()
check_openmetrics()
check_influx()
