"""How long a copy over a link takes, predicted by `laptime data` and measured with curl.

    sudo python benches/links/links.py LAPTIME [--json FILE] [--only 100x20 …]

Every link is a pair of network namespaces with a TUN device each and `relay.c` between them: the rate is that of
`tc tbf`, the delay (of a round trip) the relay's. nginx serves 64 files; `laptime data URL --json` predicts what a
copy of all of them takes on 1, 2, 4 and 8 streams, and `curl --parallel` makes each of these copies.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

# Mbit/s, milliseconds of a round trip, and bytes of each of the files.
LINKS = [(rate, delay) for rate in (10, 100, 1000) for delay in (1, 20, 100)] + [
    (30, 50),
    (300, 50),
]
FILES = 64
FILE_BYTES = {10: 250_000, 30: 750_000, 100: 2_000_000, 300: 5_000_000, 1000: 8_000_000}
STREAMS = [1, 2, 4, 8]


def run(*words: str, **options: object) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


class Link:
    """Two namespaces with a link between them, and nginx at its far end; gone when it is closed."""

    def __init__(self, name: str, rate: int, delay: int, relay: pathlib.Path, folder: pathlib.Path):
        self.near, self.far = f"lap-{name}-n", f"lap-{name}-f"
        self.folder = folder
        a, b = f"t{name}n"[:15], f"t{name}f"[:15]
        words = [str(relay), a, b, str(delay * 1000 // 2)]
        self.relay = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.relay.stdout.readline() == b"ready\n"
        # Large packets where small ones would measure the relay and not the link.
        mtu = "9000" if rate > 100 else "1500"
        for space, device, own, other in (
            (self.near, a, "10.9.0.1", "10.9.0.2"),
            (self.far, b, "10.9.0.2", "10.9.0.1"),
        ):
            run("ip", "netns", "add", space)
            run("ip", "link", "set", device, "netns", space)
            inside = ("ip", "-n", space)
            run(*inside, "link", "set", "lo", "up")
            run(*inside, "addr", "add", own, "peer", other, "dev", device)
            run(*inside, "link", "set", device, "mtu", mtu, "txqueuelen", "2000", "up")
        burst = max(16_000, rate * 1_000_000 // 8 // 250)
        shape = ("rate", f"{rate}mbit", "burst", str(burst), "latency", "100ms")
        run("tc", "-n", self.far, "qdisc", "add", "dev", b, "root", "tbf", *shape)
        self.server = self.serve()

    def serve(self) -> subprocess.Popen:
        temporary = "".join(
            f"{kind}_temp_path {self.folder}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        text = (
            f"daemon off; user root; pid {self.folder}/pid; error_log {self.folder}/errors; events {{}}\n"
            f"http {{ access_log off; {temporary} keepalive_requests 1000000; sendfile on;\n"
            f"server {{ listen 10.9.0.2:80; root {self.folder}/www; autoindex on; }} }}\n"
        )
        configuration = self.folder / "nginx.conf"
        configuration.write_text(text)
        server = subprocess.Popen(
            ["ip", "netns", "exec", self.far, "nginx", "-c", str(configuration)]
        )
        for _ in range(100):
            if (
                subprocess.run(
                    self.inside("curl", "-s", "-o", "/dev/null", "http://10.9.0.2/")
                ).returncode
                == 0
            ):
                return server
            time.sleep(0.1)
        raise SystemExit("nginx does not answer")

    def inside(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.near, *words]

    def close(self) -> None:
        self.server.terminate()
        self.server.wait()
        self.relay.stdin.close()
        self.relay.wait()
        for space in (self.near, self.far):
            subprocess.run(["ip", "netns", "del", space])


def copy_seconds(link: Link, streams: int) -> float:
    """Copies everything with curl, and drops it: a disk is not what is measured."""
    lines = "".join(
        f'url = "http://10.9.0.2/set/{i:03}.bin"\noutput = "/dev/null"\n' for i in range(FILES)
    )
    options = (
        ["--parallel", "--parallel-immediate", "--parallel-max", str(streams)]
        if streams > 1
        else []
    )
    started = time.monotonic()
    words = link.inside(
        "curl", "--no-progress-meter", "--silent", "--fail", *options, "--config", "-"
    )
    subprocess.run(words, check=True, input=lines, text=True)
    return time.monotonic() - started


def measure(
    laptime: str, rate: int, delay: int, relay: pathlib.Path, probe: list[str]
) -> list[dict]:
    with tempfile.TemporaryDirectory(prefix="laptime-links-") as temporary:
        folder = pathlib.Path(temporary)
        folder.chmod(0o755)
        (folder / "www/set").mkdir(parents=True)
        for index in range(FILES):
            (folder / f"www/set/{index:03}.bin").write_bytes(os.urandom(FILE_BYTES[rate]))
        link = Link(f"{rate}x{delay}", rate, delay, relay, folder)
        try:
            words = link.inside(laptime, "data", "http://10.9.0.2/set/", "--json", *probe)
            document = json.loads(run(*words))
            predicted = {copy["streams"]: copy["copy_s"] for copy in document["plan"]["by_streams"]}
            rows = []
            for streams in STREAMS:
                seconds = copy_seconds(link, streams)
                forecast = predicted.get(streams)
                rows.append(
                    {
                        "rate": rate,
                        "delay": delay,
                        "streams": streams,
                        "seconds": seconds,
                        "forecast": forecast,
                    }
                )
                rows[-1]["proposed"] = document["plan"]["streams"]
                rows[-1]["ramping"] = document["network"]["ramping"]
                rows[-1]["probe_s"] = document["network"]["measured_s"]
            return rows
        finally:
            link.close()


def shown(row: dict) -> str:
    head = f"{row['rate']:>5} Mbit/s {row['delay']:>4} ms {row['streams']:>2} streams {row['seconds']:>7.2f} s"
    if row["forecast"] is None:
        return f"{head}  not tried: it gained nothing"
    mean, low, high = (row["forecast"][key] for key in ("mean", "low", "high"))
    within = "within" if low <= row["seconds"] <= high else "OUTSIDE"
    rising = "  still rising" if row["ramping"] else ""
    return f"{head}  {mean:>7.2f} ({low:.2f}-{high:.2f})  {mean / row['seconds'] - 1:+6.1%}  {within}{rising}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("laptime")
    parser.add_argument("--json")
    parser.add_argument("--only", nargs="*")
    parser.add_argument(
        "--probe", nargs="*", default=[], help="options for laptime, such as --probe-bytes=256MB"
    )
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("network namespaces need root")
    wanted = [
        link for link in LINKS if not arguments.only or f"{link[0]}x{link[1]}" in arguments.only
    ]
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as temporary:
        relay = pathlib.Path(temporary) / "relay"
        run(
            "cc",
            "-O2",
            "-pthread",
            str(pathlib.Path(__file__).with_name("relay.c")),
            "-o",
            str(relay),
        )
        for rate, delay in wanted:
            found = measure(os.path.abspath(arguments.laptime), rate, delay, relay, arguments.probe)
            print("\n".join(map(shown, found)), flush=True)
            rows += found
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows))
    summary(rows)


def summary(rows: list[dict]) -> None:
    known = [row for row in rows if row["forecast"]]
    errors = [abs(row["forecast"]["mean"] / row["seconds"] - 1) for row in known]
    covered = sum(
        row["forecast"]["low"] <= row["seconds"] <= row["forecast"]["high"] for row in known
    )
    print(
        f"\n{len(known)} copies predicted; {sum(error <= 0.15 for error in errors)} within 15 %; ",
        end="",
    )
    print(f"{covered} within their interval; median error {sorted(errors)[len(errors) // 2]:.1%}")
    links = {(row["rate"], row["delay"]) for row in rows}
    good = 0
    for link in links:
        of = [row for row in rows if (row["rate"], row["delay"]) == link]
        best = min(row["seconds"] for row in of)
        good += (
            next(row["seconds"] for row in of if row["streams"] == of[0]["proposed"]) <= 1.1 * best
        )
    print(
        f"{len(links)} links; on {good} the proposed streams are within 10 % of the best that was tried"
    )


if __name__ == "__main__":
    main()
