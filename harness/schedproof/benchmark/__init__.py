"""What `schedproof bench` measures: rounds of pods with known arrivals, candidates taken in turn, and whether a round
proves anything. Nothing here renders: results are data for `report.bench`.
"""
