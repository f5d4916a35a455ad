"""The look that all our HTML reports share: colours in light and dark, tables, print.

Text keeps a contrast of 4.5 to 1 on its background, lines and marks 3 to 1, in both modes (WCAG 2.2, AA).
"""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #1f2328; --line: #8884; --dim: #656d76; --pass: #1a7f37;
  --fail: #cf222e; --warn: #9a6700; --invalid: #8250df; --bar: #0969da66; --link: #0969da; }
@media (prefers-color-scheme: dark) { :root { --page: #0d1117; --ink: #e6edf3; --dim: #8d96a0; --pass: #3fb950;
  --fail: #f85149; --warn: #d29922; --invalid: #bc8cff; --bar: #4493f866; --link: #58a6ff; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 0 auto; padding: 1rem; background: var(--page);
  color: var(--ink); }
h1 { font-size: 1.5rem; } a { color: var(--link); }
h2 { font-size: 1.2rem; margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; } caption { text-align: left; color: var(--dim); }
th, td { text-align: left; padding: .25rem .75rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.bar { background: linear-gradient(to right, var(--bar) var(--share), transparent var(--share)); }
.passed { color: var(--pass); } .failed { color: var(--fail); font-weight: bold; } .stale { color: var(--fail); }
.excluded, .skipped { color: var(--warn); } .invalid { color: var(--invalid); font-weight: bold; }
.not-claimed { color: var(--dim); }
pre { overflow-x: auto; font-size: .8rem; line-height: 1.35; } blockquote { margin-left: 0; padding-left: 1rem;
  border-left: 3px solid var(--line); } code { overflow-wrap: anywhere; }
@media print { body { max-width: none; } details { display: block; } h2 { break-after: avoid; } }
"""
