"""What judges share: rulings on bindings, lateness, the evidence and the timeline of a finding."""
