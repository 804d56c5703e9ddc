"""Runs the program: `python -m lydite run null:` is `lydite run null:`."""

from __future__ import annotations

import os
import sys

from ._ends import ProgramNotFound
from ._program import locate


def main() -> None:
    """Replaces this process by the program, with the same arguments."""
    try:
        program = str(locate())
    except ProgramNotFound as error:
        print(f"lydite: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
