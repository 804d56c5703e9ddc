def listed(columns):
    return ", ".join(columns.split())
