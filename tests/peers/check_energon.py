"""Loads data sets prepared by gristmill with Megatron-Energon's own loader and file store.

Usage: check_energon.py CASES.json

CASES.json: a list of {"name", "path", "splits": {split: [[shard name, ...], [excluded "shard/key", ...]]},
"expected": {split: {key: {part: sha256}}} where tarfile cannot tell, "by_name": bool, "listed": samples that the
file store must list, "typed": {split: class name},
"cooked": {split: samples that the generated cooker gives}}, "url": where the loader finds it, if not at the path}. What a split must hold is read from the tars
by Python's own tarfile module, so that neither gristmill nor the loader vouches for itself.
"""

import hashlib
import importlib.util
import json
import re
import sys
import tarfile
import traceback
from pathlib import Path

from megatron.energon import (
    Cooker,
    DefaultTaskEncoder,
    WorkerConfig,
    basic_sample_keys,
    get_loader,
    get_train_dataset,
    stateless,
)
from megatron.energon.cache.file_store import WebdatasetFileStore
from megatron.energon.epathlib import EPath
from megatron.energon.flavors.webdataset.empty_dataset_error import EmptyDatasetError

SKIP = re.compile(r"__[^/]*__($|/)")
SPLIT = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$")
CRUDE_YAML = "peer-check-crude.yaml"
CRUDE = "__module__: megatron.energon\n__class__: CrudeWebdataset\ndecoder: null\n"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def samples_of(tar_path: Path):
    """(key, {part: digest}, {part: digest}) of one shard, in archive order, by the documented name rules.

    Where a part stands twice in a sample, the loader keeps the last (first map), access by name the first (second map).
    """
    found = []
    with tarfile.open(tar_path, "r:") as archive:
        for member in archive:
            if not member.isfile() or SKIP.match(member.name):
                continue
            match = SPLIT.match(member.name)
            if not match:
                continue
            key, part = match.groups()
            if not found or found[-1][0] != key:
                found.append((key, {}, {}))
            content = digest(archive.extractfile(member).read())
            found[-1][1][part] = content
            found[-1][2].setdefault(part, content)
    return found


@stateless
def cook(sample: dict) -> dict:
    parts = {k: digest(v) for k, v in sample.items() if not k.startswith("__")}
    return dict(**basic_sample_keys(sample), parts=parts)


class RawEncoder(DefaultTaskEncoder):
    cookers = [Cooker(cook)]


def load(path: Path, split: str, encoder, **more):
    workers = WorkerConfig(rank=0, world_size=1, num_workers=0)
    dataset = get_train_dataset(
        path,
        split_part=split,
        worker_config=workers,
        batch_size=None,
        shuffle_buffer_size=None,
        max_samples_per_sequence=None,
        repeat=False,
        task_encoder=encoder,
        **more,
    )
    return list(get_loader(dataset))


class RawSampleEncoder(DefaultTaskEncoder):
    """Passes typed samples through."""

    def encode_sample(self, sample):
        return sample


def expected_of(case, split):
    if split in case.get("expected", {}):
        return case["expected"][split]
    shards, excluded = case["splits"][split]
    gone = set(excluded)
    expected = {}
    for shard in shards:
        for key, parts, _ in samples_of(Path(case["path"]) / shard):
            if f"{shard}/{key}" not in gone:
                expected[key] = parts
    return expected


def place_of(case):
    return case.get("url", Path(case["path"]))


def check_split(case, split):
    path = place_of(case)
    expected = expected_of(case, split)
    try:
        loaded = load(path, split, RawEncoder(), dataset_config=CRUDE_YAML)
    except EmptyDatasetError:
        assert not expected, f"{split}: the loader sees no shard, {len(expected)} samples were expected"
        return 0
    got = {}
    for sample in loaded:
        key = sample["__key__"]
        assert key not in got, f"{split}: {key!r} was loaded twice"
        got[key] = sample["parts"]
    missing = expected.keys() - got.keys()
    extra = got.keys() - expected.keys()
    assert not missing, f"{split}: {len(missing)} samples are missing, e.g. {sorted(missing)[:3]}"
    assert not extra, f"{split}: {len(extra)} samples too many, e.g. {sorted(extra)[:3]}"
    wrong = [key for key in expected if expected[key] != got[key]]
    assert not wrong, f"{split}: contents differ, e.g. {wrong[:3]}: {expected[wrong[0]]} != {got[wrong[0]]}"
    return len(got)


def check_typed(case, split, class_name):
    expected = expected_of(case, split)
    loaded = load(Path(case["path"]), split, RawSampleEncoder())
    keys = sorted(sample.__key__ for sample in loaded)
    assert keys == sorted(expected), f"{split}: typed loading gave {len(keys)} of {len(expected)} samples"
    names = {type(sample).__name__ for sample in loaded}
    assert names == {class_name}, f"{split}: sample types {names}, wanted {class_name}"
    return len(loaded)


def check_cooked(case, split, count):
    """Loads through the task encoder of the generated cooker.py."""
    spec = importlib.util.spec_from_file_location("cooker", Path(case["path"]) / ".nv-meta" / "cooker.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["cooker"] = module
    spec.loader.exec_module(module)

    class Passing(module.TaskEncoder):
        def encode_sample(self, sample):
            return sample

    loaded = load(Path(case["path"]), split, Passing())
    assert len(loaded) == count, f"{split}: the cooker gave {len(loaded)} of {count} samples"
    return len(loaded)


def check_by_name(case):
    path = Path(case["path"])
    store = WebdatasetFileStore(EPath(str(place_of(case))))
    count = 0
    shards = sorted({s for shards, _ in case["splits"].values() for s in shards})
    total = 0
    for shard in shards:
        for key, _, parts in samples_of(path / shard):
            total += 1
            for part, want in parts.items():
                data, _ = store[f"{key}.{part}"]
                assert digest(data) == want, f"file store: {key}.{part} differs"
                count += 1
    listed = len(list(store.list_all_samples()))
    assert case.get("listed", total) == listed, f"file store lists {listed} samples, the tars hold {total}"
    return count


def check(case):
    meta = Path(case["path"]) / ".nv-meta"
    crude = meta / CRUDE_YAML
    crude.write_text(CRUDE)
    try:
        lines = []
        for split in case["splits"]:
            lines.append(f"{split} {check_split(case, split)}")
        for split, class_name in (case.get("typed") or {}).items():
            lines.append(f"typed {split} {check_typed(case, split, class_name)}")
        for split, count in (case.get("cooked") or {}).items():
            lines.append(f"cooked {split} {check_cooked(case, split, count)}")
        if case.get("by_name", True):
            lines.append(f"by name {check_by_name(case)}")
        return ", ".join(lines)
    finally:
        crude.unlink()


def main():
    cases = json.loads(Path(sys.argv[1]).read_text())
    passed = failed = 0
    for case in cases:
        try:
            print(f"ok   {case['name']}: {check(case)}", flush=True)
            passed += 1
        except Exception as error:  # each case stands alone
            failed += 1
            print(f"FAIL {case['name']}: {error}", flush=True)
            if not isinstance(error, AssertionError):
                traceback.print_exc()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
