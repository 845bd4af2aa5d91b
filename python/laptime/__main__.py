"""The `laptime` command."""

import os
import signal
import sys

from laptime import _native

# What pipx and uv leave in the environments they make for a single tool.
_TOOL_MARKS = ("pipx_metadata.json", "uv-receipt.toml")


def main() -> int:
    """Runs the command line of this process."""
    # This process is the command alone: Ctrl-C is for the command to handle, not for the interpreter. Where it is
    # ignored, as in the background of a script, it stays so.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # What Python children attach their hooks with, unless they have a laptime of their own.
    os.environ["LAPTIME_PACKAGE"] = os.path.dirname(os.path.abspath(__file__))
    if not _is_tool():
        # What runs a script that cannot run itself: `laptime run train.py`.
        os.environ["LAPTIME_PYTHON"] = sys.executable
    return _native.main(["laptime", *sys.argv[1:]])


def _is_tool() -> bool:
    """Whether this Python is there for laptime alone, so that no script is meant for it."""
    return any(os.path.exists(os.path.join(sys.prefix, mark)) for mark in _TOOL_MARKS)


if __name__ == "__main__":
    sys.exit(main())
