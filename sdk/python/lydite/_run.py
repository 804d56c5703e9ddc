"""Runs: starts one, follows its progress, and reads its result."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import weakref
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Callable, Iterator, List, Optional, Tuple, Type

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

    Lines about a load or a check have only `text`.

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

    def __str__(self) -> str:
        """Returns the line, so that `progress=print` prints what a terminal would show."""
        return self.text

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


class _Guard:
    """Ends a run if this process ends without ending it: by SIGTERM, SIGKILL, or a `Run` that is forgotten.

    It is a shell that reads a pipe of which only this process has the other end, so that the kernel closes it however
    this process ends. PR_SET_PDEATHSIG instead would end the run with the *thread* that started it.
    """

    #: Ends as soon as it has read a line, and ends the run if the pipe is closed without one.
    _SCRIPT = 'read -r ended || kill -s TERM "$0"'
    #: All of them, of which forked processes close their ends of the pipes.
    _all: weakref.WeakSet[_Guard] = weakref.WeakSet()

    def __init__(self, pid: int) -> None:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", self._SCRIPT, str(pid)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # What ends this process by its group must not end the guard.
            start_new_session=True,
        )
        self._all.add(self)

    def dismiss(self) -> None:
        """Ends it after the run has ended."""
        pipe = self._shell.stdin
        if pipe is not None and not pipe.closed:
            try:
                pipe.write(b"\n")
            except OSError:
                # Somebody ended it.
                pass
            pipe.close()
            self._shell.wait()

    def __del__(self) -> None:
        # subprocess keeps a process that nobody waited for, with its pipe.
        shell = getattr(self, "_shell", None)
        if shell is not None and shell.stdin is not None:
            shell.stdin.close()

    @classmethod
    def close_in_child(cls) -> None:
        """Closes the ends of the pipes that a forked process got, since the run is not its own."""
        for guard in list(cls._all):
            if guard._shell.stdin is not None:
                guard._shell.stdin.close()


os.register_at_fork(after_in_child=_Guard.close_in_child)


class Run:
    """A run at work. It is an iterator of its progress, and a context manager that ends it.

    The run ends with this process, however that ends, and when this object is forgotten.

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
        process: Optional[subprocess.Popen[str]] = None
        try:
            process = subprocess.Popen(
                [str(find_program()), "run", f"--json={self._json}", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                # Ctrl-C goes to each process of a terminal, and the second one that comes ends the program at once.
                start_new_session=True,
            )
            self._guard = _Guard(process.pid)
        except BaseException:
            if process is not None:
                process.kill()
                process.wait()
            self._forget()
            raise
        self._process = process

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
            # To the program it is the same as SIGINT, which whatever a shell starts in the background ignores at first.
            self._process.send_signal(signal.SIGTERM)

    def result(self) -> Result:
        """Waits for the end, and returns the result.

        An interrupted run returns what it measured, and raises `KeyboardInterrupt` if that is nothing. A run with any
        other exit code than 0 raises the `LyditeError` of that code, which has the result if there is one.
        """
        code, _ = self._wait()
        try:
            if self._result is None and _stamp(self._json) != self._before:
                found = load_result(self._json)
                self._result = found if self._scratch is None else replace(found, path=None)
        finally:
            self._forget()
        # It may not have got so far as to handle signals.
        if code != 0 and not (self._interrupted and code in (130, -signal.SIGTERM)):
            raise of_exit(code, errors("\n".join(self._errors)), self._result)
        if self._result is None:
            if self._interrupted:
                raise KeyboardInterrupt
            raise of_exit(2, [f"the run wrote no result to {self._json}"])
        return self._result

    def _wait(self) -> Tuple[int, Optional[KeyboardInterrupt]]:
        """Waits for the end, and interrupts the run at each Ctrl-C. Returns its exit code and the last Ctrl-C."""
        typed = None
        while True:
            try:
                # A program that nobody reads would wait for ever.
                for _ in self:
                    pass
                code = self._process.wait()
                self._guard.dismiss()
                if self._process.stderr is not None:
                    self._process.stderr.close()
                return code, typed
            except KeyboardInterrupt as again:
                typed = again
                self.interrupt()

    def _forget(self) -> None:
        if self._scratch is not None:
            self._scratch.cleanup()

    def __repr__(self) -> str:
        code = self._process.poll()
        return f"<Run {'at work' if code is None else f'ended with {code}'}, process {self._process.pid}>"

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        """Ends the run if it is still at work, and waits for its end."""
        typed: Optional[KeyboardInterrupt] = None
        try:
            if self._process.poll() is None:
                self.interrupt()
        except KeyboardInterrupt as early:
            typed = early
            self.interrupt()
        _, later = self._wait()
        self._forget()
        if typed or later:
            raise KeyboardInterrupt from typed or later


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
    lydite.UsageError: ...
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
