"""The command line: the only package that prints and exits.

Results go to standard output; progress and messages go to standard error. `errors.ExitStatus` has the exit statuses.
"""

import atexit
import gc
import os
import resource
import signal
import sys
import warnings
from types import FrameType

import dumbbell
from dumbbell.errors import ENDING, DumbbellError, ExitStatus

__all__ = ["main"]


def main() -> None:
    """Entry point of the `dumbbell` command."""
    # Or Python looks for cycles in all modules before it ends: 0.3 s with polars.
    atexit.register(gc.freeze)
    for number in ENDING:
        # Keep a signal ignored if the caller ignores it: `nohup` does so with SIGHUP.
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _as_interrupt)
    if sys.argv[1:] == ["--version"]:
        print(f"dumbbell {dumbbell.__version__}")  # noqa: T201 — before anything else is imported
        return
    warnings.showwarning = lambda message, *_, **__: _print_error(str(message))
    from dumbbell.cli.streams import Interrupted  # noqa: PLC0415

    try:
        try:
            _run_command()
        except ModuleNotFoundError:
            from dumbbell import extras  # noqa: PLC0415 — reads metadata

            with extras.explained():
                raise
    except DumbbellError as error:
        _print_error(getattr(error, "report", "") or str(error))
        sys.exit(error.exit_status)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        # An error of the system that no caller expects, such as a full disk under standard output.
        what = f"{error.filename}: " if error.filename else ""
        _print_error(f"{what}{error.strerror or error}")
        sys.exit(DumbbellError.exit_status)
    except (KeyboardInterrupt, Interrupted) as interrupt:
        _print_error(f"interrupted; {str(interrupt) or 'nothing was left behind'}")
        sys.exit(ExitStatus.INTERRUPTED)
    except BaseException as error:
        # Polars raises one of its own, which is no Exception, if it can't start a thread.
        if "Resource temporarily unavailable" not in str(error):
            raise
        most = resource.getrlimit(resource.RLIMIT_NPROC)[0]
        _print_error(f"can't start a thread: the limit of this user is {most}; raise it: ulimit -u")
        sys.exit(ExitStatus.WRONG_REQUEST)


def _run_command() -> None:
    """Run the command of `sys.argv`, or complete it; exits for usage errors and other statuses than 0."""
    # Imported only now: the signal handlers must be in place first.
    import click  # noqa: PLC0415

    from dumbbell.cli.app import COMPLETION_VARIABLE, app  # noqa: PLC0415
    from dumbbell.cli.streams import guard  # noqa: PLC0415

    guard()
    if instruction := os.environ.get(COMPLETION_VARIABLE):
        from click.shell_completion import shell_complete  # noqa: PLC0415

        sys.exit(shell_complete(app, {}, "dumbbell", COMPLETION_VARIABLE, instruction))
    try:
        with app.make_context("dumbbell", sys.argv[1:]) as context:
            app.invoke(context)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
    except click.UsageError as error:
        _print_error(error.format_message())
        if error.ctx is not None:
            print(f"  see {error.ctx.command_path} --help", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)


def _print_error(text: str) -> None:
    """Only the first line begins at the margin, so that a file name with newlines can't imitate a message."""
    print(f"dumbbell: {text}".replace("\n", "\n  "), file=sys.stderr)  # noqa: T201


def _as_interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
