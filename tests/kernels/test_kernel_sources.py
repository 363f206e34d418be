"""Versions of Linux from a signed package repository, kernel.org and git: the real programs, local servers."""

import gzip
import hashlib
import http.server
import json
import lzma
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from urllib.parse import unquote

import pytest
from fake_linux import commit_all, make_tarball, make_tree

from dumbbell.errors import KernelError
from dumbbell.kernels import build, kernel_org, source, versions
from dumbbell.kernels.versions import available, find_version, untried

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("apt-get", "dpkg-deb", "gpg", "gpgv", "git"))), reason="needs apt, gnupg and git"
)


@dataclass
class Server:
    """Serves a folder by HTTP, with ranges; may end an answer early."""

    folder: Path
    url: str = ""
    asked: list[str] = field(default_factory=list)
    """Path and Range of each request."""
    stops_after: int | None = None
    """Bytes after which an answer ends, once."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "served"
    folder.mkdir()
    state = Server(folder)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(self.path.partition("?")[0])
            file, part = folder / path.lstrip("/"), self.headers.get("Range", "")
            state.asked.append(f"{path} {part}".strip())
            if not file.is_file():
                self.send_error(404)
                return
            content, begin = file.read_bytes(), int(part[6:-1]) if part else 0
            if begin >= len(content) > 0:
                self.send_error(416)
                return
            self.send_response(206 if part else 200)
            self.send_header("Content-Length", str(len(content) - begin))
            self.end_headers()
            end = len(content)
            if state.stops_after is not None and len(content) - begin > state.stops_after:
                end, state.stops_after = begin + state.stops_after, None
            self.wfile.write(content[begin:end])

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        state.url = f"http://127.0.0.1:{served.server_port}"
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield state
        served.shutdown()


class Key:
    """A PGP key of this test."""

    def __init__(self, folder: Path) -> None:
        self._home = folder
        folder.mkdir(mode=0o700)
        self._gpg("--quick-generate-key", "--passphrase", "", "a test", "ed25519", "sign", "never")
        self.public = self._gpg("--export")
        listed = self._gpg("--list-keys", "--with-colons").decode()
        self.fingerprint = re.findall(r"^fpr:+(\w{40}):", listed, re.MULTILINE)[0]

    def sign(self, file: Path, *how: str) -> bytes:
        return self._gpg(*how, "--output", "-", str(file))

    def _gpg(self, *arguments: str) -> bytes:
        command = ["gpg", "--homedir", str(self._home), "--batch", "--pinentry-mode", "loopback", *arguments]
        return subprocess.run(command, check=True, capture_output=True).stdout


@pytest.fixture
def key(tmp_path: Path) -> Iterator[Key]:
    yield Key(tmp_path / "gpg")
    subprocess.run(["gpgconf", "--homedir", str(tmp_path / "gpg"), "--kill", "all"], check=False)


# ---- a package repository -------------------------------------------------------------------------------------------


def publish(server: Server, key: Key, suite: str, codename: str, packages: list[tuple[str, str]], tree: Path) -> None:
    """Add a suite with source packages (name, version) to the repository, as the distribution does."""
    folder = server.folder / "debian/dists" / suite
    (folder / "main/binary-amd64").mkdir(parents=True)
    entries = ""
    for name, version in packages:
        build_folder = server.folder.parent / f"package-{suite}-{name}"
        (build_folder / "DEBIAN").mkdir(parents=True)
        (build_folder / "usr/src").mkdir(parents=True)
        make_tarball(tree, build_folder / f"usr/src/{name}.tar.xz")
        control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: a <a@b>\nDescription: Linux\n"
        (build_folder / "DEBIAN/control").write_text(control)
        path = f"pool/{name}_{version}_all.deb"
        (server.folder / "debian/pool").mkdir(exist_ok=True)
        deb = server.folder / "debian" / path
        subprocess.run(["dpkg-deb", "--build", "--root-owner-group", str(build_folder), str(deb)], check=True)
        content = deb.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        entries += f"{control}Filename: {path}\nSize: {len(content)}\nSHA256: {digest}\n\n"
    listed = folder / "main/binary-amd64/Packages.gz"
    listed.write_bytes(gzip.compress(entries.encode()))
    digest, name = hashlib.sha256(listed.read_bytes()).hexdigest(), "main/binary-amd64/Packages.gz"
    plain = hashlib.sha256(entries.encode()).hexdigest()
    release = folder / "Release"
    release.write_text(
        f"Origin: Debian\nSuite: {suite}\nCodename: {codename}\nDate: {formatdate(usegmt=True)}\n"
        "Architectures: amd64\nComponents: main\nSHA256:\n"
        f" {digest} {listed.stat().st_size} {name}\n {plain} {len(entries)} {name.removesuffix('.gz')}\n"
    )
    (folder / "InRelease").write_bytes(key.sign(release, "--clearsign"))


@pytest.fixture
def repository(server: Server, key: Key, tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A system whose apt knows old suites of a local mirror, which has newer ones as well."""
    assert not empty_cache.exists()
    tree = make_tree(tmp_path / "linux")
    publish(server, key, "old", "old", [("linux-source-6.1", "6.1.9-1")], tree)
    publish(server, key, "stable", "newer", [("linux-source-6.12", "6.12.5-1")], tree)
    publish(server, key, "newer-backports", "newer-backports", [("linux-source-6.99", "6.99.2-1~bpo13+1")], tree)
    keyring = tmp_path / "keyring.gpg"
    keyring.write_bytes(key.public)
    monkeypatch.setattr(versions, "KEYRINGS", {"Debian": keyring})
    monkeypatch.setattr(kernel_org, "FILES", f"{server.url}/kernel")
    monkeypatch.setattr(kernel_org, "RELEASES", f"{server.url}/releases.json")
    system = tmp_path / "system"
    for folder in ("lists/partial", "cache/archives/partial", "etc"):
        (system / folder).mkdir(parents=True)
    (system / "status").touch()
    (system / "sources.list").write_text(f"deb [signed-by={keyring}] {server.url}/debian old main\n")
    settings = {
        "Dir": f"{system}/", "Dir::Etc": "etc", "Dir::Etc::parts": f"{system}/etc", "Dir::State": str(system),
        "Dir::Etc::sourcelist": f"{system}/sources.list", "Dir::Etc::sourceparts": f"{system}/etc",
        "Dir::State::status": f"{system}/status", "Dir::Cache": f"{system}/cache", "APT::Architecture": "amd64",
        "APT::Sandbox::User": "", "Acquire::Languages": "none", "Acquire::http::Proxy::127.0.0.1": "DIRECT",
    }  # fmt: skip
    (system / "apt.conf").write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
    monkeypatch.setenv("APT_CONFIG", str(system / "apt.conf"))
    subprocess.run(["apt-get", "update", "-q"], check=True, capture_output=True)
    return server


