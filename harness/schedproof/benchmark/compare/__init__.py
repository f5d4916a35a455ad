"""Statistics of a comparison: ratios with confidence intervals, quantiles, gates. Pure functions of numbers."""
