"""What a C file says of its congestion controls, however it is written."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import KernelError
from dumbbell.kernels.csource import controllers_in, tokens

EXAMPLE = Path(__file__).parents[2] / "examples/tcp_target.c"
ALPHABET = "abz_09 \t\n\"'\\/*#{}()=;,.&<>"


def ops(name: str, variable: str = "mine") -> str:
    return f"static struct tcp_congestion_ops {variable} __read_mostly = {{\n\t.name = {name},\n}};\n"


def register(variable: str = "mine") -> str:
    return f"static int __init go(void) {{ return tcp_register_congestion_control(&{variable}); }}\n"


def test_the_example_registers_what_it_says() -> None:
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
def test_the_name_is_found(text: str) -> None:
    assert controllers_in(text, "m.c") == ("mine",)


def test_two_that_are_registered_are_two() -> None:
    text = ops('"one"', "first") + ops('"two"', "second") + register("second") + register("first")
    assert controllers_in(text, "m.c") == ("one", "two")


@pytest.mark.parametrize(
    ("text", "told"),
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
def test_what_is_wrong_is_said_with_its_line(text: str, told: str) -> None:
    with pytest.raises(KernelError, match=told):
        controllers_in(text, "m.c")


@given(st.text(ALPHABET) | st.text())
def test_any_text_has_its_controllers_or_is_refused(text: str) -> None:
    whole = text + "\n" + ops('"mine"') + register()
    try:
        names = controllers_in(whole, "m.c")
    except KernelError:
        # Only what stands before can hide it: an open comment, string or brace, or a name that is none.
        assert set("/\"'{\\#=") & set(text) or "tcp" in text
    else:
        assert "mine" in names


@given(st.text(ALPHABET) | st.text())
def test_any_text_falls_into_tokens_that_stand_in_it(text: str) -> None:
    lines = text.split("\n")
    last = 1
    for token in tokens(text):
        assert token.text
        assert not token.text.isspace()
        assert token.line >= last
        assert token.text.split("\n")[0] in lines[token.line - 1]
        last = token.line


@given(st.lists(st.sampled_from(["/* a */", "// b\n", " ", "\n", "#if 1\n", "\t"])))
def test_comments_and_white_space_change_nothing(between: list[str]) -> None:
    # A preprocessor line begins a line of its own.
    gap = " " + "".join(part if not part.startswith("#") else f"\n{part}" for part in between)
    words = [token.text for token in tokens(ops('"mine"') + register())]
    assert controllers_in(gap.join([*words[:-1], ""]) + "}", "m.c") == ("mine",)
