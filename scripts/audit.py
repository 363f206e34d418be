"""Audits the dependencies: licences, sources and duplicates of Rust's packages, and known vulnerabilities of all.

    python scripts/audit.py

If a database of vulnerabilities cannot be reached, the script reports it in a line; this is no failure.
`make audit` calls this.
Exit status: 0 nothing found, 1 something found.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / "target" / "tools"
CARGO_DENY = "cargo-deny@0.20.2"
PIP_AUDIT = "pip-audit==2.10.1"


def main() -> int:
    """Run every audit, even after a finding."""
    return 0 if all([rust(), python(), npm("ui"), npm("crates/wasm/package")]) else 1


def rust() -> bool:
    """Check Rust's packages by deny.toml; the advisories come from a git repository."""
    deny = [str(TOOLS / "bin" / "cargo-deny"), "--locked"]
    installed = ["cargo", "install", "--quiet", "--locked", CARGO_DENY, "--root", str(TOOLS)]
    subprocess.run(installed, cwd=ROOT, check=True)
    checks = ["bans", "licenses", "sources"]
    if subprocess.run([*deny, "fetch", "db"], cwd=ROOT, capture_output=True, check=False).returncode == 0:
        checks.append("advisories")
    else:
        unreachable("Rust")
    # A tool of the build and the drivers of QUIC stacks are in none of our programs: only their sources and advisories
    # matter.
    drivers = sorted(ROOT.glob("python/dumbbell/stacks/drivers/*/Cargo.toml"))
    commands = [[*deny, "check", *checks]]
    for manifest in (ROOT / "crates/wasm/glue/Cargo.toml", *drivers):
        commands.append([*deny, "--manifest-path", str(manifest), "--config", "deny.toml", "check", *checks[2:]])
    results = [subprocess.run(each, cwd=ROOT, check=False).returncode for each in commands]
    return not any(results)


def python() -> bool:
    """Check the locked versions of Python's packages."""
    arguments = [
        "--progress-spinner",
        "off",
        "--disable-pip",
        "--require-hashes",
        "-r",
        "requirements.lock",
        "-f",
        "json",
    ]
    audited = answer_of([str(ROOT / ".venv" / "bin" / "uv"), "tool", "run", "--quiet", PIP_AUDIT, *arguments])
    packages = audited.get("dependencies", [])
    if not any("vulns" in package for package in packages):
        return unreachable("Python")
    return clean("Python", [package["name"] for package in packages if package.get("vulns")])


def npm(folder: str) -> bool:
    """Check the packages of the workbench's page, or of the build of the npm package."""
    audited = answer_of([str(ROOT / ".venv" / "bin" / "npm"), "--prefix", folder, "audit", "--json"])
    if "vulnerabilities" not in audited:
        return unreachable(folder)
    return clean(folder, list(audited["vulnerabilities"]))


def answer_of(command: list[str]) -> Any:
    """The JSON output of a tool; empty if it cannot reach its database."""
    answer = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    return json.loads(answer or b"{}")


def unreachable(owner: str) -> bool:
    """Report that the database cannot be reached; this is no finding."""
    sys.stderr.write(f"audit: no database of vulnerabilities can be reached for packages of {owner}: not checked\n")
    return True


def clean(owner: str, found: list[str]) -> bool:
    """Report what has a known vulnerability."""
    for name in found:
        sys.stderr.write(
            f"audit: {name} (of {owner}) has a known vulnerability; update it, or document why it is kept\n"
        )
    return not found


if __name__ == "__main__":
    sys.exit(main())
