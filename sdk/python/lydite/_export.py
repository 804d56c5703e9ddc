"""Results as tables, by `lydite export`: the same columns as its files have."""

from __future__ import annotations

import io
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Tuple, Union

from ._program import output
from ._result import Result

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]

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

    def __init__(self, sources: Sequence[Source]) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="lydite-")
        self.paths: List[Path] = []
        for number, source in enumerate(sources, 1):
            if not isinstance(source, Result):
                self.paths.append(Path(source))
            elif source.path is not None and source.path.is_file():
                self.paths.append(source.path)
            else:
                path = Path(self._scratch.name, f"run-{number}.json")
                path.write_text(json.dumps(source.raw), encoding="utf-8")
                self.paths.append(path)

    def short(self) -> Tuple[List[Path], Optional[Path]]:
        """Returns the paths as tables shall name them, with the directory that they are relative to.

        Files of this value have no names that mean anything, so they are named without their directory.
        """
        place = Path(self._scratch.name)
        if any(path.parent != place for path in self.paths):
            return self.paths, None
        return [path.relative_to(place) for path in self.paths], place

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *ended: object) -> None:
        self._scratch.cleanup()


def all_of(sources: Union[Source, Sequence[Source]]) -> List[Source]:
    """Returns one or several sources as a list."""
    return [sources] if isinstance(sources, (Result, str, os.PathLike)) else list(sources)


def export(
    results: Union[Source, Sequence[Source]],
    to: str,
    output_path: Optional[Union[str, "os.PathLike[str]"]] = None,
    what: Union[None, str, Sequence[str]] = None,
) -> str:
    """Runs `lydite export`, and returns what it prints: the document, or a line for each file if there is an `output_path`.

    >>> import lydite
    >>> r = lydite.run("null:", duration="200ms", warmup=0)
    >>> lydite.export(r, "csv", what="series").splitlines()[0].split(",")[:5]
    ['run', 'label', 'time', 'window', 'second']
    """
    names = [] if what is None else [what] if isinstance(what, str) else list(what)
    words = ["export", f"--to={to}", *(f"--what={name}" for name in names)]
    if output_path is not None:
        words.append(f"--output={os.path.join(os.getcwd(), os.fspath(output_path))}")
    with Files(all_of(results)) as at:
        paths, place = at.short()
        return output([*words, "--", *(str(path) for path in paths)], cwd=place)


def _header(text: str) -> List[str]:
    """Returns the names of a table's columns, which need no quotes."""
    return text.split("\r\n", 1)[0].split(",")


def _is_real(name: str) -> bool:
    return name in _REALS or name.endswith(_REAL_ENDS)


def to_pandas(results: Union[Source, Sequence[Source]], what: str = "series") -> pandas.DataFrame:
    """Returns a table of results as a pandas DataFrame; `what` is one of those of `lydite export --what`.

    Missing values are `<NA>`, so counts stay whole numbers. Raises `ImportError` without pandas.
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

