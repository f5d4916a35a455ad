"""`schedproof doctor`: a table of what this machine has and lacks, followed by how to get what is missing."""

from __future__ import annotations

import argparse

from schedproof.foundation.console import open_console


def show_diagnosis(arguments: argparse.Namespace) -> int:
    from rich.table import Table

    from schedproof.binaries.lock import DEFAULT_KUBERNETES
    from schedproof.binaries.resolve import explicit_binaries
    from schedproof.cli.doctor.doctor import diagnose
    from schedproof.traffic.fabric import probe_fabric

    checks = diagnose(
        cluster=arguments.cluster,
        kubernetes=arguments.kubernetes or DEFAULT_KUBERNETES,
        explicit=explicit_binaries(arguments.binary),
        sandbox_probe=probe_fabric,
    )
    table = Table(show_header=True)
    for column in ("", "what", "found"):
        table.add_column(column)
    for check in checks:
        table.add_row("[green]ok[/]" if check.ok else "[red]no[/]", check.name, check.found)
    console = open_console()
    console.print(table)
    for check in checks:
        if check.remedy:
            console.print(f"{check.name}: {check.remedy}", markup=False, highlight=False, soft_wrap=True)
    return 0 if all(check.ok for check in checks) else 2
