"""The `laptime` command."""

import os
import signal
import sys

from laptime import _native


def main() -> int:
    """Runs the command line of this process."""
    # This process is the command alone: Ctrl-C is for the command to handle, not for the interpreter.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Where `laptime run` finds the hook that Python children start with.
    os.environ["LAPTIME_HOOK_PATH"] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_hook")
    # What runs a script that cannot run itself: `laptime run train.py`.
    os.environ["LAPTIME_PYTHON"] = sys.executable
    return _native.main(["laptime", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
