"""Runs Lydite and reads its results; drivers for Lydite are written with the same package.

**Runs.** They need the program `lydite`, which the wheel brings along:

    >>> import lydite
    >>> r = lydite.run("null:", duration="200ms", warmup=0)
    >>> r.status
    'complete'
    >>> r.nopm > 0
    True
    >>> r.transactions["new_order"].p99_ms == r.transactions["new_order"].histogram.percentile(99) / 1e6
    True

The package has no dependencies; `Result.to_pandas` and `Result.to_polars` use pandas and Polars if they are installed.

**Drivers.** A driver is a program that Lydite starts (`driver:python3 my_driver.py`). It plays the five transactions of
TPC-C on a database (`Driver`), or it is a key-value store on which Lydite plays them itself (`KeyValue`):

    class MyStore(lydite.KeyValue):
        ...

    if __name__ == "__main__":
        lydite.serve(MyStore)

Amounts of money are whole cents, taxes and discounts whole ten-thousandths, points in time microseconds since 1970
(UTC): never floats. What a driver prints goes to standard error, which errors of Lydite quote.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Dict, List

from .driver import (
    Address,
    Customer,
    Delivery,
    Driver,
    NewOrder,
    NewOrderLine,
    NewOrderResult,
    OrderLine,
    OrderStatus,
    OrderStatusLine,
    OrderStatusResult,
    Payment,
    PaymentResult,
    StockLevel,
    order_total,
)
from .errors import Aborted, Fatal, Refused, RolledBack, Unavailable, Unsupported
from .keyvalue import KeyValue
from .schema import TABLES, Table, micros, when
from .session import alive, serve

if TYPE_CHECKING:
    from ._compare import Comparison, Metric, compare
    from ._document import ResultError
    from ._ends import (
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
        Series,
        Statement,
        Target,
        Transaction,
        Window,
        load_result,
    )
    from ._run import Progress, Run, run, start

# In the order of the imports above.
__all__ = [
    # Drivers.
    "Address", "Customer", "Delivery", "Driver", "NewOrder", "NewOrderLine", "NewOrderResult", "OrderLine",
    "OrderStatus", "OrderStatusLine", "OrderStatusResult", "Payment", "PaymentResult", "StockLevel", "order_total",
    "Aborted", "Fatal", "Refused", "RolledBack", "Unavailable", "Unsupported", "KeyValue", "TABLES", "Table",
    "micros", "when", "alive", "serve",
    # Runs.
    "Comparison", "Metric", "compare", "ResultError", "CheckFailed", "Crashed", "Interrupted", "LyditeError", "ProgramNotFound",
    "TargetFailed", "ThresholdMissed", "Undecided", "UsageError", "export", "to_pandas", "to_polars", "Histogram",
    "HistogramError", "find_program", "Check", "Client", "Host", "Latency", "Observed", "Outage", "Phase",
    "Requirement", "Result", "Series", "Statement", "Target", "Transaction", "Window", "load_result",
    "Progress", "Run", "run", "start",
]

__version__ = "0.1.0"

#: Names about runs, each with its module. The first use loads it, since each session of a driver starts a process that
#: needs none of them.
_OF_RUNS: Dict[str, str] = {
    name: module
    for module, names in (
        ("_compare", "Comparison Metric compare"),
        ("_document", "ResultError"),
        ("_ends", "CheckFailed Crashed Interrupted LyditeError ProgramNotFound TargetFailed ThresholdMissed "
                  "Undecided UsageError"),
        ("_export", "export to_pandas to_polars"),
        ("_hdr", "Histogram HistogramError"),
        ("_program", "find_program"),
        ("_result", "Check Client Host Latency Observed Outage Phase Requirement Result Series "
                    "Statement Target Transaction Window load_result"),
        ("_run", "Progress Run run start"),
    )
    for name in names.split()
}

if not TYPE_CHECKING:
    # Type checkers would take it for a definition of every name.

    def __getattr__(name: str) -> object:
        """Loads a name about runs."""
        module = _OF_RUNS.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f".{module}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> List[str]:
    """Lists the names that are not loaded, too."""
    return sorted({*globals(), *_OF_RUNS})
