"""Files that are written where they are: for locks, caches, databases and the like nothing else would work."""

import os
import sqlite3
import sys

with open(os.devnull, "w") as file:
    file.write("nothing")
with open(os.environ["OUTSIDE"] + "/new.txt", "w") as file:
    file.write("in a temporary folder")
with open(os.environ["OUTSIDE"] + "/there.txt", "w") as file:
    file.write("in a temporary folder, but there before")
with open(os.environ["XDG_CACHE_HOME"] + "/cached", "w") as file:
    file.write("in a cache")
with open("train.lock", "w") as file:
    file.write("1")
for _ in range(2):
    sqlite3.connect("runs.db").close()
reader, writer = os.pipe()
with open(writer, "w") as file:
    file.write("through a pipe")
with open(reader) as file:
    print(file.read(), file=sys.stderr)
os.remove("train.lock")
