"""The help: panels, summaries, completion, and the first command of a new user."""

import click
import pytest

from conftest import Dumbbell
from dumbbell.cli.app import PANELS, app

COMMANDS = {name: entry for panel in PANELS.values() for name, entry in panel.items()}


def _command(name: str) -> click.Command:
    found = app.get_command(click.Context(app), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_a_summary_is_the_first_sentence_of_its_command(name: str) -> None:
    command = _command(name)
    assert command.name == name
    assert (command.help or "").split("\n\n")[0].replace("\n", " ") == COMMANDS[name][1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_and_argument_has_a_help_text(name: str) -> None:
    command = _command(name)
    commands = [command, *command.commands.values()] if isinstance(command, click.Group) else [command]
    for each in commands:
        shown = [param for param in each.params if not getattr(param, "hidden", False)]
        assert not [param.name for param in shown if not getattr(param, "help", None)]


def test_help_lists_the_panels_in_order(dumbbell: Dumbbell) -> None:
    done = dumbbell("--help")
    headings = [line.removesuffix(":") for line in done.stdout.splitlines() if line.endswith(":")]
    assert (done.returncode, headings) == (0, [*PANELS, "Options"])


def test_without_arguments_three_commands_are_shown(dumbbell: Dumbbell) -> None:
    done = dumbbell()
    assert (done.returncode, done.stdout) == (2, "")
    shown = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("  dumbbell ")]
    assert len(shown) == 3
    assert set(shown) <= set(COMMANDS)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed(dumbbell: Dumbbell, shell: str) -> None:
    done = dumbbell("--completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert "_DUMBBELL_COMPLETE" in done.stdout


def test_commands_are_completed(dumbbell: Dumbbell) -> None:
    done = dumbbell(_DUMBBELL_COMPLETE="bash_complete", COMP_WORDS="dumbbell s", COMP_CWORD="1")
    assert done.stdout.split() == [
        "plain,sweep",
        "plain,search",
        "plain,scenarios",
        "plain,schema",
        "plain,stats",
        "plain,sql",
        "plain,stack",
        "plain,shell",
        "plain,selftest",
        "plain,serve",
    ]


def test_an_unknown_option_names_the_help_page(dumbbell: Dumbbell) -> None:
    done = dumbbell("run", "--nonsense")
    assert done.returncode == 2
    assert done.stderr.startswith("dumbbell: No such option")
    assert done.stderr.endswith("  see dumbbell run --help\n")
