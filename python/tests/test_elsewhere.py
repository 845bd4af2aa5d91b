"""`laptime data URL` on object stores, and on what only fsspec knows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("moto.server")

ROWS = "x,y\n" + "".join(f"{row},0.5\n" for row in range(2000))
SECRET = "s3cretkey"


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """An object store on this machine, with rows in two objects and a thousand more below another prefix."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    keys = {
        "aws_access_key_id": "test",
        "aws_secret_access_key": SECRET,
        "region_name": "us-east-1",
    }
    client = boto3.client("s3", endpoint_url=url, **keys)
    client.create_bucket(Bucket="bucket")
    client.put_object(Bucket="bucket", Key="train/a.csv", Body=ROWS.encode())
    client.put_object(Bucket="bucket", Key="train/b c+d/ä.csv", Body=ROWS.encode())
    for index in range(1005):
        client.put_object(Bucket="bucket", Key=f"many/{index}.txt", Body=b"x")
    yield url
    server.stop()


def data(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    names = {"LAPTIME_PYTHON": sys.executable} | environment
    command = [sys.executable, "-m", "laptime", "data", *words]
    return subprocess.run(
        command, capture_output=True, text=True, env=os.environ | names, timeout=300
    )


def document(*words: str, **environment: str) -> dict:
    done = data(*words, "--json", "--probe-time", "2s", "--probe-bytes", "100k", **environment)
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout + done.stderr
    return json.loads(done.stdout)


def test_an_object_store_is_listed_signed_and_read_by_ranges(store: str) -> None:
    keys = {"AWS_ENDPOINT_URL": store, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": SECRET}
    found = document("s3://bucket/train", **keys)
    assert (found["files"], found["samples"]["mean"], found["bytes"]) == (2, 4000, 2 * len(ROWS))
    assert found["network"]["protocol"] == "s3" and found["plan"]["copy_s"]["mean"] > 0
    one = document("s3://bucket/train/b c+d/ä.csv", "--no-disk", **keys)
    assert (one["files"], one["samples"]["mean"]) == (1, 2000)
    # A page of a listing has a thousand objects.
    assert document("s3://bucket/many", "--no-disk", **keys)["files"] == 1005


def test_a_bucket_that_is_not_there_is_an_error(store: str) -> None:
    missing = data(
        "s3://nobody/x", AWS_ENDPOINT_URL=store, AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY=SECRET
    )
    assert missing.returncode == 1 and SECRET not in missing.stdout + missing.stderr
    assert "could not look at s3://nobody/x" in missing.stderr


def test_what_fsspec_knows_is_read_through_it(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.csv").write_text(ROWS)
    (folder / "deep" / "b.csv").write_text(ROWS)
    found = document(f"local://{folder}")
    assert (found["files"], found["samples"]["mean"]) == (2, 4000)
    assert found["network"]["login_s"] > 0
    one = document(f"local://{folder}/a.csv", "--no-disk")
    assert (one["files"], one["samples"]["mean"]) == (1, 2000)
    missing = data(f"local://{folder}/none")
    assert missing.returncode == 1 and "no such object" in missing.stderr
    unknown = data("nosuchprotocol://me:s3cretkey@host/x?token=s3cretkey")
    assert unknown.returncode == 1 and SECRET not in unknown.stdout + unknown.stderr
