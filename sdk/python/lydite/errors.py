"""How a database refuses, in the words that Lydite counts. Anything else that a driver raises is an error for good."""

from __future__ import annotations

from typing import Any, Dict, Optional

REASONS = ("serialization", "deadlock", "lock_timeout", "other")


class Refused(Exception):
    """What the others have in common."""

    kind = "fatal"

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail)
        self.detail = detail

    def fields(self) -> Dict[str, Any]:
        """The fields of the answer."""
        return {"kind": self.kind, "detail": self.detail}


class Aborted(Refused):
    """The database gave the transaction up; Lydite sends it again. `reason` is one of `REASONS`."""

    kind = "aborted"

    def __init__(self, reason: str, detail: str) -> None:
        if reason not in REASONS:
            raise ValueError(f"reason {reason!r}: use one of {', '.join(REASONS)}")
        super().__init__(detail)
        self.reason = reason

    def fields(self) -> Dict[str, Any]:
        return {**super().fields(), "reason": self.reason}


class RolledBack(Refused):
    """A New-Order with an unused item was rolled back (clause 2.4.2.3): what the terminal shows of it."""

    kind = "rolled_back"

    def __init__(self, o_id: int, c_last: str, c_credit: str) -> None:
        super().__init__("item number is not valid")
        self.order = {"o_id": o_id, "c_last": c_last, "c_credit": c_credit}

    def fields(self) -> Dict[str, Any]:
        return {**super().fields(), "order": self.order}


class Unavailable(Refused):
    """The database went away. `committed` is None when nobody knows whether the transaction was committed, else False."""

    kind = "unavailable"

    def __init__(self, detail: str, committed: Optional[bool] = None) -> None:
        super().__init__(detail)
        self.committed = "unknown" if committed is None else "no"

    def fields(self) -> Dict[str, Any]:
        return {**super().fields(), "committed": self.committed}


class Unsupported(Refused):
    """The driver does not offer what was asked."""

    kind = "unsupported"


class Fatal(Refused):
    """Trying again would not help. Nothing was committed."""