def files_of(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_version_of_a_newer_suite_is_built_without_touching_the_system(repository: Server, tmp_path: Path) -> None:
    before = files_of(tmp_path / "system/lists")
    notes: list[str] = []
    kernel = build(version="6.99", notice=notes.append)
    assert (kernel.name, kernel.source) == ("linux-6.99.2", "linux-source-6.99 6.99.2-1~bpo13+1")
    assert notes == [untried("6.99")]
    assert "6.99 was never built and run with Dumbbell" in notes[0]
    assert files_of(tmp_path / "system/lists") == before
    assert "/debian/pool/linux-source-6.99_6.99.2-1~bpo13+1_all.deb" in repository.asked


@pytest.mark.usefixtures("repository")
def test_versions_are_found_by_series_by_release_and_as_the_latest() -> None:
    assert find_version("6.1").package == "linux-source-6.1=6.1.9-1"
    assert find_version("6.1").config is None
    assert find_version("6.12").package == "linux-source-6.12=6.12.5-1"
    assert find_version("6.99.2").package == find_version("latest").package == "linux-source-6.99=6.99.2-1~bpo13+1"
    assert [(each.release, each.suite) for each in available().offers] == [
        ("6.99.2", "newer-backports"), ("6.12.5", "stable"), ("6.1.9", "old")
    ]  # fmt: skip


@pytest.mark.usefixtures("repository")
def test_an_unknown_version_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(KernelError) as caught:
        build(version="6.98")
    assert re.match(r"no source of Linux 6\.98 was found; available: 6\.1\.9, 6\.12\.5, 6\.99\.2; ", str(caught.value))
    assert "sha256sums.asc: 404" in str(caught.value)


def test_a_suite_with_an_invalid_signature_is_not_used(repository: Server) -> None:
    signed = repository.folder / "debian/dists/newer-backports/InRelease"
    signed.write_text(signed.read_text().replace("Suite: newer-backports", "Suite: newer-backport2"))
    with pytest.raises(
        KernelError, match=r"no source of Linux 6\.99 was found; available: 6\.1\.9, 6\.12\.5; .*signature"
    ):
        build(version="6.99")


def test_a_changed_package_is_refused(repository: Server) -> None:
    deb = next((repository.folder / "debian/pool").glob("linux-source-6.99*"))
    deb.write_bytes(bytes(len(deb.read_bytes())))
    with pytest.raises(KernelError, match="apt-get failed with status 100"):
        build(version="6.99")


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("4.19", r"Linux 4\.19 is too old; the kernel engine needs 5\.10 or later"),
        ("6", r"'6' is not a version of Linux; write one such as 6\.12, 7\.3\.4 or latest"),
        ("6.12; rm -rf /", "is not a version of Linux"),
    ],
)
def test_an_invalid_version_is_refused_without_a_search(version: str, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        build(version=version)


# ---- kernel.org -----------------------------------------------------------------------------------------------------


@pytest.fixture
def mirror(server: Server, key: Key, tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """kernel.org with one release, on a system without apt's programs."""
    assert not empty_cache.exists()
    monkeypatch.setattr(kernel_org, "FILES", f"{server.url}/kernel")
    monkeypatch.setattr(kernel_org, "RELEASES", f"{server.url}/releases.json")
    monkeypatch.setattr(kernel_org, "KEYS", f"{server.url}/hu")
    monkeypatch.setattr(kernel_org, "MAINTAINERS", {"gregkh": key.fingerprint})
    monkeypatch.setattr(versions, "private_lists", no_lists)
    monkeypatch.setattr(versions, "offers_in", lambda *_: ())
    folder = server.folder / "kernel/v6.x"
    folder.mkdir(parents=True)
    tarball = make_tarball(make_tree(tmp_path / "linux"), folder / "linux-6.99.3.tar.xz")
    plain = tmp_path / "linux.tar"
    plain.write_bytes(lzma.decompress(tarball.read_bytes()))
    (folder / "linux-6.99.3.tar.sign").write_bytes(key.sign(plain, "--detach-sign", "--armor"))
    names = ("linux-6.98.tar.xz", "linux-6.99.tar.xz", "linux-6.99.3.tar.xz", "linux-6.99.1.tar.xz")
    (folder / "sha256sums.asc").write_text("".join(f"{'0' * 64}  {name}\n" for name in names))
    (server.folder / "releases.json").write_text(json.dumps({"latest_stable": {"version": "6.99.3"}}))
    (server.folder / "hu").mkdir()
    (server.folder / "hu" / kernel_org._key_name("gregkh")).write_bytes(key.public)
    return server


def no_lists() -> versions.PackageLists:
    raise KernelError("'apt-get' is not installed, so this isn't Debian or Ubuntu")


@pytest.mark.parametrize("version", ["6.99", "6.99.3", "latest"])
@pytest.mark.usefixtures("mirror")
def test_a_release_of_kernel_org_is_built(version: str) -> None:
    kernel = build(version=version)
    assert (kernel.name, kernel.source) == ("linux-6.99.3", "kernel.org 6.99.3")


@pytest.mark.parametrize("version", ["6.97", "6.99.2"])
@pytest.mark.usefixtures("mirror")
def test_a_version_that_kernel_org_does_not_list_is_an_error_before_the_download(version: str) -> None:
    with pytest.raises(KernelError, match=rf"no source of Linux {version} was found; .*v6\.x has no Linux {version}"):
        build(version=version)


def test_a_key_s_name_is_that_of_the_web_key_directory() -> None:
    """The example of draft-koch-openpgp-webkey-service, section 3.1."""
    assert kernel_org._key_name("joe.doe") == "iy9q119eutrkn8s1mk4r39qejnbu3n5q"


def test_a_signature_by_another_key_is_refused_and_the_download_deleted(
    mirror: Server, tmp_path: Path, empty_cache: Path
) -> None:
    other = Key(tmp_path / "other")
    (mirror.folder / "kernel/v6.x/linux-6.99.3.tar.sign").write_bytes(
        other.sign(tmp_path / "linux.tar", "--detach-sign", "--armor")
    )
    with pytest.raises(KernelError, match=r"linux-6\.99\.3\.tar\.xz: has no valid signature of Linux's maintainers"):
        build(version="6.99")
    # Neither does a key count that the directory has, but whose fingerprint is not a maintainer's.
    (mirror.folder / "hu" / kernel_org._key_name("gregkh")).write_bytes(other.public)
    with pytest.raises(KernelError, match="has no valid signature of Linux's maintainers"):
        build(version="6.99")
    assert not list(empty_cache.rglob("*.tar.xz*"))


def test_a_changed_tarball_is_refused(mirror: Server) -> None:
    tarball = mirror.folder / "kernel/v6.x/linux-6.99.3.tar.xz"
    tarball.write_bytes(lzma.compress(lzma.decompress(tarball.read_bytes()) + bytes(512)))
    with pytest.raises(KernelError, match=r"has no valid signature of Linux's maintainers and was deleted: .*BAD sig"):
        build(version="6.99")


def test_an_interrupted_download_is_resumed(mirror: Server) -> None:
    mirror.stops_after = 1000
    with pytest.raises(KernelError, match=r"linux-6\.99\.3\.tar\.xz: .*run the command again, it continues here"):
        build(version="6.99.3")
    assert build(version="6.99.3").name == "linux-6.99.3"
    tarballs = [asked for asked in mirror.asked if ".tar.xz" in asked]
    assert tarballs == ["/kernel/v6.x/linux-6.99.3.tar.xz", "/kernel/v6.x/linux-6.99.3.tar.xz bytes=1000-"]


def test_without_network_the_error_says_what_was_tried(mirror: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_org, "FILES", "http://127.0.0.1:9")
    with pytest.raises(KernelError, match=r"no source of Linux 6\.99 .*isn't Debian.*can't be reached.*--git URL"):
        build(version="6.99")
    assert not mirror.asked


@pytest.mark.usefixtures("mirror")
def test_too_little_space_is_an_error_before_the_download(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "SPACE_BYTES", 1 << 60)
    with pytest.raises(KernelError, match=r"a build needs .* GB, and .* GB are free; free some, or set DUMBBELL_CACHE"):
        build(version="6.99")


# ---- git ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("empty_cache")
def test_a_ref_of_a_repository_is_built_from_a_shallow_clone(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    first = commit_all(tree)
    subprocess.run(["git", "-C", str(tree), "tag", "v6.99"], check=True)
    (tree / "main.c").write_text((tree / "main.c").read_text().replace("(gcc)", "(second)"))
    second = commit_all(tree)
    url = f"file://{tree}"
    tagged = build("tagged", git=url, ref="v6.99")
    assert tagged.source == f"{url}#v6.99 commit:{first}"
    branch = subprocess.run(
        ["git", "-C", str(tree), "branch", "--show-current"], check=True, capture_output=True, text=True
    ).stdout.strip()
    newest = build(git=url, ref=branch)
    assert (newest.name, newest.source) == ("linux-6.99.0-rc1", f"{url}#{branch} commit:{second}")
    assert ("(second)" in newest.version, "(second)" in tagged.version) == (True, False)
    (tree / "main.c").write_text((tree / "main.c").read_text().replace("(second)", "(third)"))
    commit_all(tree)
    assert "(third)" in build(git=url, ref=branch).version


@pytest.mark.usefixtures("empty_cache")
def test_what_git_can_t_fetch_is_an_error(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    commit_all(tree)
    with pytest.raises(KernelError, match="can't fetch 'nosuch': couldn't find remote ref nosuch"):
        build(git=f"file://{tree}", ref="nosuch")
    with pytest.raises(KernelError, match=f"file://{tmp_path}/nowhere: can't fetch 'v1': "):
        build(git=f"file://{tmp_path}/nowhere", ref="v1")
    with pytest.raises(KernelError, match="--git URL and --ref REF need each other"):
        build(git="file:///x")
    with pytest.raises(KernelError, match="may start with '-'"):
        build(git="--upload-pack=touch /tmp/x", ref="a")
    (tree / "arch/um/Kconfig").unlink()
    commit_all(tree)
    with pytest.raises(KernelError, match="not a Linux source tree: it has no arch/um/Kconfig"):
        build(git=f"file://{tree}", ref="HEAD")


@pytest.mark.usefixtures("empty_cache")
def test_a_tree_that_is_too_old_is_refused(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    makefile = tree / "Makefile"
    makefile.write_text(makefile.read_text().replace("VERSION = 6\nPATCHLEVEL = 99", "VERSION = 4\nPATCHLEVEL = 19"))
    for path in (tree, make_tarball(tree, tmp_path / "old.tar.xz")):
        with pytest.raises(KernelError, match=r"Linux 4\.19 is too old; the kernel engine needs 5\.10 or later"):
            build(source=path)
