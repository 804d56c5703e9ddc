# Only one thing makes this a module for Python 2: it imports the module beside it by its bare name.
import columns


def each(tables):
    return [(name, columns.listed(text)) for name, text in tables.items()]
