"""Reads the files of readers.sh with other programs, and compares totals with those of the results."""

import json
import os

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.csv
import pyarrow.parquet
from prometheus_client.openmetrics.parser import text_fd_to_metric_families

import lydite

results = {name: json.load(open(name)) for name in ("a.json", "b.json")}
wanted = {name: sum(result["series"]["new_order"]) for name, result in results.items()}
samples = sum(len(of["values"]) for result in results.values() for of in result["observed"])


def expect(reader, found, value=None):
    value = wanted if value is None else value
    print(f"{reader:<42} {found}")
    assert found == value, (reader, found, value)


def measured(table):
    return {name: int(of["new_order"].sum()) for name, of in table[table["window"] == "measured"].groupby("run")}


def duckdb_totals(file):
    rows = duckdb.sql(
        f"SELECT run, sum(new_order)::BIGINT FROM '{file}' WHERE \"window\" = 'measured' GROUP BY run"
    ).fetchall()
    return dict(sorted(rows))


def polars_totals(table):
    table = table.filter(polars.col("window") == "measured")
    return dict(table.group_by("run").agg(polars.col("new_order").sum()).sort("run").rows())


expect("pandas, CSV", measured(pandas.read_csv("csv/series.csv", parse_dates=["time"])))
expect("DuckDB, CSV", duckdb_totals("csv/series.csv"))
print(duckdb.sql("DESCRIBE FROM 'csv/series.csv'").fetchall()[:6])
print(duckdb.sql("""
    SELECT label, count(*) AS runs, median(t.latency_p99_ms) AS p99_ms, median(completed_per_s) AS per_s
    FROM 'csv/transactions.csv' AS t WHERE transaction = 'new_order' GROUP BY label"""))
print(duckdb.sql("""
    SELECT s.run, s.second, s.new_order_p99_ms, o.name, o.value
    FROM 'csv/series.csv' AS s JOIN 'csv/observed.csv' AS o ON o.run = s.run AND o.time = s.time
    WHERE s.window = 'measured' ORDER BY s.new_order_p99_ms DESC NULLS LAST LIMIT 3"""))
print(duckdb.sql("SELECT run, plan ->> '$.mode' AS mode, completed_per_s FROM 'csv/runs.csv'"))
expect("Polars, CSV", polars_totals(polars.read_csv("csv/series.csv")))
expect("PyArrow, CSV, observed", pyarrow.csv.read_csv("csv/observed.csv").num_rows, samples)
duckdb.sql("COPY (FROM 'csv/series.csv') TO 'series.parquet'")
expect("DuckDB, Parquet of its own", duckdb_totals("series.parquet"))
if os.path.isdir("parquet"):
    expect("pandas, Parquet", measured(pandas.read_parquet("parquet/series.parquet")))
    expect("DuckDB, Parquet", duckdb_totals("parquet/series.parquet"))
    expect("Polars, Parquet", polars_totals(polars.read_parquet("parquet/series.parquet")))
    schema = pyarrow.parquet.read_schema("parquet/series.parquet")
    expect("PyArrow, Parquet, type of time", str(schema.field("time").type), "timestamp[us, tz=UTC]")
    lines = pyarrow.csv.ParseOptions(newlines_in_values=True)
    for file in sorted(os.listdir("parquet")):
        table = pyarrow.parquet.read_table(f"parquet/{file}")
        text = pyarrow.csv.read_csv(f"csv/{file.removesuffix('.parquet')}.csv", parse_options=lines)
        expect(f"PyArrow, {file}, rows", table.num_rows, text.num_rows)
        expect(f"PyArrow, {file}, columns", table.column_names, text.column_names)
with open("all.om", encoding="utf-8") as file:
    families = {family.name: family for family in text_fd_to_metric_families(file)}
last = {}
for sample in families["lydite_series_new_order"].samples:
    if sample.labels["window"] == "measured":
        last[sample.labels["run"]] = int(sample.value)
expect("prometheus-client, OpenMetrics", last)
frame = lydite.load_result("a.json").to_pandas()
expect("lydite.to_pandas", measured(frame), {"a.json": wanted["a.json"]})
print(frame.dtypes.to_string())
expect("lydite.to_polars", lydite.to_polars(["a.json", "b.json"], "observed").height, samples)
