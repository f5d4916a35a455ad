"""Runs `schedproof bench`: sends rounds of pods to candidates in turn, measures them, and decides which rounds are
valid. Nothing here renders: results are data for `report.bench`.
"""
