"""Versions of Linux against each other: sections of docs/results/linux-6.1-6.12-7.3.md.

python -m studies kernels compare FIRST SECOND [SCENARIO...]    the six scenarios on two kernels
python -m studies kernels controllers KERNEL...                 every controller on several kernels
python -m studies kernels versions [KERNEL...]                  what builds, boots, repeats, and its speed
"""

import importlib

from studies.study import parser


def main(given: list[str]) -> None:
    """Call one of the parts."""
    arguments = parser(__doc__)
    arguments.add_argument("part", choices=("compare", "controllers", "versions"))
    part = arguments.parse_args(given[:1]).part
    importlib.import_module(f"studies.kernels.{part}").main(given[1:])
