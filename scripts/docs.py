"""Build the documentation site: `make docs` writes `target/site`.

    python scripts/docs.py [--check]

The sources are the Markdown files of `docs/`, `bench/`, `validation/` and the repository's root. They are written so
that their links work when the files are read in the repository. This script copies them to `target/docs`, maps their
links to the site, adds the pages that are generated from code (commands, Python API, scenarios), and
starts the generator in strict mode. `--check` only checks links and anchors. A broken link, a missing anchor or a page
that is in no menu is an error.
"""

import inspect
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import click
import yaml

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "target" / "docs"
SITE = ROOT / "target" / "site"
CONFIG = ROOT / "target" / "mkdocs.yml"

FOLDERS = {"docs": "", "bench": "results/bench", "validation": "results/validation"}
"""Folders whose Markdown files are pages, and where these are on the site."""
SINGLE = {
    "ARCHITECTURE.md": "design/architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "SECURITY.md": "security.md",
    "THIRD-PARTY-LICENSES.md": "design/third-party-licenses.md",
}
"""Files of the root that are pages; `README.md` and `docs/index.md` are the same page to a link."""
ASSETS = "files"
"""Where the site keeps files that a page links to and that are no pages: experiments, scripts, sources."""

PLAY = "play"
"""Where `scripts/static_site.py` puts the playground."""

FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?!https?://|mailto:)([^)\s]+)\)")
IMAGE = re.compile(r"^!\[[^\]]*\]\(([^)\s]+)\)$", re.MULTILINE)
HEADING = re.compile(r"^#{1,6} +(.+?)(?: +\{#([\w-]+)\})?$", re.MULTILINE)


