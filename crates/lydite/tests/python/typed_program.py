"""A program that uses all of the package's half about runs. It is run, and `mypy --strict` finds nothing in it."""

from __future__ import annotations

import os
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any, List, Mapping, Optional, Tuple, Union

import lydite


def runs(place: Path) -> Tuple[lydite.Result, lydite.Result]:
    lines: List[lydite.Progress] = []
    first = lydite.run(
        "null:", progress=lines.append, json=place / "a.json", mode="open", rate="400,800", duration="2s", warmup=0,
        observe=["host"], set={"retry.attempts": 3}, require=["tps > 1"], label="first", no_check=True,
    )
    line: lydite.Progress = lines[0]
    text: str = line.text
    phase: Optional[str] = line.phase
    elapsed_s: Optional[int] = line.elapsed_s
    speeds: Tuple[Optional[float], Optional[float]] = (line.nopm, line.tps)
    assert text == str(line) and (phase is None) == (elapsed_s is None) == (speeds[1] is None)
    with lydite.start("null:", duration="1s", warmup=0, json=os.fspath(place / "b.json")) as run:
        for now in run:
            if now.phase == "measuring" and now.tps is not None and now.tps < 0:
                run.interrupt()
        second: lydite.Result = run.result()
    return first, second


def parts(result: lydite.Result) -> None:
    numbers: List[float] = [result.nopm, result.tps, result.efficiency_percent, result.client.cpu_s]
    texts: List[str] = [result.status, result.lydite, result.target.kind, result.host.hostname, *result.warnings]
    label: Optional[str] = result.label
    start: Optional[datetime] = result.window.start
    path: Optional[Path] = result.path
    plan: Mapping[str, Any] = result.plan
    raw: Mapping[str, Any] = result.raw
    assert numbers and texts and label and start and path and plan and raw["format"] == 1
    transaction: lydite.Transaction = result.transactions["new_order"]
    counts: List[int] = [transaction.committed, transaction.completed, transaction.failed, result.errors.get("x", 0)]
    latency: lydite.Latency = transaction.latency
    times: List[Optional[float]] = [transaction.p99_ms, latency.p99_ms, transaction.queue.max_ms]
    histogram: lydite.Histogram = transaction.histogram + result.histogram
    whole: int = histogram.count + histogram.percentile(99.9) + sum([histogram], histogram).count
    assert counts and times and whole and histogram.mean >= 0
    series: lydite.Series = result.series
    percentiles: Tuple[Optional[float], ...] = series.new_order_p99_ms
    assert len(series) == len(series.second) == len(percentiles)
    phase: lydite.Phase = result.phases[0]
    of_phase: Mapping[str, lydite.Latency] = phase.latency
    observed: lydite.Observed = result.observed[0]
    values: Tuple[Optional[float], ...] = observed.values
    requirement: lydite.Requirement = result.requirements[0]
    met: bool = requirement.met
    assert of_phase and values and met and hash(result) == hash(result)
    none: Tuple[
        Tuple[lydite.Check, ...], Tuple[lydite.Outage, ...], Tuple[lydite.Statement, ...]
    ] = (result.checks, result.outages, result.statements)
    assert none is not None


def comparisons(first: lydite.Result, second: lydite.Result, place: Path) -> None:
    sides: List[Union[lydite.Result, str, Path]] = [first]
    comparison: lydite.Comparison = lydite.compare(sides, place / "b.json", undecided="pass")
    metric: lydite.Metric = comparison["nopm"]
    ratio: Optional[float] = metric.ratio
    verdicts: Tuple[str, str] = (comparison.verdict, metric.verdict)
    assert ratio is None or ratio > 0
    assert verdicts and comparison.sentence and comparison.metrics and comparison.raw and comparison.warnings is not None
    table: str = lydite.export([first, second], "csv", what=["series"])
    assert table
    try:
        rows: int = len(first.to_pandas()) + len(lydite.to_pandas([first, second], "runs"))
        rows += len(first.to_polars()) + len(lydite.to_polars([first, second], "runs"))
        assert rows
    except ImportError as error:
        assert "pip install" in str(error)


def errors(place: Path) -> None:
    try:
        lydite.run("null:", warehouse=3)
    except lydite.UsageError as error:
        code: int = error.exit_code
        messages: Tuple[str, ...] = error.messages
        result: Optional[lydite.Result] = error.result
        comparison: Optional[lydite.Comparison] = error.comparison
        assert code == 2 and messages and result is None and comparison is None
    try:
        lydite.load_result(place / "none.json")
    except (OSError, lydite.ResultError):
        pass
    classes: List[type[lydite.LyditeError]] = [
        lydite.CheckFailed, lydite.TargetFailed, lydite.ThresholdMissed, lydite.Undecided, lydite.Interrupted,
        lydite.Crashed, lydite.ProgramNotFound,
    ]
    assert len(classes) == 7


class Store(lydite.KeyValue):
    """The other half, as far as types go."""


def main() -> None:
    program: Path = lydite.find_program()
    version: str = lydite.__version__
    assert program and version
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        first, second = runs(place)
        parts(first)
        comparisons(first, second, place)
        errors(place)
        second.save(place / "c.json")
        assert lydite.load_result(str(place / "c.json")) == second


if __name__ == "__main__":
    main()
