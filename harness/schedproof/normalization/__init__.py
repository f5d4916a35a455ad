"""Property tests of scores: what a scorer is asked, what must hold of its answers, and a search for the worst case.

In tests of your own, for a bare function, without any cluster:

    from schedproof.normalization import hold_function

    def test_scores():
        hold_function(my_score, highest=100, resolution=0.1)
"""

from __future__ import annotations

from typing import Any

from schedproof.normalization.function import hold_function

__all__ = ["hold_function"]


def __getattr__(name: str) -> Any:
    # Not before it is asked for: it brings hypothesis, and judges need rules alone.
    if name in __all__:
        from schedproof.normalization import function

        return getattr(function, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
