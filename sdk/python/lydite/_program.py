"""Finds the program, makes its arguments, and runs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import __version__
from ._ends import ProgramNotFound, of_exit

#: A value of a flag: True sets it, None and False leave it out, a list repeats it, a mapping repeats it as KEY=VALUE.
Flag = Union[None, bool, int, float, str, "os.PathLike[str]", Sequence[object], Mapping[str, object]]

_NAME = "lydite" + (sysconfig.get_config_var("EXE") or "")
#: Begin of the program's error lines.
_ERROR = "lydite: "


def _places() -> Iterator[Path]:
    """Yields the places of programs of this environment, the most likely first."""
    yield Path(sysconfig.get_path("scripts"))
    # `pip install --user`.
    user = sysconfig.get_preferred_scheme("user") if hasattr(sysconfig, "get_preferred_scheme") else None
    if user is not None:
        yield Path(sysconfig.get_path("scripts", scheme=user))
    # `pip install --target DIR`, which makes DIR/lydite and DIR/bin.
    packages = Path(__file__).resolve().parent.parent
    yield packages / "bin"
    # `pip install --prefix DIR`, which makes DIR/lib/pythonX.Y/site-packages/lydite and DIR/bin.
    if packages.name in ("site-packages", "dist-packages") and len(packages.parents) > 2:
        yield packages.parents[2] / "bin"


def find_program() -> Path:
    """Returns the path of the program: beside this package, as the wheel installs it, else on the PATH.

    Raises `ProgramNotFound` if it is at neither place. Warns (`RuntimeWarning`) if its version is not the package's:
    results say themselves if they have another format, but lines of progress and flags do not.
    """
    path = locate()
    found = version_of(path, path.stat().st_mtime_ns)
    if found != __version__:
        what = f"is version {found}" if found else "prints no version of lydite"
        warnings.warn(
            f"{path} {what}, and this package is version {__version__}: progress may lack its numbers. Install both from "
            "one release: `pip install lydite-*.whl`",
            RuntimeWarning,
            stacklevel=2,
        )
    return path


@lru_cache(maxsize=None)
def version_of(path: Path, _changed_ns: int) -> Optional[str]:
    """Returns the version that a program prints, None if it prints none; runs it once for each time of its file."""
    said = subprocess.run([str(path), "-V"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found = re.match(rb"lydite (\S+)", said.stdout)
    return found[1].decode("ascii", "replace") if found else None


def locate() -> Path:
    """Returns the path of the program, of whatever version. Raises `ProgramNotFound`."""
    for place in _places():
        path = place / _NAME
        if path.is_file() and os.access(path, os.X_OK):
            return path
    found = shutil.which(_NAME)
    if found is None:
        raise ProgramNotFound(
            "the program lydite is neither among the scripts of this Python's environment nor on the PATH: install a "
            "release by `pip install lydite-*.whl`, or a clone by `cargo install --locked --path crates/lydite`"
        )
    return Path(found)


def _texts(value: object) -> List[str]:
    """Returns the values of a flag, one for each time that it is given."""
    if isinstance(value, Mapping):
        return [f"{key}={_text(part)}" for key, part in value.items()]
    if isinstance(value, (list, tuple)):
        return [_text(part) for part in value]
    return [_text(value)]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def arguments(flags: Mapping[str, Flag]) -> List[str]:
    """Returns the flags of the program. All follow one rule, so that each flag of the program can be given.

    >>> arguments({"warehouses": 4, "no_check": True, "quiet": False, "label": None})
    ['--warehouses=4', '--no-check']
    >>> arguments({"observe": ["db", "host"], "set": {"micro.records": 50}, "from_": "dir"})
    ['--observe=db', '--observe=host', '--set=micro.records=50', '--from=dir']
    """
    words: List[str] = []
    for name, value in flags.items():
        # Python's keywords can't be names of arguments: from_ stands for --from.
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words.extend(f"{flag}={text}" for text in _texts(value))
    return words


def errors(text: str) -> List[str]:
    """Returns the error lines among those that the program wrote; all its lines if none is marked as one.

    >>> errors("null:  1 warehouse\\nlydite: --rate: 0 is too few\\n")
    ['--rate: 0 is too few']
    """
    lines = [line for line in text.splitlines() if line.strip()]
    marked = [line[len(_ERROR):] for line in lines if line.startswith(_ERROR)]
    return marked or lines


def call(words: Sequence[str], cwd: Optional[Path] = None) -> Tuple[int, str, str]:
    """Runs the program to its end, and returns its exit code, its standard output and its standard error."""
    ended = subprocess.run(
        [str(find_program()), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        check=False,
    )
    # Not as text, which would change the ends of lines in the document.
    return ended.returncode, ended.stdout.decode("utf-8", "replace"), ended.stderr.decode("utf-8", "replace")


def output(words: Sequence[str], cwd: Optional[Path] = None) -> str:
    """Runs the program to its end, and returns its standard output; raises the error of any other end."""
    code, text, said = call(words, cwd)
    if code != 0:
        raise of_exit(code, errors(said))
    return text
