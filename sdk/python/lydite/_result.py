"""The result of a run as data classes: the fields are those of its JSON document, with the units in their names.

A field that a document lacks has its default, and what is not here is in `Result.raw`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Mapping, Optional, Tuple, Union

from ._document import FrozenDict, ResultError, frozen, parsed, record
from ._hdr import Histogram

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]

#: The version of the document that is read.
FORMAT = 1


@dataclass(frozen=True)
class Latency:
    """A distribution of times in milliseconds; None without samples."""

    _JSON: ClassVar[Mapping[str, str]] = {
        f"{name}_ms": name for name in ("mean", "p50", "p90", "p95", "p99", "p999", "max")
    }

    mean_ms: Optional[float] = None
    p50_ms: Optional[float] = None
    p90_ms: Optional[float] = None
    p95_ms: Optional[float] = None
    p99_ms: Optional[float] = None
    p999_ms: Optional[float] = None
    max_ms: Optional[float] = None


@dataclass(frozen=True)
class Transaction:
    """A type of transaction over the window."""

    _JSON: ClassVar[Mapping[str, str]] = {
        name: f"{name}_ms" for name in ("latency", "queue", "service", "interactive")
    }

    committed: int = 0
    rolled_back: int = 0
    retries: int = 0
    failed: int = 0
    unknown: int = 0
    share_percent: float = 0.0
    #: From due to answered: the user's waiting time.
    latency: Latency = field(default_factory=Latency)
    #: From due until a session took it: Lydite's share.
    queue: Latency = field(default_factory=Latency, repr=False)
    #: From then until answered: the database's share.
    service: Latency = field(default_factory=Latency, repr=False)
    #: Delivery with emulated users: until the user had an answer.
    interactive: Optional[Latency] = field(default=None, repr=False)
    #: Histogram of the latency as text; empty if there is none.
    hdr: str = field(default="", repr=False)

    @property
    def completed(self) -> int:
        """Committed transactions, and those that rolled back as the standard wants."""
        return self.committed + self.rolled_back

    @cached_property
    def histogram(self) -> Histogram:
        """Histogram of the latency in nanoseconds; without values if there is none. Raises `HistogramError`."""
        return Histogram.decode(self.hdr) if self.hdr else Histogram.merged([])

    @property
    def mean_ms(self) -> Optional[float]:
        """Mean latency."""
        return self.latency.mean_ms

    @property
    def p50_ms(self) -> Optional[float]:
        """Median latency."""
        return self.latency.p50_ms

    @property
    def p90_ms(self) -> Optional[float]:
        """90th percentile of the latency."""
        return self.latency.p90_ms

    @property
    def p95_ms(self) -> Optional[float]:
        """95th percentile of the latency."""
        return self.latency.p95_ms

    @property
    def p99_ms(self) -> Optional[float]:
        """99th percentile of the latency."""
        return self.latency.p99_ms

    @property
    def p999_ms(self) -> Optional[float]:
        """99.9th percentile of the latency."""
        return self.latency.p999_ms

    @property
    def max_ms(self) -> Optional[float]:
        """Greatest latency."""
        return self.latency.max_ms


@dataclass(frozen=True)
class Series:
    """Values second by second: parallel sequences, each as long as `second` or empty."""

    #: Start of each second, in seconds from the start of the window; negative in a warm-up.
    second: Tuple[int, ...] = ()
    #: Completed transactions by type.
    new_order: Tuple[int, ...] = ()
    payment: Tuple[int, ...] = ()
    order_status: Tuple[int, ...] = ()
    delivery: Tuple[int, ...] = ()
    stock_level: Tuple[int, ...] = ()
    update_stock: Tuple[int, ...] = ()
    update_item: Tuple[int, ...] = ()
    update_balance: Tuple[int, ...] = ()
    select_balance: Tuple[int, ...] = ()
    micro: Tuple[int, ...] = ()
    #: Attempts that the database aborted, failed transactions, and those of unknown outcome.
    aborts: Tuple[int, ...] = ()
    errors: Tuple[int, ...] = ()
    unknown: Tuple[int, ...] = ()
    #: Percentiles of the second; None if it had none of the type.
    new_order_p50_ms: Tuple[Optional[float], ...] = ()
    new_order_p99_ms: Tuple[Optional[float], ...] = ()
    micro_p50_ms: Tuple[Optional[float], ...] = ()
    micro_p99_ms: Tuple[Optional[float], ...] = ()
    #: Least number of connected sessions.
    sessions_connected: Tuple[int, ...] = ()

    def __len__(self) -> int:
        """Returns the number of seconds."""
        return len(self.second)

    def __repr__(self) -> str:
        return f"Series({len(self)} seconds)"

    def _require_parallel(self, at: str) -> None:
        """Raises `ResultError` if a sequence has another length than the seconds."""
        for each in fields(self):
            length = len(getattr(self, each.name))
            if length not in (0, len(self)):
                raise ResultError(f"{at}.{each.name}: expected {len(self)} values, as in second, found {length}")


@dataclass(frozen=True)
class Window:
    """The measured time."""

    #: Start; None if the document has none.
    start: Optional[datetime] = None
    warmup_s: float = 0.0
    measured_s: float = 0.0


@dataclass(frozen=True)
class Target:
    """The database."""

    kind: str = ""
    version: str = ""
    #: Without password.
    url: str = ""
    settings: Mapping[str, str] = field(default_factory=FrozenDict, repr=False)
    changed_settings: Mapping[str, str] = field(default_factory=FrozenDict, repr=False)
    #: None if this is not known.
    encrypted: Optional[bool] = None
    embedded: bool = False


@dataclass(frozen=True)
class Host:
    """The client's machine."""

    hostname: str = ""
    os: str = ""
    kernel: str = ""
    cpu: str = ""
    cores: int = 0
    memory_bytes: int = 0


