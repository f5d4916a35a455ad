"""Downloads published binaries into the cache, and verifies them."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from schedproof.binaries import download
from schedproof.binaries.cache import download_path, making, release_path
from schedproof.binaries.download import DownloadError
from schedproof.binaries.lock import Build
from schedproof.binaries.publish import publish
from schedproof.binaries.release import Asset, published_checksum
from schedproof.foundation.errors import HostError
from schedproof.foundation.progress import Progress


def fetch(group: Build, assets: Mapping[str, Asset], progress: Progress) -> tuple[dict[str, Path], dict[str, str]]:
    """Download the group's binaries that the cache lacks; `assets` are by binary.

    Several processes may call this at once: one downloads, the others wait and use the result.

    Returns:
        The paths of the available binaries, and for each of the others the reason.

    Raises:
        HostError: the cache cannot be written.
    """
    why_not: dict[str, str] = {}
    paths = {name: release_path(name, group) for name in assets}
    with making(f"{group.key}-release", progress) as work:
        for name, asset in assets.items():
            try:
                if not paths[name].is_file():
                    _fetch(group, name, asset, work, progress)
            except DownloadError as error:
                why_not[name] = str(error)
    return {name: path for name, path in paths.items() if name not in why_not}, why_not


def _fetch(group: Build, name: str, asset: Asset, work: Path, progress: Progress) -> None:
    if why := download.known_unreachable(asset.origin):
        raise DownloadError(why)
    try:
        expected = _expected_checksum(asset)
        part = download_path(asset.file_name, expected)
        _download(f"download {name} {group.version} from {asset.server}", asset, part, expected, progress)
    except DownloadError as error:
        if error.unreachable:
            download.mark_unreachable(asset.origin, str(error))
        raise
    made = work / name
    if asset.member:
        _unpack(part, asset.member, made)
        part.unlink()
    else:
        part.replace(made)
    made.chmod(0o755)
    try:
        publish(made, release_path(name, group), group, how="downloaded")
    except HostError as error:
        raise DownloadError(error.message) from error


def _expected_checksum(asset: Asset) -> str:
    """Return the SHA-256 of a file; the published and the locked checksum must agree if both exist."""
    if not asset.checksums:
        return asset.sha256
    published = published_checksum(download.fetch_text(asset.checksums), asset.file_name)
    if not published:
        raise DownloadError(f"{asset.checksums} has no SHA-256 of {asset.file_name}")
    if asset.sha256 and published != asset.sha256:
        raise DownloadError(
            f"{asset.checksums} has the SHA-256 {published}, but clusters/binaries.lock.yaml {asset.sha256}"
        )
    return published


def _download(text: str, asset: Asset, part: Path, expected: str, progress: Progress) -> None:
    part.parent.mkdir(parents=True, exist_ok=True)
    resumed = part.exists()
    with progress.transfer(text) as advance:
        download.fetch_file(asset.url, part, advance)
        actual = _sha256(part)
        if actual != expected and resumed:
            # An earlier run may have left damaged data.
            part.unlink()
            download.fetch_file(asset.url, part, advance)
            actual = _sha256(part)
        if actual != expected:
            part.unlink()
            raise DownloadError(f"the SHA-256 of {asset.url} is {actual}, expected {expected}")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpack(archive: Path, member: str, target: Path) -> None:
    """Copy one regular file out of a tarball. Nothing else is written to disk, whatever its paths and links."""
    try:
        with tarfile.open(archive, "r:*") as tarball:
            entry = tarball.getmember(member)
            source = tarball.extractfile(entry) if entry.isreg() else None
            if source is None:
                raise DownloadError(f"{member} in {archive.name} is not a regular file")
            with source, target.open("wb") as file:
                shutil.copyfileobj(source, file)
    except KeyError:
        raise DownloadError(f"{archive.name} does not contain {member}") from None
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DownloadError(f"cannot unpack {archive.name}: {error}") from error
