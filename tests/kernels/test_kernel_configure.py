"""The .config of a guest's kernel."""

from pathlib import Path

import pytest
from fake_linux import WITHOUT, make_tree

from dumbbell.errors import KernelError
from dumbbell.kernels import fragment as fragments
from dumbbell.kernels import process
from dumbbell.kernels.configure import configure
from dumbbell.kernels.edits import edit


def configured(tree: Path, text: str = "") -> tuple[str, ...]:
    edit(tree)
    fragment = None
    if text:
        (tree.parent / "mine.config").write_text(text)
        fragment = fragments.read(tree.parent / "mine.config")
    return configure(tree, tree.parent, log=tree.parent / "log", env=process.environment(), fragment=fragment)


def test_a_good_tree_gets_all_that_it_knows(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    assert configured(tree) == ("NET_SCH_DUALPI2",)
    config = (tree / ".config").read_text().splitlines()
    assert {"CONFIG_HZ=250", "CONFIG_TCP_CONG_BBR=y", "CONFIG_NET_SCH_CAKE=y"} <= set(config)


def test_a_controller_of_ones_own_is_switched_on(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    (tree / "net/ipv4/Kconfig").write_text("config TCP_CONG_MINE\n\ttristate\n")
    with (tree / "Kconfig").open("a") as file:
        file.write("config TCP_CONG_MINE\n")
    configured(tree)
    assert "CONFIG_TCP_CONG_MINE=y" in (tree / ".config").read_text().splitlines()


def test_where_there_is_a_choice_of_allocators_it_is_the_distributions(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    configured(tree)
    assert "CONFIG_SLUB=y" not in (tree / ".config").read_text()
    (tree / "mm").mkdir()
    (tree / "mm/Kconfig").write_text("config SLUB\n\tbool\nconfig SLOB\n\tbool\n")
    with (tree / "Kconfig").open("a") as file:
        file.write("config SLUB\n")
    configured(tree)
    assert "CONFIG_SLUB=y" in (tree / ".config").read_text().splitlines()


def test_a_symbol_that_linux_has_and_refuses_is_an_error(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux", refused="NET_SCH_CAKE")
    with pytest.raises(KernelError, match="Kconfig did not enable CONFIG_NET_SCH_CAKE"):
        configured(tree)


def test_without_virtual_time_there_is_no_kernel(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux", without=(*WITHOUT, "UML_TIME_TRAVEL_SUPPORT"))
    with pytest.raises(KernelError, match="has no CONFIG_UML_TIME_TRAVEL_SUPPORT"):
        configured(tree)


def test_a_clock_that_stays_at_another_rate_is_an_error(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    (tree / "arch/um/Kconfig").write_text('source "kernel/Kconfig.hz"\n\tdefault 1000\n')
    with pytest.raises(KernelError, match="CONFIG_HZ is not 250"):
        configured(tree)


def test_a_persons_fragment_is_laid_over_ours(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    with (tree / "Kconfig").open("a") as file:
        file.write("config TCP_MD5SIG\n")
    assert configured(tree, "CONFIG_TCP_MD5SIG=y\n# CONFIG_NET_SCH_CAKE is not set\n") == ("NET_SCH_DUALPI2",)
    config = (tree / ".config").read_text().splitlines()
    assert "CONFIG_TCP_MD5SIG=y" in config
    assert "CONFIG_NET_SCH_CAKE=y" not in config


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (
            "CONFIG_NO_SUCH_THING=y",
            r"mine\.config: Kconfig did not accept CONFIG_NO_SUCH_THING=y \(not in this Linux\)",
        ),
        ("CONFIG_HZ=1000", r"mine\.config: Kconfig did not accept CONFIG_HZ=1000 \(is 250\)"),
        ("CONFIG_HOSTFS=n", "is configured without CONFIG_HOSTFS, which virtual time requires"),
    ],
)
def test_a_fragment_that_does_not_come_out_as_asked_is_an_error(tmp_path: Path, text: str, right: str) -> None:
    with pytest.raises(KernelError, match=right):
        configured(make_tree(tmp_path / "linux"), text)


def test_what_a_fragment_pushes_out_of_ours_it_must_say_itself(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux", refused="DEFAULT_CUBIC")
    with pytest.raises(KernelError, match=r"did not enable .*, or disable it in .*mine\.config: CONFIG_DEFAULT_"):
        configured(tree, "CONFIG_NET_SCH_CAKE=y")
    configured(tree, "CONFIG_NET_SCH_CAKE=y\nCONFIG_DEFAULT_CUBIC=n")
