"""Reports of runs: report.json, report.html, junit.xml, GitHub's job summary, the terminal."""
