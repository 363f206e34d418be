"""The command: the only room that prints and exits.

```text
app       every command and its options
runs      run: every case with every seed
compare   compare: two sides, from an experiment or from result folders
carry     runs side by side, with progress and Ctrl-C
sides     result folders to the two sides of a comparison
window    a part of a run, as --from and --to name it
summary   a result as tables for reading
beside    results side by side, a column each
contrast  a comparison as tables for reading
cells     numbers as people read them
console   both streams, on which hidden characters become visible
exec      a program on a host
shell     a terminal on a host
typist    who types there
kernels   kernel build, list, default
searches  bisect, and its options
sweep     sweep, and its options
sweeping  what a person sees of a sweep that goes on
bisect    bisect: a kernel, a run and a figure for each commit
logs      import and export
doctor    what this machine does to TCP
watch     TCP connections live; the screen is watching/'s
enable    enable and disable: the default controller
serve     bytes over HTTP with the controller that the request names
fetch     downloads in turn, and which is faster
swept     map, sql; stats, report and export of a sweep
asked     options that are quantities, work that Ctrl-C ends
```

Standard output holds what was asked for; progress and messages go to standard error. Exit status: 0
done, 1 an expectation failed or the run is invalid, 2 the request was wrong, 130 interrupted.
"""

import os
import resource
import signal
import sys
from types import FrameType

import dumbbell
from dumbbell.errors import DumbbellError
from dumbbell.signals import ENDING

__all__ = ["main"]


def main() -> None:
    """Entry point of the `dumbbell` command."""
    for number in ENDING:
        # What the caller has it ignore stays so: `nohup` does it with SIGHUP.
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _as_interrupt)
    if sys.argv[1:] == ["--version"]:
        print(f"dumbbell {dumbbell.__version__}")  # noqa: T201 — before anything else is imported
        return
    from dumbbell.cli.interrupt import Interrupted  # noqa: PLC0415

    try:
        # Only once signals are safe: importing takes a moment.
        from dumbbell.cli.app import app  # noqa: PLC0415
        from dumbbell.cli.console import guard  # noqa: PLC0415

        guard()
        app(standalone_mode=True)
    except DumbbellError as error:
        _tell(str(error))
        sys.exit(error.exit_status)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        # A fault of the machine's where no caller expects one, such as a full disk under standard output.
        what = f"{error.filename}: " if error.filename else ""
        _tell(f"{what}{error.strerror or error}")
        sys.exit(DumbbellError.exit_status)
    except (KeyboardInterrupt, Interrupted) as interrupt:
        _tell(f"interrupted; {str(interrupt) or 'nothing was left behind'}")
        sys.exit(130)
    except BaseException as error:
        # Of polars' Rust, which has no name in Python; raised where it can't start a thread.
        if type(error).__name__ != "PanicException" or "Resource temporarily unavailable" not in str(error):
            raise
        most = resource.getrlimit(resource.RLIMIT_NPROC)[0]
        why = f"no more threads may be started: this user may have {most}; raise it: ulimit -u"
        _tell(why)
        sys.exit(2)


def _tell(text: str) -> None:
    """Only the first line begins at the margin: a line of a file's name can't pass for one of ours."""
    print(f"dumbbell: {text}".replace("\n", "\n  "), file=sys.stderr)  # noqa: T201


def _as_interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
