"""Reads JSON documents into data classes whose annotations say what a field holds, and which can't be changed."""

from __future__ import annotations

import json
import math
from collections import abc
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any, Dict, List, Mapping, NoReturn, Tuple, Type, TypeVar, Union, cast, get_args, get_origin, get_type_hints

_T = TypeVar("_T")
_K = TypeVar("_K")
_V = TypeVar("_V")


class ResultError(ValueError):
    """A document is none of a run, is of another format, or has a field of another type."""


ResultError.__module__ = "lydite"


class FrozenDict(Dict[_K, _V]):
    """A dict that can't be changed. It has a hash if its values have one.

    >>> FrozenDict(a=1)
    {'a': 1}
    >>> FrozenDict(a=1).update(b=2)
    Traceback (most recent call last):
    TypeError: a result can't be changed: dict(…) makes a copy that can
    """

    __slots__ = ()

    def _reject(self, *_given: object, **_named: object) -> NoReturn:
        raise TypeError("a result can't be changed: dict(…) makes a copy that can")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _reject

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Tuple[object, ...]:
        # The usual way would set the items one by one.
        return (type(self), (dict(self),))


def parsed(text: str) -> Any:
    """Parses a JSON text. Raises `ResultError`."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ResultError("the document is nested too deeply") from None
    except ValueError as error:
        raise ResultError(f"this is no JSON: {error}") from error


def frozen(raw: object) -> Any:
    """Returns a JSON value whose objects and lists can't be changed. Raises `ResultError` for what JSON can't hold."""
    try:
        return _frozen(raw, "")
    except RecursionError:
        raise ResultError("the document is nested too deeply") from None


def _frozen(raw: object, at: str) -> Any:
    if raw is None or isinstance(raw, (str, bool, int)):
        return raw
    if isinstance(raw, float):
        return raw if math.isfinite(raw) else _reject(at, "a finite number", raw)
    if isinstance(raw, abc.Mapping):
        return FrozenDict({name: _frozen(value, below(at, name)) for name, value in raw.items()})
    if isinstance(raw, (list, tuple)):
        return tuple([_frozen(value, f"{at}[{index}]") for index, value in enumerate(raw)])
    return _reject(at, "a value of JSON", raw)


def below(at: str, name: object) -> str:
    """Returns the path of a field of the object at a path."""
    return f"{at}.{name}" if at else str(name)


def _reject(at: str, wanted: str, raw: object) -> NoReturn:
    raise ResultError(f"{at or 'the document'}: expected {wanted}, found {_shown(raw)}")


def _shown(raw: object) -> str:
    """Returns a value in a few characters."""
    if isinstance(raw, abc.Mapping):
        return "an object"
    if isinstance(raw, (list, tuple)):
        return "a list"
    if type(raw) is int and raw.bit_length() > 100:
        return "a number that is too large"
    text = json.dumps(raw, ensure_ascii=False) if isinstance(raw, (str, bool, int, float, type(None))) else repr(raw)
    return text if len(text) <= 40 else f"{text[:40]}…"


def record(kind: Type[_T], raw: object, at: str = "", /, **given: object) -> _T:
    """Makes a data class of an object. Fields that the object lacks have their defaults, and those that are given win.

    The class's `_JSON` has the names of fields that the document names differently. Raises `ResultError`.
    """
    if not isinstance(raw, abc.Mapping):
        _reject(at, "an object", raw)
    values = dict(given)
    for name, key, hint, required in _fields_of(cast(Any, kind)):
        if name in given:
            continue
        if key in raw:
            values[name] = _value(hint, raw[key], below(at, key))
        elif required:
            raise ResultError(f"{below(at, key)} is missing")
    return kind(**values)


@lru_cache(maxsize=None)
def _fields_of(kind: Any) -> List[Tuple[str, str, Any, bool]]:
    """Returns each field of a data class: its name, that in documents, its type, and true if it has no default."""
    hints = get_type_hints(kind)
    names: Mapping[str, str] = getattr(kind, "_JSON", {})
    return [
        (
            field.name,
            names.get(field.name, field.name),
            hints[field.name],
            field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(kind)
    ]


#: Types of Python's JSON values that are taken for a scalar type as they are, and the type in words.
_SCALARS: Dict[Any, Tuple[type, str]] = {
    int: (int, "a whole number"),
    float: (float, "a number"),
    str: (str, "a text"),
    bool: (bool, "true or false"),
}


def _value(hint: Any, raw: Any, at: str) -> Any:
    """Reads a value as the type of an annotation. The type decides, and not `isinstance`, which takes true for a number."""
    origin = get_origin(hint)
    if hint is Any:
        return raw
    if origin is Union:
        [hint] = [each for each in get_args(hint) if each is not type(None)]
        return None if raw is None else _value(hint, raw, at)
    if origin is tuple:
        return _values(get_args(hint)[0], raw, at)
    if origin is abc.Mapping:
        if not isinstance(raw, abc.Mapping):
            _reject(at, "an object", raw)
        of = get_args(hint)[1]
        return FrozenDict({name: _value(of, value, below(at, name)) for name, value in raw.items()})
    if isinstance(hint, type) and is_dataclass(hint):
        return record(hint, raw, at)
    if hint is datetime:
        return _time(raw, at)
    exact, words = _SCALARS[hint]
    if type(raw) is exact:
        return raw
    if hint is float and type(raw) is int:
        try:
            return float(raw)
        except OverflowError:
            pass
    return _reject(at, words, raw)


def _values(hint: Any, raw: Any, at: str) -> Tuple[Any, ...]:
    if not isinstance(raw, (list, tuple)):
        _reject(at, "a list", raw)
    # Series are long, and mostly of one type.
    kinds = set(map(type, raw))
    if hint in _SCALARS and kinds <= {hint}:
        return tuple(raw)
    return tuple([_value(hint, value, f"{at}[{index}]") for index, value in enumerate(raw)])


def _time(text: Any, at: str) -> Union[datetime, None]:
    """Reads RFC 3339 in UTC to the microsecond, which is all that a datetime holds. An empty text is no time.

    >>> _time("2026-01-02T03:04:05.123456789Z", "").isoformat()
    '2026-01-02T03:04:05.123456+00:00'
    """
    if text == "":
        return None
    if not isinstance(text, str):
        _reject(at, "a time", text)
    seconds, _, fraction = text.rstrip("Z").partition(".")
    try:
        moment = datetime.strptime(seconds, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
        return moment.replace(microsecond=int(fraction[:6].ljust(6, "0"))) if fraction else moment
    except ValueError:
        return _reject(at, "a time in RFC 3339", text)
