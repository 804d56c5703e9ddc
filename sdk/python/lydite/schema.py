"""The nine tables as data: columns in the order in which rows come and go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Dict, Tuple

_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Table:
    """A table. A column is its name and its type: `int`, `money` (whole cents, at most 12 digits), `rate` (whole
    ten-thousandths), `text`, `time` (microseconds since 1970); `int?` and `time?` may be null."""

    name: str
    columns: Tuple[Tuple[str, str], ...]
    #: Empty for HISTORY, which has none.
    key: Tuple[str, ...]
    #: The column with the warehouse; empty for ITEM, which belongs to none.
    warehouse: str
    #: The columns of an index that the transactions want beside the key.
    index: Tuple[str, ...] = ()

    @property
    def names(self) -> Tuple[str, ...]:
        """The columns' names."""
        return tuple(name for name, _ in self.columns)


def _table(name: str, columns: str, key: str, warehouse: str = "", index: str = "") -> Table:
    pairs = [column.split(":") for column in columns.split()]
    typed = tuple((pair[0], pair[1] if len(pair) > 1 else "int") for pair in pairs)
    return Table(name, typed, tuple(key.split()), warehouse, tuple(index.split()))


def _address(prefix: str) -> str:
    return " ".join(f"{prefix}_{part}:text" for part in ("street_1", "street_2", "city", "state", "zip"))


#: By name, referred tables before those that refer to them.
TABLES: Dict[str, Table] = {
    table.name: table
    for table in (
        _table("item", "i_id i_im_id i_name:text i_price:money i_data:text", "i_id"),
        _table("warehouse", f"w_id w_name:text {_address('w')} w_tax:rate w_ytd:money", "w_id", "w_id"),
        _table("district", f"d_id d_w_id d_name:text {_address('d')} d_tax:rate d_ytd:money d_next_o_id",
               "d_w_id d_id", "d_w_id"),
        _table("customer", f"c_id c_d_id c_w_id c_first:text c_middle:text c_last:text {_address('c')} c_phone:text "
               "c_since:time c_credit:text c_credit_lim:money c_discount:rate c_balance:money c_ytd_payment:money "
               "c_payment_cnt c_delivery_cnt c_data:text",
               "c_w_id c_d_id c_id", "c_w_id", "c_w_id c_d_id c_last c_first"),
        _table("history", "h_c_id h_c_d_id h_c_w_id h_d_id h_w_id h_date:time h_amount:money h_data:text", "", "h_w_id"),
        _table("orders", "o_id o_d_id o_w_id o_c_id o_entry_d:time o_carrier_id:int? o_ol_cnt o_all_local",
               "o_w_id o_d_id o_id", "o_w_id", "o_w_id o_d_id o_c_id o_id"),
        _table("new_order", "no_o_id no_d_id no_w_id", "no_w_id no_d_id no_o_id", "no_w_id"),
        _table("order_line", "ol_o_id ol_d_id ol_w_id ol_number ol_i_id ol_supply_w_id ol_delivery_d:time? ol_quantity "
               "ol_amount:money ol_dist_info:text", "ol_w_id ol_d_id ol_o_id ol_number", "ol_w_id"),
        _table("stock", "s_i_id s_w_id s_quantity " + " ".join(f"s_dist_{n:02}:text" for n in range(1, 11))
               + " s_ytd s_order_cnt s_remote_cnt s_data:text", "s_w_id s_i_id", "s_w_id"),
    )
}


def when(micros_since_1970: int) -> datetime:
    """A point in time as a `datetime` without a time zone, in UTC."""
    return _EPOCH + timedelta(microseconds=micros_since_1970)


def micros(time: datetime) -> int:
    """A `datetime` as microseconds since 1970; one without a time zone is in UTC."""
    if time.tzinfo is not None:
        time = time.astimezone(timezone.utc).replace(tzinfo=None)
    return (time - _EPOCH) // timedelta(microseconds=1)
