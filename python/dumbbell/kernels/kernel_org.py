"""Releases of Linux on kernel.org: the newest of a version, and its tarball with its checked PGP signature.

The signature is of the uncompressed archive, by the release's maintainer. Their keys are fetched from kernel.org's key
directory; they count only if their fingerprint is one of `MAINTAINERS`.
"""

import hashlib
import json
import lzma
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernels import process
from dumbbell.kernels.process import Progress, Tool

__all__ = ["download", "newest"]

RELEASES = "https://www.kernel.org/releases.json"
FILES = "https://cdn.kernel.org/pub/linux/kernel"
KEYS = "https://openpgpkey.kernel.org/.well-known/openpgpkey/kernel.org/hu"
"""A Web Key Directory: the name of a key's file is the encoded SHA-1 of the local part of the address."""
MAINTAINERS = {
    "torvalds": "ABAF11C65A2970B130ABE3C479BE3E4300411886",
    "gregkh": "647F28654894E3BD457199BE38DBBDC86092693E",
    "sashal": "E27E5D8A3403A2EF66873BBCDEA66FF797772CDC",
}
"""Fingerprints of the primary keys, as https://www.kernel.org/signature.html has them."""
TIMEOUT_S = 30
BLOCK = 1 << 20
ZBASE32 = "ybndrfg8ejkmcpqxot1uwisza345h769"


def newest(version: str) -> str:
    """The newest release of a version (`7.3`, `7.3.4` or `latest`). Raises KernelError if there is none."""
    if version == "latest":
        return str(json.loads(_text(RELEASES))["latest_stable"]["version"])
    listed = _text(f"{_folder(version)}/sha256sums.asc")
    fix = r"(?:\.\d+)?" if version.count(".") == 1 else ""
    found = re.findall(rf"  linux-({re.escape(version)}{fix})\.tar\.xz$", listed, re.MULTILINE)
    if not found:
        raise KernelError(f"{_folder(version)} has no Linux {version}")
    return str(max(found, key=lambda each: tuple(int(part) for part in each.split("."))))


def download(release: str, folder: Path, *, progress: Progress) -> Path:
    """Download a release's tarball into `folder` and check its signature; an interrupted download is resumed.

    Raises KernelError for an unknown release or an invalid signature, ToolMissing without gpgv.
    """
    process.require(Tool("gpgv", "to check the signature of Linux", "gpgv"))
    name = f"linux-{release}.tar"
    tarball, signature = folder / f"{name}.xz", folder / f"{name}.sign"
    if not tarball.is_file():
        partial = folder / f"{name}.xz.part"
        _fetch(f"{_folder(release)}/{name}.xz", partial, progress)
        signature.write_bytes(_bytes(f"{_folder(release)}/{name}.sign"))
        _check_signature(partial, signature, folder)
        partial.rename(tarball)
    return tarball


def _folder(release: str) -> str:
    return f"{FILES}/v{release.split('.', maxsplit=1)[0]}.x"


def _fetch(url: str, partial: Path, progress: Progress) -> None:
    """Download to `partial`, from where an earlier call stopped."""
    done = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})  # noqa: S310 — https
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 — https
            if answer.status != PARTIAL_CONTENT:
                done = 0
            length = int(answer.headers.get("Content-Length") or 0)
            with partial.open("ab" if done else "wb") as file:
                total = done + length
                while block := answer.read(BLOCK):
                    file.write(block)
                    done += len(block)
                    progress("download", done, total)
    except urllib.error.HTTPError as problem:
        if problem.code == COMPLETE and done:
            return
        raise KernelError(f"{url}: {problem.code} {problem.reason}") from problem
    except (OSError, HTTPException) as problem:
        raise KernelError(f"{url}: {_reason(problem)}; run the command again, it continues here") from problem
    if length and done != total:
        raise KernelError(f"{url}: ended after {done} of {total} bytes; run the command again, it continues here")


def _check_signature(tarball: Path, signature: Path, folder: Path) -> None:
    """Raises KernelError unless one of the maintainers signed the uncompressed archive."""
    keyring = folder / "maintainers.gpg"
    keyring.write_bytes(b"".join(_bytes(f"{KEYS}/{_key_name(name)}?l={name}") for name in MAINTAINERS))
    command = ["gpgv", "--keyring", str(keyring), "--status-fd", "1", str(signature), "-"]
    with subprocess.Popen(
        command, env=process.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as gpgv:
        assert gpgv.stdin is not None
        try:
            with lzma.open(tarball) as archive:
                shutil.copyfileobj(archive, gpgv.stdin, BLOCK)
        except (lzma.LZMAError, EOFError, BrokenPipeError):
            # gpgv reports the archive as not signed.
            pass
        stdout, stderr = gpgv.communicate()
    valid = re.findall(r"^\[GNUPG:\] VALIDSIG .*?(\w{40})$", stdout.decode(errors="replace"), re.MULTILINE)
    if gpgv.returncode or not set(valid) & set(MAINTAINERS.values()):
        tarball.unlink()
        said = stderr.decode(errors="replace").strip().replace("\n", "; ")
        name = tarball.name.removesuffix(".part")
        raise KernelError(f"{name}: has no valid signature of Linux's maintainers and was deleted: {said}")


def _key_name(local_part: str) -> str:
    """The name of a key in a Web Key Directory: SHA-1 in z-base-32."""
    bits = "".join(f"{byte:08b}" for byte in hashlib.sha1(local_part.encode(), usedforsecurity=False).digest())
    return "".join(ZBASE32[int(bits[start : start + 5], 2)] for start in range(0, len(bits), 5))


def _text(url: str) -> str:
    return _bytes(url).decode(errors="replace")


def _bytes(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:  # noqa: S310 — https
            content: bytes = answer.read(SMALL)
    except urllib.error.HTTPError as problem:
        raise KernelError(f"{url}: {problem.code} {problem.reason}") from problem
    except (OSError, HTTPException) as problem:
        raise KernelError(f"{url}: can't be reached: {_reason(problem)}") from problem
    return content


def _reason(problem: Exception) -> str:
    return str(getattr(problem, "reason", None) or problem)


SMALL = 10 << 20
"""Limit for lists, signatures and keys."""
PARTIAL_CONTENT, COMPLETE = 206, 416
