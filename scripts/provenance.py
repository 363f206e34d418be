"""Writes the table of docs/design/provenance.md: which of our files follow which files of Linux, and their licences.

    python scripts/provenance.py [--check]

A file of ours follows a file of Linux if its text names it. `--check` writes nothing and fails if the table on the page
is out of date; a file of Linux without a known licence is an error.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from generated import ROOT, write_or_check

PAGE = ROOT / "docs" / "design" / "provenance.md"
SOURCES = ("crates/net/src", "crates/tc/src", "crates/sim/src")
BEGIN = "<!-- table: scripts/provenance.py -->"
END = "<!-- end of table -->"
NAMED = re.compile(
    r"\b(?:(?:net|include|lib|kernel|drivers)/[\w/-]+\.[ch]|(?:tcp|sch|act|codel|pie|red)_[a-z0-9_]+\.[ch])\b"
)
REFERENCES = re.compile(r"\bRFC (\d+)\b|\b(draft-[a-z0-9-]+[a-z0-9])")

GPL = "GPL-2.0"
GPL_ONLY = "GPL-2.0-only"
GPL_LATER = "GPL-2.0-or-later"
DUAL = "GPL-2.0 OR BSD-3-Clause"
LICENCES = {
    "include/linux/prandom.h": GPL,
    "include/linux/skbuff.h": GPL_LATER,
    "include/linux/win_minmax.h": GPL,
    "include/net/codel.h": "BSD-3-Clause OR GPL-2.0",
    "include/net/codel_impl.h": "BSD-3-Clause OR GPL-2.0",
    "include/net/pie.h": GPL_ONLY,
    "include/net/red.h": GPL,
    "include/net/sch_generic.h": GPL,
    "include/net/sock.h": GPL_LATER,
    "include/net/tcp.h": GPL_LATER,
    "include/net/tcp_states.h": GPL_LATER,
    "kernel/time/timer.c": GPL,
    "lib/win_minmax.c": GPL,
    "net/core/dev.c": GPL_LATER,
    "net/core/sock.c": GPL_LATER,
    "net/ipv4/ip_output.c": GPL_ONLY,
    "net/ipv4/route.c": GPL_LATER,
    "net/ipv4/tcp_bbr.c": "Dual BSD/GPL",
    "net/ipv4/tcp_bbr2.c": "Dual BSD/GPL",
    "net/ipv4/tcp_bic.c": GPL_ONLY,
    "net/ipv4/tcp_cdg.c": GPL_ONLY,
    "net/ipv4/tcp_cong.c": GPL_ONLY,
    "net/ipv4/tcp_cubic.c": GPL_ONLY,
    "net/ipv4/tcp_dctcp.c": GPL_LATER,
    "net/ipv4/tcp_dctcp.h": GPL,
    "net/ipv4/tcp_highspeed.c": GPL_ONLY,
    "net/ipv4/tcp_htcp.c": GPL_ONLY,
    "net/ipv4/tcp_hybla.c": GPL_ONLY,
    "net/ipv4/tcp_illinois.c": GPL_ONLY,
    "net/ipv4/tcp_input.c": GPL,
    "net/ipv4/tcp_lp.c": GPL_ONLY,
    "net/ipv4/tcp_nv.c": GPL_ONLY,
    "net/ipv4/tcp_output.c": GPL_ONLY,
    "net/ipv4/tcp_prague.c": GPL,
    "net/ipv4/tcp_rate.c": GPL_ONLY,
    "net/ipv4/tcp_recovery.c": GPL,
    "net/ipv4/tcp_scalable.c": GPL_ONLY,
    "net/ipv4/tcp_timer.c": GPL_ONLY,
    "net/ipv4/tcp_vegas.c": GPL_ONLY,
    "net/ipv4/tcp_veno.c": GPL_ONLY,
    "net/ipv4/tcp_westwood.c": GPL_ONLY,
    "net/ipv4/tcp_yeah.c": GPL_ONLY,
    "net/sched/act_police.c": GPL_LATER,
    "net/sched/sch_api.c": GPL_LATER,
    "net/sched/sch_cake.c": DUAL,
    "net/sched/sch_choke.c": GPL_ONLY,
    "net/sched/sch_codel.c": DUAL,
    "net/sched/sch_drr.c": GPL_ONLY,
    "net/sched/sch_dualpi2.c": "GPL-2.0-only OR BSD-2-Clause",
    "net/sched/sch_ets.c": GPL_ONLY,
    "net/sched/sch_fifo.c": GPL_LATER,
    "net/sched/sch_fq.c": GPL_LATER,
    "net/sched/sch_fq_codel.c": GPL_LATER,
    "net/sched/sch_fq_pie.c": GPL_ONLY,
    "net/sched/sch_generic.c": GPL_LATER,
    "net/sched/sch_gred.c": GPL_LATER,
    "net/sched/sch_hhf.c": GPL_ONLY,
    "net/sched/sch_htb.c": GPL_LATER,
    "net/sched/sch_netem.c": GPL_ONLY,
    "net/sched/sch_pie.c": GPL_ONLY,
    "net/sched/sch_prio.c": GPL_LATER,
    "net/sched/sch_red.c": GPL_LATER,
    "net/sched/sch_sfb.c": GPL_ONLY,
    "net/sched/sch_sfq.c": GPL_LATER,
    "net/sched/sch_tbf.c": GPL_LATER,
}
"""The SPDX line of each file in Linux 6.12; without one, the text at its head, its module's licence, or COPYING.
Not in 6.12, but read in their own trees: `sch_dualpi2.c` (6.17: SPDX GPL-2.0-only OR BSD-2-Clause), `tcp_bbr2.c`
(google/bbr: MODULE_LICENSE "Dual BSD/GPL", no SPDX line), `tcp_prague.c` (L4STeam/linux: SPDX GPL-2.0)."""


def main() -> int:
    """Write the table, or compare it."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    made = "".join(f"{line}\n" for line in table())
    return write_or_check({PAGE: f"{head}{BEGIN}\n{made}{END}{tail}"}, "scripts/provenance.py")


def table() -> Iterator[str]:
    """A row for each of our files that names one of Linux."""
    yield "| file | follows | licence of that | also |"
    yield "| --- | --- | --- | --- |"
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.rs")):
            text = path.read_text(encoding="utf-8")
            files = sorted({full_name(found) for found in NAMED.findall(text)})
            if not files or "tests" in path.parts or path.stem == "tests":
                continue
            licences = dict.fromkeys(LICENCES[file] for file in files)
            also = sorted({(found[0] and f"RFC {found[0]}") or found[1] for found in REFERENCES.findall(text)})
            name = path.relative_to(ROOT).as_posix().removeprefix("crates/")
            yield f"| `{name}` | {listed(files)} | {'; '.join(licences)} | {', '.join(also)} |"


def full_name(found: str) -> str:
    """The path of a file of Linux, even if the text has only its name."""
    if "/" in found:
        return found
    paths = [path for path in LICENCES if path.endswith(f"/{found}")]
    if len(paths) != 1:
        raise KeyError(f"{found}: no licence is known; add it to LICENCES in {Path(__file__).name}")
    return paths[0]


def listed(files: list[str]) -> str:
    """Names as code."""
    return ", ".join(f"`{file}`" for file in files)


if __name__ == "__main__":
    sys.exit(main())
