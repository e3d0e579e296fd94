"""Writes shards of random samples with gristmill, in several ways, and reads all of them with webdataset and with the loader of Energon; and a
mounted set with both.

Usage: shards_energon.py GRISTMILL FOLDER
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import check_energon
import webdataset

BINARY = ""
SEED = int(os.environ.get("GRISTMILL_SEED") or time.time_ns() % 1_000_000)


def gristmill(*words, cwd=None):
    run = subprocess.run([BINARY, *map(str, words)], cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if run.returncode:
        sys.exit(f"gristmill {' '.join(map(str, words))}: exit {run.returncode}\n{run.stdout}\n{run.stderr}")


def make(folder, rand):
    """Returns samples of random parts by their keys, written as loose files."""
    samples = {}
    for number in range(rand.randrange(150, 400)):
        key = "/".join([*rand.choice([[], ["a"], ["a", "b c"], ["ü"]]), f"{number:05}"])
        parts = {part: rand.randbytes(rand.choice([0, 1, 511, 512, 513, 4000])) for part in ("jpg", "seg.png") if rand.random() < 0.9}
        parts["json"] = json.dumps({"n": number, "t": "ä" * rand.randrange(9)}).encode()
        samples[key] = parts
        for part, content in parts.items():
            path = folder / f"{key}.{part}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return samples


def digest(parts):
    return {part: hashlib.sha256(content).hexdigest() for part, content in parts.items()}


def by_webdataset(folder):
    found = {}
    shards = sorted(str(path) for path in folder.rglob("*.tar"))
    for sample in webdataset.WebDataset(shards, shardshuffle=False):
        key = sample["__key__"]
        if key in found:
            sys.exit(f"{folder}: webdataset reads {key} twice")
        found[key] = digest({name: value for name, value in sample.items() if not name.startswith("__")})
    return found


def compare(name, found, samples):
    expected = {key: digest(parts) for key, parts in samples.items()}
    if found != expected:
        missing, more = sorted(expected.keys() - found.keys())[:5], sorted(found.keys() - expected.keys())[:5]
        differ = [key for key in expected.keys() & found.keys() if found[key] != expected[key]][:5]
        sys.exit(f"{name}, seed {SEED}: missing {missing}, not expected {more}, different {differ}")
    print(f"{name}: {len(found)} samples")


def main():
    global BINARY
    BINARY, folder = sys.argv[1], Path(sys.argv[2])
    rand = random.Random(SEED)
    print(f"shards of random samples, seed {SEED}")
    loose = folder / "loose"
    samples = make(loose, rand)
    gristmill("shard", loose, "--output", folder / "first", "--max-count", rand.randrange(20, 90))
    compare("loose files", by_webdataset(folder / "first"), samples)
    gristmill("shard", folder / "first", "--output", folder / "second", "--shuffle", "--seed", SEED, "--shards", 5, "--rename-part", "seg.png=mask.png")
    renamed = {key: {part.replace("seg.", "mask."): content for part, content in parts.items()} for key, parts in samples.items()}
    compare("shuffled", by_webdataset(folder / "second"), renamed)
    dropped = rand.sample(sorted(samples), 20)
    (folder / "drop.txt").write_text("\n".join(dropped))
    gristmill("shard", folder / "first", "--output", folder / "third", "--drop-keys", folder / "drop.txt", "--drop-parts", "json", "--max-size", 200_000)
    kept = {key: {part: content for part, content in parts.items() if part != "json"} for key, parts in samples.items() if key not in dropped}
    compare("filtered", by_webdataset(folder / "third"), {key: parts for key, parts in kept.items() if parts})
    for name in ("first", "second", "third"):
        shards = sorted(path.name for path in (folder / name).glob("*.tar"))
        print(f"{name} by the loader of Energon:", check_energon.check({"path": str(folder / name), "splits": {"train": [shards, []]}}))
    mounted(folder, samples)


def mounted(folder, samples):
    """Compares the files of a mounted set with the loose ones."""
    if not os.path.exists("/dev/fuse") or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        print("mount: left out, /dev/fuse cannot be opened")
        return
    target = folder / "mounted"
    gristmill("mount", folder / "first", target, "--detach")
    try:
        found = {}
        for path in target.rglob("*"):
            if path.is_file():
                found[str(path.relative_to(target))] = hashlib.sha256(path.read_bytes()).hexdigest()
    finally:
        subprocess.run(["umount", target], check=True)
    expected = {f"{key}.{part}": hashlib.sha256(content).hexdigest() for key, parts in samples.items() for part, content in parts.items()}
    if found != expected:
        sys.exit(f"mount, seed {SEED}: {len(found)} files instead of {len(expected)}, or other bytes")
    print(f"mount: {len(found)} files")
    shutil.rmtree(folder / "loose")


if __name__ == "__main__":
    main()