@dataclass(frozen=True)
class Client:
    """The cost of Lydite itself in the window."""

    cpu_s: float = 0.0
    cpu_us_per_transaction: float = 0.0
    peak_rss_bytes: int = 0
    driver_cpu_s: Optional[float] = None
    driver_cpu_us_per_transaction: Optional[float] = None


@dataclass(frozen=True)
class Check:
    """A check of the database."""

    id: str = ""
    ok: bool = False
    detail: str = ""
    #: `before`, `after` or `check`.
    when: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Requirement:
    """A requirement of the run (`--require`)."""

    text: str = ""
    metric: str = ""
    #: None if there was none to judge.
    value: Optional[float] = None
    unit: str = ""
    met: bool = False
    note: str = ""


@dataclass(frozen=True)
class Outage:
    """A time without an answer in any session, in seconds from the start of the window."""

    from_s: float = 0.0
    to_s: float = 0.0
    #: `lost` or `silent`.
    cause: str = "lost"


@dataclass(frozen=True)
class Phase:
    """A phase of the plan."""

    _JSON: ClassVar[Mapping[str, str]] = {"latency": "latency_ms", "queue": "queue_ms"}

    name: Optional[str] = None
    from_s: float = 0.0
    to_s: float = 0.0
    #: The keys of the plan that it sets.
    asked: Mapping[str, str] = field(default_factory=FrozenDict)
    tps: float = 0.0
    #: Completed transactions, and their times, by type.
    transactions: Mapping[str, int] = field(default_factory=FrozenDict)
    latency: Mapping[str, Latency] = field(default_factory=FrozenDict, repr=False)
    queue: Mapping[str, Latency] = field(default_factory=FrozenDict, repr=False)
    retries: Mapping[str, int] = field(default_factory=FrozenDict, repr=False)
    failed: Mapping[str, int] = field(default_factory=FrozenDict, repr=False)
    unknown: Mapping[str, int] = field(default_factory=FrozenDict, repr=False)
    aborts: Mapping[str, int] = field(default_factory=FrozenDict, repr=False)


