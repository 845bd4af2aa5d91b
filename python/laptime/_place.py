"""Lists and reads a place that fsspec knows, for `laptime data URL`.

It is spoken with over standard input and output: requests and answers are lines of JSON, and what was read follows
its answer as it is. The first line is the URL, which may hold a secret and therefore is no argument.
"""

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

# What libraries print must not be taken for an answer.
ANSWERS = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)


def answer(payload: bytes = b"", **fields: Any) -> None:
    ANSWERS.write(json.dumps(fields).encode() + b"\n" + payload)
    ANSWERS.flush()


def refused(error: BaseException) -> None:
    # Messages of errors have URLs in them, and URLs have secrets; which package is missing has none.
    words = str(error)[:300] if isinstance(error, ImportError) else ""
    kinds = {FileNotFoundError: "missing", PermissionError: "denied"}
    kind = next((kind for type_, kind in kinds.items() if isinstance(error, type_)), "failed")
    answer(error=kind, words=f"{type(error).__name__}: {words}" if words else type(error).__name__)


def objects(files: Any, root: str) -> Iterator[tuple[str, int | None]]:
    """Names below the root, and lengths."""
    for folder, _, entries in files.walk(root, detail=True):
        for entry in entries.values():
            path = entry["name"]
            below = path[len(root) :] if path.startswith(root) else f"{folder}/{path}"
            yield below.lstrip("/"), entry.get("size")


def listed(files: Any, root: str) -> None:
    if files.isfile(root):
        answer(name=root.rstrip("/").rsplit("/", 1)[-1], bytes=files.size(root))
        answer(end="object")
        return
    found = False
    for name, length in objects(files, root.rstrip("/")):
        found = True
        answer(name=name, bytes=length)
    if not found and not files.exists(root):
        raise FileNotFoundError
    answer(end="folder")


def main() -> None:
    try:
        from fsspec.core import url_to_fs

        files, root = url_to_fs(json.loads(sys.stdin.readline()))
    except BaseException as error:
        return refused(error)
    answer(ready=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "list" in request:
                listed(files, root)
                continue
            name = request["read"]
            is_root = (
                not root.endswith("/") and root.rsplit("/", 1)[-1] == name and files.isfile(root)
            )
            path = root if is_root else f"{root.rstrip('/')}/{name}"
            data = files.cat_file(path, start=request["start"], end=request["end"])
            answer(payload=data, bytes=len(data))
        except Exception as error:
            refused(error)
    return None


main()
