"""Find the source of a version of Linux: `6.1`, `7.3`, `7.3.4` or `latest`.

In this order: the system's package lists; the distribution's newer suites, such as backports, through a private package
list; kernel.org (`kernel_org`).

apt checks the private list's signature with the distribution's own keys. The list, its settings and downloads are below
`<cache>/apt`: no root is needed, and the system's lists and sources stay as they are. The mirror is the one that the
system's own sources name.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernels import kernel_org, process
from dumbbell.publish.cache import cache_folder

__all__ = [
    "OLDEST",
    "Found",
    "PackageLists",
    "available",
    "find_version",
    "numbers",
    "offers_in",
    "private_lists",
    "untried",
    "upstream",
]


NEWER = {"Debian": ("stable", "testing", "unstable"), "Ubuntu": ("devel",)}
"""Suites of each distribution that may be newer than the installed one. Every mirror serves these names."""
KEYRINGS = {
    "Debian": Path("/usr/share/keyrings/debian-archive-keyring.gpg"),
    "Ubuntu": Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg"),
}
PACKAGES = r"^linux-source-[0-9]"


@dataclass(frozen=True)
class Offer:
    """A version of a source package in a suite."""

    package: str
    version: str
    """The distribution's: 7.3.4-1~bpo13+1."""
    suite: str

    @property
    def release(self) -> str:
        """The kernel's: 7.3.4."""
        return upstream(self.version)


@dataclass(frozen=True)
class PackageLists:
    """Updated private lists."""

    config: Path
    """For APT_CONFIG."""
    offers: tuple[Offer, ...]
    problems: tuple[str, ...]
    """What apt reports about suites that it refused or could not get."""


def upstream(version: str) -> str:
    """6.12.117-1~deb12u1 is 6.12.117."""
    return version.rpartition(":")[2].rpartition("-")[0] or version


def offers_in(config: Path | None = None) -> tuple[Offer, ...]:
    """The kernel sources in the system's lists, or in those of another configuration of apt."""
    env = {} if config is None else {"APT_CONFIG": str(config)}
    found = process.output(["apt-cache", "search", "--names-only", PACKAGES], env=env)
    packages = re.findall(r"^(linux-source-[0-9.]+) ", found, re.MULTILINE)
    if not packages:
        return ()
    table = process.output(["apt-cache", "madison", *packages], env=env)
    rows = re.findall(r"^ *(\S+) \| +(\S+) \| \S+ ([^/\s]+)/\S+ ", table, re.MULTILINE)
    return tuple(Offer(*row) for row in dict.fromkeys(rows))


def private_lists() -> PackageLists:
    """Update the private lists and read them. Raises KernelError if apt is missing or knows no distribution."""
    for program in ("apt-get", "apt-cache", "apt-config", "dpkg-deb"):
        if shutil.which(program) is None:
            raise KernelError(f"'{program}' is not installed, so this isn't Debian or Ubuntu")
    mirror, codename, origin = _system_mirror()
    home = cache_folder("apt")
    config = _write_config(home)
    suites = [f"{codename}-backports", *NEWER[origin]] if origin == "Debian" else [*NEWER[origin]]
    problems = _update(home, config, mirror, origin, suites)
    # Names such as stable-backports can be older on a mirror than the suite that they mean.
    backports = [f"{name}-backports" for name in _codenames(config) if origin == "Debian" and "backports" not in name]
    if added := [suite for suite in dict.fromkeys(backports) if suite not in suites]:
        problems = _update(home, config, mirror, origin, [*suites, *added])
    return PackageLists(config, offers_in(config), problems)


def _system_mirror() -> tuple[str, str, str]:
    """Mirror, codename and distribution of the system's sources."""
    rows = [line.split("|") for line in _targets({}, "$(REPO_URI)|$(CODENAME)|$(ORIGIN)|$(COMPONENT)")]
    main = [row for row in rows if len(row) == 4 and row[2] in NEWER and row[3] == "main" and "-" not in row[1]]
    if not main:
        raise KernelError(
            f"apt has no package lists of {' or '.join(NEWER)}; get them with: sudo apt-get update, "
            "or check the sources in /etc/apt"
        )
    return main[0][0], main[0][1], main[0][2]


def _codenames(config: Path) -> list[str]:
    return list(dict.fromkeys(_targets({"APT_CONFIG": str(config)}, "$(CODENAME)")))


def _targets(env: dict[str, str], form: str) -> list[str]:
    command = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    return process.output(command, env=env).splitlines()


def _write_config(home: Path) -> Path:
    """Settings that keep apt inside `home`, with the user's proxies and credentials."""
    for folder in ("lists/partial", "cache/archives/partial", "etc"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    (home / "status").touch()
    dumped = process.output(["apt-config", "dump"])
    kept = [line for line in dumped.splitlines() if re.match(r"Acquire::https?\b", line)]
    system = dict(re.findall(r'^(Dir|Dir::Etc[\w:]*) "([^"]*)";$', dumped, re.MULTILINE))
    etc = Path(system.get("Dir") or "/") / system.get("Dir::Etc", "etc/apt")
    own = {
        "Dir": f"{home}/",
        "Dir::Etc": "etc",
        "Dir::Etc::parts": str(home / "etc"),
        "Dir::Etc::sourcelist": str(home / "sources.list"),
        "Dir::Etc::sourceparts": str(home / "etc"),
        "Dir::Etc::preferencesparts": str(home / "etc"),
        "Dir::State": str(home),
        "Dir::State::status": str(home / "status"),
        "Dir::Cache": str(home / "cache"),
        "Dir::Log": str(home),
        "Acquire::Languages": "none",
        "APT::Sandbox::User": "",
    }
    for name in ("trusted", "trustedparts", "netrc", "netrcparts"):
        own[f"Dir::Etc::{name}"] = str(etc / system.get(f"Dir::Etc::{name}", name))
    config = home / "apt.conf"
    config.write_text("\n".join([*kept, *(f'{key} "{value}";' for key, value in own.items()), ""]), encoding="utf-8")
    return config


def _update(home: Path, config: Path, mirror: str, origin: str, suites: list[str]) -> tuple[str, ...]:
    """Update the lists of these suites; returns apt's errors. A suite with an error isn't used."""
    keyring = KEYRINGS[origin]
    signed = f"[signed-by={keyring}] " if keyring.is_file() else ""
    text = "".join(f"deb {signed}{mirror} {suite} main\n" for suite in suites)
    (home / "sources.list").write_text(text, encoding="utf-8")
    try:
        ran = subprocess.run(
            ["apt-get", "update", "-q", "-q"], env=process.environment(APT_CONFIG=str(config)), capture_output=True,
            text=True, errors="replace", check=False, timeout=UPDATE_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return (f"'apt-get update' with {config} took more than {UPDATE_S} s",)
    return tuple(re.findall(r"^[EW]: (.*)$", ran.stderr, re.MULTILINE))


UPDATE_S = 600


LATEST = "latest"
TRIED = ("6.1", "6.12", "7.2", "7.3")
"""Versions that were built and run; docs/results/linux-6.1-6.12-7.3.md has what was measured."""
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
    system = offers_in() if _has_apt() else ()
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
    offers = [*(offers_in() if _has_apt() else ()), *(seen.offers if seen else ())]
    listed = [offer for offer in dict.fromkeys(offers) if numbers(offer.release) >= OLDEST]
    return Available(tuple(sorted(listed, key=lambda offer: numbers(offer.release), reverse=True)), problems)


def _private() -> tuple[PackageLists | None, tuple[str, ...]]:
    try:
        seen = private_lists()
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
