"""The packaged driver, which fails in the midst of a warehouse, within a library."""

import json

from .packageddriver import PackagedDriver


class StoppingDriver(PackagedDriver):
    left = 3

    def loadTuples(self, tableName, tuples):
        self.left -= tableName == "ORDER_LINE"
        if self.left == 0:
            json.loads("enough")
        super().loadTuples(tableName, tuples)
