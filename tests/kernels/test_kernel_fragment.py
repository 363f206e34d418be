"""Kernel .config fragments of the user."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import KernelError
from dumbbell.kernels.configure import read_fragment, without


def write_fragment(folder: Path, text: str) -> Path:
    file = folder / "mine.config"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_fragment_has_kconfig_s_syntax(tmp_path: Path) -> None:
    text = (
        '# why\n\nCONFIG_A=y\nCONFIG_B=n\n# CONFIG_C is not set\nCONFIG_D=4\nCONFIG_E="a b"\nCONFIG_A=n\nCONFIG_F=-1\n'
    )
    fragment = read_fragment(write_fragment(tmp_path, text))
    assert fragment is not None
    assert fragment.values == {"A": "n", "B": "n", "C": "n", "D": "4", "E": '"a b"', "F": "-1"}
    assert read_fragment(None) is None


def test_order_and_comments_do_not_change_the_identity(tmp_path: Path) -> None:
    texts = ("CONFIG_A=y\nCONFIG_B=n\n", "# CONFIG_B is not set\n# why\nCONFIG_A=y\n", "CONFIG_A=y\nCONFIG_B=y\n")
    first, second, third = (read_fragment(write_fragment(tmp_path, text)) for text in texts)
    assert first
    assert second
    assert third
    assert first.identity == second.identity
    assert first.identity != third.identity


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CONFIG_A=y\nTCP=y\n", r"mine\.config: line 2: invalid line 'TCP=y'; write CONFIG_X=y"),
        ("CONFIG_A=\n", "line 1"),
        ("CONFIG_VETH=m\n", "guests don't load modules; write CONFIG_VETH=y"),
        ("# nothing\n", "sets nothing"),
    ],
)
def test_an_invalid_fragment_is_an_error_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        read_fragment(write_fragment(tmp_path, text))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match=r"nowhere\.config: can't be read"):
        read_fragment(tmp_path / "nowhere.config")


def test_symbols_with_other_values_are_reported(tmp_path: Path) -> None:
    fragment = read_fragment(write_fragment(tmp_path, 'CONFIG_A=y\nCONFIG_B=n\nCONFIG_C=4\nCONFIG_D=y\nCONFIG_E="x"\n'))
    assert fragment
    fragment.check('CONFIG_A=y\nCONFIG_C=4\nCONFIG_D=y\nCONFIG_E="x"\n', {"A", "B", "C", "D", "E"})
    with pytest.raises(KernelError) as caught:
        fragment.check("CONFIG_B=y\nCONFIG_C=2\n# CONFIG_D is not set\n", {"A", "B", "C", "D"})
    for symbol in ("A=y (is n)", "B=n (is y)", "C=4 (is 2)", "D=y (is n)", 'E="x" (not in this Linux)'):
        assert f"CONFIG_{symbol}" in str(caught.value)


def test_a_user_s_symbol_replaces_the_built_in_one(tmp_path: Path) -> None:
    fragment = read_fragment(write_fragment(tmp_path, "CONFIG_A=n\n"))
    assert without("# A\nCONFIG_A=y\nCONFIG_AB=y\n", fragment) == "# A\nCONFIG_AB=y\n"
    assert without("CONFIG_A=y\n", None) == "CONFIG_A=y\n"


@given(st.text(max_size=60))
def test_any_text_is_a_fragment_or_an_error_with_the_file(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.mktemp("fragment") / "any.config"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        fragment = read_fragment(file)
    except KernelError as error:
        message = str(error)
    else:
        assert fragment
        message = "any.config: " + fragment.text
        assert set(fragment.text.splitlines()) == {f"CONFIG_{name}={value}" for name, value in fragment.values.items()}
    assert "any.config: " in message
