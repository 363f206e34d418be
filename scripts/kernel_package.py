"""Builds the wheel of `dumbbell-kernel` and the source package that GPL-2.0 requires with it.

The kernel is the one that `dumbbell kernel build` stored. `scripts/wheels.py` calls this.
"""

import difflib
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from dumbbell import kernels
from dumbbell.kernels import edits, store
from dumbbell.kernels.build import SEEDED_GETRANDOM
from wheels import DIST, ROOT, WORK, confirmed_tag, hatch

PACKAGING = ROOT / "packaging" / "kernel"


def build(*, source: bool) -> list[Path]:
    """The wheel, and with `source` the source package."""
    kernel = kernels.build()
    package = downloaded(kernel)
    original = WORK / "original" / package.stem
    unpack_edited(package, original)
    folder, contents = filled(kernel)
    shutil.copyfile(original / "COPYING", folder / "COPYING")
    (contents / "edits.patch").write_text(patch(original), encoding="utf-8")
    for old in DIST.glob("dumbbell_kernel-*.whl"):
        old.unlink()
    wheel = tagged(folder, kernel)
    return [wheel, source_package(kernel, package, contents)] if source else [wheel]


def build_for_tests(out: Path) -> None:
    """Pack the stored kernel, without licence and patch: they need the distribution's source, 150 MB."""
    if not kernels.kernels():
        sys.stderr.write("wheels: no kernel is stored, so there is no dumbbell-kernel\n")
        return
    kernel = kernels.find()
    folder, _ = filled(kernel)
    version = {"DUMBBELL_KERNEL_VERSION": kernel.release}
    hatch("wheel", folder, out, python=sys.executable, DUMBBELL_WHEEL="linux_x86_64", **version)


def filled(kernel: kernels.Kernel) -> tuple[Path, Path]:
    """The package's folder with this kernel, and the kernel's folder in it."""
    folder = WORK / "kernel"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PACKAGING, folder, ignore=shutil.ignore_patterns("__pycache__", "build.sh"))
    contents = folder / "dumbbell_kernel" / kernel.name
    shutil.copytree(kernel.folder, contents)
    return folder, contents


def tagged(folder: Path, kernel: kernels.Kernel) -> Path:
    """Build the wheel, first to ask auditwheel for the C library that it needs."""
    version = {"DUMBBELL_KERNEL_VERSION": kernel.release}
    probe = hatch("wheel", folder, WORK, DUMBBELL_WHEEL="linux_x86_64", **version)
    platform = confirmed_tag(probe)
    probe.unlink()
    return hatch("wheel", folder, DIST, DUMBBELL_WHEEL=platform, **version)


def downloaded(kernel: kernels.Kernel) -> Path:
    """The distribution's source package that the kernel was built from."""
    name, version = kernel.source.split(" ")
    folder = WORK / "download"
    folder.mkdir(parents=True, exist_ok=True)
    if not (found := list(folder.glob(f"{name}_{version.replace(':', '%3a')}_*.deb"))):
        subprocess.run(["apt-get", "download", "-qq", f"{name}={version}"], cwd=folder, check=True)
        found = list(folder.glob(f"{name}_*.deb"))
    return found[0]


def unpack_edited(package: Path, to: Path) -> None:
    """Unpack the licence and the files that `dumbbell.kernels.edits` changes, as they were."""
    if (to / "COPYING").is_file():
        return
    contents = WORK / "contents"
    shutil.rmtree(contents, ignore_errors=True)
    subprocess.run(["dpkg-deb", "-x", str(package), str(contents)], check=True)
    (tarball,) = contents.rglob("linux-source-*.tar.xz")
    to.mkdir(parents=True, exist_ok=True)
    wanted = [f"*/{file}" for file in edits.EDITED] + ["*/COPYING", "*/init/do_mounts.c"]
    strip = ["--strip-components=1", "--wildcards", "--no-wildcards-match-slash"]
    # A version of Linux may lack some of these files: tar then fails after it has unpacked the others.
    subprocess.run(["tar", "-x", "-f", str(tarball), "-C", str(to), *strip, *wanted], check=False, capture_output=True)
    shutil.rmtree(contents)


def patch(original: Path) -> str:
    """The edits as a unified diff."""
    edited = WORK / "edited"
    shutil.rmtree(edited, ignore_errors=True)
    shutil.copytree(original, edited)
    edits.edit(edited)
    lines: list[str] = []
    for file in sorted(edits.EDITED):
        if (original / file).is_file():
            before, after = (
                (folder / file).read_text(encoding="utf-8").splitlines(keepends=True) for folder in (original, edited)
            )
            lines += difflib.unified_diff(before, after, f"a/{file}", f"b/{file}")
    shutil.rmtree(edited)
    return "".join(lines)


def source_package(kernel: kernels.Kernel, package: Path, contents: Path) -> Path:
    """Everything that is needed to build the same binary."""
    top = f"dumbbell-kernel-{kernel.release}-source"
    target = DIST / f"{top}.tar"
    files = [package, SEEDED_GETRANDOM, PACKAGING / "build.sh", PACKAGING / "README.md"]
    files += [contents / name for name in (store.CONFIG, store.MANIFEST, "edits.patch")]
    with tarfile.open(target, "w") as archive:
        for file in files:
            archive.add(file, f"{top}/{file.name}")
    return target
