"""Commands about runs that have ended: judge, merge, compare, verify."""
