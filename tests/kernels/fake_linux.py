"""A Linux source tree of a dozen files, built by make and gcc in a second.

Its Makefile has the targets that a build uses; `linux` is a program that contains the strings
by which a User-Mode Linux is recognised, and does nothing.
"""

import subprocess
import tarfile
from pathlib import Path

from dumbbell.kernels.configure import FRAGMENT

MAKEFILE = """\
VERSION = 6
PATCHLEVEL = 99
SUBLEVEL = 0
EXTRAVERSION = -rc1
tinyconfig:
	@echo '# tiny' > .config
olddefconfig:
	@sed -n 's/^CONFIG_\\(.*\\)=y$$/config \\1/p' .config | sort -u | grep -vxF -f refused > requested
	@grep -xF -f requested Kconfig | sed 's/config \\(.*\\)/CONFIG_\\1=y/' > .config.new
	@sed -n 's/^\tdefault \\([0-9]*\\)/CONFIG_HZ=\\1/p' arch/um/Kconfig >> .config.new
	@mv .config.new .config
linux: main.o
	@mkdir -p include/config && echo 6.99.0-rc1 > include/config/kernel.release
	@echo '  LINK    linux'
	@gcc -o linux main.o
main.o: main.c
	@echo '  CC      main.o'
	@echo "$$KBUILD_BUILD_USER $$KBUILD_BUILD_HOST $$KBUILD_BUILD_VERSION $$CFLAGS" > seen.environment
	@echo run >> compilations
	@gcc -c -o main.o main.c
"""
MERGE = 'shift\ncat "$2" >> "$1"\n'
KCONFIG_HZ = "config OTHER\n\tbool\n\nconfig HZ\n\tint\n\tdefault 100\n\nconfig NR_CPUS\n\tint\n"
PROGRAM = """\
const char *const words[] = {"User Mode Linux", "inf-cpu", "Linux version 6.99.0-rc1 (a@b) (gcc) #1 Thu Jan  1"};
int main(int count, char **arguments) { return words[count % 3] == arguments[0]; }
"""
WITHOUT = ("NET_SCH_DUALPI2", "HZ_250")
"""Symbols of the fragment that this Linux does not have."""


def make_tree(at: Path, *, refused: str = "", without: tuple[str, ...] = WITHOUT, program: str = PROGRAM) -> Path:
    """Write the tree below `at`."""
    symbols = [line[7:-2] for line in FRAGMENT.read_text().splitlines() if line.endswith("=y")]
    files = {
        "Makefile": MAKEFILE,
        "Kconfig": "".join(f"config {symbol}\n\tbool\n" for symbol in symbols if symbol not in without),
        "refused": f"config {refused}\n",
        "arch/um/Kconfig": KCONFIG_HZ,
        "scripts/kconfig/merge_config.sh": MERGE,
        "main.c": program,
        "net/ipv4/Kconfig": "config TCP_CONG_CUBIC\n\ttristate\n",
        "drivers/gpu/Kconfig": "config DRM\n",
        "drivers/gpu/Kconfig.debug": "config DRM_DEBUG\n",
        "drivers/gpu/drm/card.c": "int bulk;\n",
        "drivers/net/tun.c": "int kept;\n",
        "arch/arm/crypto/Kconfig": "",
        "arch/arm/kernel/head.S": "bulk\n",
        "arch/x86/um/delay.c": "int kept;\n",
        "Documentation/Kconfig": "",
        "Documentation/index.rst": "bulk\n",
    }
    for name, text in files.items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_text(text)
    return at


def make_tarball(tree: Path, at: Path) -> Path:
    """The tree as a release tarball; the name selects the compression."""
    mode = {".xz": "w:xz", ".gz": "w:gz", ".bz2": "w:bz2"}.get(at.suffix, "w:")
    with tarfile.open(str(at), mode) as archive:  # type: ignore[call-overload]
        archive.add(tree, arcname="linux-6.99")
    return at


def compile_program(at: Path, text: str = PROGRAM, *options: str) -> Path:
    """Compile a program; by default one that is accepted as a kernel."""
    at.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-x", "c", "-", "-o", str(at), *options], input=text, text=True, check=True)
    return at


def commit_all(tree: Path) -> str:
    """Make the tree a git repository with one commit; return its hash."""
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "c"]):
        subprocess.run(["git", "-C", str(tree), *command], check=True)
    head = ["git", "-C", str(tree), "rev-parse", "HEAD"]
    return subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()


def files_below(folder: Path) -> set[str]:
    """Every file, by its path inside the folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
