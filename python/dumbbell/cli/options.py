"""Parameter types and options that several commands share."""

from pathlib import Path

import click

__all__ = ["PATH", "json_option", "set_option"]

PATH = click.Path(path_type=Path)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output.")
set_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE",
    help="Set a key of the experiment, such as path.bottleneck.rate=50mbit. Repeatable.",
)  # fmt: skip
