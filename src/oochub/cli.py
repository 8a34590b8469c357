"""The program `oochub`; its commands are imported once a Ctrl-C is heard."""

from oochub.process.program import program


def main() -> None:
    """Runs the command line in a process of its own; see `oochub.process.program.program` for its exit codes."""
    program(_run_commands)


def _run_commands() -> None:
    from oochub.process.cores import shorten_waiting

    shorten_waiting()
    from oochub.app import command_line
    from oochub.commands._terminal import prepare_terminal

    prepare_terminal()
    command_line()()


if __name__ == "__main__":
    main()
