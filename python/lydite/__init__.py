"""Runs Lydite from Python, and reads its results.

    >>> import lydite
    >>> r = lydite.run("null:", duration="200ms", warmup=0)
    >>> r.status
    'complete'
    >>> r.nopm > 0
    True
    >>> r.transactions["new_order"].p99_ms == r.transactions["new_order"].histogram.percentile(99) / 1e6
    True

The module starts the program `lydite`, which stands beside it in the same package. It has no dependencies; pandas and
Polars are used by `Result.to_pandas` and `Result.to_polars` if they are installed.
"""

from __future__ import annotations

from ._compare import Comparison, Metric, compare
from ._errors import (
    CheckFailed,
    Crashed,
    Interrupted,
    LyditeError,
    ProgramNotFound,
    TargetFailed,
    ThresholdMissed,
    Undecided,
    UsageError,
)
from ._export import export, to_pandas, to_polars
from ._hdr import Histogram, HistogramError
from ._program import find_program
from ._result import (
    Check,
    Client,
    Host,
    Latency,
    Observed,
    Outage,
    Phase,
    Requirement,
    Result,
    ResultError,
    Series,
    Statement,
    Target,
    Transaction,
    Window,
    load_result,
)
from ._run import Progress, Run, run, start

__all__ = [
    "Check", "CheckFailed", "Client", "Comparison", "Crashed", "Histogram", "HistogramError", "Host", "Interrupted",
    "Latency", "LyditeError", "Metric", "Observed", "Outage", "Phase", "ProgramNotFound", "Progress", "Requirement",
    "Result", "ResultError", "Run", "Series", "Statement", "Target", "TargetFailed", "ThresholdMissed", "Transaction",
    "Undecided", "UsageError", "Window", "compare", "export", "find_program", "load_result", "run", "start", "to_pandas",
    "to_polars",
]

# Names of the SDK for drivers, which is a module of the same name in the repository's sdk/python.
_OF_DRIVERS = frozenset({"serve", "Driver", "KeyValue", "Aborted", "RolledBack", "Refused", "Fatal", "Unavailable"})


def __getattr__(name: str) -> object:
    """Says where a driver finds its SDK; all other names are unknown as usual."""
    if name in _OF_DRIVERS:
        raise AttributeError(
            f"lydite.{name} is of the SDK for drivers, and this module runs Lydite: start the driver with the directory "
            "sdk/python of the repository in PYTHONPATH"
        )
    raise AttributeError(f"module 'lydite' has no attribute {name!r}")
