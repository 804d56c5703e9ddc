"""Results as tables, by `lydite export`: the same columns as its files have."""

from __future__ import annotations

import io
import json
import os
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Tuple, Union

from ._program import output
from ._result import Result

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]

#: The tables of `lydite export`.
TABLES = ("runs", "series", "transactions", "phases", "phase_transactions", "statements", "observed")

#: A result, or the path of one; also the directory of a sweep.
Source = Union[Result, str, "os.PathLike[str]"]

#: Columns whose values are texts, also in a table that has none of them.
_TEXTS = frozenset({
    "run", "label", "window", "phase_name", "transaction", "source", "name", "unit", "statement", "asked", "status", "lydite",
    "workload", "mode", "tx", "isolation", "target", "target_version", "target_url", "hostname", "os", "kernel", "cpu", "mix",
    "plan",
})
_TRUTHS = frozenset({"encrypted"})
_REALS = frozenset({"nopm", "value"})
#: Ends of the names of numbers that may have a fraction, also in a table where none has one.
_REAL_ENDS = ("_ms", "_s", "_percent")


class Files:
    """Files of results. Those that are not on the disk are written for the time of a `with` statement."""

    def __init__(self, sources: Sequence[Source], kind: str = "run") -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="lydite-")
        given = [_path_of(source) for source in sources]
        # As deep as the given paths climb.
        climbs = max((_climb(path) for path in given if path is not None), default=0)
        #: Directory of the files that are written here.
        self._place = Path(self._scratch.name, *[Path(self._scratch.name).name] * climbs)
        self._place.mkdir(parents=True, exist_ok=True)
        #: Each file as the caller knows it, and True if it is written here.
        self._names: List[Tuple[Path, bool]] = []
        # Names that `beside` links.
        taken = {path.parts[0] for path in given if path is not None and path.parts}
        for number, (source, path) in enumerate(zip(sources, given), 1):
            if path is not None or not isinstance(source, Result):
                self._names.append((path or Path(), False))
                continue
            name = next(name for at in count(number) if (name := f"{kind}-{at}.json") not in taken)
            taken.add(name)
            (self._place / name).write_text(json.dumps(source.raw), encoding="utf-8")
            self._names.append((Path(name), True))

    def paths(self) -> List[Path]:
        """Returns paths that are right in the current directory."""
        return [self._place / name if written else name for name, written in self._names]

    def shortened(self, text: str) -> str:
        """Returns a text about `paths` with the names that the caller knows."""
        return text.replace(f"{self._place}{os.sep}", "")

    def beside(self) -> Tuple[List[Path], Optional[Path]]:
        """Returns the names that the caller knows, and the directory in which they are right.

        Tables have the paths as the program got them. So given paths are linked into the directory of written files.
        """
        if not any(written for _, written in self._names):
            return self.paths(), None
        return [name if written else self._linked(name) for name, written in self._names], self._place

    def _linked(self, path: Path) -> Path:
        """Makes a given path right in the directory of the written files."""
        climb = _climb(path)
        if path.is_absolute() or len(path.parts) == climb:
            # A directory above has no name that could be linked.
            return path.absolute()
        up = Path(*[os.pardir] * climb)
        link = Path(os.path.normpath(self._place / up), path.parts[climb])
        if not os.path.lexists(link):
            link.symlink_to(Path(os.path.realpath(up), path.parts[climb]))
        return path

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *ended: object) -> None:
        self._scratch.cleanup()


def _path_of(source: Source) -> Optional[Path]:
    """Returns the path of a source; None for a result without a file."""
    if not isinstance(source, Result):
        return Path(source)
    return source.path if source.path is not None and source.path.is_file() else None


def _climb(path: Path) -> int:
    """Returns the number of directories that a path goes up first."""
    return next((at for at, part in enumerate(path.parts) if part != os.pardir), len(path.parts))


def all_of(sources: Union[Source, Sequence[Source]]) -> List[Source]:
    """Returns one or several sources as a list. Raises `ValueError` if there are none."""
    found = [sources] if isinstance(sources, (Result, str, os.PathLike)) else list(sources)
    if not found:
        raise ValueError("no results: name a result, a path, or a list of them")
    return found


def export(
    results: Union[Source, Sequence[Source]],
    to: str,
    output_path: Optional[Union[str, "os.PathLike[str]"]] = None,
    what: Union[None, str, Sequence[str]] = None,
) -> str:
    """Runs `lydite export`, and returns what it prints: the document, or a line for each file if there is an `output_path`.

    `what` is one table or several; None is all. Raises `ValueError` without results, and for a table that there is not.

    >>> import lydite
    >>> r = lydite.run("null:", duration="200ms", warmup=0)
    >>> lydite.export(r, "csv", what="series").splitlines()[0].split(",")[:5]
    ['run', 'label', 'time', 'window', 'second']
    """
    names = [] if what is None else what.split(",") if isinstance(what, str) else list(what)
    for name in names:
        if name not in TABLES:
            raise ValueError(f"what={name!r}: the tables are {', '.join(TABLES)}")
    words = ["export", f"--to={to}", *(f"--what={name}" for name in names)]
    if output_path is not None:
        words.append(f"--output={os.path.join(os.getcwd(), os.fspath(output_path))}")
    with Files(all_of(results)) as at:
        paths, place = at.beside()
        return output([*words, "--", *(str(path) for path in paths)], cwd=place)


def _header(text: str) -> List[str]:
    """Returns the names of a table's columns, which need no quotes."""
    return text.split("\r\n", 1)[0].split(",")


def _is_real(name: str) -> bool:
    return name in _REALS or name.endswith(_REAL_ENDS)


def to_pandas(results: Union[Source, Sequence[Source]], what: str = "series") -> pandas.DataFrame:
    """Returns a table of results as a pandas DataFrame; `what` is one of the tables of `lydite export`.

    Missing values are `<NA>`, so counts stay whole numbers. Raises `ImportError` without pandas, and `ValueError` as
    `export` does.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas needs pandas: pip install pandas") from error
    text = export(results, "csv", what=what)
    header = _header(text)
    types: Mapping[Any, Any] = {
        **{name: "string" for name in header if name in _TEXTS},
        **{name: "boolean" for name in header if name in _TRUTHS},
        **{name: "Float64" for name in header if _is_real(name)},
    }
    table: pandas.DataFrame = pandas.read_csv(
        io.StringIO(text),
        dtype=dict(types),
        dtype_backend="numpy_nullable",
        # A database may be called NA or null.
        keep_default_na=False,
        na_values={name: [""] for name in header},
    )
    table["time"] = pandas.to_datetime(table["time"], utc=True)
    return table


def to_polars(results: Union[Source, Sequence[Source]], what: str = "series") -> polars.DataFrame:
    """Returns a table of results as a Polars DataFrame, likewise. Raises `ImportError` without Polars."""
    try:
        import polars
    except ImportError as error:
        raise ImportError("to_polars needs Polars: pip install polars") from error
    text = export(results, "csv", what=what)
    header = _header(text)
    types = {
        **{name: polars.String for name in header if name in _TEXTS or name == "time"},
        **{name: polars.Boolean for name in header if name in _TRUTHS},
        **{name: polars.Float64 for name in header if _is_real(name)},
    }
    table: polars.DataFrame = polars.read_csv(
        io.BytesIO(text.encode("utf-8")),
        schema_overrides=types,
        # All rows: a column may begin with a thousand nulls or whole numbers.
        infer_schema_length=None,
    )
    return table.with_columns(polars.col("time").str.to_datetime(time_zone="UTC"))

