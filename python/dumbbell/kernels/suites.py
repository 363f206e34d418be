"""Kernel sources in the distribution's newer suites, such as backports, through a private package list.

apt checks the list's signature with the distribution's own keys. The list, its settings and downloads are below
`<cache>/apt`: no root is needed, and the system's lists and sources stay as they are. The mirror is the one that the
system's own sources name.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernels import process
from dumbbell.publish.cache import cache_folder

__all__ = ["Offer", "PackageLists", "offers_in", "private_lists", "upstream"]

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
