"""Tests of the package `lydite`, and the examples of its documentation."""

import ast
import csv
import doctest
import importlib
import io
import json
import os
import pickle
import re
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import traceback
import unittest
import warnings
from functools import cached_property
from pathlib import Path
from unittest import mock

import lydite

MODULES = ["lydite", *(f"lydite.{name}" for name in (
    "_compare", "_document", "_ends", "_export", "_hdr", "_program", "_result", "_run",
))]


#: Sources of the book.
BOOK = Path(__file__).resolve().parents[4] / "docs" / "src"


def load_tests(loader, tests, pattern):
    for name in MODULES:
        tests.addTests(doctest.DocTestSuite(importlib.import_module(name), optionflags=doctest.ELLIPSIS))
    return tests


# A shell starts programs in the background with Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)


def interrupt():
    """Sends this process a Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


class Interrupting:
    """A stream of errors during which somebody types Ctrl-C: at the first line of a run that measures."""

    def __init__(self, stream):
        self.stream, self.typed = stream, False

    def __iter__(self):
        for line in self.stream:
            if " measuring " in line and not self.typed:
                self.typed = True
                interrupt()
            yield line

    def __getattr__(self, name):
        return getattr(self.stream, name)


class Program(unittest.TestCase):
    def test_the_program_beside_the_module_wins_over_the_path(self):
        self.assertTrue(lydite.find_program().samefile(os.environ["LYDITE_PROGRAM"]))
        with tempfile.TemporaryDirectory() as scripts:
            own = Path(scripts, "lydite")
            own.write_text("#!/bin/sh\n")
            own.chmod(0o755)
            with mock.patch("sysconfig.get_path", return_value=scripts):
                with self.assertWarnsRegex(RuntimeWarning, "prints no version"):
                    self.assertEqual(lydite.find_program(), own)

    def test_a_program_of_another_version_is_found_with_a_warning_that_names_both(self):
        with tempfile.TemporaryDirectory() as scripts:
            own = Path(scripts, "lydite")
            own.write_text("#!/bin/sh\necho 'lydite 9.8.7 (abc 2030-01-01)'\n")
            own.chmod(0o755)
            with mock.patch("sysconfig.get_path", return_value=scripts):
                with self.assertWarnsRegex(RuntimeWarning, rf"9\.8\.7.* {lydite.__version__}"):
                    self.assertEqual(lydite.find_program(), own)

    def test_the_program_that_was_built_is_of_the_version_of_the_package(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            lydite.find_program()

    def test_python_m_lydite_runs_the_program(self):
        command = [sys.executable, "-m", "lydite"]
        ended = subprocess.run([*command, "-V"], stdout=subprocess.PIPE, check=True, text=True)
        self.assertTrue(ended.stdout.startswith(f"lydite {lydite.__version__}"), ended.stdout)
        ended = subprocess.run([*command, "run", "null:", "--warehouse", "2"], stderr=subprocess.PIPE, text=True)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("--warehouses", ended.stderr)
        nowhere = {**os.environ, "PATH": "/nonexistent"}
        ended = subprocess.run(command, stderr=subprocess.PIPE, env=nowhere, text=True)
        self.assertEqual(ended.returncode, 127)
        self.assertRegex(ended.stderr, "^lydite: .*pip install")

    def test_a_missing_program_is_an_error_that_says_how_to_get_it(self):
        with mock.patch.dict(os.environ, {"PATH": "/nonexistent"}):
            with self.assertRaisesRegex(lydite.ProgramNotFound, "pip install lydite"):
                lydite.run("null:")


class Package(unittest.TestCase):
    """Drivers and runs in one package."""

    def test_both_halves_are_there(self):
        for name in lydite.__all__:
            self.assertIsNotNone(getattr(lydite, name), name)
        self.assertLessEqual({"run", "load_result", "serve", "KeyValue"}, set(lydite.__all__))
        self.assertLessEqual(set(lydite.__all__), set(dir(lydite)))
        with self.assertRaisesRegex(AttributeError, "no attribute 'unknown'"):
            lydite.unknown

    def test_tracebacks_name_exceptions_as_programs_do(self):
        errors = {name: value for name in lydite.__all__ if isinstance(value := getattr(lydite, name), type)
                  and issubclass(value, Exception) and name in lydite._OF_RUNS}
        self.assertEqual(len(errors), 11)
        for name, value in errors.items():
            self.assertEqual(f"{value.__module__}.{value.__qualname__}", f"lydite.{name}")
        lines = traceback.format_exception_only(lydite.UsageError, lydite.UsageError(2, ["wrong"]))
        self.assertEqual(lines, ["lydite.UsageError: wrong\n"])

    def test_each_public_name_has_a_text(self):
        for name in lydite._OF_RUNS:
            value = getattr(lydite, name)
            self.assertTrue(value.__doc__, name)
            self.assertFalse(value.__doc__.startswith(f"{name}("), f"{name} has only the text of its data class")
            for part, of in vars(value).items() if isinstance(value, type) else ():
                if not part.startswith("_") and (callable(of) or isinstance(of, (property, classmethod, cached_property))):
                    self.assertTrue(getattr(value, part).__doc__ or of.__doc__, f"{name}.{part}")

    def test_a_program_that_uses_everything_runs_and_has_right_types(self):
        program = Path(__file__).with_name("typed_program.py")
        subprocess.run([sys.executable, "-W", "error", program], check=True)
        self.assert_typed(program)

    def test_the_examples_of_the_page_about_python_have_right_types(self):
        page = (BOOK / "python.md").read_text(encoding="utf-8")
        examples = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
        self.assertGreater(len(examples), 3)
        with tempfile.TemporaryDirectory() as scratch:
            program = Path(scratch, "examples.py")
            program.write_text("\n".join([*examples[:1], 'URL = "null:"', *examples[1:]]), encoding="utf-8")
            self.assert_typed(program)

    def assert_typed(self, program):
        """Asserts that `mypy --strict` finds nothing in a program and in the package."""
        python = os.environ.get("PSYCOPG_PYTHON") or sys.executable
        if subprocess.run([python, "-c", "import mypy"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest(f"{python} has no mypy to check the types of {program.name}")
        package = Path(lydite.__file__).parent.parent
        ended = subprocess.run(
            [python, "-m", "mypy", "--strict", "--cache-dir", os.devnull, program],
            env={**os.environ, "MYPYPATH": str(package)}, stdout=subprocess.PIPE, text=True,
        )
        self.assertLess(ended.returncode, 2, ended.stdout)
        own = (program.stem, *(name.rpartition(".")[2] for name in MODULES[1:]))
        found = [line for line in ended.stdout.splitlines() if "error:" in line and Path(line.split(":")[0]).stem in own]
        self.assertEqual(found, [])

    def test_a_driver_loads_its_half_alone(self):
        code = (
            "import sys, lydite\n"
            "lydite.serve, lydite.KeyValue, lydite.Driver\n"
            "print(*(name for name in sys.modules if name.startswith('lydite.')))\n"
            "lydite.load_result\n"
            "print('lydite._result' in sys.modules)\n"
        )
        ended = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, text=True)
        before, after = ended.stdout.splitlines()
        self.assertEqual(
            set(before.split()),
            {f"lydite.{name}" for name in ("_msgpack", "driver", "errors", "keyvalue", "schema", "session")},
        )
        self.assertEqual(after, "True")

    def test_type_checkers_see_the_names_that_are_loaded_later(self):
        tree = ast.parse(Path(lydite.__file__).read_text(encoding="utf-8"))

        def names(nodes):
            imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 1]
            return {alias.name: node.module for node in imports for alias in node.names}

        [typed] = [node for node in tree.body if isinstance(node, ast.If) and not isinstance(node.test, ast.UnaryOp)]
        self.assertEqual(names(typed.body), lydite._OF_RUNS)
        self.assertEqual(sorted({**names(tree.body), **names(typed.body)}), sorted(lydite.__all__))


class Runs(unittest.TestCase):
    def test_progress_comes_while_the_run_is_at_work(self):
        seen = []
        result = lydite.run("null:", duration="2200ms", warmup=0, progress=seen.append)
        measuring = [progress for progress in seen if progress.phase == "measuring"]
        self.assertTrue(measuring and all(progress.nopm > 0 for progress in measuring), seen)
        self.assertEqual(len(result.series), 3)
        self.assertIsNone(result.path)

    def test_each_line_of_a_run_is_understood(self):
        """The lines are for people: a change of their words is one of this package."""
        for flags in (
            {"warehouses": 1, "size": "tiny"}, {"workload": "micro", "set": {"micro.records": 50}},
        ):
            seen = []
            lydite.run("gemel:", duration="3s", warmup="2s", progress=seen.append, **flags)
            lines = [progress for progress in seen if "tx/s" in progress.text]
            self.assertLessEqual({"warm-up", "measuring"}, {progress.phase for progress in lines}, seen)
            for progress in lines:
                self.assertIsNotNone(progress.phase, progress)
                self.assertIsNotNone(progress.elapsed_s, progress)
                self.assertIsNotNone(progress.tps, progress)
                self.assertEqual(progress.nopm is None, "NOPM" not in progress.text, progress)
                self.assertIs(progress.nopm is None, "workload" in flags, progress)
                self.assertEqual(str(progress), progress.text)

    def assert_partial(self, result):
        self.assertEqual(result.status, "partial")
        self.assertGreater(result.transactions["new_order"].committed, 0)

    def test_an_interrupted_run_returns_what_it_measured(self):
        def type_once(now):
            if now.phase == "measuring" and not typed:
                typed.append(now)
                interrupt()

        typed = []
        self.assert_partial(lydite.run("null:", duration="10m", warmup=0, progress=type_once))
        with lydite.start("null:", duration="10m", warmup=0) as run:
            run._process.stderr = Interrupting(run._process.stderr)
            self.assert_partial(run.result())

    def test_an_error_of_the_callback_ends_the_run(self):
        def fail(now):
            raise RuntimeError("mine")

        with self.assertRaisesRegex(RuntimeError, "mine"):
            lydite.run("null:", duration="10m", warmup=0, progress=fail)

    def test_each_end_is_an_error_of_its_own(self):
        with self.assertRaises(lydite.ThresholdMissed) as missed:
            lydite.run("null:", duration="200ms", warmup=0, require=["nopm > 1e15", "tps > 1"])
        self.assertEqual(missed.exception.exit_code, 4)
        self.assertEqual([of.met for of in missed.exception.result.requirements], [False, True])
        with self.assertRaises(lydite.UsageError) as wrong:
            lydite.run("null:", warehouses=0, terminals=0)
        self.assertEqual(len(wrong.exception.messages), 2, wrong.exception)
        again = pickle.loads(pickle.dumps(wrong.exception))
        self.assertEqual(again.messages, wrong.exception.messages)
        with self.assertRaises(lydite.TargetFailed):
            lydite.run("postgres://postgres@localhost:1/x", duration="1s")

    def test_a_document_that_was_there_before_is_not_taken_for_that_of_the_run(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch, "r.json")
            first = lydite.run("null:", duration="200ms", warmup=0, json=path)
            self.assertEqual(first.path, path)
            with self.assertRaises(lydite.UsageError) as wrong:
                lydite.run("null:", warehouses=0, json=path)
            self.assertIsNone(wrong.exception.result)


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = lydite.run(
            "null:", mode="open", rate="200,400", duration="1200ms", warmup=0, observe="host", label='a, "b"'
        )

    def test_histograms_have_the_percentiles_of_the_document(self):
        for name, of in self.result.transactions.items():
            histogram = of.histogram
            self.assertEqual(histogram.count, of.completed, name)
            for percent, value in ((50, of.p50_ms), (90, of.p90_ms), (95, of.p95_ms), (99, of.p99_ms), (99.9, of.p999_ms)):
                if value is not None:
                    self.assertEqual(histogram.percentile(percent) / 1e6, value, (name, percent))
            if of.mean_ms is not None:
                self.assertAlmostEqual(histogram.mean / 1e6, of.mean_ms)
                self.assertEqual(histogram.max / 1e6, of.max_ms)
        self.assertEqual(self.result.histogram.count, sum(of.completed for of in self.result.transactions.values()))

    def test_damaged_histograms_are_errors(self):
        text = self.result.transactions["new_order"].hdr
        for damaged in ("", "!", "AAAA", text[:-8], text[:40] + "AAAA" + text[44:]):
            with self.assertRaises(lydite.HistogramError):
                lydite.Histogram.decode(damaged)

    def test_a_result_comes_back_from_its_file(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch, "r.json")
            self.result.save(path)
            again = lydite.load_result(path)
            self.assertEqual(again, self.result)
            with self.assertRaises(FileExistsError):
                self.result.save(path)
            for text, words in (
                ("{", "r.json"),
                ('{"audit": {}, "tests": []}', 'no number "format"'),
                ('{"format": 9, "transactions": {}}', "format 9"),
                ('{"format": 1, "points": [], "figures": []}', "no transactions"),
            ):
                path.write_text(text)
                with self.assertRaisesRegex(lydite.ResultError, words):
                    lydite.load_result(path)

    def test_the_parts_are_typed(self):
        result = self.result
        self.assertEqual(result.label, 'a, "b"')
        self.assertEqual(result.window.start.utcoffset().total_seconds(), 0)
        self.assertEqual(len(result.phases), 2)
        self.assertIn("new_order", result.phases[0].latency)
        self.assertTrue(all(len(of.values) == len(result.series) for of in result.observed))
        self.assertGreater(result.client.cpu_s, 0)
        self.assertEqual(result.raw["nopm"], result.nopm)

    def test_frames_need_their_libraries_and_say_so(self):
        for library, method in (("pandas", self.result.to_pandas), ("polars", self.result.to_polars)):
            with mock.patch.dict(sys.modules, {library: None}):
                with self.assertRaisesRegex(ImportError, "pip install " + library):
                    method()

    def test_frames_have_the_columns_of_exports(self):
        """Reads the frames of the libraries that are installed."""
        header = lydite.export(self.result, "csv", what="series").splitlines()[0].split(",")
        for library, method in (("pandas", self.result.to_pandas), ("polars", self.result.to_polars)):
            try:
                importlib.import_module(library)
            except ImportError:
                continue
            table = method()
            self.assertEqual(list(table.columns), header)
            self.assertEqual(sum(table["new_order"]), sum(self.result.series.new_order))
            self.assertEqual(set(table["label"]), {'a, "b"'})
            self.assertEqual(set(table["run"]), {"run-1.json"})
            self.assertEqual(len(method("statements")), 0)

    def test_results_without_a_file_are_named_by_their_number_beside_paths(self):
        def names(*sources):
            rows = lydite.export(sources, "csv", what="runs").splitlines()[1:]
            return [row.split(",")[0] for row in rows]

        other, before = lydite.run("null:", duration="200ms", warmup=0), os.getcwd()
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch, "work")
            (place / "sub").mkdir(parents=True)
            saved = ["old.json", "../up.json", "sub/old.json"]
            try:
                os.chdir(place)
                for name in saved:
                    self.result.save(name)
                self.assertEqual(names(self.result, other, *saved), ["run-1.json", "run-2.json", *saved])
                self.assertEqual(names(self.result, place / "old.json"), ["run-1.json", str(place / "old.json")])
                # A file that already has this name keeps it, and is left alone.
                self.result.save("run-1.json")
                self.assertEqual(names(other, "run-1.json"), ["run-2.json", "run-1.json"])
                self.assertEqual(lydite.load_result("run-1.json"), self.result)
                self.assertEqual(sorted(os.listdir()), ["old.json", "run-1.json", "sub"])
            finally:
                os.chdir(before)

    def test_errors_of_comparisons_name_results_by_their_number(self):
        with self.assertRaises(lydite.UsageError) as wrong:
            lydite.compare(self.result, [self.result])
        self.assertRegex(str(wrong.exception), "^b-1.json of B is the same run as a-1.json of A")

    def test_errors_of_arguments_are_those_of_python(self):
        with self.assertRaisesRegex(ValueError, "no results"):
            lydite.export([], "csv")
        with self.assertRaisesRegex(ValueError, "no results"):
            lydite.compare(self.result, [])
        with self.assertRaisesRegex(ValueError, "what='x': the tables are runs, series, .*observed"):
            lydite.export(self.result, "csv", what=["runs", "x"])

    def test_the_package_knows_each_table_of_exports(self):
        with tempfile.TemporaryDirectory() as scratch:
            lydite.export(self.result, "csv", Path(scratch, "tables"))
            tables = sorted(path.stem for path in Path(scratch, "tables").iterdir())
        self.assertEqual(tables, sorted(importlib.import_module("lydite._export").TABLES))

    def test_an_export_goes_to_new_files(self):
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch, "tables")
            lines = lydite.export([self.result], "csv", place, what=["runs", "series"])
            self.assertEqual(len(lines.splitlines()), 2)
            self.assertEqual(sorted(path.name for path in place.iterdir()), ["runs.csv", "series.csv"])
            with self.assertRaisesRegex(lydite.UsageError, "exists"):
                lydite.export([self.result], "csv", place, what=["runs", "series"])

    def test_a_condition_that_fails_has_the_comparison(self):
        other = lydite.run("null:", mode="open", rate=300, duration="400ms", warmup=0)
        with self.assertRaises(lydite.ThresholdMissed) as missed:
            lydite.compare(self.result, other, fail_if="nopm < 1e15")
        comparison = missed.exception.comparison
        self.assertAlmostEqual(comparison["nopm"].ratio, other.nopm / self.result.nopm)
        self.assertRaises(KeyError, comparison.__getitem__, "unknown")
        # One run of each has no verdict.
        self.assertEqual((comparison.verdict, comparison["nopm"].verdict), ("not_judged", "not_judged"))
        json.dumps(comparison.raw)


class Median:
    """The aggregate `median`, which SQLite lacks."""

    def __init__(self):
        self.values = []

    def step(self, value):
        self.values.append(float(value))

    def finalize(self):
        return statistics.median(self.values)


class Pages(unittest.TestCase):
    """Examples of the book."""

    def test_sqlite_answers_the_queries_of_the_book_for_runs_with_and_without_a_label(self):
        """SQLite is here everywhere, and takes the queries for DuckDB if its tables have the names of the files."""
        runs = [
            # Long enough for samples of the host.
            lydite.run("null:", duration="2200ms", warmup=0, observe="host", size="tiny", warehouses=1, label=label)
            for label in (None, "b")
        ]
        db = sqlite3.connect(":memory:")
        db.create_aggregate("median", 1, Median)
        for what in ("runs", "series", "transactions", "observed"):
            header, *rows = csv.reader(io.StringIO(lydite.export(runs, "csv", what=what)))
            columns = ", ".join(f'"{name}"' for name in header)
            db.execute(f"CREATE TABLE \"tables/{what}.csv\" ({columns})")
            nulls = [[None if value == "" else value for value in row] for row in rows]
            marks = ", ".join("?" * len(header))
            db.executemany(f"INSERT INTO \"tables/{what}.csv\" VALUES ({marks})", nulls)
        seen = 0
        for page in ("cookbook/results.md", "export.md"):
            for block in re.findall(r"^```sql\n(.*?)^```", (BOOK / page).read_text(encoding="utf-8"), re.M | re.S):
                for query in block.split(";"):
                    if "SELECT" in query and ("->>" not in query or sqlite3.sqlite_version_info >= (3, 38)):
                        # A keyword of SQLite alone.
                        rows = db.execute(re.sub(r"\btransaction\b", '"transaction"', query)).fetchall()
                        self.assertGreaterEqual(len(rows), len(runs), query)
                        seen += 1
        self.assertGreaterEqual(seen, 3)
        db.close()


if __name__ == "__main__":
    unittest.main()
