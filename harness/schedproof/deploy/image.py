"""Images of candidates, built by this machine's Docker. A tag is a hash of the content: existing images are reused."""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from schedproof.binaries import command
from schedproof.binaries.cache import cache_dir
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import CommandSpec, PluginSpec
from schedproof.clusters.kind.docker import DockerError, docker, image_present
from schedproof.foundation.deadlines import IMAGE_BUILT, PACKAGES_INSTALLED
from schedproof.foundation.errors import CandidateError, UsageError

LABEL = "schedproof.dev/candidate"
"""On every image that is built here, so that all of them can be found and removed."""

_REPOSITORY = "schedproof/candidate"
_PYTHON = "3.11"
"""The version of Python in the base image."""

_PACKAGES = "/opt/schedproof/packages"
_LARGEST = 256 << 20
_SKIPPED = frozenset({"__pycache__", "node_modules"})
_OF_THE_SYSTEM = ("/bin/", "/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/dev/")


def require_images(candidate: Candidate, *, builds: bool) -> None:
    """Check that nodes can have all images of a candidate; `builds`: whether those that are built here get there.

    Raises:
        UsageError: one is built here, and does not.
    """
    image, spec = candidate.image, candidate.spec
    if builds or image.ref is not None or (isinstance(spec, PluginSpec) and spec.stock):
        return
    raise UsageError(
        f"{candidate.path}: nodes can only pull images, and that of {candidate.name} is built on this machine",
        remedy="--registry HOST/PATH, where it is pushed to and nodes pull from; or spec.image.ref names an image "
        "that nodes have or can pull; or --deploy process",
    )


def own_image(candidate: Candidate) -> str:
    """The image that the user names, or that their Dockerfile makes.

    Raises:
        UsageError: Docker has no such image.
        CandidateError: the Dockerfile does not build; quotes Docker.
    """
    image = candidate.image
    if image.dockerfile is None:
        assert image.ref is not None
        if not image_present(image.ref):
            raise UsageError(
                f"{candidate.path}: spec.image.ref: this machine's Docker has no image {image.ref}",
                remedy=f"docker build -t {image.ref} FOLDER, or docker pull {image.ref}; or name a dockerfile",
            )
        return image.ref
    context = image.context or image.dockerfile.parent
    try:
        made = docker(
            "build", "-q", "--label", LABEL, "-f", str(image.dockerfile), str(context), deadline=IMAGE_BUILT
        ).strip()
    except DockerError as error:
        raise CandidateError(
            f"candidate {candidate.name}: {image.dockerfile} does not build: {error.message}",
            remedy=f"docker build -f {image.dockerfile} {context}",
        ) from error
    ref = image.ref or f"{_REPOSITORY}:{made.removeprefix('sha256:')[:24]}"
    docker("tag", made, ref)
    return ref


def scheduler_image(binary: Path, python_image: str) -> str:
    """Build an image with a kube-scheduler binary, from `python_image` if the binary needs a C library."""
    with binary.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        # An ELF file's first page has the name of the dynamic linker.
        base = python_image if b"/ld-" in file.read(4096) else "scratch"
    return _built(
        digest,
        f"FROM {base}\nCOPY files/kube-scheduler /usr/local/bin/kube-scheduler\n"
        'ENV PATH=/usr/local/bin:/usr/bin:/bin\nENTRYPOINT ["kube-scheduler"]\n',
        [("/kube-scheduler", binary)],
    )


def command_image(candidate: Candidate, spec: CommandSpec, python_image: str) -> str:
    """An image with the files of a command, under the paths that they have here, so that all paths hold.

    Raises:
        UsageError: there are too many.
        CandidateError: its requirements cannot be had.
    """
    image = candidate.image
    base = _with_packages(candidate, image.requirements, python_image) if image.requirements else python_image
    files = list(_files(candidate, image.context or spec.workdir))
    digest = hashlib.sha256()
    for name, file in files:
        digest.update(f"{name}\0{file.stat().st_mode:o}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    dockerfile = f"FROM {base}\nCOPY files /\nENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1\n"
    return _built(digest.hexdigest(), dockerfile, files)


def check_paths(candidate: Candidate, spec: CommandSpec, texts: Sequence[str]) -> None:
    """Refuse files of this machine that will not be in the image.

    Raises:
        UsageError: names the first of them.
    """
    context = candidate.image.context or spec.workdir
    for text in texts:
        path = Path(os.path.normpath(text.partition("=")[2] or text))
        outside = path.is_absolute() and not path.is_relative_to(context) and not str(path).startswith(_OF_THE_SYSTEM)
        if outside and path.is_file():
            raise UsageError(
                f"{candidate.path}: its command names {path}, but its image contains only {context}",
                remedy="spec.image.context names a folder that holds all that it needs; or use --deploy process",
            )


def _files(candidate: Candidate, context: Path) -> Iterator[tuple[str, Path]]:
    """What is in the image: path there and file here. Hidden files are no part of a program."""
    size = 0
    for folder, folders, names in os.walk(context):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        for name in sorted(names):
            file = Path(folder, name)
            if name.startswith(".") or not file.is_file():
                continue
            size += file.stat().st_size
            if size > _LARGEST:
                raise UsageError(
                    f"{candidate.path}: more than {_LARGEST >> 20} MiB in {context} would be in its image",
                    remedy="spec.image.context names a smaller folder; or write a Dockerfile",
                )
            yield str(file), file


def _with_packages(candidate: Candidate, requirements: Path, python_image: str) -> str:
    """Return the base image with packages. pip collects them on this machine: the image build downloads nothing."""
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    dockerfile = f"FROM {python_image}\nCOPY files {_PACKAGES}\nENV PYTHONPATH={_PACKAGES}\n"
    if image_present(ref := _tag(digest, dockerfile)):
        return ref
    log = cache_dir() / "logs" / f"packages-of-{candidate.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        argv = (
            sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile",
            "--only-binary=:all:", f"--python-version={_PYTHON}", f"--target={made}", f"--requirement={requirements}",
        )  # fmt: skip
        if command.run(argv, cwd=requirements.parent, env=os.environ, log=log, deadline=PACKAGES_INSTALLED) != 0:
            raise CandidateError(
                f"candidate {candidate.name}: {requirements} cannot be installed:\n{command.tail(log)}",
                remedy=f"{' '.join(argv[:4])} must work here; or build the image yourself: spec.image.dockerfile",
            )
        files = [(f"/{file.relative_to(made)}", file) for file in Path(made).rglob("*") if file.is_file()]
        return _built(digest, dockerfile, files)


def _tag(digest: str, dockerfile: str) -> str:
    return f"{_REPOSITORY}:{hashlib.sha256((digest + dockerfile).encode()).hexdigest()[:24]}"


def _built(digest: str, dockerfile: str, files: Sequence[tuple[str, Path]]) -> str:
    """The image of a Dockerfile and its files, built where Docker does not have it yet."""
    ref = _tag(digest, dockerfile)
    if image_present(ref):
        return ref
    with io.BytesIO() as packed:
        with tarfile.open(fileobj=packed, mode="w") as archive:
            head = tarfile.TarInfo("Dockerfile")
            head.size = len(dockerfile)
            archive.addfile(head, io.BytesIO(dockerfile.encode()))
            for name, file in files:
                archive.add(file, f"files{name}", recursive=False)
        docker("build", "-q", "--label", LABEL, "-t", ref, "-", stdin=packed.getvalue(), deadline=IMAGE_BUILT)
    return ref
