"""Comparisons of groups of runs, by `lydite compare`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence, Tuple, Union

from ._document import ResultError, frozen, parsed, record
from ._ends import of_exit
from ._export import Files, Source, all_of
from ._program import Flag, arguments, call, errors


@dataclass(frozen=True)
class Metric:
    """A number of both groups."""

    #: Name, as in gates: `nopm`, `new_order.p99`.
    name: str
    #: Name with its unit, for people.
    title: str = ""
    #: Mean over the runs of A and of B.
    a: Optional[float] = None
    b: Optional[float] = None
    #: `b / a`; None if a run has 0.
    ratio: Optional[float] = None
    #: Ends of the interval over runs, of the ratio or of the difference; None without one.
    low: Optional[float] = None
    high: Optional[float] = None
    #: `better`, `worse`, `undecided` (the interval has both sides), or `not_judged` (there is no interval).
    verdict: str = "not_judged"


@dataclass(frozen=True)
class _Answer:
    """The answer about B."""

    verdict: str = "not_judged"
    sentence: str = ""


@dataclass(frozen=True)
class _Document:
    """The parts of the document of `lydite compare --json` that are read."""

    verdicts: Tuple[_Answer, ...]
    metrics: Tuple[Metric, ...]
    warnings: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """B compared with A. It can't be changed."""

    #: `better`, `worse`, `undecided` or `not_judged` (as for one run of each), by the number that decides.
    verdict: str
    #: The answer as a sentence.
    sentence: str
    #: All numbers.
    metrics: Tuple[Metric, ...] = field(repr=False)
    #: Warnings about the runs, and differences between the groups.
    warnings: Tuple[str, ...]
    #: The whole document.
    raw: Mapping[str, Any] = field(repr=False)

    def __getitem__(self, name: str) -> Metric:
        """Returns the number with this name."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        raise KeyError(f"{name!r}: the comparison has {', '.join(metric.name for metric in self.metrics)}")

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Comparison:
        """Reads the document of `lydite compare --json`. Raises `ResultError` if it is none."""
        document = frozen(raw)
        of = record(_Document, document)
        answer = of.verdicts[0] if of.verdicts else _Answer()
        return cls(answer.verdict, answer.sentence, of.metrics, of.warnings, document)


def compare(
    a: Union[Source, Sequence[Source]], b: Union[Source, Sequence[Source]], **flags: Flag
) -> Comparison:
    """Runs `lydite compare --a … --b …`, and returns its answer. Each side is a result, a path, or several of them.

    Other arguments are flags, as for `run`: with `fail_if="nopm < -5%"` a condition that fails raises `ThresholdMissed`,
    and one that these runs can't decide `Undecided`. Both have the `comparison`.

    >>> import lydite
    >>> def runs(rate):
    ...     return [lydite.run("null:", mode="open", rate=rate, duration="300ms", warmup=0) for _ in range(2)]
    >>> both = lydite.compare(runs(1000), runs(4000))
    >>> both["tps"].title, both.sentence != ""
    ('transactions/s', True)
    """
    if "json" in flags:
        raise ValueError("json: the document is returned: write it with json.dump(comparison.raw, …)")
    with Files(all_of(a), "a") as of_a, Files(all_of(b), "b") as of_b:
        sides = [f"--a={path}" for path in of_a.paths()] + [f"--b={path}" for path in of_b.paths()]
        code, text, said = call(["compare", *sides, *arguments(flags), "--json=-"])
        text, said = (of_a.shortened(of_b.shortened(printed)) for printed in (text, said))
    if code == 0:
        return Comparison.of(parsed(text))
    try:
        found: Optional[Comparison] = Comparison.of(parsed(text))
    except ResultError:
        # A program that fails need not write a document.
        found = None
    raise of_exit(code, errors(said), comparison=found)
