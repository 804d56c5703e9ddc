"""Histograms of latencies, as results have them: HdrHistogram V2, deflated, in base64."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from dataclasses import dataclass
from fractions import Fraction
from typing import Iterable, Iterator, List, Tuple

_COMPRESSED = 0x1C849304
_PLAIN = 0x1C849303
#: Bits of a cookie that tell the width of the words.
_WIDTH = 0xF0
#: Cookie, length, offset of normalisation, significant digits, lowest and highest value, ratio.
_HEADER = struct.Struct(">iiiiqqd")
#: Longest histogram in bytes, inflated. Those of Lydite have up to three digits, so less than a MiB.
_LONGEST = 64 << 20


class HistogramError(ValueError):
    """A text is no histogram, or is damaged."""


HistogramError.__module__ = "lydite"


@dataclass(frozen=True)
class Histogram:
    """Counts of values; those of latencies are nanoseconds. It can't be changed.

    To get percentiles of several runs, add their histograms: percentiles themselves can't be averaged.

    >>> h = Histogram(sub_bucket_half_magnitude=10, unit_magnitude=0, counts=((5, 2), (4096, 1)))
    >>> h.count, round(h.mean, 1), h.max
    (3, 1369.3, 4099)
    >>> h.percentile(50), h.percentile(99), (h + h).count
    (5, 4099, 6)
    >>> Histogram.merged([h, h, h]).count, Histogram.merged([]).count
    (9, 0)
    >>> h
    <Histogram 3 values: mean 1369.3, p50 5, p99 4099, max 4099>
    >>> Histogram(sub_bucket_half_magnitude=10, unit_magnitude=0, counts=((5, 999), (7, 1))).percentile(99.9)
    5
    """

    #: Base-2 logarithm of the number of steps in each octave.
    sub_bucket_half_magnitude: int
    #: Base-2 logarithm of the smallest step.
    unit_magnitude: int
    #: Lowest value of each step that has values, with their number, in ascending order.
    counts: Tuple[Tuple[int, int], ...]

    @classmethod
    def decode(cls, text: str) -> Histogram:
        """Reads the text of a result's `hdr`. Raises `HistogramError`."""
        try:
            outer = base64.b64decode(text, validate=True)
            cookie, length = struct.unpack_from(">ii", outer)
            if cookie & ~_WIDTH != _COMPRESSED & ~_WIDTH:
                raise HistogramError("this is no HdrHistogram V2 with deflate")
            inflate = zlib.decompressobj()
            plain = inflate.decompress(outer[8 : 8 + length], _LONGEST)
            if not inflate.eof:
                raise HistogramError("the histogram is cut off, or longer than any")
            cookie, length, offset, digits, lowest, _highest, _ratio = _HEADER.unpack_from(plain)
        except HistogramError:
            raise
        # ValueError is that of base64 for characters beyond ASCII, and of its damages.
        except (ValueError, struct.error, zlib.error) as error:
            raise HistogramError(f"the histogram is damaged: {error}") from error
        if cookie & ~_WIDTH != _PLAIN & ~_WIDTH or offset != 0 or not 0 <= digits <= 5 or lowest < 1:
            raise HistogramError("this is no HdrHistogram V2 that is known here")
        # As many steps as it takes to keep the digits up to the end of an octave.
        half_magnitude = max(math.ceil(math.log2(2 * 10**digits)), 1) - 1
        unit_magnitude = lowest.bit_length() - 1
        empty = cls(half_magnitude, unit_magnitude, ())
        payload = plain[_HEADER.size : _HEADER.size + length]
        if len(payload) != length:
            raise HistogramError("the histogram is cut off")
        return cls(half_magnitude, unit_magnitude, tuple(empty._read(payload)))

    @classmethod
    def merged(cls, histograms: Iterable[Histogram]) -> Histogram:
        """Returns the histogram of the values of all, as of several runs; it has no values if there are none.

        Raises `HistogramError` for histograms of different precision.
        """
        # One without values takes the precision of what is added.
        return sum(histograms, cls(10, 0, ()))

    def _read(self, payload: bytes) -> Iterator[Tuple[int, int]]:
        """Yields the steps: a positive number is the count of the next one, a negative one a number of empty steps."""
        index = 0
        for number in _numbers(payload):
            if number < 0:
                index -= number
            else:
                if number > 0:
                    # A shift by a damaged number of bits would take all memory.
                    if (index >> self.sub_bucket_half_magnitude) + self.unit_magnitude > 63:
                        raise HistogramError("the histogram has values of more than 63 bits")
                    yield self._lowest_at(index), number
                index += 1

    def _lowest_at(self, index: int) -> int:
        """Returns the lowest value of a step."""
        half = 1 << self.sub_bucket_half_magnitude
        bucket = (index >> self.sub_bucket_half_magnitude) - 1
        sub_bucket = (index & (half - 1)) + half
        if bucket < 0:
            bucket, sub_bucket = 0, sub_bucket - half
        return sub_bucket << (bucket + self.unit_magnitude)

    def _width_at(self, lowest: int) -> int:
        """Returns the number of values in the step of a lowest value."""
        octave = max(lowest.bit_length() - (self.unit_magnitude + self.sub_bucket_half_magnitude + 1), 0)
        return 1 << (octave + self.unit_magnitude)

    @property
    def count(self) -> int:
        """Number of values."""
        return sum(count for _, count in self.counts)

    @property
    def mean(self) -> float:
        """Arithmetic mean, each value taken as the middle of its step; NaN without values."""
        total = self.count
        if total == 0:
            return math.nan
        # A step of one value is its own middle.
        middles = ((low + (self._width_at(low) >> 1), count) for low, count in self.counts)
        return sum(middle * count for middle, count in middles) / total

    @property
    def max(self) -> int:
        """Greatest value, as the end of its step; 0 without values."""
        return self._highest(self.counts[-1][0]) if self.counts else 0

    def _highest(self, lowest: int) -> int:
        return lowest + self._width_at(lowest) - 1

    def percentile(self, percent: float) -> int:
        """Returns the value that so many percent of all values do not exceed; 0 without values."""
        total = self.count
        if total == 0:
            return 0
        # As the decimal that was written: 99.9 / 100 * 1000 is a little above 999, and would take the next value.
        wanted = max(math.ceil(Fraction(str(min(percent, 100))) * total / 100), 1)
        seen = 0
        for lowest, count in self.counts:
            seen += count
            if seen >= wanted:
                return self._highest(lowest)
        return self.max

    def __repr__(self) -> str:
        if not self.counts:
            return "<Histogram without values>"
        return (
            f"<Histogram {self.count} values: mean {self.mean:.1f}, p50 {self.percentile(50)}, "
            f"p99 {self.percentile(99)}, max {self.max}>"
        )

    def __add__(self, other: Histogram) -> Histogram:
        """Returns the histogram of the values of both. One without values takes the precision of the other."""
        if not isinstance(other, Histogram):
            return NotImplemented
        if not (self.counts and other.counts):
            return self if self.counts else other
        if (self.sub_bucket_half_magnitude, self.unit_magnitude) != (
            other.sub_bucket_half_magnitude,
            other.unit_magnitude,
        ):
            raise HistogramError("histograms of different precision can't be added")
        sums = dict(self.counts)
        for lowest, count in other.counts:
            sums[lowest] = sums.get(lowest, 0) + count
        return Histogram(self.sub_bucket_half_magnitude, self.unit_magnitude, tuple(sorted(sums.items())))

    def __radd__(self, other: int) -> Histogram:
        """Takes the 0 that `sum` begins with."""
        return self if other == 0 else NotImplemented


def _numbers(payload: bytes) -> List[int]:
    """Reads numbers in ZigZag LEB128, whose ninth byte has eight bits."""
    numbers: List[int] = []
    number, shift = 0, 0
    for byte in payload:
        if shift == 56:
            number |= byte << shift
        else:
            number |= (byte & 0x7F) << shift
            if byte & 0x80:
                shift += 7
                continue
        numbers.append((number >> 1) ^ -(number & 1))
        number, shift = 0, 0
    if shift:
        raise HistogramError("the histogram ends within a number")
    return numbers
