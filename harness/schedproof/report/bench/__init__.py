"""Reports of benchmarks: bench.json, a page with charts, Markdown, benchstat, the terminal."""
