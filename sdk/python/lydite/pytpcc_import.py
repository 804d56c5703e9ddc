"""Imports the modules of a py-tpcc fork: those beside a driver, and one folder above if the driver is in `drivers`. Modules
for Python 2 are converted: their syntax, their indentation, and their division."""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import os
import re
import sys
import types
import warnings
from typing import Any, List, Optional, Sequence, Set

import lydite

#: Modules that only Python 2 has.
_MODULES = {"ConfigParser", "StringIO", "cStringIO", "Queue", "urllib2", "cPickle", "commands", "__builtin__", "sets"}
#: Imports from `__future__` that only versions before 2.6 need.
_FUTURE = {"with_statement", "nested_scopes", "generators"}
#: Names and attributes that only Python 2 has. A source may define some of the names itself.
_NAMES = {"xrange", "unicode", "basestring", "raw_input", "long", "cmp", "reduce", "unichr", "execfile"}
_ATTRIBUTES = {"iteritems", "iterkeys", "itervalues", "has_key"}
#: Methods whose results are lists in Python 2 alone.
_LISTS = {"keys", "values", "items"}

_DIVIDED, _DIVISOR = "__lydite_divided__", "__lydite_divisor__"


def is_for_python_2(source: str) -> bool:
    """True if a source is no Python 3, or uses what only Python 2 has."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return True
    own = _defined(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(name.name in _MODULES for name in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module in _MODULES:
            return True
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            if any(name.name in _FUTURE for name in node.names):
                return True
        if isinstance(node, ast.Name) and node.id in _NAMES - own:
            return True
        if isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES:
            return True
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
            called = node.value.func
            if isinstance(called, ast.Attribute) and called.attr in _LISTS and not node.value.args:
                return True
    return False


def _defined(tree: ast.AST) -> Set[str]:
    """The names that a source defines."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
    return names


def divided(left: Any, right: Any) -> Any:
    """Python 2's division: that of two whole numbers is whole."""
    return left // right if isinstance(left, int) and isinstance(right, int) else left / right


class Divisor:
    """The right side of `/=` in a source for Python 2."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __rtruediv__(self, left: Any) -> Any:
        return divided(left, self.value)


class _Divisions(ast.NodeTransformer):
    """Puts Python 2's division in the place of Python 3's."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        name = ast.Name(_DIVIDED, ast.Load())
        return ast.copy_location(ast.Call(name, [node.left, node.right], []), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Div):
            node.value = ast.copy_location(ast.Call(ast.Name(_DIVISOR, ast.Load()), [node.value], []), node.value)
        return node


def converted(source: str, path: str, in_package: bool) -> str:
    """A source for Python 2 in Python 3, with the same lines."""
    # Python 2 counts a tab up to the next multiple of eight, and lets lines mix tabs and spaces.
    source = re.sub(r"^[ \t]+", lambda indent: indent.group().expandtabs(8), source, flags=re.MULTILINE)
    for package in ("lib2to3", "fissix"):
        if importlib.util.find_spec(package) is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refactor = importlib.import_module(f"{package}.refactor")
        # A module outside of packages has no relative imports.
        fixers = [name for name in refactor.get_fixers_from_package(f"{package}.fixes")
                  if in_package or not name.endswith(".fix_import")]
        try:
            return str(refactor.RefactoringTool(fixers).refactor_string(source + "\n", path))
        except Exception as failed:
            raise lydite.Fatal(f"{path}: it is for Python 2 and can't be converted: {failed}") from None
    raise lydite.Fatal(
        f"{path}: it is for Python 2, and this Python has nothing to convert it: pip install fissix, or convert it once "
        "and for all")


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of a fork, which has these folders."""

    def __init__(self, name: str, path: str, folders: Sequence[str]) -> None:
        super().__init__(name, path)
        self.folders = folders

    def _imports_beside(self, source: str, path: str) -> bool:
        """True if a module of a package imports one beside it by its bare name, which only Python 2 allows."""
        find, beside = importlib.machinery.PathFinder.find_spec, [os.path.dirname(path)]
        names = re.findall(r"^[ \t]*(?:import|from)[ \t]+(\w+)", source, re.MULTILINE)
        return any(find(name, beside) and not find(name, self.folders) and not find(name) for name in names)

    def get_code(self, fullname: str) -> Any:
        # Never from a cache, which may hold the code of the source as it is.
        path = self.get_filename(fullname)
        try:
            source = importlib.util.decode_source(self.get_data(path))
        except (SyntaxError, UnicodeDecodeError) as error:
            raise lydite.Fatal(f"{path}: {error}") from None
        in_package = "." in fullname or os.path.basename(path) == "__init__.py"
        if not is_for_python_2(source) and not (in_package and self._imports_beside(source, path)):
            return compile(source, path, "exec", dont_inherit=True)
        floors = not re.search(r"^\s*from\s+__future__\s+import\s[^#\n]*\bdivision\b", source, re.MULTILINE)
        try:
            tree = ast.parse(converted(source, path, in_package), path)
        except SyntaxError as error:
            raise lydite.Fatal(f"{path}, line {error.lineno}: {error.msg}") from None
        if floors:
            tree = ast.fix_missing_locations(_Divisions().visit(tree))
        return compile(tree, path, "exec", dont_inherit=True)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__.update({_DIVIDED: divided, _DIVISOR: Divisor})
        super().exec_module(module)


class Finder:
    """Finds the modules of a fork in its folders. The names of Python's own and of installed modules are theirs."""

    def __init__(self, folders: List[str]) -> None:
        self.folders = folders

    def own(self, name: str, folders: Sequence[str]) -> Optional[importlib.machinery.ModuleSpec]:
        """A module in one of these folders."""
        spec = importlib.machinery.PathFinder.find_spec(name, folders)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return None
        spec.loader = _Loader(spec.loader.name, spec.loader.path, self.folders)
        return spec

    def find_spec(self, name: str, path: Optional[Sequence[str]] = None, target: Any = None) -> Any:
        """Called for every import."""
        if path is None:
            others = name in sys.builtin_module_names or importlib.machinery.PathFinder.find_spec(name) is not None
            return None if others else self.own(name, self.folders)
        ours = [folder for folder in path if any((folder + os.sep).startswith(own + os.sep) for own in self.folders)]
        return self.own(name, ours) if ours else None


def folders_of(driver: str) -> List[str]:
    """The folders of a fork, by the path of its driver."""
    beside = os.path.dirname(os.path.abspath(driver))
    return [beside, os.path.dirname(beside)] if os.path.basename(beside) == "drivers" else [beside]
