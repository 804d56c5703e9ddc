"""Tests of how the package `lydite` reads documents: broken ones are errors, and whole ones can't be changed."""

import contextlib
import copy
import dataclasses
import json
import pickle
import tempfile
import unittest
from datetime import datetime
from pathlib import Path

import lydite

TIMES = {"mean": 1.5, "p50": 1.0, "p90": 2.0, "p95": 2.5, "p99": 3.0, "p999": 4.0, "max": 5.0}
COUNTS = {"new_order": 3}
SERIES = {
    "second": [0, 1],
    **{name: [1, 2] for name in (
        "new_order", "payment", "order_status", "delivery", "stock_level", "update_stock", "update_item", "update_balance",
        "select_balance", "micro", "aborts", "errors", "unknown", "sessions_connected",
    )},
    **{name: [1.5, 2.5] for name in ("new_order_p50_ms", "new_order_p99_ms", "micro_p50_ms", "micro_p99_ms")},
}
#: A result with each field that the package reads.
RESULT = {
    "format": 1,
    "lydite": "0.1.0",
    "status": "complete",
    "label": "first",
    "nopm": 120.0,
    "tps": 4.5,
    "efficiency_percent": 90.5,
    "window": {"start": "2026-01-02T03:04:05.5Z", "warmup_s": 1.0, "measured_s": 2.0},
    "target": {
        "kind": "null", "version": "1", "url": "null:", "settings": {"fsync": "on"}, "changed_settings": {"fsync": "off"},
        "encrypted": False, "embedded": True,
    },
    "host": {"hostname": "h", "os": "o", "kernel": "k", "cpu": "c", "cores": 2, "memory_bytes": 1024},
    "client": {
        "cpu_s": 0.5, "cpu_us_per_transaction": 1.5, "peak_rss_bytes": 7, "driver_cpu_s": 0.25,
        "driver_cpu_us_per_transaction": 0.5,
    },
    "plan": {"warehouses": 2, "retry": {"attempts": 20}, "phases": [{"rate": "200"}]},
    "transactions": {
        "new_order": {
            "committed": 3, "rolled_back": 1, "retries": 2, "failed": 4, "unknown": 5, "share_percent": 100.0,
            "latency_ms": TIMES, "queue_ms": TIMES, "service_ms": TIMES, "interactive_ms": TIMES, "hdr": "SGlzdA==",
        },
    },
    "aborts": {"deadlock": 1},
    "errors": [{"message": "no route", "count": 2}],
    "series": SERIES,
    "warmup_series": copy.deepcopy(SERIES),
    "checks": [{"id": "3.3.2.1", "ok": True, "detail": "d", "when": "after", "seconds": 0.5}],
    "requirements": [{"text": "tps > 1", "metric": "tps", "value": 4.5, "unit": "/s", "met": True, "note": "n"}],
    "phases": [{
        "name": "one", "from_s": 0.25, "to_s": 2.0, "asked": {"rate": "200"}, "tps": 4.5, "transactions": COUNTS,
        "latency_ms": {"new_order": TIMES}, "queue_ms": {"new_order": TIMES}, "retries": COUNTS, "failed": COUNTS,
        "unknown": COUNTS, "aborts": {"deadlock": 1},
    }],
    "outages": [{"from_s": 0.5, "to_s": 1.5, "cause": "silent"}],
    "observed": [{"source": "host", "name": "cpu", "unit": "cores", "values": [0.5, 1.5]}],
    "statements": [{
        "source": "db", "text": "SELECT", "calls": 3, "mean_ms": 0.5, "rows": 4, "blocks_read": 5, "blocks_hit": 6,
    }],
    "warnings": ["noisy"],
}
COMPARISON = {
    "verdicts": [{"verdict": "worse", "sentence": "B is slower."}],
    "metrics": [{
        "name": "nopm", "title": "NOPM", "a": 2.0, "b": 1.0, "ratio": 0.5, "low": 0.25, "high": 0.75, "verdict": "worse",
    }],
    "warnings": ["noisy"],
}
#: Fields, by the last name of their paths, that may be null.
NULLABLE = {
    "label", "encrypted", "start", "driver_cpu_s", "driver_cpu_us_per_transaction", "interactive_ms", "value", "name",
    "blocks_read", "blocks_hit", "new_order_p50_ms", "new_order_p99_ms", "micro_p50_ms", "micro_p99_ms", "values",
    "a", "b", "ratio", "low", "high", *TIMES,
}
#: Fields without a default.
REQUIRED = {("format",), ("transactions",), ("errors", 0, "message"), ("errors", 0, "count")}
#: Objects with such fields.
REQUIRED_WITHIN = {("errors", 0), ("metrics", 0)}
STRANGE = [None, True, 7, 1.5, 10**60, 10**400, "text", "", [], [[]], [None, "a"], {}, {"a": {"a": None}}]


