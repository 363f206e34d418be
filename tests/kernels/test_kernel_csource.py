"""The congestion controls that a C file declares."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import KernelError
from dumbbell.kernels.features import controllers_in, tokens

EXAMPLE = Path(__file__).parents[2] / "examples/tcp_target.c"
ALPHABET = "abz_09 \t\n\"'\\/*#{}()=;,.&<>"


def ops(name: str, variable: str = "mine") -> str:
    return f"static struct tcp_congestion_ops {variable} __read_mostly = {{\n\t.name = {name},\n}};\n"


def register(variable: str = "mine") -> str:
    return f"static int __init go(void) {{ return tcp_register_congestion_control(&{variable}); }}\n"


def test_the_example_registers_its_controller() -> None:
    assert controllers_in(EXAMPLE.read_text(), "tcp_target.c") == ("target",)


@pytest.mark.parametrize(
    "text",
    [
        ops('"mine"') + register(),
        "/* " + ops('"other"', "other") + "*/" + ops('"mine"') + register(),
        "// " + ops('"other"').replace("\n", " ") + "\n" + ops('"mine"') + register(),
        '#define OPS struct tcp_congestion_ops x = { .name = "other" }; \\\n  more\n' + ops('"mine"') + register(),
        'static const char text[] = "struct tcp_congestion_ops x = { .name = \\"other\\" };";\n' + ops('"mine"'),
        ops('"mi" /* and */ "ne"') + register(),
        ops('"mine", .owner = THIS_MODULE') + register(),
        ops('"mine"')
        .replace(".name", ".init = f, .parts = { .name = 1 },\n.name")
        .replace(", .parts = { .name = 1 }", ""),
        ops('"mine"').replace("__read_mostly", "__aligned(8) __read_mostly"),
        ops('"mine"') + ops('"mine-spare"', "spare") + register(),
        "struct tcp_congestion_ops *all; struct tcp_congestion_ops later;\n" + ops('"mine"') + register(),
        ops('"mine"').removesuffix("};\n"),
    ],
)
def test_the_controller_s_name_is_found(text: str) -> None:
    assert controllers_in(text, "m.c") == ("mine",)


def test_two_registered_controllers_are_found() -> None:
    text = ops('"one"', "first") + ops('"two"', "second") + register("second") + register("first")
    assert controllers_in(text, "m.c") == ("one", "two")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int main(void) { return 0; }", "m.c: declares no congestion control; define a 'struct tcp_congestion_ops"),
        ("", "m.c: declares no congestion control"),
        ("/* " + ops('"mine"') + "*/", "declares no congestion control"),
        (
            ops("MINE"),
            r"m.c:2: the name of 'mine' is MINE, not a string literal; .* \.name = \"mine\"",
        ),
        (ops('"a" SUFFIX'), "the name of 'mine' is \"a\" SUFFIX, not a string literal"),
        ("struct tcp_congestion_ops mine = { .init = f };", "m.c:1: 'mine' has no name"),
        (
            ops('"sixteen_letters_"'),
            'm.c:2: "sixteen_letters_" is not a valid name of a congestion control; use at most 15',
        ),
        (ops('""'), "is not a valid name of a congestion control"),
        (ops('"a b"'), "is not a valid name of a congestion control"),
        (ops('"Mine"'), "lower-case letters"),
        (ops('"mine"', "a") + ops('"mine"', "b"), "two congestion controls have the name 'mine'"),
    ],
)
def test_errors_contain_the_line(text: str, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        controllers_in(text, "m.c")


@given(st.text(ALPHABET) | st.text())
def test_any_text_before_a_controller_keeps_it_or_is_refused(text: str) -> None:
    source = text + "\n" + ops('"mine"') + register()
    try:
        names = controllers_in(source, "m.c")
    except KernelError:
        # Only the text before it can hide the controller: an open comment, string or brace, or an invalid name.
        assert set("/\"'{\\#=") & set(text) or "tcp" in text
    else:
        assert "mine" in names


@given(st.text(ALPHABET) | st.text())
def test_tokens_of_any_text_occur_in_it(text: str) -> None:
    lines = text.split("\n")
    last = 1
    for token in tokens(text):
        assert token.text
        assert not token.text.isspace()
        assert token.line >= last
        assert token.text.split("\n")[0] in lines[token.line - 1]
        last = token.line


@given(st.lists(st.sampled_from(["/* a */", "// b\n", " ", "\n", "#if 1\n", "\t"])))
def test_comments_and_white_space_are_ignored(between: list[str]) -> None:
    # A preprocessor directive starts a new line.
    gap = " " + "".join(each if not each.startswith("#") else f"\n{each}" for each in between)
    texts = [token.text for token in tokens(ops('"mine"') + register())]
    assert controllers_in(gap.join([*texts[:-1], ""]) + "}", "m.c") == ("mine",)
