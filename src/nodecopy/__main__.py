"""The program: ``nodecopy``, or ``python -m nodecopy``."""

import sys

from nodecopy import interrupts


def run() -> int:
    """Run the command line of this process and return its exit code."""
    interrupts.begin()

    from nodecopy.cli import main  # under the eyes of `interrupts`: this takes a while

    try:
        code = main()
    except KeyboardInterrupt:  # one more, while the first was being reported
        code = interrupts.EXIT_INTERRUPTED
    return interrupts.end(code)


if __name__ == "__main__":
    sys.exit(run())
