"""Reports of runs: report.json, report.html, junit.xml, the terminal; judging saved histories again."""
