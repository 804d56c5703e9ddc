"""The packaged driver, which fails in the midst of a warehouse."""

from .packageddriver import PackagedDriver


class StoppingDriver(PackagedDriver):
    left = 3

    def loadTuples(self, tableName, tuples):
        self.left -= tableName == "ORDER_LINE"
        if self.left == 0:
            raise RuntimeError("enough")
        super().loadTuples(tableName, tuples)