def paths(value, at=()):
    """Yields the path of each value below a value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield (*at, name)
        yield from paths(part, (*at, name))


def at(document, path):
    for name in path:
        document = document[name]
    return document


def named(path):
    """Returns the last name of a path."""
    return [name for name in path if isinstance(name, str)][-1]


@contextlib.contextmanager
def changed(document, path, change):
    """Changes the value at a path for a `with` statement: `change` gets what holds it, and its name there."""
    holder, name = at(document, path[:-1]), path[-1]
    before = copy.copy(holder)
    change(holder, name)
    try:
        yield
    finally:
        holder.clear()
        holder.update(before) if isinstance(holder, dict) else holder.extend(before)


def fits(path, old, new):
    """Returns true if a value of the new kind may stand where the old one is, and None if that depends on its fields."""
    if path[0] == "plan" and len(path) > 1:
        return True
    if path == ("format",):
        return type(new) is int and new == 1
    # Of a list only its values may be null, and phases alone have names that may.
    if new is None:
        is_nullable = named(path) in NULLABLE and not isinstance(old, list)
        return is_nullable and not (named(path) == "name" and path[0] in ("observed", "metrics"))
    if isinstance(old, float):
        return type(new) in (int, float) and abs(new) < 10**300
    if path[-1] == "start":
        return new == ""
    if isinstance(old, dict) and isinstance(new, dict):
        return True if new == {} and path not in REQUIRED_WITHIN else None
    if isinstance(old, list):
        return new == []
    return type(new) is type(old)


class Broken(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = Path(scratch.name, "broken.json")

    def load(self, text):
        self.path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return lydite.load_result(self.path)

    def rejected(self, text):
        """Returns the message of the error of a text."""
        with self.assertRaises(lydite.ResultError) as found:
            self.load(text)
        self.assertTrue(str(found.exception).startswith(f"{self.path}: "), found.exception)
        self.assertLess(len(str(found.exception)), 300)
        return str(found.exception)

    def test_the_document_of_these_tests_has_every_field(self):
        result = self.load(json.dumps(RESULT))
        comparison = lydite.Comparison.of(COMPARISON)

        def look(value):
            for field in dataclasses.fields(value):
                found = getattr(value, field.name)
                self.assertNotEqual(found, field.default, (type(value), field.name))
                found = list(found.values()) if isinstance(found, dict) else found
                self.assertTrue(found or isinstance(found, bool), (type(value), field.name))
                for part in found if isinstance(found, (tuple, list)) else [found]:
                    if dataclasses.is_dataclass(part):
                        look(part)

        # The path is not in the document, and "complete" is the default.
        look(dataclasses.replace(result, status="partial"))
        look(comparison)

    def test_a_field_of_another_type_is_an_error_that_names_it(self):
        document = copy.deepcopy(RESULT)
        for path in list(paths(document)):
            old = at(document, path)
            for new in STRANGE:
                right = fits(path, old, new)
                if path in (("series", "second"), ("warmup_series", "second")):
                    # The sequences beside it have a value for each second.
                    right = False
                with self.subTest(path=path, new=repr(new)[:50]):
                    with changed(document, path, lambda holder, name: holder.__setitem__(name, new)):
                        try:
                            hash(lydite.Result.of(document))
                        except lydite.ResultError as error:
                            self.assertIsNot(right, True, error)
                            self.assertIn(named(path), str(error))
                        else:
                            self.assertIsNot(right, False)
        self.assertEqual(document, RESULT)

    def test_an_error_names_the_file_too(self):
        document = copy.deepcopy(RESULT)
        for path in (("nopm",), ("transactions", "new_order", "latency_ms", "p99"), ("series", "new_order", 1), ("checks",)):
            with changed(document, path, lambda holder, name: holder.__setitem__(name, "x")):
                self.assertIn(named(path), self.rejected(json.dumps(document)))

    def test_a_field_may_be_missing_unless_it_is_needed(self):
        document = copy.deepcopy(RESULT)
        for path in list(paths(document)):
            with self.subTest(path=path):
                with changed(document, path, lambda holder, name: holder.__delitem__(name)):
                    try:
                        lydite.Result.of(document)
                    except lydite.ResultError as error:
                        self.assertIn(named(path), str(error) if "second" not in path else "second")
                        is_sequence = path[0] in ("series", "warmup_series") and len(path) > 1
                        self.assertTrue(path in REQUIRED or is_sequence, (path, error))
                    else:
                        self.assertNotIn(path, REQUIRED)

    def test_sequences_of_a_series_are_of_one_length(self):
        document = copy.deepcopy(RESULT)
        for series in ("series", "warmup_series"):
            for name in SERIES:
                with changed(document, (series, name), lambda holder, name: holder.__setitem__(name, [1, 2, 3])):
                    with self.assertRaisesRegex(lydite.ResultError, f"{series}.*: expected [23] values"):
                        lydite.Result.of(document)

    def test_texts_that_are_no_documents_are_errors(self):
        whole = json.dumps(RESULT)
        for end in range(0, len(whole), 61):
            self.rejected(whole[:end])
        for text in ("null", "3", "true", '"text"', "[]", "{}", "[" * 200_000, '{"a":' * 200_000, whole + "x", "NaN"):
            self.rejected(text)
        for text in (b"\xff" + whole.encode(), b"\xef\xbb\xbf" + whole.encode(), whole.encode("utf-16"), b"\x00"):
            self.rejected(text)

    def test_numbers_that_json_can_not_hold_are_errors_that_name_the_field(self):
        for number in ("NaN", "Infinity", "-Infinity", "1e999"):
            self.assertIn("tps", self.rejected('{"format": 1, "transactions": {}, "tps": %s}' % number))
            self.assertIn("plan.a[0]", self.rejected('{"format": 1, "transactions": {}, "plan": {"a": [%s]}}' % number))
        self.rejected('{"format": 1, "transactions": {}, "nopm": %s}' % ("9" * 5000))

    def test_another_format_is_an_error_that_says_so(self):
        for number in ("true", "1.0", '"1"', "null"):
            self.assertIn('no number "format"', self.rejected('{"format": %s, "transactions": {}}' % number))
        self.assertIn("format 9", self.rejected('{"format": 9, "transactions": {}}'))

    def test_a_long_result_is_read(self):
        seconds = 100_000
        long = {**RESULT, "series": {"second": list(range(seconds)), "new_order_p50_ms": [1.5, None] * (seconds // 2)}}
        result = self.load(json.dumps(long))
        self.assertEqual(len(result.series), seconds)

    def test_a_file_that_is_not_there_is_an_error_of_the_system(self):
        self.assertRaises(FileNotFoundError, lydite.load_result, self.path)
        self.assertRaises(IsADirectoryError, lydite.load_result, self.path.parent)

    def test_values_of_python_that_json_can_not_hold_are_errors(self):
        for value in ({1, 2}, b"bytes", datetime(2026, 1, 1), object()):
            with self.assertRaisesRegex(lydite.ResultError, "plan.x"):
                lydite.Result.of({"format": 1, "transactions": {}, "plan": {"x": value}})
        circle = {"format": 1, "transactions": {}}
        circle["circle"] = circle
        self.assertRaises(lydite.ResultError, lydite.Result.of, circle)

    def test_a_comparison_with_a_field_of_another_type_is_an_error(self):
        document = copy.deepcopy(COMPARISON)
        for path in list(paths(document)):
            old = at(document, path)
            for new in STRANGE:
                with self.subTest(path=path, new=repr(new)[:50]):
                    with changed(document, path, lambda holder, name: holder.__setitem__(name, new)):
                        try:
                            hash(lydite.Comparison.of(document))
                        except lydite.ResultError as error:
                            self.assertIsNot(fits(path, old, new), True, error)
                            self.assertIn(named(path), str(error))
                        else:
                            self.assertIsNot(fits(path, old, new), False)
        for document in ({}, [], None, {"verdicts": []}):
            self.assertRaises(lydite.ResultError, lydite.Comparison.of, document)

    def test_a_comparison_without_an_answer_is_not_judged(self):
        self.assertEqual(lydite.Comparison.of({"verdicts": [], "metrics": []}).verdict, "not_judged")

    def test_damaged_histograms_are_errors_and_take_no_memory(self):
        import base64
        import struct
        import zlib

        def text(payload, digits=3, lowest=1, length=None):
            plain = struct.pack(
                ">iiiiqqd", 0x1C849303, len(payload) if length is None else length, 0, digits, lowest, 1 << 40, 1.0
            ) + payload
            packed = zlib.compress(plain)
            return base64.b64encode(struct.pack(">ii", 0x1C849304, len(packed)) + packed).decode()

        self.assertEqual(lydite.Histogram.decode(text(b"\x02\x02")).count, 2)
        skip = b"\xff" * 8 + b"\x7f"
        for damaged in (
            "é", "SGlzdA==", text(skip + b"\x02"), text(skip * 9 + b"\x02"),
            text(b"\x02", length=-1), text(b"\x02", length=9), text(b"\x80"), text(b"\x00" * (65 << 20)),
        ):
            with self.assertRaises(lydite.HistogramError):
                lydite.Histogram.decode(damaged)


class Whole(unittest.TestCase):
    """Results and comparisons can't be changed, and are values."""

    def both(self):
        return lydite.Result.of(RESULT, Path("a.json")), lydite.Comparison.of(COMPARISON)

    def test_nothing_below_a_result_can_be_changed(self):
        def look(value, at):
            if dataclasses.is_dataclass(value):
                for field in dataclasses.fields(value):
                    with self.assertRaises(dataclasses.FrozenInstanceError, msg=at):
                        setattr(value, field.name, None)
                    look(getattr(value, field.name), f"{at}.{field.name}")
            elif isinstance(value, dict):
                for change in (
                    lambda: value.__setitem__("x", 1), lambda: value.__delitem__("x"), lambda: value.update(x=1),
                    lambda: value.pop("x", None), lambda: value.popitem(), lambda: value.clear(),
                    lambda: value.setdefault("x", 1), lambda: value.__ior__({"x": 1}),
                ):
                    with self.assertRaisesRegex(TypeError, "can't be changed", msg=at):
                        change()
                for name, part in value.items():
                    look(part, f"{at}[{name}]")
            elif isinstance(value, tuple):
                for part in value:
                    look(part, f"{at}[]")
            else:
                self.assertIsInstance(value, (str, bool, int, float, type(None), datetime, Path), at)

        for value in self.both():
            look(value, type(value).__name__)

    def test_a_default_can_not_be_changed_either(self):
        for value in (lydite.Result(), lydite.Phase(), lydite.Target()):
            for field in dataclasses.fields(value):
                if isinstance(getattr(value, field.name), dict):
                    with self.assertRaises(TypeError):
                        getattr(value, field.name)["x"] = 1
            hash(value)

    def test_the_document_that_was_given_stays_the_callers(self):
        document = copy.deepcopy(RESULT)
        result = lydite.Result.of(document)
        document["transactions"].clear()
        self.assertIn("new_order", result.raw["transactions"])

    def test_equal_documents_are_equal_results_with_one_hash(self):
        for one, other in zip(self.both(), self.both()):
            self.assertEqual(one, other)
            self.assertEqual(hash(one), hash(other))
            self.assertEqual(len({one, other}), 1)
        result, comparison = self.both()
        self.assertEqual(result, lydite.Result.of(RESULT, Path("b.json")))
        self.assertNotEqual(result, lydite.Result.of({**RESULT, "other": 1}))
        self.assertNotEqual(comparison, lydite.Comparison.of({**COMPARISON, "other": 1}))

    def test_copies_and_pickles_are_equal(self):
        hdr = lydite.Histogram(10, 0, ((5, 2),))
        for value in (*self.both(), hdr):
            for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
                again = pickle.loads(pickle.dumps(value, protocol))
                self.assertEqual(again, value)
                self.assertEqual(hash(again), hash(value))
            self.assertEqual(copy.copy(value), value)
            self.assertEqual(copy.deepcopy(value), value)
            self.assertEqual(dataclasses.replace(value), value)
        result, _ = self.both()
        self.assertRaises(TypeError, pickle.loads(pickle.dumps(result)).raw.__setitem__, "x", 1)
        self.assertEqual(dataclasses.asdict(result)["host"]["cores"], 2)

    def test_the_document_is_written_as_it_was_read(self):
        result, comparison = self.both()
        self.assertEqual(json.loads(json.dumps(result.raw)), RESULT)
        self.assertEqual(json.loads(json.dumps(comparison.raw)), COMPARISON)
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch, "r.json")
            result.save(path)
            self.assertEqual(lydite.load_result(path), result)

    def test_what_a_notebook_shows_is_short(self):
        result, comparison = self.both()
        self.assertEqual(repr(result), "<Result 'first': complete, null:, 120 NOPM, 4.5 tx/s, 1 warning>")
        seconds = list(range(100_000))
        long = lydite.Result.of({
            "format": 1, "transactions": {}, "series": {"second": seconds},
            "observed": [{"name": "x", "values": [0.5] * len(seconds)}], "target": {"settings": {"a": "b" * 9999}},
        })
        histogram = lydite.Histogram(10, 0, tuple((lowest, 1) for lowest in range(2000)))
        for value in (
            result, comparison, comparison["nopm"], long, long.series, long.observed[0], long.target, result.phases[0],
            result.transactions["new_order"], result.host, result.client, histogram, lydite.Histogram(10, 0, ()),
        ):
            self.assertLess(len(repr(value)), 400, value)


class Histograms(unittest.TestCase):
    def test_histograms_are_added_by_plus_and_by_sum(self):
        one, two = lydite.Histogram(10, 0, ((5, 2),)), lydite.Histogram(10, 0, ((5, 1), (7, 1)))
        coarse, empty = lydite.Histogram(7, 0, ((5, 2),)), lydite.Histogram(10, 0, ())
        self.assertEqual((one + two).counts, ((5, 3), (7, 1)))
        self.assertEqual(sum([one, two]), one + two)
        self.assertEqual(empty + coarse, coarse)
        self.assertEqual(coarse + empty, coarse)
        self.assertRaises(lydite.HistogramError, lambda: one + coarse)
        for wrong in (1, "x", None):
            self.assertRaises(TypeError, lambda: one + wrong)
            self.assertRaises(TypeError, lambda: wrong + one)


if __name__ == "__main__":
    unittest.main()
