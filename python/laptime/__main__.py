"""The `laptime` command."""

import signal
import sys

from laptime import _native


def main() -> int:
    """Runs the command line of this process."""
    # This process is the command alone: Ctrl-C is for the command to handle, not for the interpreter.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(["laptime", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
