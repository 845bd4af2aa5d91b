"""Runs several scripts in one process: most of a short script's time is the framework's import."""

import runpy
import sys

for words in sys.argv[1:]:
    sys.argv = words.split("+")
    runpy.run_path(sys.argv[0], run_name="__main__")
