"""Edits split.yaml with gristmill and loads every split with Megatron-Energon's own loader after each edit.

Usage: splits_energon.py GRISTMILL FOLDER

Which samples a split must hold is kept beside by plain Python sets, so that neither gristmill nor the loader vouches for itself.
"""

import collections
import io
import json
import shutil
import subprocess
import sys
import tarfile
import traceback
from pathlib import Path

from megatron.energon import Cooker, DefaultTaskEncoder, WorkerConfig, basic_sample_keys, get_loader, get_train_dataset, stateless
from megatron.energon.flavors.webdataset.empty_dataset_error import EmptyDatasetError

BINARY = ""


def gristmill(*arguments, exits=(0,)):
    run = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, stdin=subprocess.DEVNULL)
    assert run.returncode in exits, (
        f"gristmill {arguments}: exit {run.returncode}\n{run.stdout.decode(errors='replace')}\n{run.stderr.decode(errors='replace')}"
    )
    return run


@stateless
def cook(sample):
    return dict(**basic_sample_keys(sample), text=sample["txt"])


class Texts(DefaultTaskEncoder):
    cookers = [Cooker(cook)]
    decoder = None

    def encode_sample(self, sample):
        return sample


def load(root, split):
    """(key, text) of every sample that the loader gives; none for a split without shards."""
    try:
        dataset = get_train_dataset(
            root,
            split_part=split,
            worker_config=WorkerConfig(rank=0, world_size=1, num_workers=0),
            batch_size=None,
            shuffle_buffer_size=None,
            max_samples_per_sequence=None,
            task_encoder=Texts(),
            repeat=False,
        )
        samples = [(sample["__key__"], sample["text"]) for sample in get_loader(dataset)]
    except EmptyDatasetError:
        return collections.Counter()
    return collections.Counter((key, text.decode() if isinstance(text, bytes) else text) for key, text in samples)


