"""Run the command line as ``python -m nodecopy``."""

import sys

from nodecopy.cli import main

if __name__ == "__main__":
    sys.exit(main())
