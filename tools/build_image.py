"""Builds the image of the harness from its wheel, the lock and clusters/harness-image/Dockerfile.

usage: python tools/build_image.py [--tag REF] [--python IMAGE] [--base IMAGE]

The image's Python has to be 3.11, for which the wheels are chosen.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from schedproof import __version__
from schedproof.binaries.resolve import resolve
from schedproof.clusters.kind.docker import docker
from schedproof.foundation.content import content
from schedproof.foundation.deadlines import IMAGE_BUILT
from schedproof.foundation.progress import ConsoleProgress

ROOT = Path(__file__).parents[1]
CONTEXT = ROOT / "build" / "image"
PYTHON = "3.11.9"
"""The version of Python for which wheels are chosen; any other 3.11 does in the image."""
BINARIES = ("kube-scheduler", "prometheus", "readings-server")
"""What a run starts beside candidates: the control of preferences, and servers of chosen readings."""


def build(tag: str, python: str, base: str) -> str:
    """Build the image, and return its name.

    Args:
        tag: that name.
        python: an image with Python and pip; "": as the Dockerfile says.
        base: an image with the same Python, for what is run; "": `python`.
    """
    shutil.rmtree(CONTEXT, ignore_errors=True)
    wheels = CONTEXT / "wheels"
    _pip("wheel", "--no-deps", "--no-build-isolation", f"--wheel-dir={wheels}", str(ROOT))
    # All that is locked, of which the image gets what its wheel requires.
    _pip(
        "download", "--only-binary=:all:", f"--python-version={PYTHON}", "--no-deps", "--require-hashes",
        f"--requirement={ROOT / 'requirements.lock'}", f"--dest={wheels}",
    )  # fmt: skip
    binaries = CONTEXT / "binaries"
    binaries.mkdir()
    for name, binary in resolve(BINARIES, progress=ConsoleProgress()).items():
        shutil.copy(binary.path, binaries / name)
    chosen = [f"--build-arg={name}={ref}" for name, ref in (("PYTHON", python), ("BASE", base)) if ref]
    dockerfile = content("clusters", "harness-image", "Dockerfile")
    docker("build", "-q", "-t", tag, *chosen, "-f", str(dockerfile), str(CONTEXT), deadline=IMAGE_BUILT)
    return tag


def _pip(*arguments: str) -> None:
    argv = (sys.executable, "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check")
    subprocess.run(argv, check=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Builds the image of the harness.")
    parser.add_argument("--tag", default=f"schedproof:{__version__}")
    parser.add_argument("--python", default="", metavar="IMAGE", help="the image with Python and pip")
    parser.add_argument("--base", default="", metavar="IMAGE", help="another image with the same Python, to run in")
    arguments = parser.parse_args(argv)
    print(build(arguments.tag, arguments.python, arguments.base))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