@dataclass
class Tree:
    """The pages of the site by their path in the repository, and the errors of their links."""

    pages: dict[Path, str] = field(default_factory=dict)
    assets: dict[Path, str] = field(default_factory=dict)
    anchors: dict[str, set[str]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and the site make it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", lambda match: match[1] or "", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Anchors of a page; a repeated heading gets a number, as on the site."""
    found: set[str] = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    for heading, given in HEADING.findall(FENCE.sub("", text)):
        name, number = given or slug(heading), 0
        while (f"{name}_{number}" if number else name) in found:
            number += 1
        found.add(f"{name}_{number}" if number else name)
    return found


def collect() -> Tree:
    """Find all pages and read their anchors."""
    tree = Tree()
    for folder, to in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.md")):
            tree.pages[path] = (Path(to) / path.relative_to(ROOT / folder)).as_posix()
    for name, page in SINGLE.items():
        if (ROOT / name).is_file():
            tree.pages[ROOT / name] = page
    for path, page in tree.pages.items():
        if path != ROOT / "README.md":
            tree.anchors[page] = anchors(path.read_text(encoding="utf-8"))
    return tree


def linked(tree: Tree, source: Path, target: str, line: int) -> str:
    """A link of a page in the repository, on a line, as a link of the site."""
    file, _, anchor = target.partition("#")
    here = Path(tree.pages[source])
    if not file:
        page = here.as_posix()
    else:
        path = Path(os.path.normpath(source.parent / file))
        if path.is_dir() and (path / "README.md").is_file():
            path = path / "README.md"
        if path.is_dir() and (path / "index.md").is_file():
            path = path / "index.md"
        if path in tree.pages:
            page = tree.pages[path]
        elif path.is_file() and path.suffix != ".md" and path.is_relative_to(ROOT):
            under = path.relative_to(ROOT)
            inside = under.is_relative_to("docs")
            page = under.relative_to("docs").as_posix() if inside else f"{ASSETS}/{under.as_posix()}"
            tree.assets[path] = page
        elif source.name == "CHANGELOG.md":
            return "#"  # The changelog may name deleted files.
        else:
            tree.errors.append(f"{source.relative_to(ROOT)}:{line}: no file {target}")
            return target
    if anchor and page in tree.anchors and anchor not in tree.anchors[page]:
        tree.errors.append(f"{source.relative_to(ROOT)}:{line}: no heading {target}")
    relative = os.path.relpath(page, here.parent) if file else ""
    return f"{relative}#{anchor}" if anchor else relative


def mapped(tree: Tree, source: Path) -> str:
    """A page's text with its links mapped to the site; code blocks are not changed."""
    text = source.read_text(encoding="utf-8")

    def piece(start: int, end: int) -> str:
        def replace(match: re.Match[str]) -> str:
            line = text.count("\n", 0, start + match.start()) + 1
            return f"{match[1]}({linked(tree, source, match[2], line)})"

        return LINK.sub(replace, text[start:end])

    parts, last = [], 0
    for fence in FENCE.finditer(text):
        parts += [piece(last, fence.start()), fence[0]]
        last = fence.end()
    return "".join([*parts, piece(last, len(text))])


def opened_in_playground(texts: dict[str, str]) -> dict[str, str]:
    """The pages with links below each simulated figure, which open its experiments in the playground."""
    sys.path.insert(0, str(ROOT))  # a script has its own folder first
    from studies import playground  # noqa: PLC0415 — the studies need every extra

    shown = playground.of_figures()

    def with_links(page: str, text: str) -> str:
        folder = Path(page).parent
        up = os.path.relpath(f"{PLAY}/index.html", folder)

        def below(image: re.Match[str]) -> str:
            of = shown.get(ROOT / "docs" / os.path.normpath(folder / image[1]))
            return f"{image[0]}\n\n{playground.links(of, up)}" if of else image[0]

        return IMAGE.sub(below, text)

    return {page: with_links(page, text) for page, text in texts.items()}


def living(text: str) -> str:
    """The first page with the playground's picture, which moves, in place of its first figure."""
    frame = (
        f'<iframe class="living" src="{PLAY}/index.html#picture" title="BBR and CUBIC share a link, packet by packet" '
        f'loading="eager"></iframe>\n\n'
        f"[Open it in the playground: change the link, the queue, the flows]({PLAY}/index.html)"
        "{ .md-button .md-button--primary }"
    )
    return IMAGE.sub(lambda _: frame, text, count=1)


# Generated pages


def cell(text: str) -> str:
    """Text as a cell of a Markdown table, on one line."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;").strip()


def commands() -> str:
    """Every command with its arguments and options, from the command tree."""
    from dumbbell.cli.app import PANELS, app  # noqa: PLC0415

    root = click.Context(app, info_name="dumbbell")
    lines = ["# Command line", "", "Generated from the commands; `dumbbell COMMAND --help` prints the same.", ""]
    for panel, names in PANELS.items():
        lines += [f"| {panel} | |", "| --- | --- |"]
        for name, (_, short) in names.items():
            lines.append(f"| [`{name}`](#{slug(f'dumbbell {name}')}) | {cell(short)} |")
        lines.append("")
    for names in PANELS.values():
        for name in names:
            lines += described(name, app, root)
    return "\n".join(lines)


def described(name: str, group: click.Group, parent: click.Context) -> list[str]:
    """A command's help, usage, arguments and options; of a group, those of its commands."""
    command = group.get_command(parent, name)
    if command is None or command.hidden:
        return []
    context = click.Context(command, parent=parent, info_name=name)
    lines = [f"## `{context.command_path}`", "", inspect.cleandoc(command.help or "").replace("\b", ""), ""]
    if isinstance(command, click.Group):
        return lines + [line for child in command.list_commands(context) for line in described(child, command, context)]
    lines += ["```text", f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}", "```", ""]
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    if options:
        lines += ["| option | meaning |", "| --- | --- |"]
    for one in options:
        value = "" if one.is_flag or one.count else f" {one.make_metavar(context)}"
        # Python-Markdown splits no code at `|`, and would show a backslash there.
        names = ", ".join([*one.opts, *one.secondary_opts]) + value
        lines.append(f"| `{names}` | {cell(one.help or '')} |")
    return [*lines, ""]


def scenarios(*, playground: bool = False) -> str:
    """The built-in experiments and sweeps; with a `playground`, those that it can run have a link to it."""
    from dumbbell.web.experiment_text import catalogue  # noqa: PLC0415

    playable = {entry["name"] for entry in catalogue()} if playground else set()
    lines = [
        "# Built-in experiments",
        "",
        "`dumbbell run NAME` runs one; `dumbbell plan NAME` prints its commands.",
        "",
    ]
    for title, folder, note in (
        ("Scenarios", "scenarios", "`dumbbell scenarios` lists them."),
        (
            "Published results",
            "scenarios/published",
            "`dumbbell scenarios` lists them too; each states what a paper found.",
        ),
        (
            "Scenarios with real programs",
            "scenarios/programs",
            "They run on the kernel engine and on the host engine, not on the simulator.",
        ),
        ("Sweeps", "scenarios/sweeps", "`dumbbell sweep NAME` runs one."),
    ):
        lines += [f"## {title}", "", note, "", "| name | title | file |", "| --- | --- | --- |"]
        for path in sorted((ROOT / folder).glob("*.toml")):
            document = tomllib.loads(path.read_text(encoding="utf-8"))
            under = path.relative_to(ROOT).as_posix()
            what = cell(document.get("title", ""))
            if path.stem in playable:
                what += f' (<a href="../{PLAY}/index.html#s={path.stem}">open in the playground</a>)'
            lines.append(f"| `{path.stem}` | {what} | [{path.name}](../{ASSETS}/{under}) |")
            target = STAGE / ASSETS / under
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        lines.append("")
    return "\n".join(lines)


def api() -> str:
    """The Python API, from docstrings."""
    import dumbbell.api as module  # noqa: PLC0415

    lines = [
        "# Python API",
        "",
        "Generated from the docstrings of `dumbbell.api`. `import dumbbell as db` gives these names. "
        "[Dumbbell from Python](../python.md) shows them in use.",
        "",
    ]
    for name in module.__all__:
        lines += [f"::: dumbbell.api.{name}", "    options:", "      heading_level: 2", ""]
    return "\n".join(lines)


def overview(folder: str, intro: str) -> Callable[[], str]:
    """A table of the pages about controllers or queues, with their first lines."""

    def make() -> str:
        lines = [f"# {folder.capitalize()}", "", intro, "", "| name | | engines |", "| --- | --- | --- |"]
        for path in sorted((ROOT / "docs" / folder).glob("*.md")):
            text = path.read_text(encoding="utf-8")
            facts = dict(re.findall(r"^\| ([a-z]+) \| (.+) \|$", text.partition("\n## ")[0], re.MULTILINE))
            title = text.partition("\n")[0].removeprefix("# ")
            lines.append(f"| [`{path.stem}`]({path.name}) | {title} | {facts.get('engines', '')} |")
        return "\n".join([*lines, ""])

    return make


GENERATED = {
    "controllers/index.md": overview(
        "controllers",
        "Every congestion controller that the simulator or Linux has. `dumbbell explain NAME` prints a page.",
    ),
    "queues/index.md": overview(
        "queues",
        "Every queue discipline that the simulator has. `dumbbell explain NAME` prints a page.",
    ),
    "reference/api.md": api,
    "reference/commands.md": commands,
    "reference/scenarios.md": scenarios,
}


def expanded(nav: Any, pages: set[str]) -> Any:
    """A menu whose patterns (`queues/*.md`) are replaced by the pages that it does not name otherwise."""
    listed = in_menu(nav)

    def one(entry: Any) -> list[Any]:
        if isinstance(entry, dict):
            return [{title: expand(below) for title, below in entry.items()}]
        return sorted(page for page in pages - listed if fnmatch(page, entry)) if "*" in entry else [entry]

    def expand(below: Any) -> Any:
        return below if isinstance(below, str) else [found for entry in below for found in one(entry)]

    return expand(nav)


def in_menu(nav: object) -> set[str]:
    """Every page that the menu names."""
    if isinstance(nav, str):
        return {nav}
    return set().union(*(in_menu(one) for one in (nav.values() if isinstance(nav, dict) else nav)))  # type: ignore[attr-defined]


def configuration(tree: Tree) -> str:
    """The generator's configuration with the complete menu; adds an error for each missing or unknown page."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    before, _, menu = text.partition("\nnav:\n")
    there = {page for path, page in tree.pages.items() if path != ROOT / "README.md"} | set(GENERATED)
    nav = expanded(yaml.safe_load(menu), there)
    tree.errors += [f"mkdocs.yml:1: the menu lacks {page}" for page in sorted(there - in_menu(nav))]
    tree.errors += [f"mkdocs.yml:1: no page {page}" for page in sorted(in_menu(nav) - there)]
    return f"{before}\n{yaml.safe_dump({'nav': nav}, sort_keys=False, allow_unicode=True)}"


def main(*, playground: bool = False) -> int:
    """Stage the pages, check links and menu, and build the site; with links to a `playground` or without."""
    tree = collect()
    readme = ROOT / "README.md"  # links to it lead to the site's first page, docs/index.md
    mapped(tree, readme)
    texts = {page: mapped(tree, path) for path, page in tree.pages.items() if path != readme}
    config = configuration(tree)
    if tree.errors:
        sys.stderr.write("\n".join([*sorted(tree.errors), ""]))
        return 1
    if "--check" in sys.argv[1:]:
        return 0
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", STAGE, ignore=shutil.ignore_patterns("*.md"))
    texts |= {page: make() for page, make in GENERATED.items()}
    texts["reference/scenarios.md"] = scenarios(playground=playground)
    if playground:
        texts = opened_in_playground(texts)
        texts["index.md"] = living(texts["index.md"])
        texts["lessons.md"] = re.sub(r"`(#lesson=[a-z-]+)`", rf"[open]({PLAY}/index.html\1)", texts["lessons.md"])
    for page, text in texts.items():
        (STAGE / page).parent.mkdir(parents=True, exist_ok=True)
        (STAGE / page).write_text(text, encoding="utf-8")
    for path, page in tree.assets.items():
        (STAGE / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, STAGE / page)
    shutil.rmtree(SITE, ignore_errors=True)
    CONFIG.write_text(config, encoding="utf-8")
    generator = Path(sys.executable).with_name("zensical")
    done = subprocess.run(
        [generator, "build", "--strict", "--clean", "-f", CONFIG],
        cwd=ROOT,
        env=os.environ | {"NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(f"{done.stdout}\n{done.stderr}")
    else:
        sys.stdout.write(f"{SITE / 'index.html'}\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
