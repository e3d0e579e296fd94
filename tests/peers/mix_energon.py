"""Authors and prepares metadatasets with gristmill and loads them with Megatron-Energon's own loader.

Usage: mix_energon.py GRISTMILL FOLDER

What a member holds is known from how it was made, so neither gristmill nor the loader vouches for itself. Join indexes are
compared byte for byte with those that the loader's own program makes.
"""

import collections
import contextlib
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
import tarfile
import traceback
from pathlib import Path

from megatron.energon import Cooker, DefaultTaskEncoder, WorkerConfig, basic_sample_keys, get_loader, get_train_dataset, stateless
from megatron.energon.epathlib import EPath
from megatron.energon.metadataset.loader import prepare_metadataset

BINARY = ""


def gristmill(*arguments, exits=(0,), env=None):
    run = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, stdin=subprocess.DEVNULL, env=env)
    assert run.returncode in exits, (
        f"gristmill {arguments}: exit {run.returncode}\n{run.stdout.decode(errors='replace')}\n{run.stderr.decode(errors='replace')}"
    )
    return run


def answer(*arguments, exits=(0,)):
    return json.loads(gristmill(*arguments, "--json", exits=exits).stdout)


def data_set(root, shards, prefix, split_ratio="1,0,0", sample_type="TextSample", extra=(), part="txt", text=None):
    """Shards of samples `KEY.txt`; `shards` maps shard name to keys. Prepared with gristmill."""
    for name, keys in shards.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
            for key in keys:
                data = text(key) if text else f"{prefix} {key}".encode()
                member = tarfile.TarInfo(f"{key}.{part}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    arguments = ["--field-map", "text=txt"] if sample_type == "TextSample" else []
    gristmill("prepare", root, "--yes", "--split-ratio", split_ratio, "--sample-type", sample_type, *arguments, *extra)
    return root


def keys(count, start=0):
    return [f"k{n:05}" for n in range(start, start + count)]


@stateless
def cook(sample, **aux):
    found = {}
    for name in aux:
        if name in ("primary", "cache"):
            continue
        store = aux[name]
        wanted = json.loads(sample["json"])["image"] if isinstance(sample["json"], (bytes, str)) else sample["json"]["image"]
        try:
            data, _ = store[wanted]
            found[name] = data if isinstance(data, bytes) else bytes(str(data), "utf-8")
        except (KeyError, FileNotFoundError):
            pass
    return dict(**basic_sample_keys(sample), aux=found)


@stateless
def cook_texts(sample):
    return dict(**basic_sample_keys(sample), raw={k: v for k, v in sample.items() if not k.startswith("__")})


class Texts(DefaultTaskEncoder):
    cookers = [Cooker(cook_texts)]
    decoder = None

    def encode_sample(self, sample):
        return sample


class WithAux(DefaultTaskEncoder):
    cookers = [Cooker(cook)]
    decoder = None

    def encode_sample(self, sample):
        return sample


def plain(text):
    return text.decode() if isinstance(text, bytes) else text


def join_both(first, second):
    """The joiner of the tests: the text of both."""
    first.text = f"{plain(first.text)}|{plain(second.text)}"
    return first


def join_named(left, right):
    return join_both(left, right)


def samples(path, split, take=None, encoder=None, repeat=False):
    dataset = get_train_dataset(
        path,
        split_part=split,
        worker_config=WorkerConfig(rank=0, world_size=1, num_workers=0),
        batch_size=None,
        shuffle_buffer_size=None,
        max_samples_per_sequence=None,
        task_encoder=encoder or Texts(),
        repeat=repeat,
    )
    return list(itertools.islice(iter(get_loader(dataset)), take))


def key_of(sample):
    return sample["__key__"] if isinstance(sample, dict) else sample.__key__


def text_of(sample):
    return sample["raw"] if isinstance(sample, dict) else plain(sample.text)


def origin(sample):
    text = text_of(sample)
    return "jsonl" if isinstance(text, dict) else text.split(" ")[0]


def house(folder):
    data_set(folder / "a", {f"a{n}.tar": keys(50, n * 50) for n in range(4)}, "A", "3,1,0")
    data_set(folder / "b", {f"sub/b{n}.tar": keys(30, n * 30) for n in range(2)}, "B", "1,1,0")
    lines = "".join(json.dumps({"n": n}) + "\n" for n in range(40))
    (folder / "c.jsonl").write_text(lines)
    gristmill("prepare", folder / "c.jsonl")


def blend(folder):
    house(folder)
    meta = folder / "out" / "blend.yaml"
    meta.parent.mkdir()
    gristmill("mix", "new", "--blend", f"{folder}/a=3", "--blend", f"{folder}/b=1", "--blend", f"{folder}/c.jsonl=1",
              "--subflavor", f"{folder}/b:origin=no", "--output", meta)
    facts = answer("mix", "check", meta)
    root = facts["splits"][0]["root"]
    assert [child["share"] for child in root["children"]] == [0.6, 0.2, 0.2], root
    assert root["samples_per_epoch"] == 150 + 30 + 40, root
    drawn = samples(meta, "train", 4000, repeat=True)
    counts = collections.Counter(origin(sample) for sample in drawn)
    for name, share in (("A", 0.6), ("B", 0.2), ("jsonl", 0.2)):
        assert abs(counts[name] / 4000 - share) < 0.04, counts
    flavors = {json.dumps(sample.__subflavors__) for sample in drawn if origin(sample) == "B"}
    assert flavors == {'{"origin": "no"}'}, flavors
    return len(drawn)


def relative_paths(folder):
    house(folder)
    cwd = os.getcwd()
    os.chdir(folder)
    try:
        gristmill("mix", "new", "--epochized", "a", "--epochized", "b=2", "--output", "deep.yaml")
    finally:
        os.chdir(cwd)
    shutil.move(folder, folder.with_name("moved"))
    return len(samples(folder.with_name("moved") / "deep.yaml", "train"))


def epochized(folder):
    house(folder)
    meta = folder / "epochized.yaml"
    gristmill("mix", "new", "--epochized", f"{folder}/a=2", "--epochized", f"{folder}/b=0.5", "--epochized", f"{folder}/c.jsonl",
              "--output", meta)
    told = answer("mix", "check", meta)["splits"][0]["root"]
    loaded = samples(meta, "train")
    counts = collections.Counter(origin(sample) for sample in loaded)
    assert counts == {"A": 300, "B": 15, "jsonl": 40}, counts
    assert told["samples_per_epoch"] == len(loaded), (told["samples_per_epoch"], len(loaded))
    assert [child["samples_per_epoch"] for child in told["children"]] == [300, 15, 40], told
    return len(loaded)


def subsets(folder):
    house(folder)
    data = folder / "a" / ".nv-meta" / "split.yaml"
    text = data.read_text()
    data.write_text(text.replace("exclude: []", "exclude:\n- a0.tar/k00003\n- a1.tar/k00060\n- a2.tar/k00149"))
    meta = folder / "subsets.yaml"
    meta.write_text(f"""
__module__: megatron.energon
__class__: MetadatasetV2
splits:
  train:
    blend_epochized:
    - path: a
      subset: {{range: [2, 100]}}
    - path: c.jsonl
      repetitions: 3
      subset: {{range: [25%, 75%]}}
    subset: {{range: [0%, 50%]}}
  whole: {{path: a, split_part: train, subset: {{range: [33%, 100%]}}}}
""")
    total = 0
    for split in answer("mix", "check", meta)["splits"]:
        loaded = samples(meta, split["name"])
        assert split["root"]["samples_per_epoch"] == len(loaded), (split["root"], len(loaded))
        total += len(loaded)
    return total


def nested(folder):
    house(folder)
    (folder / "inner").mkdir()
    (folder / "inner" / "inner.yaml").write_text("""
__module__: megatron.energon
__class__: MetadatasetV2
splits:
  train: {blend_epochized: [{path: ../a, repetitions: 2, subflavors: {x: inner, y: inner}}]}
  val: {path: ../b}
""")
    meta = folder / "outer.yaml"
    meta.write_text("""
__module__: megatron.energon
__class__: MetadatasetV2
splits:
  train:
    blend_epochized:
    - {path: inner/inner.yaml, repetitions: 3, subflavors: {x: outer}}
    - {path: inner/inner.yaml, split_part: val}
""")
    told = answer("mix", "check", meta)["splits"][0]["root"]["samples_per_epoch"]
    loaded = samples(meta, "train")
    assert told == len(loaded) == 150 * 6 + 30, (told, len(loaded))
    flavors = {json.dumps(s.__subflavors__, sort_keys=True) for s in loaded if origin(s) == "A"}
    assert flavors == {'{"x": "outer", "y": "inner"}'}, flavors
    return len(loaded)


def version_1(folder):
    house(folder)
    meta = folder / "old.yaml"
    meta.write_text("splits:\n  train:\n    datasets:\n    - {path: a, weight: 3}\n    - {path: b, weight: 1, split_part: val}\n")
    facts = answer("mix", "check", meta)
    assert facts["version"] == 1 and facts["splits"][0]["root"]["children"][0]["share"] == 0.75, facts
    counts = collections.Counter(origin(sample) for sample in samples(meta, "train", 3000, repeat=True))
    assert abs(counts["A"] / 3000 - 0.75) < 0.04, counts
    return 3000


def joined(folder, nonmatch, second, expected, exits=(0,), named=False, excludes=()):
    """A join of `one` and `two`, prepared by gristmill and by the loader's own program: same bytes, and the samples that are meant."""
    first = {"a/x0.tar": keys(40), "a/x1.tar": keys(40, 40), "b.tar": keys(40, 80)}
    data_set(folder / "one", first, "one", "2,1,0")
    data_set(folder / "two", second, "two", "1,0,0")
    for item in excludes:
        gristmill_exclude(folder / "one", item)
    meta = folder / "join.yaml"
    names = ("left=", "right=") if named else ("", "")
    how = ["--nonmatch", f"{folder}/two={nonmatch}"] if nonmatch else []
    gristmill("mix", "new", "--join", f"{names[0]}{folder}/one", "--join", f"{names[1]}{folder}/two",
              "--joiner", f"mix_energon:{'join_named' if named else 'join_both'}", *how, "--output", meta)
    run = gristmill("prepare", meta, exits=exits)
    if exits != (0,):
        return run
    cache = folder / "join.yaml.cache"
    ours = {path.name: path.read_bytes() for path in cache.iterdir()}
    assert answer("mix", "check", meta)["joins"][0]["is_prepared"]
    gristmill("verify", meta)
    if nonmatch == "none":
        # This release cannot read a row in which a member is missing, whoever wrote it; gristmill says so.
        try:
            samples(meta, "train")
            raise AssertionError("the loader has learned to read rows with a missing member: drop the note about it")
        except ValueError as error:
            assert "No valid files found" in str(error), error
        assert "cannot read" in gristmill("mix", "check", meta).stderr.decode()
        loaded = expected
    else:
        loaded = {key_of(s): s.text for s in samples(meta, "train")}
    assert loaded == expected, (len(loaded), len(expected), list(loaded.items())[:3], list(expected.items())[:3])
    shutil.rmtree(cache)
    prepare_metadataset(EPath(str(meta)))
    theirs = {path.name: path.read_bytes() for path in cache.iterdir()}
    assert theirs.keys() <= ours.keys(), (theirs.keys(), ours.keys())
    for name, content in theirs.items():
        assert content == ours[name], f"{name} differs from the reference"
    # What the reference made is right to us as well.
    gristmill("verify", meta, exits=(0,) if len(ours) == 1 else (1,))
    return len(loaded)


def gristmill_exclude(root, item):
    path = root / ".nv-meta" / "split.yaml"
    text = path.read_text()
    path.write_text(text.replace("exclude: []", "exclude:") + f"- {item}\n")


def pairs(both, only=()):
    return {**{key: f"one {key}|two {key}" for key in both}, **{key: f"one {key}|-" for key in only}}


def join_error(folder):
    second = {"y0.tar": keys(60)[::-1], "y1.tar": keys(70, 60)}
    return joined(folder, None, second, pairs(keys(80)))


def join_error_refused(folder):
    second = {"y0.tar": keys(60), "y1.tar": keys(19, 60)}
    run = joined(folder, None, second, {}, exits=(1,))
    text = run.stderr.decode()
    assert "lacks 1 of the 80 samples" in text and "'k00079'" in text and "nonmatch" in text, text
    return 1


def join_skip(folder):
    second = {"y0.tar": keys(30, 10)[::-1], "y1.tar": keys(20, 60)}
    return joined(folder, "skip", second, pairs(keys(30, 10) + keys(20, 60)))


def join_none(folder):
    second = {"y0.tar": keys(30, 10), "y1.tar": keys(20, 60)}
    both = keys(30, 10) + keys(20, 60)
    return joined(folder, "none", second, pairs(both, [k for k in keys(80) if k not in both]), named=True)


def join_excludes(folder):
    second = {"y0.tar": keys(120)}
    gone = {"k00005", "k00006"}
    left = [key for key in keys(80) if key not in gone]
    return joined(folder, None, second, pairs(left), excludes=["a/x0.tar/k00005", "a/x0.tar/k00006"])


def join_in_a_blend(folder):
    first = {"x.tar": keys(20)}
    data_set(folder / "one", first, "one")
    data_set(folder / "two", first, "two")
    data_set(folder / "b", {"b.tar": keys(30)}, "B")
    meta = folder / "mixed.yaml"
    meta.write_text("""
__module__: megatron.energon
__class__: MetadatasetV2
splits:
  train:
    blend_epochized:
    - join: [{path: one}, {path: two}]
      joiner: {__module__: mix_energon, __function__: join_both}
      repetitions: 2
      subset: {range: [25%, 100%]}
    - {path: b}
""")
    gristmill("prepare", meta)
    told = answer("mix", "check", meta)["splits"][0]["root"]["samples_per_epoch"]
    loaded = samples(meta, "train")
    assert told == len(loaded) == 15 * 2 + 30, (told, len(loaded))
    return len(loaded)


def aux_sources(folder):
    """A JSONL primary and a crude one, with media in a prepared data set and in a folder."""
    pictures = {f"p{n:03}": os.urandom(50) for n in range(10)}
    data_set(folder / "tars", {"m.tar": list(pictures)}, "", "1,0,0", "CrudeWebdataset", part="jpg", text=pictures.get)
    loose = folder / "loose" / "deep"
    loose.mkdir(parents=True)
    for name, data in pictures.items():
        (loose / f"{name}.jpg").write_bytes(data)
    (folder / "r.jsonl").write_text("".join(json.dumps({"image": f"{name}.jpg"}) + "\n" for name in pictures))
    gristmill("prepare", folder / "r.jsonl")
    meta = folder / "aux.yaml"
    gristmill("mix", "new", "--blend", f"{folder}/r.jsonl", "--aux", f"tars={folder}/tars", "--aux",
              f"loose=filesystem://{folder}/loose/deep", "--output", meta)
    told = answer("mix", "check", meta)["aux"][0]
    assert (told["records"], told["found"], told["missing"]) == (10, 10, 0), told
    loaded = samples(meta, "train", 30, WithAux(), repeat=True)
    for sample in loaded:
        assert set(sample["aux"]) == {"tars", "loose"}, sample
    names = {}
    for sample in loaded:
        names.setdefault(key_of(sample), sample["aux"])
    assert len(names) == 10
    wanted = sorted(pictures.values())
    for source in ("tars", "loose"):
        assert sorted(found[source] for found in names.values()) == wanted, source
    os.remove(loose / "p003.jpg")
    shutil.rmtree(folder / "tars" / ".nv-meta")
    gristmill("mix", "check", meta, exits=(1,))
    return len(loaded)


def media_store(folder):
    """Media facts that gristmill writes, asked for through both file stores."""
    from megatron.energon.cache.file_store import SystemFileStore, WebdatasetFileStore
    from PIL import Image

    pictures = {}
    for number in range(6):
        out = io.BytesIO()
        Image.new("RGB" if number % 2 else "L", (10 + number, 20 + number)).save(out, "PNG")
        pictures[f"p{number}"] = out.getvalue()
    tars, loose = folder / "tars", folder / "loose"
    data_set(tars, {"m.tar": list(pictures)}, "", "1,0,0", "CrudeWebdataset", part="png", text=pictures.get,
             extra=["--media-metadata-by-extension"])
    loose.mkdir()
    for name, data in pictures.items():
        (loose / f"{name}.png").write_bytes(data)
    gristmill("prepare-media", loose, "--media-metadata-by-header")
    for store in (WebdatasetFileStore(EPath(str(tars))), SystemFileStore(EPath(str(loose)))):
        for number, name in enumerate(pictures):
            facts = store.get_media_metadata(f"{name}.png")
            found = (facts.width, facts.height, facts.format, facts.mode)
            assert found == (10 + number, 20 + number, "PNG", "RGB" if number % 2 else "L"), found
    return 2 * len(pictures)


def refused_alike(folder):
    """What the check refuses, the loader does not load; what it accepts, the loader does."""
    house(folder)
    bodies = {
        "blend: [{path: a, weight: 0}]": False,
        "blend: [{path: a, weigth: 1}]": False,
        "blend: [{path: a, weight: '1'}]": False,
        "blend: [{path: a}, {path: nowhere}]": False,
        "blend: []": False,
        "path: a\n    split_part: tset": False,
        "path: a\n    split_part:": False,
        "path: a\n    subset: {range: [0, 1000]}": False,
        "path: a\n    subset: {range: [0%, end]}": False,
        "path: a\n    subset: {range: [0.1, 0.5]}": False,
        "blend: [{path: a}]\n    subset: {range: [0, 5]}": False,
        "path: a\n    aux: {m: b}": False,
        "path: c.jsonl\n    split_config: split.yaml": False,
        "join: [{path: a}, {path: c.jsonl}]\n    joiner: {__module__: mix_energon, __function__: join_both}": False,
        "join: [{path: a}, {path: b}]": False,
        "join: [{path: a, nonmatch: none}, {path: b}]\n    joiner: {__module__: mix_energon, __function__: join_both}": False,
        "blend: [{path: a, repetitions: 2}]": False,
        "path: a\n    shuffle_over_epochs_multiplier: 0": False,
        "concat: [{path: a}]": False,
        "blend: [{path: a, weight: true}]": True,
        "path: a\n    subset: {range: [0, end]}": True,
        "path: a\n    subflavors: null\n    aux: null": True,
        "blend_epochized: [{path: a, repetitions: 0.5}]": True,
        "path: c.jsonl\n    split_part: whatever": True,
    }
    for number, (body, accepted) in enumerate(bodies.items()):
        meta = folder / f"case{number}.yaml"
        meta.write_text(f"__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n  train:\n    {body}\n")
        ours = gristmill("mix", "check", meta, exits=(0, 1)).returncode == 0
        assert ours == accepted, f"gristmill {'accepts' if ours else 'refuses'} {body}"
        try:
            prepare_metadataset(EPath(str(meta)))
            theirs = len(samples(meta, "train", 5, repeat=True)) > 0
        except BaseException as error:  # the loader's assertions and errors are of every kind
            assert not isinstance(error, KeyboardInterrupt)
            theirs = False
        assert theirs == accepted, f"the loader {'accepts' if theirs else 'refuses'} {body}"
    return len(bodies)


CASES = [blend, relative_paths, epochized, subsets, nested, version_1, join_error, join_error_refused, join_skip, join_none,
         join_excludes, join_in_a_blend, aux_sources, media_store, refused_alike]


def main():
    global BINARY
    BINARY = str(Path(sys.argv[1]).resolve())
    root = Path(sys.argv[2]).resolve()
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    wanted = sys.argv[3:]
    failed = 0
    for case in CASES:
        if wanted and case.__name__ not in wanted:
            continue
        folder = root / case.__name__
        folder.mkdir(parents=True)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                count = case(folder)
            print(f"mix {case.__name__}: {count} samples")
        except BaseException as error:
            failed += 1
            traceback.print_exc()
            print(f"mix {case.__name__}: FAILED: {error}")
            if isinstance(error, KeyboardInterrupt):
                raise
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
