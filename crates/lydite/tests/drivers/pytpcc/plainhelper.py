# A module beside a driver, for Python 2: a print statement, a division of whole numbers, tabs and spaces mixed.

import sys

from plainhalf import half


class Anything:
	def __getattr__(self, name):
		return lambda *args: None


def middle(rows):
        index = half(len(rows) - 1)
	count = len(rows)
	count /= 2
	if index > count:
		print >>sys.stderr, "past the middle", 1.0 / 2
        return rows[index]
