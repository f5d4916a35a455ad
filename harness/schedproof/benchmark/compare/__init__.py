"""Statistics of comparisons: ratios with confidence intervals, quantiles, gates. Pure functions of numbers."""
