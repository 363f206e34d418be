"""The .config of a guest's kernel."""

from pathlib import Path

import pytest
from fake_linux import WITHOUT, make_tree

from dumbbell.errors import KernelError
from dumbbell.kernels import process
from dumbbell.kernels.configure import configure, read_fragment
from dumbbell.kernels.edits import edit


def configure_tree(tree: Path, text: str = "") -> tuple[str, ...]:
    edit(tree)
    fragment = None
    if text:
        (tree.parent / "mine.config").write_text(text)
        fragment = read_fragment(tree.parent / "mine.config")
    return configure(tree, tree.parent, log=tree.parent / "log", env=process.environment(), fragment=fragment)


def test_a_valid_tree_gets_every_symbol_that_it_has(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    assert configure_tree(tree) == ("NET_SCH_DUALPI2",)
    config = (tree / ".config").read_text().splitlines()
    assert {"CONFIG_HZ=250", "CONFIG_TCP_CONG_BBR=y", "CONFIG_NET_SCH_CAKE=y"} <= set(config)


def test_an_added_controller_is_enabled(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    (tree / "net/ipv4/Kconfig").write_text("config TCP_CONG_MINE\n\ttristate\n")
    with (tree / "Kconfig").open("a") as file:
        file.write("config TCP_CONG_MINE\n")
    configure_tree(tree)
    assert "CONFIG_TCP_CONG_MINE=y" in (tree / ".config").read_text().splitlines()


def test_of_several_allocators_the_distributions_one_is_enabled(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    configure_tree(tree)
    assert "CONFIG_SLUB=y" not in (tree / ".config").read_text()
    (tree / "mm").mkdir()
    (tree / "mm/Kconfig").write_text("config SLUB\n\tbool\nconfig SLOB\n\tbool\n")
    with (tree / "Kconfig").open("a") as file:
        file.write("config SLUB\n")
    configure_tree(tree)
    assert "CONFIG_SLUB=y" in (tree / ".config").read_text().splitlines()


PREEMPTION = """\
config PREEMPT_NONE
\tbool "none"
\tdepends on !PREEMPT_RT
\tdepends on ARCH_NO_PREEMPT

config PREEMPT_VOLUNTARY
\tbool "voluntary"
"""


@pytest.mark.parametrize(
    ("kconfig", "um", "chosen"),
    [
        (PREEMPTION, "", "PREEMPT_VOLUNTARY"),
        (PREEMPTION, "config UML\n\tselect ARCH_NO_PREEMPT\n", "PREEMPT_NONE"),
        (PREEMPTION.replace("\tdepends on ARCH_NO_PREEMPT\n", ""), "", "PREEMPT_NONE"),
    ],
)
def test_a_model_without_forced_preemption_is_chosen(tmp_path: Path, kconfig: str, um: str, chosen: str) -> None:
    tree = make_tree(tmp_path / "linux")
    (tree / "kernel").mkdir()
    (tree / "kernel/Kconfig.preempt").write_text(kconfig)
    (tree / "arch/um/Kconfig").write_text((tree / "arch/um/Kconfig").read_text() + um)
    root = tree / "Kconfig"
    root.write_text(root.read_text() + "config PREEMPT_VOLUNTARY\n\tbool\n")
    configure_tree(tree)
    models = [line for line in (tree / ".config").read_text().splitlines() if "CONFIG_PREEMPT_" in line]
    assert models == [f"CONFIG_{chosen}=y"]


def test_a_symbol_that_kconfig_does_not_enable_is_an_error(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux", refused="NET_SCH_CAKE")
    with pytest.raises(KernelError, match="Kconfig did not enable CONFIG_NET_SCH_CAKE"):
        configure_tree(tree)


def test_a_tree_without_virtual_time_is_refused(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux", without=(*WITHOUT, "UML_TIME_TRAVEL_SUPPORT"))
    with pytest.raises(KernelError, match="has no CONFIG_UML_TIME_TRAVEL_SUPPORT"):
        configure_tree(tree)


def test_another_clock_rate_is_an_error(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    (tree / "arch/um/Kconfig").write_text('source "kernel/Kconfig.hz"\n\tdefault 1000\n')
    with pytest.raises(KernelError, match="CONFIG_HZ is not 250"):
        configure_tree(tree)


def test_a_user_s_fragment_overrides_the_built_in_one(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    with (tree / "Kconfig").open("a") as file:
        file.write("config TCP_MD5SIG\n")
    assert configure_tree(tree, "CONFIG_TCP_MD5SIG=y\n# CONFIG_NET_SCH_CAKE is not set\n") == ("NET_SCH_DUALPI2",)
    config = (tree / ".config").read_text().splitlines()
    assert "CONFIG_TCP_MD5SIG=y" in config
    assert "CONFIG_NET_SCH_CAKE=y" not in config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "CONFIG_NO_SUCH_THING=y",
            r"mine\.config: Kconfig did not accept CONFIG_NO_SUCH_THING=y \(not in this Linux\)",
        ),
        ("CONFIG_HZ=1000", r"mine\.config: Kconfig did not accept CONFIG_HZ=1000 \(is 250\)"),
        ("CONFIG_HOSTFS=n", "is configured without CONFIG_HOSTFS, which virtual time requires"),
    ],
)
def test_a_fragment_that_kconfig_does_not_accept_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        configure_tree(make_tree(tmp_path / "linux"), text)


def test_a_fragment_must_disable_built_in_symbols_explicitly(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux", refused="DEFAULT_CUBIC")
    with pytest.raises(KernelError, match=r"did not enable .*, or disable it in .*mine\.config: CONFIG_DEFAULT_"):
        configure_tree(tree, "CONFIG_NET_SCH_CAKE=y")
    configure_tree(tree, "CONFIG_NET_SCH_CAKE=y\nCONFIG_DEFAULT_CUBIC=n")
