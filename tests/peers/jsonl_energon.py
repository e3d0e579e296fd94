"""Indexes JSONL files with gristmill and loads them with Megatron-Energon's own loader and file store.

Usage: jsonl_energon.py GRISTMILL FOLDER

What a file holds is read by Python line by line, so that neither gristmill nor the loader vouches for itself. Each index is
compared with the one that the loader's own program makes, too.
"""

import json
import random
import subprocess
import sys
import traceback
from pathlib import Path

from megatron.energon import Cooker, DefaultTaskEncoder, WorkerConfig, basic_sample_keys, get_loader, get_train_dataset, stateless
from megatron.energon.cache.file_store import JsonlFileStore
from megatron.energon.epathlib import EPath
from megatron.energon.flavors.jsonl.jsonl_prepare import JsonlPreparator

BINARY = ""


def gristmill(*arguments, exits=(0,)):
    run = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, stdin=subprocess.DEVNULL)
    assert run.returncode in exits, f"gristmill {arguments}: exit {run.returncode}\n{run.stderr.decode(errors='replace')}"
    return run


def record(number, rng):
    text = "".join(rng.choice("abc äöü 漢字 🙂 \u2028 \" \\ \t") for _ in range(rng.randrange(0, 200)))
    return {"id": number, "text": text, "deep": {"tags": [1, 2.5, None, True, {"x": []}]}, "long": "x" * rng.randrange(0, 3000)}


def lines(count, seed, ascii_only=False):
    rng = random.Random(seed)
    return [json.dumps(record(n, rng), ensure_ascii=ascii_only).encode() for n in range(count)]


def files(folder):
    """Name and content of each file."""
    rng = random.Random(7)
    yield "plain.jsonl", b"".join(line + b"\n" for line in lines(3000, 1))
    yield "crlf.v2.jsonl", b"".join(line + b"\r\n" for line in lines(500, 2, True))
    yield "no_end.jsonl", b"\n".join(lines(100, 3))
    blank = [b"", b" ", b"\t\r"]
    yield "blank.jsonl", b"\n \n" + b"".join(
        b"  " * rng.randrange(2) + line + b" \n" + b"".join(rng.choice(blank) + b"\n" for _ in range(rng.randrange(4)))
        for line in lines(800, 4)
    )
    yield "one.jsonl", b'{"only": 1}'
    yield "long.jsonl", b'{"a": 1}\n{"b": "' + b"y" * (20 << 20) + b'"}\n{"c": 3}\n'
    yield "many.jsonl", b"".join(b'{"n": %d}\n' % n for n in range(20_000))


def expected_of(content):
    return [json.loads(line) for line in content.split(b"\n") if line.strip()]


@stateless
def cook(sample: dict) -> dict:
    return dict(**basic_sample_keys(sample), value=sample["json"])


class Encoder(DefaultTaskEncoder):
    cookers = [Cooker(cook)]


def load(path, split):
    dataset = get_train_dataset(
        str(path),
        split_part=split,
        worker_config=WorkerConfig(rank=0, world_size=1, num_workers=0),
        batch_size=None,
        shuffle_buffer_size=None,
        max_samples_per_sequence=None,
        repeat=False,
        task_encoder=Encoder(),
    )
    return {int(sample["__key__"].rsplit("/", 1)[-1]): sample["value"] for sample in get_loader(dataset)}


def check(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    expected = expected_of(content)
    gristmill("prepare", path, "--threads", "3")
    index = Path(f"{path}.idx")
    ours = index.read_bytes()
    for split in ("train", "val"):
        got = load(path, split)
        assert sorted(got) == list(range(len(expected))), f"{len(got)} of {len(expected)} samples were loaded"
        wrong = [number for number, value in enumerate(expected) if got[number] != value]
        assert not wrong, f"samples differ, e.g. {wrong[:3]}"
    store = JsonlFileStore(EPath(str(path)))
    for number in {0, len(expected) // 2, len(expected) - 1}:
        data, _ = store[f"{number}.json"]
        assert json.loads(data) == expected[number], f"file store: sample {number} differs"
    gristmill("lint", path)
    gristmill("verify", path)
    JsonlPreparator.prepare_dataset(EPath(str(path)))
    theirs = index.read_bytes()
    assert ours == theirs, "the indexes differ"
    gristmill("verify", path)
    assert b"Nothing to do" in gristmill("prepare", path).stdout, "their index was made again"
    # A file that grew is refused by the loader and found by info; preparing it again is enough.
    with path.open("ab") as file:
        file.write(b'\n{"late": true}\n')
    gristmill("info", path, exits=(1,))
    gristmill("prepare", path)
    assert len(load(path, "train")) == len(expected) + 1
    return len(expected)


def main():
    global BINARY
    BINARY = sys.argv[1]
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    passed = failed = 0
    for name, content in files(folder):
        try:
            print(f"ok   jsonl {name}: {check(folder, name, content)} samples")
            passed += 1
        except Exception:
            traceback.print_exc(file=sys.stdout)
            print(f"FAIL jsonl {name}")
            failed += 1
    print(f"{passed} JSONL files passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
