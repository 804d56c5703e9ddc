"""The result of a run as data classes: the fields are those of its JSON document, with the units in their names.

A field that a document lacks has its default, and what is not here is in `Result.raw`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple, Type, TypeVar, Union

from ._hdr import Histogram

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]

#: The version of the document that is read.
FORMAT = 1

_T = TypeVar("_T")


class ResultError(ValueError):
    """A file is no result of a run."""


@dataclass(frozen=True)
class Latency:
    """A distribution of times in milliseconds; None without samples."""

    mean_ms: Optional[float] = None
    p50_ms: Optional[float] = None
    p90_ms: Optional[float] = None
    p95_ms: Optional[float] = None
    p99_ms: Optional[float] = None
    p999_ms: Optional[float] = None
    max_ms: Optional[float] = None

    @classmethod
    def _of(cls, raw: Optional[Mapping[str, Any]]) -> Latency:
        return cls(**{f"{name}_ms": value for name, value in (raw or {}).items() if f"{name}_ms" in _LATENCIES})


_LATENCIES = frozenset(Latency.__dataclass_fields__)


@dataclass(frozen=True)
class Transaction:
    """A type of transaction over the window."""

    committed: int = 0
    rolled_back: int = 0
    retries: int = 0
    failed: int = 0
    unknown: int = 0
    share_percent: float = 0.0
    #: From due to answered: the user's waiting time.
    latency: Latency = field(default_factory=Latency)
    #: From due until a session took it: Lydite's share.
    queue: Latency = field(default_factory=Latency)
    #: From then until answered: the database's share.
    service: Latency = field(default_factory=Latency)
    #: Delivery with emulated users: until the user had an answer.
    interactive: Optional[Latency] = None
    #: Histogram of the latency as text; empty if there is none.
    hdr: str = field(default="", repr=False)

    @property
    def completed(self) -> int:
        """Committed transactions, and those that rolled back as the standard wants."""
        return self.committed + self.rolled_back

    @property
    def histogram(self) -> Histogram:
        """The histogram of the latency, in nanoseconds; without values if there is none."""
        return Histogram.decode(self.hdr) if self.hdr else Histogram(10, 0, ())

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

    @classmethod
    def _of(cls, raw: Mapping[str, Any]) -> Transaction:
        interactive = raw.get("interactive_ms")
        return _of(
            cls,
            raw,
            latency=Latency._of(raw.get("latency_ms")),
            queue=Latency._of(raw.get("queue_ms")),
            service=Latency._of(raw.get("service_ms")),
            interactive=None if interactive is None else Latency._of(interactive),
        )


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

    @classmethod
    def _of(cls, raw: Mapping[str, Any]) -> Series:
        return cls(**{name: tuple(values) for name, values in raw.items() if name in cls.__dataclass_fields__})


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
    settings: Mapping[str, str] = field(default_factory=dict)
    changed_settings: Mapping[str, str] = field(default_factory=dict)
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

    name: Optional[str] = None
    from_s: float = 0.0
    to_s: float = 0.0
    #: The keys of the plan that it sets.
    asked: Mapping[str, str] = field(default_factory=dict)
    tps: float = 0.0
    #: Completed transactions, and their times, by type.
    transactions: Mapping[str, int] = field(default_factory=dict)
    latency: Mapping[str, Latency] = field(default_factory=dict)
    queue: Mapping[str, Latency] = field(default_factory=dict)
    retries: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    aborts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def _of(cls, raw: Mapping[str, Any]) -> Phase:
        times = {
            part: {name: Latency._of(of) for name, of in raw.get(f"{part}_ms", {}).items()}
            for part in ("latency", "queue")
        }
        return _of(cls, raw, **times)


@dataclass(frozen=True)
class Observed:
    """A value that was sampled once a second beside the transactions."""

    #: `db`, `db:HOST:PORT`, `host`, or the address of an exporter.
    source: str = ""
    name: str = ""
    unit: str = ""
    #: Value of each of `Result.series.second`; None without a sample.
    values: Tuple[Optional[float], ...] = ()


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
    """The result of a run.

    >>> r = Result.of({"format": 1, "nopm": 12.5, "transactions": {"payment": {"committed": 3}}})
    >>> r.nopm, r.transactions["payment"].completed, r.transactions["payment"].p99_ms
    (12.5, 3, None)
    >>> Result.of({"audit": {}, "tests": []})
    Traceback (most recent call last):
    lydite._result.ResultError: this is no result of a run: it has no number "format"
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
    plan: Mapping[str, Any] = field(default_factory=dict)
    #: By type: `new_order`, `payment`, …, or `micro`.
    transactions: Mapping[str, Transaction] = field(default_factory=dict)
    #: Attempts that the database aborted, by reason.
    aborts: Mapping[str, int] = field(default_factory=dict)
    #: Messages of other errors, with their counts.
    errors: Mapping[str, int] = field(default_factory=dict)
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
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)
    #: File of the document; None for a run whose document was not kept.
    path: Optional[Path] = None

    @classmethod
    def of(cls, raw: Mapping[str, Any], path: Optional[Path] = None) -> Result:
        """Reads a document. Raises `ResultError` if it is none of this version."""
        _require_result(raw)
        window = raw.get("window", {})
        return _of(
            cls,
            raw,
            window=_of(Window, window, start=_time(window.get("start"))),
            target=_of(Target, raw.get("target", {})),
            host=_of(Host, raw.get("host", {})),
            client=_of(Client, raw.get("client", {})),
            transactions={name: Transaction._of(of) for name, of in raw["transactions"].items()},
            errors={error["message"]: error["count"] for error in raw.get("errors", [])},
            series=Series._of(raw.get("series", {})),
            warmup_series=Series._of(raw.get("warmup_series", {})),
            checks=_all(Check, raw.get("checks")),
            requirements=_all(Requirement, raw.get("requirements")),
            phases=tuple(Phase._of(phase) for phase in raw.get("phases", [])),
            outages=_all(Outage, raw.get("outages")),
            observed=tuple(_of(Observed, of, values=tuple(of.get("values", []))) for of in raw.get("observed", [])),
            statements=_all(Statement, raw.get("statements")),
            warnings=tuple(raw.get("warnings", [])),
            raw=raw,
            path=path,
        )

    def histogram(self) -> Histogram:
        """Returns the histogram of the latency of all types, in nanoseconds."""
        found = Histogram(10, 0, ())
        for of in self.transactions.values():
            if of.hdr:
                found = of.histogram + found if found.counts else of.histogram
        return found

    def to_pandas(self, what: str = "series") -> pandas.DataFrame:
        """Returns a table of `lydite export` as a pandas DataFrame: `series`, `transactions`, `observed`, …"""
        from ._export import to_pandas

        return to_pandas(self, what)

    def to_polars(self, what: str = "series") -> polars.DataFrame:
        """Returns a table of `lydite export` as a Polars DataFrame."""
        from ._export import to_polars

        return to_polars(self, what)

    def without_path(self) -> Result:
        """Returns the same result, without a file."""
        return replace(self, path=None)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the document to a new file, for `lydite report`, `compare` and `export`."""
        with open(path, "x", encoding="utf-8") as file:
            json.dump(self.raw, file)


def load_result(path: Union[str, os.PathLike[str]]) -> Result:
    """Reads a result file, as `lydite run --json` writes it. Raises `OSError`, or `ResultError` if it is none."""
    path = Path(path)
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return Result.of(raw, path)
    except ValueError as error:
        raise ResultError(f"{path}: {error}") from error


def _require_result(raw: object) -> None:
    """Rejects other documents of Lydite, and other versions."""
    if not isinstance(raw, dict) or not isinstance(raw.get("format"), int):
        raise ResultError('this is no result of a run: it has no number "format"')
    if raw["format"] != FORMAT:
        raise ResultError(f"this has format {raw['format']}, and this module reads {FORMAT}: use the lydite that wrote it")
    if not isinstance(raw.get("transactions"), dict):
        raise ResultError("this is no result of a run: it has no transactions")


def _of(kind: Type[_T], document: Mapping[str, Any], /, **given: object) -> _T:
    """Makes a data class of the fields that it shares with a document; those that are given win."""
    names: Dict[str, object] = getattr(kind, "__dataclass_fields__")
    shared = {name: value for name, value in document.items() if name in names}
    return kind(**{**shared, **given})


def _all(kind: Type[_T], raws: Optional[List[Mapping[str, Any]]]) -> Tuple[_T, ...]:
    return tuple(_of(kind, raw) for raw in raws or [])


def _time(text: Optional[str]) -> Optional[datetime]:
    """Reads RFC 3339 in UTC to the microsecond, which is all that a datetime holds.

    >>> _time("2026-01-02T03:04:05.123456789Z").isoformat()
    '2026-01-02T03:04:05.123456+00:00'
    """
    if not text:
        return None
    seconds, _, fraction = text.rstrip("Z").partition(".")
    try:
        moment = datetime.strptime(seconds, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
        return moment.replace(microsecond=int(fraction[:6].ljust(6, "0"))) if fraction else moment
    except ValueError:
        return None
