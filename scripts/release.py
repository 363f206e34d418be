"""Checks the files of a release in dist/, and writes their hashes to dist/SHA256SUMS.

    python scripts/release.py [TAG]

`make release-check` calls this after it has built and tested them. With a tag, such as v0.2.0, the version must be the
tag's, and the changelog must describe it.
"""

import hashlib
import json
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

from wheels import DIST, ROOT

SUMS = DIST / "SHA256SUMS"


def main() -> int:
    """Check; print each fault."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    SUMS.unlink(missing_ok=True)
    faults = [*wrong_files(version), *wrong_kernel(), *wrong_tag(sys.argv[1] if sys.argv[1:] else "", version)]
    for fault in faults:
        sys.stderr.write(f"release: {fault}\n")
    if not faults:
        files = sorted(path for path in DIST.iterdir() if path != SUMS)
        sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        SUMS.write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()), encoding="utf-8")
        sys.stdout.write(SUMS.read_text(encoding="utf-8"))
    return bool(faults)


def wrong_files(version: str) -> list[str]:
    """Files that are missing from dist/ or don't belong there."""
    expected = [
        rf"dumbbell-{re.escape(version)}\.tar\.gz",
        rf"dumbbell-{re.escape(version)}-cp311-abi3-manylinux_\d+_\d+_x86_64\.whl",
        r"dumbbell_kernel-[\d.]+-py3-none-manylinux_\d+_\d+_x86_64\.whl",
        r"dumbbell-kernel-[\d.]+-source\.tar",
    ]
    names = [path.name for path in DIST.iterdir() if path != SUMS] if DIST.is_dir() else []
    missing = [f"dist has no file {each}" for each in expected if not any(re.fullmatch(each, name) for name in names)]
    foreign = [name for name in names if not any(re.fullmatch(each, name) for each in expected)]
    return missing + [f"dist/{name} belongs to no release of {version}; remove it" for name in sorted(foreign)]


def wrong_kernel() -> list[str]:
    """Differences between the kernel and its source package: GPL-2.0 asks for the source of this very binary."""
    for wheel in DIST.glob("dumbbell_kernel-*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            (manifest,) = (name for name in archive.namelist() if name.endswith("/kernel.json"))
            shipped = json.loads(archive.read(manifest))
            binary = archive.read(manifest.replace("kernel.json", "linux"))
            patch = archive.read(manifest.replace("kernel.json", "edits.patch"))
        if hashlib.sha256(binary).hexdigest() != shipped["binary_sha256"]:
            return [f"{wheel.name}: the kernel is not the one that its kernel.json describes"]
        for source in DIST.glob("dumbbell-kernel-*-source.tar"):
            with tarfile.open(source) as archive:
                files = {Path(member.name).name: member for member in archive}
                described, edits = archive.extractfile(files["kernel.json"]), archive.extractfile(files["edits.patch"])
                assert described is not None
                assert edits is not None
                if (json.loads(described.read()), edits.read()) != (shipped, patch):
                    return [f"{source.name}: is not the source of {wheel.name}"]
    return []


def wrong_tag(tag: str, version: str) -> list[str]:
    """What keeps this state from being the release with that tag."""
    if not tag:
        return []
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    faults = [] if tag == f"v{version}" else [f"the tag is {tag}, but pyproject.toml has version {version}"]
    if f"\n## [{version}]" not in changes:
        faults.append(f"CHANGELOG.md has no section [{version}]")
    if re.search(r"^## \[Unreleased\]\n+(?!## \[)\S", changes, re.MULTILINE):
        faults.append("CHANGELOG.md has unreleased changes; move them to a section of this version")
    return faults


if __name__ == "__main__":
    sys.exit(main())
