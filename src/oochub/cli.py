"""The program `oochub`: it imports next to nothing before a Ctrl-C is heard, then runs the commands."""

import sys

from oochub.errors import OochubError
from oochub.stop_signals import StopSignals

_ENDS = {
    130: "Interrupted. Nothing is half-written; the same command starts or goes on again.",
    143: "Terminated. Nothing is half-written; the same command starts or goes on again.",
}


def main() -> None:
    """Runs the command line in a process of its own.

    Exit 0 fine, 2 what the user can fix, 130 interrupted, 143 terminated, 1 a bug (with its traceback). It takes SIGINT
    and SIGTERM and does not give them back.
    """
    signals = StopSignals()
    signals.take()
    try:
        from oochub.app import app
        from oochub.commands._terminal import prepare_terminal

        prepare_terminal()
        app()
    except BaseException as end:
        code = signals.code or (end.code if isinstance(end, SystemExit) else None)
        if code in _ENDS:  # whatever a library made of the stop
            sys.stderr.write(f"{_ENDS[code]}\n")
            sys.exit(code)
        if isinstance(end, OochubError):
            sys.stderr.write(f"Error: {end}\n")
            sys.exit(2)
        raise
    finally:
        signals.leave()


if __name__ == "__main__":
    main()
