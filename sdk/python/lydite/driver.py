"""A driver that plays the five transactions of TPC-C itself. Fields have the names of the standard."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from .errors import Refused, Unsupported

#: Rows that are read back in one answer.
_BATCH = 1_000


@dataclass
class OrderLine:
    """A line of an order as it is entered."""

    i_id: int
    supply_w_id: int
    quantity: int


@dataclass
class NewOrder:
    """Input of New-Order (clause 2.4.1). `now` is Lydite's clock, for databases without one."""

    w_id: int
    d_id: int
    c_id: int
    lines: List[OrderLine]
    now: int

    @property
    def all_local(self) -> bool:
        """Whether the home warehouse supplies every line."""
        return all(line.supply_w_id == self.w_id for line in self.lines)


@dataclass
class Customer:
    """Who pays or asks: by `c_id`, or by `c_last` (then `c_id` is None): of n customers with that name, ordered by
    C_FIRST, the one at position n/2 rounded up, counted from 1."""

    c_id: Optional[int]
    c_last: Optional[str]


@dataclass
class Payment(Customer):
    """Input of Payment (clause 2.5.1); `h_amount` in cents."""

    w_id: int
    d_id: int
    c_w_id: int
    c_d_id: int
    h_amount: int
    now: int


@dataclass
class OrderStatus(Customer):
    """Input of Order-Status (clause 2.6.1)."""

    w_id: int
    d_id: int


@dataclass
class Delivery:
    """Input of Delivery (clause 2.7.1)."""

    w_id: int
    o_carrier_id: int
    now: int


@dataclass
class StockLevel:
    """Input of Stock-Level (clause 2.8.1)."""

    w_id: int
    d_id: int
    threshold: int


@dataclass
class NewOrderLine:
    """A line of an order as the terminal shows it; `brand`: I_DATA and S_DATA both contain ORIGINAL."""

    i_name: str
    s_quantity: int
    brand: bool
    i_price: int
    amount: int


@dataclass
class NewOrderResult:
    """Output of New-Order (clause 2.4.3.3): the lines in the order of the input."""

    o_id: int
    entry_d: int
    c_last: str
    c_credit: str
    c_discount: int
    w_tax: int
    d_tax: int
    total: int
    lines: List[NewOrderLine]


@dataclass
class Address:
    """A postal address."""

    street_1: str
    street_2: str
    city: str
    state: str
    zip: str


@dataclass
class PaymentResult:
    """Output of Payment (clause 2.5.3.4); `c_data` holds the first 200 characters for bad credit, else None."""

    h_date: int
    warehouse: Address
    district: Address
    c_id: int
    c_first: str
    c_middle: str
    c_last: str
    address: Address
    c_phone: str
    c_since: int
    c_credit: str
    c_credit_lim: int
    c_discount: int
    c_balance: int
    c_data: Optional[str]


@dataclass
class OrderStatusLine:
    """A line of an order as Order-Status shows it; `delivery_d` is None until it is delivered."""

    i_id: int
    supply_w_id: int
    quantity: int
    amount: int
    delivery_d: Optional[int]


@dataclass
class OrderStatusResult:
    """Output of Order-Status (clause 2.6.3.3): the customer's last order, its lines by OL_NUMBER."""

    c_id: int
    c_first: str
    c_middle: str
    c_last: str
    c_balance: int
    o_id: int
    entry_d: int
    carrier_id: Optional[int]
    lines: List[OrderStatusLine]


