"""Makes examples/*.ipynb, executed, from examples/*.py, whose cells begin with `# %%`.

Edit the .py; the notebook shows its output. The notebook has no times and no random ids, so it differs between two
executions only where outputs do.
"""

import re
import sys
from typing import Any

import nbformat
from nbclient import NotebookClient

from studies.study import ROOT

EXAMPLES = ROOT / "examples"
CELL_TIMEOUT_S = 300


def main(_arguments: list[str]) -> None:
    """Make every notebook."""
    for source in sorted(EXAMPLES.glob("*.py")):
        notebook = executed(as_notebook(source.read_text(encoding="utf-8")))
        nbformat.write(notebook, source.with_suffix(".ipynb"))
        sys.stderr.write(f"wrote {source.with_suffix('.ipynb')}\n")


def as_notebook(text: str) -> Any:
    """The cells of a script: `# %%` begins code, `# %% [markdown]` text in comments."""
    notebook = nbformat.v4.new_notebook()
    kinds = re.split(r"^# %%(.*)\n", text, flags=re.MULTILINE)[1:]
    for number, (kind, body) in enumerate(zip(kinds[::2], kinds[1::2], strict=True)):
        if "[markdown]" in kind:
            cell = nbformat.v4.new_markdown_cell(re.sub(r"^# ?", "", body, flags=re.MULTILINE).strip())
        else:
            cell = nbformat.v4.new_code_cell(body.strip())
        cell.id = f"cell-{number}"
        notebook.cells.append(cell)
    return notebook


def executed(notebook: Any) -> Any:
    """The notebook with the outputs of its cells. Raises the exception of a cell."""
    client = NotebookClient(notebook, timeout=CELL_TIMEOUT_S, kernel_name="python3", record_timing=False)
    return client.execute()