@dataclass(frozen=True)
class Observed:
    """A value that was sampled once a second beside the transactions."""

    #: `db`, `db:HOST:PORT`, `host`, or the address of an exporter.
    source: str = ""
    name: str = ""
    unit: str = ""
    #: Value of each of `Result.series.second`; None without a sample.
    values: Tuple[Optional[float], ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Statement:
    """A statement that took a server much time."""

    source: str = ""
    text: str = ""
    calls: int = 0
    mean_ms: float = 0.0
    rows: int = 0
    #: None if the server does not count them.
    blocks_read: Optional[int] = None
    blocks_hit: Optional[int] = None


@dataclass(frozen=True)
class Result:
    """The result of a run. It can't be changed, and results of equal documents are equal.

    >>> r = Result.of({"format": 1, "nopm": 12.5, "transactions": {"payment": {"committed": 3}}})
    >>> r.nopm, r.transactions["payment"].completed, r.transactions["payment"].p99_ms
    (12.5, 3, None)
    >>> Result.of({"audit": {}, "tests": []})
    Traceback (most recent call last):
    lydite.ResultError: this is no result of a run: it has no number "format"
    """

    #: `complete` or `partial`.
    status: str = "complete"
    #: The user's name for the run.
    label: Optional[str] = None
    #: Completed New-Orders per minute; 0 for other workloads.
    nopm: float = 0.0
    #: Completed transactions of all types per second.
    tps: float = 0.0
    efficiency_percent: float = 0.0
    #: Version of the program that measured.
    lydite: str = ""
    window: Window = field(default_factory=Window)
    target: Target = field(default_factory=Target)
    host: Host = field(default_factory=Host)
    client: Client = field(default_factory=Client)
    #: The plan as it was configured.
    plan: Mapping[str, Any] = field(default_factory=FrozenDict)
    #: By type: `new_order`, `payment`, …, or `micro`.
    transactions: Mapping[str, Transaction] = field(default_factory=FrozenDict)
    #: Attempts that the database aborted, by reason.
    aborts: Mapping[str, int] = field(default_factory=FrozenDict)
    #: Messages of other errors, with their counts.
    errors: Mapping[str, int] = field(default_factory=FrozenDict)
    series: Series = field(default_factory=Series, repr=False)
    warmup_series: Series = field(default_factory=Series, repr=False)
    checks: Tuple[Check, ...] = field(default=(), repr=False)
    requirements: Tuple[Requirement, ...] = ()
    phases: Tuple[Phase, ...] = field(default=(), repr=False)
    outages: Tuple[Outage, ...] = ()
    observed: Tuple[Observed, ...] = field(default=(), repr=False)
    statements: Tuple[Statement, ...] = field(default=(), repr=False)
    warnings: Tuple[str, ...] = ()
    #: The whole document.
    raw: Mapping[str, Any] = field(default_factory=FrozenDict, repr=False)
    #: File of the document; None for a run whose document was not kept.
    path: Optional[Path] = field(default=None, compare=False)

    @classmethod
    def of(cls, raw: Mapping[str, Any], path: Optional[Path] = None) -> Result:
        """Reads a document. Raises `ResultError` if it is none of a run, of another format, or has a wrong field."""
        document = frozen(raw)
        _require_result(document)
        errors = record(_Errors, document).errors
        result = record(
            cls, document, errors=FrozenDict({of.message: of.count for of in errors}), raw=document, path=path
        )
        for name, series in (("series", result.series), ("warmup_series", result.warmup_series)):
            series._require_parallel(name)
        return result

    @cached_property
    def histogram(self) -> Histogram:
        """Histogram of the latency of all types, in nanoseconds. Raises `HistogramError`."""
        return Histogram.merged(of.histogram for of in self.transactions.values())

    def __repr__(self) -> str:
        named = "" if self.label is None else f"{self.label!r}: "
        where = self.target.url or self.target.kind
        nopm = f"{self.nopm:,.0f} NOPM, " if self.nopm else ""
        count = len(self.warnings)
        warnings = f", {count} warning{'s' * (count > 1)}" if count else ""
        return f"<Result {named}{self.status}, {where}, {nopm}{self.tps:,.1f} tx/s{warnings}>"

    def to_pandas(self, what: str = "series") -> pandas.DataFrame:
        """Returns a table of `lydite export` as a pandas DataFrame: `series`, `transactions`, `observed`, …"""
        from ._export import to_pandas

        return to_pandas(self, what)

    def to_polars(self, what: str = "series") -> polars.DataFrame:
        """Returns a table of `lydite export` as a Polars DataFrame."""
        from ._export import to_polars

        return to_polars(self, what)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the document to a new file, for `lydite report`, `compare` and `export`.

        Raises `FileExistsError` if there is a file already.
        """
        with open(path, "x", encoding="utf-8") as file:
            json.dump(self.raw, file)


@dataclass(frozen=True)
class _Error:
    """A message of other errors than aborts."""

    message: str
    count: int


@dataclass(frozen=True)
class _Errors:
    """The part of a document that is a list there and a mapping here."""

    errors: Tuple[_Error, ...] = ()


def load_result(path: Union[str, os.PathLike[str]]) -> Result:
    """Reads a result file, as `lydite run --json` writes it.

    Raises `OSError`, or `ResultError` if the file is no result of a run: the message names the file and the field.
    """
    path = Path(path)
    try:
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise ResultError(f"this is no UTF-8: {error}") from error
        return Result.of(parsed(text), path)
    except ResultError as error:
        raise ResultError(f"{path}: {error}") from error


def _require_result(raw: object) -> None:
    """Rejects other documents of Lydite, and other formats."""
    # True is a whole number for Python.
    if not isinstance(raw, Mapping) or type(raw.get("format")) is not int:
        raise ResultError('this is no result of a run: it has no number "format"')
    if raw["format"] != FORMAT:
        raise ResultError(f"this has format {raw['format']}, and this module reads {FORMAT}: use the lydite that wrote it")
    if "transactions" not in raw:
        raise ResultError("this is no result of a run: it has no transactions")
