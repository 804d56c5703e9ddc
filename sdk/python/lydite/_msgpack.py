"""MessagePack, as far as the protocol uses it. The package `msgpack`, 1.0 or later, takes its place if installed."""

from __future__ import annotations

import struct
from typing import Any, Tuple

try:
    import msgpack as _fast  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:
    _fast = None
# Before 1.0 it packed bytes as text; other packages of this name have no version.
if getattr(_fast, "version", (0,)) < (1,):
    _fast = None

#: Longest message of the protocol, in bytes.
LONGEST = 64 << 20


def _plain(value: Any) -> Any:
    """The fields of a result."""
    try:
        return value.__dict__
    except AttributeError:
        raise TypeError(f"{value!r} ({type(value).__name__}) can't be sent: use int, str, bytes, list or a result") from None


def _pack_into(out: bytearray, value: Any) -> None:
    kind = type(value)
    if kind is int:
        if 0 <= value < 128:
            out.append(value)
        elif -32 <= value < 0:
            out.append(value & 0xFF)
        elif -(1 << 63) <= value < 1 << 63:
            out += b"\xd3" + value.to_bytes(8, "big", signed=True) if not -(1 << 31) <= value < 1 << 31 else (
                b"\xd2" + value.to_bytes(4, "big", signed=True))
        else:
            raise OverflowError(f"{value} does not fit 64 bits")
    elif kind is str:
        data = value.encode()
        size = len(data)
        if size < 32:
            out.append(0xA0 | size)
        elif size < 256:
            out += bytes((0xD9, size))
        else:
            out += b"\xdb" + size.to_bytes(4, "big")
        out += data
    elif kind is bytes or kind is bytearray or kind is memoryview:
        size = len(value)
        out += bytes((0xC4, size)) if size < 256 else b"\xc6" + size.to_bytes(4, "big")
        out += value
    elif kind is list or kind is tuple:
        size = len(value)
        out += bytes((0x90 | size,)) if size < 16 else b"\xdd" + size.to_bytes(4, "big")
        for each in value:
            _pack_into(out, each)
    elif kind is dict:
        size = len(value)
        out += bytes((0x80 | size,)) if size < 16 else b"\xdf" + size.to_bytes(4, "big")
        for key, each in value.items():
            _pack_into(out, key)
            _pack_into(out, each)
    elif value is None:
        out.append(0xC0)
    elif kind is bool:
        out.append(0xC3 if value else 0xC2)
    elif kind is float:
        out += struct.pack(">Bd", 0xCB, value)
    elif isinstance(value, int):
        _pack_into(out, int(value))
    elif isinstance(value, str):
        _pack_into(out, str(value))
    elif isinstance(value, tuple):
        _pack_into(out, tuple(value))
    else:
        _pack_into(out, _plain(value))


_FIXED = {0xC0: None, 0xC2: False, 0xC3: True}
_INTS = {0xCC: (1, False), 0xCD: (2, False), 0xCE: (4, False), 0xCF: (8, False),
         0xD0: (1, True), 0xD1: (2, True), 0xD2: (4, True), 0xD3: (8, True)}
_SIZES = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}


def _unpack_from(data: bytes, at: int) -> Tuple[Any, int]:
    head = data[at]
    at += 1
    if head < 0x80:
        return head, at
    if head >= 0xE0:
        return head - 256, at
    if head < 0x90:
        return _map(data, at, head & 15)
    if head < 0xA0:
        return _list(data, at, head & 15)
    if head < 0xC0:
        end = at + (head & 31)
        return data[at:end].decode(), end
    if head in _FIXED:
        return _FIXED[head], at
    if head in _INTS:
        size, signed = _INTS[head]
        return int.from_bytes(data[at:at + size], "big", signed=signed), at + size
    if head in _SIZES:
        width = _SIZES[head]
        size = int.from_bytes(data[at:at + width], "big")
        at += width
        if head <= 0xC6:
            return data[at:at + size], at + size
        if head <= 0xDB:
            return data[at:at + size].decode(), at + size
        return _list(data, at, size) if head <= 0xDD else _map(data, at, size)
    if head == 0xCB:
        return struct.unpack_from(">d", data, at)[0], at + 8
    raise ValueError(f"byte {head:#x} is no MessagePack of this protocol")


def _list(data: bytes, at: int, size: int) -> Tuple[Any, int]:
    values = []
    for _ in range(size):
        value, at = _unpack_from(data, at)
        values.append(value)
    return values, at


def _map(data: bytes, at: int, size: int) -> Tuple[Any, int]:
    values = {}
    for _ in range(size):
        key, at = _unpack_from(data, at)
        values[key], at = _unpack_from(data, at)
    return values, at


def pack(value: Any) -> bytes:
    """The bytes of a message."""
    if _fast is not None:
        packed: bytes = _fast.packb(value, default=_plain)
        return packed
    out = bytearray()
    _pack_into(out, value)
    return bytes(out)


def unpack(data: bytes) -> Any:
    """The message of all these bytes."""
    if _fast is not None:
        # It takes no text, list or map for longer than the data.
        return _fast.unpackb(data, strict_map_key=False)
    value, end = _unpack_from(data, 0)
    if end != len(data):
        raise ValueError("bytes behind the message")
    return value
