# For Python 2.


def each(tables):
    return [(name, ", ".join(columns.split())) for name, columns in tables.iteritems()]
