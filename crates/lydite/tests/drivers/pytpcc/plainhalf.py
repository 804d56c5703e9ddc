# A module for Python 2 that Python 3 can read too: only its import says what it is for.

from __future__ import with_statement


def half(count):
    return count / 2
