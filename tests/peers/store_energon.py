"""Prepares a data set in an S3 store with gristmill, and loads it there with Megatron-Energon through multi-storage-client.

Usage: store_energon.py GRISTMILL FOLDER REMOTE_TESTS

The store is started on the loopback address, and stopped at the end. What a split must hold is read from the local shards by Python's own
tarfile module; every part is read by its name, and every .tar.idx is compared with that of the same set prepared on the disk.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

BINARY, FOLDER, REMOTE = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
sys.path[:0] = [str(REMOTE), str(Path(__file__).parent)]
# Read by the loader when it is imported.
os.environ["MSC_CONFIG"] = str(FOLDER / "msc.json")
os.environ["ENERGON_LOCAL_COPY_TMP_DIR"] = str(FOLDER / "copies")

from prepare_energon import text_shard  # noqa: E402
from s3_server import Server, msc_config  # noqa: E402

BUCKET, KEY = "sets", "nested/set"
SPLITS = {"train": [f"part-{n}.tar" for n in range(5)], "val": ["part-5.tar"], "test": ["part-6.tar"]}
FLAGS = [f"--split-parts={split}:part-[{number}]" for split, number in (("train", "0-4"), ("val", "5"), ("test", "6"))]


def prepare(place, environment):
    arguments = [BINARY, "prepare", str(place), "--yes", *FLAGS, "--sample-type", "CrudeWebdataset"]
    run = subprocess.run(arguments, env=environment, capture_output=True, stdin=subprocess.DEVNULL)
    if run.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit {run.returncode}\n{run.stdout.decode()}\n{run.stderr.decode()}")


def main():
    local, prepared = FOLDER / "shards", FOLDER / "prepared"
    for number in range(7):
        text_shard(local / f"part-{number}.tar", number * 100, 60)
    shutil.copytree(local, prepared)
    prepare(prepared, dict(os.environ))
    with Server("seaweed") as server:
        server.client.create(BUCKET)
        for shard in sorted(local.iterdir()):
            server.client.put(BUCKET, f"{KEY}/{shard.name}", shard.read_bytes())
        prepare(f"s3://{BUCKET}/{KEY}", {**os.environ, **server.env})
        for name in sorted(path.name for path in prepared.glob("*.tar.idx")):
            assert server.client.get(BUCKET, f"{KEY}/{name}") == (prepared / name).read_bytes(), f"{name} differs"
        msc_config(FOLDER / "msc.json", server.endpoint, {"store": BUCKET})
        # Only now, as it reads the configuration.
        import check_energon as loader

        server.client.put(BUCKET, f"{KEY}/.nv-meta/{loader.CRUDE_YAML}", loader.CRUDE.encode())
        case = {"path": str(local), "url": f"msc://store/{KEY}", "splits": {split: [names, []] for split, names in SPLITS.items()}}
        counts = [f"{split} {loader.check_split(case, split)}" for split in SPLITS]
        print(f"ok   in a store: {', '.join(counts)}, by name {loader.check_by_name(case)}")


if __name__ == "__main__":
    main()
