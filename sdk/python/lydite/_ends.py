"""Ends of the program as exceptions: one class for each exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Optional, Sequence, Tuple, Type

if TYPE_CHECKING:
    from ._compare import Comparison
    from ._result import Result


class LyditeError(Exception):
    """An end of the program other than success.

    `exit_code` is that of the program (negative: the signal that ended it), `messages` are its error lines. `result` is
    the result of the run, if the program wrote one: that of a run whose checks fail is whole. `comparison` is the
    document of `compare`, likewise.
    """

    exit_code: int
    messages: Tuple[str, ...]
    result: Optional[Result]
    comparison: Optional[Comparison]

    def __init__(
        self,
        exit_code: int,
        messages: Sequence[str],
        result: Optional[Result] = None,
        comparison: Optional[Comparison] = None,
    ) -> None:
        self.exit_code = exit_code
        self.messages = tuple(messages)
        self.result = result
        self.comparison = comparison
        super().__init__("; ".join(self.messages) or f"lydite ended with exit code {exit_code}")

    def __reduce__(self) -> Tuple[object, ...]:
        # The usual way would call the class with the text alone.
        return (type(self), (self.exit_code, self.messages, self.result, self.comparison))


class CheckFailed(LyditeError):
    """The database failed a check (exit code 1)."""


class UsageError(LyditeError):
    """A flag, a plan or a file is wrong (exit code 2)."""


class TargetFailed(LyditeError):
    """The database was unreachable, reported an error, or was lost (exit code 3)."""


class ThresholdMissed(LyditeError):
    """A requirement or a condition was not met (exit code 4)."""


class Undecided(LyditeError):
    """The runs can't decide a condition (exit code 5)."""


class Interrupted(LyditeError):
    """The program was interrupted, and not by this process (exit code 130)."""


class Crashed(LyditeError):
    """The program was ended by a signal, or in a way that it has no code for."""


class ProgramNotFound(LyditeError):
    """The program `lydite` is not there."""

    def __init__(self, message: str) -> None:
        super().__init__(127, [message])

    def __reduce__(self) -> Tuple[object, ...]:
        return (type(self), (self.messages[0],))


# Tracebacks show the public name.
for _class in (
    LyditeError, CheckFailed, UsageError, TargetFailed, ThresholdMissed, Undecided, Interrupted, Crashed, ProgramNotFound
):
    _class.__module__ = "lydite"

_CLASSES: Dict[int, Type[LyditeError]] = {
    1: CheckFailed,
    2: UsageError,
    3: TargetFailed,
    4: ThresholdMissed,
    5: Undecided,
    130: Interrupted,
}


def of_exit(
    code: int,
    messages: Sequence[str],
    result: Optional[Result] = None,
    comparison: Optional[Comparison] = None,
) -> LyditeError:
    """Returns the exception of an exit code other than 0.

    >>> of_exit(2, ["--warehouses: 0 is too few"])
    UsageError('--warehouses: 0 is too few')
    >>> of_exit(-9, []).args[0]
    'lydite was ended by signal 9'
    """
    if code < 0 and not messages:
        messages = [f"lydite was ended by signal {-code}"]
    return _CLASSES.get(code, Crashed)(code, messages, result, comparison)
