"""Comparisons of groups of runs, by `lydite compare`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Tuple, Union

from ._ends import of_exit
from ._export import Files, Source, all_of
from ._program import Flag, arguments, call, errors


@dataclass(frozen=True)
class Metric:
    """A number of both groups."""

    #: Name, as in gates: `nopm`, `new_order.p99`.
    name: str
    #: Name with its unit, for people.
    title: str
    #: Mean over the runs of A and of B.
    a: Optional[float]
    b: Optional[float]
    #: `b / a`, with its interval over runs.
    ratio: Optional[float]
    low: Optional[float]
    high: Optional[float]
    #: `better`, `worse` or `undecided`.
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """B compared with A."""

    #: `better`, `worse` or `undecided`, by the number that decides.
    verdict: str
    #: The answer as a sentence.
    sentence: str
    #: All numbers.
    metrics: Tuple[Metric, ...]
    #: Warnings about the runs, and differences between the groups.
    warnings: Tuple[str, ...]
    #: The whole document.
    raw: Mapping[str, Any]

    def __getitem__(self, name: str) -> Metric:
        """Returns the number with this name."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        raise KeyError(f"{name!r}: the comparison has {', '.join(metric.name for metric in self.metrics)}")

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Comparison:
        """Reads the document of `lydite compare --json`."""
        answers = raw.get("verdicts") or [{}]
        metrics = tuple(
            Metric(
                name=str(metric.get("name", "")),
                title=str(metric.get("title", "")),
                a=metric.get("a"),
                b=metric.get("b"),
                ratio=metric.get("ratio"),
                low=metric.get("low"),
                high=metric.get("high"),
                verdict=str(metric.get("verdict", "undecided")),
            )
            for metric in raw.get("metrics", [])
        )
        return cls(
            verdict=str(answers[0].get("verdict", "undecided")),
            sentence=str(answers[0].get("sentence", "")),
            metrics=metrics,
            warnings=tuple(str(line) for line in raw.get("warnings", [])),
            raw=raw,
        )


def compare(
    a: Union[Source, Sequence[Source]], b: Union[Source, Sequence[Source]], **flags: Flag
) -> Comparison:
    """Runs `lydite compare --a … --b …`, and returns its answer. Each side is a result, a path, or several of them.

    Other arguments are flags, as for `run`: with `fail_if="nopm < -5%"` a condition that fails raises `ThresholdMissed`,
    and one that these runs can't decide `Undecided`. Both have the `comparison`.

    >>> import lydite
    >>> def runs(rate):
    ...     return [lydite.run("null:", mode="open", rate=rate, duration="300ms", warmup=0) for _ in range(2)]
    >>> both = lydite.compare(runs(100), runs(400))
    >>> both["nopm"].ratio > 1.5
    True
    """
    if "json" in flags:
        raise ValueError("json: the document is returned: write it with json.dump(comparison.raw, …)")
    with Files(all_of(a)) as of_a, Files(all_of(b)) as of_b:
        sides = [f"--a={path}" for path in of_a.paths] + [f"--b={path}" for path in of_b.paths]
        code, text, said = call(["compare", *sides, *arguments(flags), "--json=-"])
    try:
        found: Optional[Comparison] = Comparison.of(json.loads(text))
    except ValueError:
        found = None
    if code != 0 or found is None:
        raise of_exit(code or 2, errors(said), comparison=found)
    return found
