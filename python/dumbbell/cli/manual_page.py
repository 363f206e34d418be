"""Manual pages in Markdown for a terminal, in whose tables no word is broken."""

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, MarkdownElement, TableElement
from rich.table import Table

__all__ = ["manual_page"]


class _Table(TableElement):
    """A table that wraps only columns with several words: rich's own cuts single words where room is short."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            assert isinstance(table, Table)
            table.padding = (0, 1, 0, 0)
            for column in table.columns:
                texts = [str(cell) for cell in (column.header, *column.cells)]
                column.no_wrap = all(len(text.split()) <= 1 for text in texts)
                column.overflow = "fold"
            yield table


class _Page(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = Markdown.elements | {"table_open": _Table}


def manual_page(text: str) -> Markdown:
    """A page that `rich` prints."""
    return _Page(text)
