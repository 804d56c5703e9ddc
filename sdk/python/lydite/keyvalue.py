"""A key-value store on which Lydite plays the transactions itself."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Tuple

from .errors import Refused, Unsupported


class KeyValue:
    """A session of a store of ordered tables with bytes as keys and values. Six functions are needed: `get`, `put`,
    `delete`, `scan`, `begin` and `commit`, and `abort` if the store has transactions."""

    name: str = "store"
    version: str = "0"
    #: `none`, `per-key` (each key on its own), `atomic` (whole or not at all), `optimistic` (of two transactions that
    #: collide the later is aborted) or `serializable`.
    guarantee: str = "none"
    #: The isolation level in the store's own words.
    isolation: Optional[str] = None
    #: Whether a commit survives the loss of power.
    durable: bool = False

    def settings(self) -> Dict[str, Any]:
        """Whatever bears on the numbers; it goes into the result."""
        return {}

    def begin(self, access: str) -> None:
        """Begins a transaction: `read`, on one snapshot; `write`; or `load`, which writes many and meets nobody else."""
        raise NotImplementedError

    def get(self, table: str, key: bytes) -> Optional[bytes]:
        """The value of a key; None when there is none."""
        raise NotImplementedError

    def put(self, table: str, key: bytes, value: bytes) -> None:
        """Writes a key, new or not. The value may be empty."""
        raise NotImplementedError

    def delete(self, table: str, key: bytes) -> None:
        """Removes a key, which may not be there."""
        raise NotImplementedError

    def scan(
        self, table: str, start: bytes, end: Optional[bytes], limit: int, backward: bool
    ) -> Iterable[Tuple[bytes, bytes]]:
        """At most `limit` keys and values with `start <= key < end` (None: no end), in the order of bytes from the least
        key, or from the greatest if `backward`."""
        raise NotImplementedError

    def commit(self) -> None:
        """Ends the transaction, all of it stored. Raises `lydite.Aborted` if it lost against another one, and `lydite.Fatal`
        if it is not stored for another reason. After any other error its outcome counts as unknown."""
        raise NotImplementedError

    def abort(self) -> None:
        """Ends the transaction, nothing of it stored. Also called after an error in it."""

    def clear(self, table: str) -> None:
        """Removes all keys of a table, if there is a faster way than one by one. Not within a transaction."""
        raise Unsupported("")

    def write(self, writes: List[List[Any]]) -> None:
        """Writes several: table, key, and value or None to delete. Worth overriding where many are cheaper at once."""
        for table, key, value in writes:
            if value is None:
                self.delete(table, key)
            else:
                self.put(table, key, value)

    def finish_load(self) -> None:
        """After all rows: whatever makes the store ready to be measured."""

    def explain(self, error: Exception) -> Optional[Refused]:
        """An error of the database in Lydite's words; None if it is just an error."""
        return None

    def close(self) -> None:
        """The session ends."""

    _open = False
    #: Whether `commit` has been called for the request at hand.
    committing: bool = False

    def handle(self, what: str, fields: Dict[str, Any]) -> Any:
        """Does what a request asks."""
        self.committing = False
        begin = fields.get("begin")
        if begin is not None:
            self._open = True
            self.begin(begin)
        if what == "get":
            return {"value": self.get(fields["table"], fields["key"])}
        if what == "scan":
            found = self.scan(fields["table"], fields["from"], fields["below"], fields["limit"], fields["backward"])
            return {"entries": list(found)}
        if what == "write":
            self.write(fields["writes"])
        elif what == "commit":
            if fields["writes"]:
                self.write(fields["writes"])
            self.committing = True
            self.commit()
            self._open = False
        elif what == "abort":
            self._open = False
            self.abort()
        elif what == "clear":
            self.clear(fields["table"])
        elif what == "finish":
            self.finish_load()
        else:
            raise Unsupported(f"a key-value driver has no {what}")
        return None

    def failed(self, what: str) -> None:
        """After an error: the transaction is over."""
        if self._open:
            self._open = False
            self.abort()
