"""Reads the Python in a specification: what it is, and which names it takes from outside. A list of texts comes in, of
pairs of a kind and the text, and a list of findings goes out; nothing of the text is run."""

import ast
import builtins
import io
import json
import sys
import tokenize
import warnings


def refuse(error):
    # A text with a null byte is a ValueError, without a place.
    return {"error": getattr(error, "msg", None) or str(error), "line": getattr(error, "lineno", None) or 1}


def expression(text):
    tree = ast.parse(text.strip(), mode="eval")
    compile(tree, "", "eval")
    return tree


def block(text):
    tree = ast.parse(text)
    # Within a function, as it will stand: `return` and `yield` are right there.
    compile("def call():\n" + "".join(f" {line}\n" for line in text.splitlines()), "", "exec")
    return tree


def names(tree):
    """The names that are used, and those that the text binds itself."""
    used, bound = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
    return used, bound


def continued(text):
    """The lines that begin within a text over several lines: they must not be indented."""
    inside = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING or tokenize.tok_name[token.type].startswith("FSTRING_M"):
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
    return sorted(inside)


def read(kind, text):
    if kind == "import":
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            return refuse(error)
        if not tree.body or not all(isinstance(each, (ast.Import, ast.ImportFrom)) for each in tree.body):
            return {"error": "is no import", "line": 1}
        if any(alias.name == "*" for each in tree.body for alias in each.names):
            return {"error": "imports all names: name those that are needed", "line": 1}
        return {"binds": sorted(names(tree)[1])}
    try:
        tree, single = expression(text), True
    except (SyntaxError, ValueError) as error:
        try:
            tree, single = block(text), False
        except (SyntaxError, ValueError) as another:
            # What is wrong with one line is told by the reading as an expression, which it mostly is.
            return refuse(another if "\n" in text.strip() else error)
        if kind == "expression":
            return {"error": "is a statement, and has to be an expression", "line": 1}
    used, bound = names(tree)
    answers = any(
        isinstance(node, (ast.Yield, ast.YieldFrom)) or isinstance(node, ast.Return) and node.value is not None
        for node in ast.walk(tree)
    )
    return {
        "expression": single,
        "answers": single or answers,
        "uses": sorted(used - bound - set(dir(builtins))),
        "mentions": sorted(used),
        "continued": continued(text),
    }


warnings.simplefilter("ignore")
json.dump([read(kind, text) for kind, text in json.load(sys.stdin)], sys.stdout)
