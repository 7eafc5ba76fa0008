"""The program: ``nodecopy``, or ``python -m nodecopy``."""

import gc
import os
import sys
import threading


def run() -> int:
    """Run the command line of this process and return its exit code."""
    gc.set_threshold(10_000)  # imports make many objects and no garbage to look for among them
    try:
        from nodecopy.cli import main  # takes a moment, in which Ctrl-C may come

        code = main()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        code = 130
    if threading.active_count() > 1:  # Ctrl-C while a fit runs in the background of a page
        sys.stdout.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(run())
