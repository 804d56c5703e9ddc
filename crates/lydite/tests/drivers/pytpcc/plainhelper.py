# A module beside a driver, for Python 2: a print statement, a division of whole numbers, tabs and spaces mixed.

import sys


class Anything:
	def __getattr__(self, name):
		return lambda *args: None


def middle(rows):
        index = (len(rows) - 1) / 2
	count = len(rows)
	count /= 2
	if index > count:
		print >>sys.stderr, "past the middle", 1.0 / 2
        return rows[index]
