"""For all tests of the harness itself."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Tests assert no durations, and no more do examples: while tests run side by side, any of them may take long.
settings.register_profile("schedproof", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("schedproof")
