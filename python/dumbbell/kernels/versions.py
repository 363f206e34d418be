"""Find the source of a version of Linux: `6.1`, `7.3`, `7.3.4` or `latest`.

In this order: the system's package lists, the distribution's newer suites, kernel.org.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernels import kernel_org, suites
from dumbbell.kernels.suites import Offer

__all__ = ["LATEST", "OLDEST", "TRIED", "Available", "Found", "available", "find_version", "numbers", "untried"]

LATEST = "latest"
TRIED = ("6.1", "6.12", "7.2", "7.3")
"""Versions that were built and run; docs/kernel-versions.md has what was measured."""
OLDEST = (5, 10)
"""Older versions are refused: their arch/um lacks too much of what virtual time needs."""


@dataclass(frozen=True)
class Found:
    """A source package in apt's lists, or a release of kernel.org."""

    release: str
    package: str = ""
    """With its version, as apt-get takes it: `linux-source-7.3=7.3.4-1~bpo13+1`."""
    config: Path | None = None
    """APT_CONFIG of the lists that have it; None for the system's."""


@dataclass(frozen=True)
class Available:
    """The versions that can be built, newest first, and why there may be more."""

    offers: tuple[Offer, ...]
    problems: tuple[str, ...]


def numbers(version: str) -> tuple[int, ...]:
    """7.3.4 as (7, 3, 4); the numbers at its start."""
    matched = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in matched[0].split(".")) if matched else ()


def untried(release: str) -> str:
    """A message if this version was never built and run; else empty."""
    series = ".".join(str(part) for part in numbers(release)[:2])
    if series in TRIED:
        return ""
    return f"Linux {series} was never built and run with Dumbbell (tried: {', '.join(TRIED)}); trying it"


def find_version(version: str) -> Found:
    """The newest source of this version. Raises KernelError if there is none, with the versions that there are."""
    _check(version)
    system = suites.offers_in() if _has_apt() else ()
    # The newest version is not in the system's lists if a newer suite has it.
    if version != LATEST and (offer := _newest(system, version)):
        return Found(offer.release, f"{offer.package}={offer.version}")
    seen, problems = _private()
    offers = seen.offers if seen else ()
    if seen and (offer := _newest(offers, version)):
        return Found(offer.release, f"{offer.package}={offer.version}", seen.config)
    try:
        return Found(kernel_org.newest(version))
    except KernelError as problem:
        problems = (*problems, str(problem))
    known = sorted({offer.release for offer in (*system, *offers)}, key=numbers)
    raise KernelError(
        f"no source of Linux {version} was found; available: {', '.join(known) or 'none'}; "
        + "; ".join(dict.fromkeys(problems))
        + "; or give a tree with --source FOLDER|TARBALL or --git URL --ref REF"
    )


def available() -> Available:
    """What apt's lists and the distribution's newer suites have."""
    seen, problems = _private()
    offers = [*(suites.offers_in() if _has_apt() else ()), *(seen.offers if seen else ())]
    listed = [offer for offer in dict.fromkeys(offers) if numbers(offer.release) >= OLDEST]
    return Available(tuple(sorted(listed, key=lambda offer: numbers(offer.release), reverse=True)), problems)


def _private() -> tuple[suites.PackageLists | None, tuple[str, ...]]:
    try:
        seen = suites.private_lists()
    except KernelError as problem:
        return None, (str(problem),)
    return seen, seen.problems


def _has_apt() -> bool:
    return shutil.which("apt-cache") is not None


def _check(version: str) -> None:
    if version != LATEST and not re.fullmatch(r"\d+\.\d+(\.\d+)?(-rc\d+)?", version):
        raise KernelError(f"'{version}' is not a version of Linux; write one such as 6.12, 7.3.4 or {LATEST}")
    if version != LATEST and numbers(version) < OLDEST:
        oldest = ".".join(str(part) for part in OLDEST)
        raise KernelError(f"Linux {version} is too old; the kernel engine needs {oldest} or later")


def _newest(offers: tuple[Offer, ...], version: str) -> Offer | None:
    fitting = [offer for offer in offers if version == LATEST or _fits(offer.release, version)]
    return max(fitting, key=lambda offer: numbers(offer.release), default=None)


def _fits(release: str, version: str) -> bool:
    """Is 7.3.4 what 7.3 or 7.3.4 asks for?"""
    return release == version or (version.count(".") == 1 and release.startswith(f"{version}."))
