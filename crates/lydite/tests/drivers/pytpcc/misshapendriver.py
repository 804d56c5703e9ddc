"""A driver to py-tpcc's contract whose results have wrong shapes."""

import constants
from drivers.packageddriver import PackagedDriver

from .abstractdriver import AbstractDriver


class MisshapenDriver(PackagedDriver):
    def __init__(self, ddl):
        super().__init__(ddl)
        self.name = "misshapen"

    def executeTransaction(self, txn, params):
        value, retries = super().executeTransaction(txn, params)
        if txn == constants.TransactionTypes.NEW_ORDER and value is not None:
            tax, other, o_id, _ = value[1][0]
            value[1] = [(tax, other, o_id, "much")]
        elif txn == "PAYMENT":
            value = [1, 2]
        elif txn == "ORDER_STATUS":
            value[0] = (1, 2)
        elif txn == "DELIVERY":
            value = [(1, None)]
        elif txn == "STOCK_LEVEL":
            value = "low"
        return value, retries
