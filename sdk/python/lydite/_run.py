"""Runs: starts one, follows its progress, and reads its result."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Callable, Iterator, List, Optional, Type

from ._ends import of_exit
from ._program import Flag, arguments, errors, find_program
from ._result import Result, load_result

# A line of progress: "12 s measuring  2,220 NOPM  86.0 tx/s  queue 0  | so far: …".
_LINE = re.compile(
    r"(?P<clock>(?:\d+ h ?)?(?:\d+ min ?)?(?:\d+ s)?) ?"
    r"(?P<phase>connecting|warm-up|measuring|draining|checking)"
    r"(?:  (?P<nopm>\S+) NOPM)?  (?P<tps>\S+) tx/s"
)
_CLOCK = re.compile(r"(\d+) (h|min|s)")
_SECONDS = {"h": 3600, "min": 60, "s": 1}
#: Error lines that are kept. A program that complains without an end must not fill the memory.
_KEPT = 1000


@dataclass(frozen=True)
class Progress:
    """A line that the program writes about once a second (of long runs every five or ten).

    >>> Progress.of("1 min 5 s measuring  2,220 NOPM  86.0 tx/s  queue 0  | so far: aborts 1")
    Progress(text='1 min 5 s measuring  2,220 NOPM  86.0 tx/s  queue 0  | so far: aborts 1', \
phase='measuring', elapsed_s=65, nopm=2220.0, tps=86.0)
    >>> Progress.of("Loading 1 warehouse").phase is None
    True
    """

    #: The line as the program wrote it.
    text: str
    #: `connecting`, `warm-up`, `measuring`, `draining` or `checking`; None for other lines, as those of a load.
    phase: Optional[str] = None
    #: Seconds since the phase began.
    elapsed_s: Optional[int] = None
    #: New orders per minute since the line before; None for other workloads.
    nopm: Optional[float] = None
    #: Completed transactions per second since the line before.
    tps: Optional[float] = None

    @classmethod
    def of(cls, line: str) -> Progress:
        """Reads a line. Texts that are no line of a run in progress have none of the numbers."""
        found = _LINE.match(line)
        if found is None:
            return cls(line)
        parts = _CLOCK.findall(found["clock"])
        elapsed_s = sum(int(number) * _SECONDS[unit] for number, unit in parts)
        return cls(line, found["phase"], elapsed_s, _number(found["nopm"]), _number(found["tps"]))


def _number(text: Optional[str]) -> Optional[float]:
    try:
        return None if text is None else float(text.replace(",", ""))
    except ValueError:
        return None


class Run:
    """A run at work. It is an iterator of its progress, and a context manager that ends it.

    >>> import lydite
    >>> with lydite.start("null:", duration="1200ms", warmup=0) as run:
    ...     lines = [progress.text for progress in run]
    ...     result = run.result()
    >>> result.status
    'complete'
    """

    def __init__(self, words: List[str], json: Optional[Path]) -> None:
        self._scratch: Optional[tempfile.TemporaryDirectory[str]] = None
        if json is None:
            # The program replaces its document as a whole, which needs a directory.
            self._scratch = tempfile.TemporaryDirectory(prefix="lydite-")
            json = Path(self._scratch.name, "result.json")
        self._json = json
        # A document of an earlier run must not be taken for that of this one.
        self._before = _stamp(self._json)
        self._errors: List[str] = []
        self._result: Optional[Result] = None
        self._interrupted = False
        try:
            self._process = subprocess.Popen(
                [str(find_program()), "run", f"--json={self._json}", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                # Ctrl-C goes to each process of a terminal, and the second one that comes ends the program at once.
                start_new_session=True,
            )
        except BaseException:
            self._forget()
            raise

    def __iter__(self) -> Iterator[Progress]:
        """Yields each line of progress as it comes, to the end of the run."""
        stream = self._process.stderr
        if stream is None or stream.closed:
            return
        for line in stream:
            line = line.rstrip("\n")
            if line.startswith("lydite: "):
                del self._errors[_KEPT:]
                self._errors.append(line)
            elif line:
                yield Progress.of(line)

    def interrupt(self) -> None:
        """Ends the run as Ctrl-C does: what was measured is written, marked `partial`. A second call ends it at once."""
        self._interrupted = True
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def result(self) -> Result:
        """Waits for the end, and returns the result.

        An interrupted run returns what it measured, and raises `KeyboardInterrupt` if that is nothing. A run with any
        other exit code than 0 raises the `LyditeError` of that code, which has the result if there is one.
        """
        while True:
            try:
                for _ in self:
                    pass
                code = self._process.wait()
                break
            except KeyboardInterrupt:
                self.interrupt()
        return self._read(code)

    def _read(self, code: int) -> Result:
        if self._result is None and _stamp(self._json) != self._before:
            self._result = load_result(self._json)
            if self._scratch is not None:
                self._result = self._result.without_path()
        self._forget()
        if code != 0 and not (self._interrupted and code == 130):
            raise of_exit(code, errors("\n".join(self._errors)), self._result)
        if self._result is None:
            if self._interrupted:
                raise KeyboardInterrupt
            raise of_exit(2, [f"the run wrote no result to {self._json}"])
        return self._result

    def _forget(self) -> None:
        if self._scratch is not None:
            self._scratch.cleanup()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        """Ends the run if it is still at work, and waits for its end."""
        if self._process.poll() is None:
            self.interrupt()
        stream = self._process.stderr
        if stream is not None and not stream.closed:
            # A program that nobody reads would wait for ever.
            for _ in stream:
                pass
            stream.close()
        self._process.wait()
        self._forget()


def _stamp(path: Path) -> Optional[tuple[int, int]]:
    """Returns what tells a file from the one that replaces it; None without one."""
    try:
        there = os.stat(path)
    except OSError:
        return None
    return there.st_ino, there.st_mtime_ns


def start(target: Optional[str] = None, *, json: Optional[str | os.PathLike[str]] = None, **flags: Flag) -> Run:
    """Starts a run, and returns it at work: an iterator of its progress with the method `result`.

    The arguments are those of `run`. Use it in a `with` statement, which ends the run if the block is left early.
    """
    words = arguments(flags)
    if target is not None:
        # After `--`, so that no URL is taken for a flag.
        words += ["--", target]
    place = None if json is None else Path(json)
    if place is not None and str(place) == "-":
        raise ValueError("json='-' would print the result: leave it out, since it is returned")
    return Run(words, place)


def run(
    target: Optional[str] = None,
    *,
    progress: Optional[Callable[[Progress], object]] = None,
    json: Optional[str | os.PathLike[str]] = None,
    **flags: Flag,
) -> Result:
    """Runs `lydite run TARGET`, and returns its result.

    `target` is a URL as `lydite targets` lists them; None is the built-in database in a temporary directory. Every other
    argument is the flag of the same name, by one rule: `warehouses=4` is `--warehouses 4`, `no_check=True` is
    `--no-check`, a list repeats its flag, a mapping repeats it as `KEY=VALUE`. The program says which flags there are.

    `progress` is called with each `Progress`. `json` is a file that the result is also written to.

    Ctrl-C (`KeyboardInterrupt`) ends the run as in a terminal: it returns what was measured, with the status `partial`.

    >>> import lydite
    >>> r = lydite.run("null:", duration="200ms", warmup=0, warehouses=2, label="first")
    >>> r.label, r.plan["warehouses"], r.target.kind
    ('first', 2, 'null')
    >>> lydite.run("null:", warehouse=4)
    Traceback (most recent call last):
    lydite._ends.UsageError: ...
    """
    if progress is None:
        flags.setdefault("quiet", True)
    with start(target, json=json, **flags) as at_work:
        try:
            if progress is not None:
                for now in at_work:
                    progress(now)
        except KeyboardInterrupt:
            at_work.interrupt()
        return at_work.result()
