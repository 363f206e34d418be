"""Build the static site in `target/site`: documentation, gallery and playground, for any host and any path on it.

    python scripts/static_site.py

`make site` calls this, after `make wasm`. `scripts/docs.py` builds the documentation. The playground is the workbench's
page (`ui/`) next to the npm package (`target/npm/dumbbell`), and a file in place of the server's answer to `api/start`.
Every page gets a content security policy: scripts of the site only, no eval, no other host. A service worker keeps the
site's files, so that it works offline after the first visit.
"""

import base64
import hashlib
import re
import shutil
import sys
from pathlib import Path

import docs

from dumbbell.control_characters import json_text
from dumbbell.spec import scenarios
from dumbbell.web.experiment_text import page_start
from dumbbell.web.server import PAGE

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "target" / "npm" / "dumbbell"
PLAY = docs.SITE / docs.PLAY
NAMED = ("*.trace", "*.sh")
"""Files next to built-in experiments, which these name."""
SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)([^>]*)>(.*?)</script>", re.DOTALL)
TABS = re.compile(r'<ul class="md-tabs__list">\s*<li[^>]*>.*?</li>', re.DOTALL)
"""The tabs of a documentation page, up to the end of the first one."""
OF_PAGE = {"index", "workers", "threads", "tables"}
"""Modules of the npm package that run in the page, not in its workers."""
WORKER = "service-worker.js"
OWN = ROOT / "ui" / "src" / "site"
"""The service worker, and the script that registers it."""
WHEN_SHOWN = {".png", ".svg"}
"""Files that the service worker keeps once a page has shown them; it loads all others at the first visit."""
POLICY = (
    "default-src 'none'; script-src 'self'{hashes}; worker-src 'self' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'"
)
"""Of a documentation page; `{hashes}` permits the scripts that the generator writes into it."""


def main() -> int:
    """Build all parts."""
    if missing := what_is_missing():
        sys.stderr.write(f"site: {missing}\n")
        return 1
    if status := docs.main(playground=True):
        return status
    for page in docs.SITE.rglob("*.html"):
        text = with_tab(page.read_text(encoding="utf-8"), "../" * (len(page.relative_to(docs.SITE).parts) - 1))
        page.write_text(protected(text), encoding="utf-8")
    playground(PLAY)
    offline(docs.SITE)
    sys.stdout.write(f"{PLAY / 'index.html'}\n")
    return 0


def what_is_missing() -> str:
    """What must be built first; empty: nothing."""
    if not (PACKAGE / "index.js").is_file():
        return "no npm package in target/npm; run: make wasm"
    if not (PAGE / "index.html").is_file():
        return "the workbench's page was not built; run: make setup"
    return ""


def playground(folder: Path) -> None:
    """Write the playground into a folder that may exist."""
    shutil.copytree(PAGE, folder, dirs_exist_ok=True)
    shutil.copytree(PACKAGE, folder / "simulator", dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.d.ts"))
    index = folder / "index.html"
    index.write_text(without_server(index.read_text(encoding="utf-8"), folder), encoding="utf-8")
    files = folder / "files"
    files.mkdir(exist_ok=True)
    source = next(iter(scenarios().values())).resolve().parent
    named = sorted(path for pattern in NAMED for path in source.glob(pattern))
    for path in named:
        shutil.copy(path, files)
    start = page_start(server=False) | {"files": [path.name for path in named]}
    (folder / "api").mkdir(exist_ok=True)
    (folder / "api" / "start").write_text(json_text(start), encoding="utf-8")


def without_server(page: str, folder: Path) -> str:
    """The page with a mark that no server is behind it, and with what it needs for its first figure loaded early."""
    needed = [*sorted((folder / "assets").glob("figures-*.js")), *sorted((folder / "assets").glob("toml-patch-*.js"))]
    needed += [path for path in sorted((folder / "simulator").glob("*.js")) if path.stem in OF_PAGE]
    modules = [f'<link rel="modulepreload" href="{path.relative_to(folder).as_posix()}">' for path in needed]
    start = '<link rel="preload" as="fetch" crossorigin href="api/start">'
    marked = page.replace('<html lang="en">', '<html lang="en" data-server="none">', 1)
    return marked.replace("</title>", "</title>" + "".join([start, *modules]), 1)


def offline(site: Path) -> None:
    """Add the service worker: it keeps every file of the site by its digest."""
    shutil.copy(OWN / "register.js", site)
    for page in site.rglob("*.html"):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("</head>", f'<script defer src="{up}register.js"></script></head>', 1), "utf-8")
    files = [path for path in sorted(site.rglob("*")) if path.is_file()]
    digests = {
        path.relative_to(site).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in files
        if path.name != WORKER
    }
    later = [path for path in digests if Path(path).suffix in WHEN_SHOWN]
    facts = f"const FILES = {json_text(digests)};\nconst WHEN_SHOWN = new Set({json_text(later)});\n"
    (site / WORKER).write_text(facts + (OWN / WORKER).read_text(encoding="utf-8"), encoding="utf-8")


def with_tab(page: str, up: str) -> str:
    """A page of the documentation with the playground as its second tab, and the first entry of the menu."""
    link = f'href="{up}{docs.PLAY}/index.html"'
    tab = f'<li class="md-tabs__item"><a {link} class="md-tabs__link">Playground</a></li>'
    return TABS.sub(lambda found: f"{found[0]}{tab}", page, count=1)


def protected(page: str) -> str:
    """A page with its policy; the scripts in it are permitted by their digests."""
    texts = [text for kind, text in SCRIPT.findall(page) if "json" not in kind]
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    hashes = "".join(f" 'sha256-{digest}'" for digest in dict.fromkeys(digests))
    tag = f'<meta http-equiv="Content-Security-Policy" content="{POLICY.format(hashes=hashes)}">'
    return page.replace("<head>", f"<head>{tag}", 1)


if __name__ == "__main__":
    sys.exit(main())
