"""A Ray cluster on this machine, in a process of its own: prints its address, and adds and kills nodes on request."""

import os
import shutil
import sys
import tempfile

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}

from ray.cluster_utils import Cluster

NODE = {"num_cpus": 2, "object_store_memory": 100 << 20}


def raylet(node):
    (started,) = node.all_processes["raylet"]
    return started.process.pid


def main():
    # Short, since the names of sockets in it may not be long.
    folder = tempfile.mkdtemp(prefix="lt-", dir="/tmp")
    # Ray writes the cluster's address into a folder of its own, which only `ray start` makes.
    os.environ["RAY_TMPDIR"] = folder
    os.mkdir(os.path.join(folder, "ray"))
    head = {**NODE, "include_dashboard": False, "temp_dir": folder}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = {}
    try:
        for _ in range(2):
            cluster.add_node(**NODE)
        cluster.wait_for_nodes(timeout=120)
        print(cluster.address, flush=True)
        for line in sys.stdin:
            words = line.split()
            if words[0] == "add":
                node = cluster.add_node(**NODE)
                cluster.wait_for_nodes(timeout=120)
                nodes[raylet(node)] = node
                print(raylet(node), flush=True)
            else:
                cluster.remove_node(nodes.pop(int(words[1])), allow_graceful=False)
                print("killed", flush=True)
    finally:
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