def order_total(amounts: Iterable[int], c_discount: int, w_tax: int, d_tax: int) -> int:
    """The total of an order in cents (clause 2.4.2.2), rounded once, half away from zero."""
    exact = sum(amounts) * (10_000 - c_discount) * (10_000 + w_tax + d_tax)
    unit = 10_000 * 10_000
    return (exact + unit // 2) // unit if exact >= 0 else -((-exact + unit // 2) // unit)


class Driver:
    """A session of a database that plays the transactions. Rows are sequences in the order of `lydite.TABLES`."""

    name: str = "driver"
    version: str = "0"
    #: `none`, `per-key`, `atomic`, `optimistic` (snapshot isolation, the first committer wins) or `serializable`.
    guarantee: str = "none"
    #: The isolation level in the database's own words.
    isolation: Optional[str] = None
    #: Whether a commit survives the loss of power.
    durable: bool = False

    def settings(self) -> Dict[str, Any]:
        """Whatever bears on the numbers; it goes into the result."""
        return {}

    # The tables.

    def tables(self) -> Iterable[str]:
        """Which of the nine tables there are."""
        raise NotImplementedError

    def create(self) -> None:
        """Makes the nine tables, empty, and a place for notes."""
        raise NotImplementedError

    def drop(self) -> None:
        """Drops whatever there is of all this. It may be nothing."""
        raise NotImplementedError

    def notes(self) -> Dict[str, str]:
        """What `note` has stored; empty when nothing has been created."""
        raise NotImplementedError

    def note(self, name: str, value: str) -> None:
        """Stores a note, in the place of an earlier one of that name, for good when it returns."""
        raise NotImplementedError

    # Loading. Several sessions load at the same time, each its own warehouse.

    def resumes(self) -> bool:
        """Whether a load that was interrupted can be taken up."""
        return True

    def load_begin(self, w_id: int) -> None:
        """Rows of a warehouse come, or those of ITEM (0). What an earlier, interrupted load left of them must go."""
        raise NotImplementedError

    def load(self, table: str, rows: List[Sequence[Any]]) -> Optional[bool]:
        """Some rows of a table. True if they are kept back until `load_end`, which then tells `lydite.alive` of them."""
        raise NotImplementedError

    def load_end(self, w_id: int) -> None:
        """All rows have come; they are stored for good when this returns."""
        raise NotImplementedError

    def load_abort(self) -> None:
        """The load was interrupted."""
        self.rollback()

    def finish_load(self) -> None:
        """After all rows: indexes, statistics. See `lydite.alive` if it takes more than some seconds."""

    # The transactions.

    def new_order(self, order: NewOrder) -> NewOrderResult:
        """Clause 2.4.2. Raises `lydite.RolledBack` for an order with an unused item."""
        raise NotImplementedError

    def payment(self, payment: Payment) -> PaymentResult:
        """Clause 2.5.2."""
        raise NotImplementedError

    def order_status(self, query: OrderStatus) -> OrderStatusResult:
        """Clause 2.6.2."""
        raise NotImplementedError

    def delivery(self, delivery: Delivery) -> List[Tuple[int, int]]:
        """Clause 2.7.4, all districts in one transaction: D_ID and O_ID of each that had an undelivered order."""
        raise NotImplementedError

    def stock_level(self, query: StockLevel) -> int:
        """Clause 2.8.2: how many items of the last 20 orders are low."""
        raise NotImplementedError

    def rollback(self) -> None:
        """Undoes what the session has not committed. Called after every error."""

    # Reading back, to be checked.

    def snapshot(self) -> None:
        """What is read until `release` should be of one state, if the database can."""

    def release(self) -> None:
        """The end of it."""

    def rows(self, table: str, w_id: Optional[int]) -> Iterable[Sequence[Any]]:
        """The rows of a warehouse, or of the whole table if `w_id` is None, in any order."""
        raise NotImplementedError

    def explain(self, error: Exception) -> Optional[Refused]:
        """An error of the database in Lydite's words (`lydite.Aborted`, …); None if it is just an error."""
        return None

    def close(self) -> None:
        """The session ends."""

    #: Set it before a transaction commits: then an error that `explain` does not know leaves the outcome unknown, instead
    #: of promising that nothing was committed. Each request begins with False.
    committing: bool = False
    _reading: Optional[Iterator[Sequence[Any]]] = None

    def handle(self, what: str, fields: Dict[str, Any]) -> Any:
        """Does what a request asks."""
        self.committing = False
        act = _ACTS.get(what)
        if act is None:
            raise Unsupported(f"a driver of transactions has no {what}")
        return act(self, fields)

    def failed(self, what: str) -> None:
        """After an error: the transaction is over."""
        self._reading = None
        self.rollback()

    def _next(self) -> Dict[str, Any]:
        rows = list(islice(self._reading, _BATCH)) if self._reading is not None else []
        if len(rows) < _BATCH:
            self._reading = None
        return {"rows": [list(row) for row in rows], "more": self._reading is not None}


def _state(driver: Driver, _: Dict[str, Any]) -> Any:
    return {"tables": list(driver.tables()), "notes": dict(driver.notes()), "resumes": driver.resumes()}


def _create(driver: Driver, fields: Dict[str, Any]) -> Any:
    driver.create()
    for name, value in fields["notes"].items():
        driver.note(name, value)


def _read(driver: Driver, fields: Dict[str, Any]) -> Any:
    driver._reading = iter(driver.rows(fields["table"], fields["w_id"]))
    return driver._next()


def _stop(driver: Driver, _: Dict[str, Any]) -> Any:
    driver._reading = None


def _new_order(driver: Driver, fields: Dict[str, Any]) -> Any:
    lines = [OrderLine(**line) for line in fields["lines"]]
    return driver.new_order(NewOrder(fields["w_id"], fields["d_id"], fields["c_id"], lines, fields["now"]))


_ACTS: Dict[str, Callable[[Driver, Dict[str, Any]], Any]] = {
    "state": _state,
    "create": _create,
    "drop": lambda driver, _: driver.drop(),
    "note": lambda driver, fields: driver.note(fields["name"], fields["value"]),
    "load_begin": lambda driver, fields: driver.load_begin(fields["w_id"]),
    "load": lambda driver, fields: {"kept": bool(driver.load(fields["table"], fields["rows"]))},
    "load_end": lambda driver, fields: driver.load_end(fields["w_id"]),
    "load_abort": lambda driver, _: driver.load_abort(),
    "finish": lambda driver, _: driver.finish_load(),
    "snapshot": lambda driver, _: driver.snapshot(),
    "release": lambda driver, _: driver.release(),
    "read": _read,
    "next": lambda driver, _: driver._next(),
    "stop": _stop,
    "new_order": _new_order,
    "payment": lambda driver, fields: driver.payment(Payment(**fields)),
    "order_status": lambda driver, fields: driver.order_status(OrderStatus(**fields)),
    "delivery": lambda driver, fields: {"delivered": driver.delivery(Delivery(**fields))},
    "stock_level": lambda driver, fields: {"low_stock": driver.stock_level(StockLevel(**fields))},
}
