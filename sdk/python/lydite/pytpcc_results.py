"""The results of a py-tpcc driver, read by the names of their columns: rows, dictionaries, floats, decimals and dates."""

from __future__ import annotations

import functools
import math
import re
from datetime import date, datetime
from typing import Any, List, Optional

import lydite
from lydite import TABLES, micros

#: Names of the columns of what py-tpcc's queries return, by how many they are; dictionaries go by these names too.
_CUSTOMER_ROW = [name.upper() for name in TABLES["customer"].names]
_LAYOUTS = {
    "new_order.customer": [["C_DISCOUNT", "C_LAST", "C_CREDIT"], _CUSTOMER_ROW],
    "new_order.misc": [["W_TAX", "D_TAX", "D_NEXT_O_ID", "TOTAL"]],
    "new_order.items": [["I_NAME", "S_QUANTITY", "BRAND_GENERIC", "I_PRICE", "OL_AMOUNT"]],
    "payment.warehouse": [["W_NAME", "W_STREET_1", "W_STREET_2", "W_CITY", "W_STATE", "W_ZIP"],
                          [name.upper() for name in TABLES["warehouse"].names]],
    "payment.district": [["D_NAME", "D_STREET_1", "D_STREET_2", "D_CITY", "D_STATE", "D_ZIP"],
                         [name.upper() for name in TABLES["district"].names]],
    "payment.customer": [
        ["C_ID", "C_FIRST", "C_MIDDLE", "C_LAST", "C_STREET_1", "C_STREET_2", "C_CITY", "C_STATE", "C_ZIP", "C_PHONE",
         "C_SINCE", "C_CREDIT", "C_CREDIT_LIM", "C_DISCOUNT", "C_BALANCE", "C_YTD_PAYMENT", "C_PAYMENT_CNT", "C_DATA"],
        _CUSTOMER_ROW],
    "order_status.customer": [["C_ID", "C_FIRST", "C_MIDDLE", "C_LAST", "C_BALANCE"], _CUSTOMER_ROW],
    "order_status.order": [["O_ID", "O_CARRIER_ID", "O_ENTRY_D"], [name.upper() for name in TABLES["orders"].names]],
    "order_status.lines": [["OL_SUPPLY_W_ID", "OL_I_ID", "OL_QUANTITY", "OL_AMOUNT", "OL_DELIVERY_D"],
                           [name.upper() for name in TABLES["order_line"].names]],
    "delivery.result": [["D_ID", "O_ID"]],
}


@functools.lru_cache(maxsize=None)
def _layouts(place: str) -> List[List[str]]:
    """The layouts of a place such as `new_order.items[3]`."""
    return _LAYOUTS[re.sub(r"\[\d+\]", "", place)]


class Record:
    """A part of a result, by the names of columns; whatever is wrong is told with its place."""

    def __init__(self, place: str, value: Any) -> None:
        self.place = place
        layouts = _layouts(place)
        if isinstance(value, dict):
            self.values = {str(name).upper(): each for name, each in value.items()}
            return
        if not isinstance(value, (list, tuple)) and not hasattr(value, "keys"):
            raise lydite.Fatal(f"{place} is {value!r}, and has to be a row of {', '.join(layouts[0])}")
        row = list(value)
        for names in layouts:
            if len(names) == len(row):
                self.values = dict(zip(names, row))
                return
        raise lydite.Fatal(f"{place} has {len(row)} columns, and has to have {len(layouts[0])}: {', '.join(layouts[0])}")

    def _wrong(self, name: str, wanted: str) -> lydite.Fatal:
        if name not in self.values:
            return lydite.Fatal(f"{self.place}.{name} is missing")
        return lydite.Fatal(f"{self.place}.{name} is {self.values[name]!r}, and has to be {wanted}")

    def scaled(self, name: str, scale: int, wanted: str) -> int:
        value = self.values.get(name)
        try:
            if isinstance(value, bool):
                raise TypeError
            return scaled(value, scale)
        except (TypeError, ValueError, OverflowError):
            raise self._wrong(name, wanted) from None

    def whole(self, name: str) -> int:
        return self.scaled(name, 1, "a whole number")

    def money(self, name: str) -> int:
        return self.scaled(name, 100, "an amount")

    def rate(self, name: str) -> int:
        return self.scaled(name, 10_000, "a rate")

    def text(self, name: str) -> str:
        value = self.values.get(name)
        if isinstance(value, bytes):
            value = value.decode()
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def time(self, name: str) -> Optional[int]:
        if name in self.values and self.values[name] is None:
            return None
        try:
            return time_of(self.values.get(name))
        except (TypeError, ValueError):
            raise self._wrong(name, "a date") from None

    def address(self, prefix: str) -> lydite.Address:
        return lydite.Address(*(self.text(f"{prefix}_{part}") for part in ("STREET_1", "STREET_2", "CITY", "STATE", "ZIP")))


def scaled(value: Any, scale: int) -> int:
    """A float or decimal in its smallest unit, to the nearest; a whole number must be one."""
    number = float(value) * scale if isinstance(value, float) else value * scale
    nearest = int(math.floor(number + (0.5 if isinstance(number, float) else type(number)(1) / 2)))
    if scale == 1 and nearest != value:
        raise ValueError(value)
    return nearest


def time_of(value: Any) -> int:
    """A point in time, which SQLite gives back as text."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return micros(value)


def short(value: Any) -> str:
    """A value in at most eighty characters."""
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "…"