class Set:
    """A prepared data set, and what must be in its splits."""

    def __init__(self, root, shards, splits):
        self.root = root
        self.shards = shards
        self.splits = {split: list(names) for split, names in splits.items()}
        self.excluded = set()
        self.loads = 0
        for name, keys in shards.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
                for key in keys:
                    data = self.text(name, key).encode()
                    member = tarfile.TarInfo(f"{key}.txt")
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
        gristmill("prepare", root, "--yes", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset")

    @staticmethod
    def text(shard, key):
        return f"{shard} holds {key}"

    @property
    def file(self):
        return self.root / ".nv-meta" / "split.yaml"

    def expected(self, split):
        found = collections.Counter()
        for shard in self.splits.get(split, []):
            if shard in self.excluded:
                continue
            for key in self.shards[shard]:
                if f"{shard}/{key}" not in self.excluded:
                    found[(key, self.text(shard, key))] += 1
        return found

    def check(self, what):
        for split in self.splits:
            found, wanted = load(self.root, split), self.expected(split)
            assert found == wanted, (
                f"{what}: split {split}: missing {list((wanted - found))[:5]}, too many {list((found - wanted))[:5]}\n"
                + self.file.read_text()
            )
            self.loads += 1

    def move(self, names, to, *arguments):
        gristmill("splits", "move", self.root, *arguments)
        for shards in self.splits.values():
            shards[:] = [shard for shard in shards if shard not in names]
        if to is not None:
            self.splits.setdefault(to, []).extend(names)
        self.check(f"move {arguments}")

    def exclude(self, names, *arguments):
        gristmill("splits", "exclude", self.root, *arguments)
        self.excluded |= set(names)
        self.check(f"exclude {arguments}")

    def include(self, names, *arguments):
        gristmill("splits", "include", self.root, *arguments)
        self.excluded -= set(names)
        self.check(f"include {arguments}")


def numbered(folder):
    shards = {f"s_{n:03}.tar": [f"k{n:03}_{m:04}" for m in range(12)] for n in range(20)}
    names = list(shards)
    data = Set(folder / "numbered", shards, {"train": names, "val": [], "test": []})
    data.check("as prepared")
    data.move(names[8:12], "val", "--range", "8..11", "--to", "val")
    data.move(names[15:16], "test", names[15], "--to", "test")
    data.move(names[3:6], "test", "s_00{3..5}.tar", "--to", "test")
    data.move([names[9]], "train", names[9], "--to", "train")
    data.move([names[0]], None, names[0], "--out")
    data.move(names[17:19], "extra", "--pattern", r"s_01[78]", "--to", "extra", "--new")
    keys = lambda shard, *numbers: [f"{shard}/{shards[shard][n]}" for n in numbers]
    data.exclude(keys("s_001.tar", *range(2, 9)), "s_001.tar/k001_{0002..0008}", "--note", "blurred: see #12")
    data.exclude(["s_007.tar"], "s_007.tar")
    data.exclude(keys("s_010.tar", 0, 11) + keys("s_013.tar", 5), "s_010.tar/k010_0000", "s_010.tar/k010_0011", "s_013.tar/k013_0005")
    data.exclude(["s_002.tar", "s_006.tar"], "s_00{2,6}.tar")
    data.include(keys("s_001.tar", 5), "s_001.tar/k001_0005")
    data.include(["s_006.tar"], "s_006.tar")
    data.include(keys("s_001.tar", 2, 3), "s_001.tar/k001_000{2,3}")
    gristmill("splits", "balance", data.root, "train=6,val=2,test=2")
    shown = json.loads(gristmill("splits", "show", data.root, "--json").stdout)
    data.splits = {split["name"]: split["shard_names"] for split in shown["splits"]}
    placed = sorted(shard for shards in data.splits.values() for shard in shards)
    assert placed == sorted(set(names) - {names[0]}), placed
    data.check("balance")
    return data


ODD = {
    "plain.tar": ["a", "b"],
    "it's {1}.tar": ["k{2}", "k{3}", "x,y"],
    "sp ace/a: b.tar": ["a: b", "c #d", "- e"],
    "#hash.tar": ["#1", "&anchor", "*alias"],
    "08.tar": ["08", "1e3", "tRue", "null", "0x1f"],
    "日本/ü.tar": ["ключ", "é/tief/drin", "🙂"],
    'q"uote.tar': ['say "hi"', "it's", "back\\slash"],
    "{a,b}.tar": ["{c,d}", "{1,3}", "e}"],
    "@at%.tar": ["@x", "%y", "`z"],
    "[list].tar": ["[m]", "{n", "!o"],
}


def odd(folder):
    data = Set(folder / "odd", ODD, {"train": list(ODD), "val": [], "test": []})
    data.check("as prepared")
    for number, name in enumerate(ODD):
        data.move([name], ["val", "test"][number % 2], name, "--to", ["val", "test"][number % 2])
    for name, keys in ODD.items():
        data.exclude([f"{name}/{keys[-1]}"], f"--note=why, {name}", "--", f"{name}/{keys[-1]}")
    for name in list(ODD)[::3]:
        data.exclude([name], name)
    for name in list(ODD)[::3]:
        data.include([name], name)
    for name, keys in list(ODD.items())[::2]:
        data.include([f"{name}/{keys[-1]}"], f"{name}/{keys[-1]}")
    gristmill("lint", data.root)
    return data


BY_HAND = """\
# who moved what: ask Kim
exclude:            # in the order in which they were found
  - 'h_00.tar/k00_01'     # eyes closed
  - "h_01.tar/k01_{00..03}" # the whole burst

split_parts:
  "val": [ h_08.tar, 'h_09.tar' ]   # frozen

  train:
  # the first delivery
  - h_{00..03}.tar
  # the second
  - h_{04..07}.tar
  test: []
"""


def by_hand(folder):
    shards = {f"h_{n:02}.tar": [f"k{n:02}_{m:02}" for m in range(6)] for n in range(10)}
    names = list(shards)
    for ends, more in [("\n", {}), ("\r\n", {}), ("\n", {"last": False})]:
        root = folder / f"by_hand_{len(list(folder.iterdir()))}"
        data = Set(root, shards, {"train": names[:8], "val": names[8:], "test": []})
        text = BY_HAND if more.get("last", True) else BY_HAND.rstrip("\n")
        data.file.write_bytes(text.replace("\n", ends).encode())
        data.excluded = {"h_00.tar/k00_01"} | {f"h_01.tar/k01_{n:02}" for n in range(4)}
        data.check("by hand")
        data.move(["h_02.tar"], "val", "h_02.tar", "--to", "val")
        data.move(["h_08.tar"], "test", "h_08.tar", "--to", "test")
        data.exclude(["h_05.tar/k05_03"], "h_05.tar/k05_03", "--note", "dark")
        data.include(["h_01.tar/k01_02"], "h_01.tar/k01_02")
        after = data.file.read_bytes().decode()
        for kept in ["# who moved what: ask Kim", "# eyes closed", "# frozen", "# the first delivery", "# the second"]:
            assert kept in after, f"{kept} is gone:\n{after}"
        assert ("\r\n" in after) == (ends == "\r\n") and after.count("\n") == after.count(ends), "the line ends changed"
    return data


def leaks(folder):
    """What `check --excludes-to` writes ends the leaks, and nothing else."""
    shards = {f"{split}/{n}.tar": [f"{split}{n}_{m}" for m in range(5)] for split in ("train", "val") for n in range(3)}
    data = Set(folder / "leaks", shards, {"train": [name for name in shards if "train" in name], "val": []})
    data.move([name for name in shards if "val" in name], "val", "--pattern", "val/", "--to", "val")
    # Two samples of val become copies, the third of a part too small to count.
    copies = {"val/0.tar": {1: "c" * 80, 2: "tiny"}, "val/2.tar": {4: "d" * 80}, "train/1.tar": {0: "c" * 80, 3: "d" * 80, 4: "tiny"}}
    texts = {(name, key): Set.text(name, key) for name, keys in shards.items() for key in keys}
    for name, changed in copies.items():
        for number, text in changed.items():
            texts[(name, shards[name][number])] = text
        with tarfile.open(data.root / name, "w", format=tarfile.PAX_FORMAT) as archive:
            for key in shards[name]:
                content = texts[(name, key)].encode()
                member = tarfile.TarInfo(f"{key}.txt")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    data.text = lambda shard, key: texts[(shard, key)]
    gristmill("prepare", data.root, "--yes", "--update")
    data.check("with copies")
    listed = folder / "copies.txt"
    gristmill("splits", "check", data.root, "--content", "--excludes-to", listed, exits=(1,))
    data.exclude(["val/0.tar/val0_1", "val/2.tar/val2_4"], "--from", listed)
    gristmill("splits", "check", data.root, "--content")
    return data


def main():
    global BINARY
    BINARY, folder = sys.argv[1], Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    failed = 0
    for case in (numbered, odd, by_hand, leaks):
        try:
            data = case(folder)
            print(f"splits {case.__name__}: {data.loads} loads of {len(data.splits)} splits")
        except Exception:
            failed += 1
            print(f"splits {case.__name__}: FAILED")
            traceback.print_exc(file=sys.stdout)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
