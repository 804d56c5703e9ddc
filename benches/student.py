"""The interval of a mean, and of a ratio."""

import math
import statistics

# Quantiles of Student's t at 97.5 % by degrees of freedom.
QUANTILES = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09]


def half(values):
    """Returns half the length of the 95 % interval of the mean of at least two values."""
    quantile = QUANTILES[min(len(values) - 1, len(QUANTILES)) - 1]
    return quantile * statistics.stdev(values) / math.sqrt(len(values))


def ratio(pairs):
    """Returns the geometric mean of the ratios of the pairs, and the ends of its 95 % interval: infinite for one pair."""
    logs = [math.log(one / other) for one, other in pairs]
    mean = statistics.mean(logs)
    width = half(logs) if len(logs) > 1 else math.inf
    return math.exp(mean), math.exp(mean - width), math.exp(mean + width)
