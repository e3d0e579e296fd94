"""Makes data sets of every kind, prepares them with gristmill, and writes what a loader must find in them.

Usage: prepare_energon.py GRISTMILL FOLDER GOLDEN_FOLDER -> FOLDER/cases.json
"""

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

BINARY = ""
CASES = []


def gristmill(*arguments, exits=(0,), cwd=None):
    run = subprocess.run([BINARY, *map(str, arguments)], cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL)
    if run.returncode not in exits:
        sys.exit(
            f"gristmill {' '.join(map(str, arguments))}: exit {run.returncode}, wanted {exits}\n"
            f"{run.stdout.decode(errors='replace')}\n{run.stderr.decode(errors='replace')}"
        )
    return run


def write_tar(path: Path, entries, fmt=tarfile.USTAR_FORMAT):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w", format=fmt) as archive:
        for name, data in entries:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def text_shard(path: Path, first: int, count: int, fmt=tarfile.USTAR_FORMAT, prefix="s"):
    entries = []
    for number in range(first, first + count):
        entries.append((f"{prefix}{number:06}.txt", f"text {number}".encode()))
        entries.append((f"{prefix}{number:06}.json", json.dumps({"n": number, "c": [f"caption {number}"]}).encode()))
    return write_tar(path, entries, fmt)


def case(name, path, splits, **more):
    CASES.append({"name": name, "path": str(path), "splits": splits, **more})


def plain(folder: Path):
    """Six shards of three-part samples, by ratio, typed through a nested field map."""
    root = folder / "plain"
    for shard in range(6):
        entries = []
        for number in range(shard * 300, shard * 300 + 300):
            entries.append((f"{number:08}.bin", bytes([number % 251]) * 2000))
            entries.append((f"{number:08}.txt", f"caption {number}".encode()))
            entries.append((f"{number:08}.json", json.dumps({"deep": {"id": number, "tags": ["a", "b"]}}).encode()))
        write_tar(root / f"shard_{shard:04}.tar", entries)
    gristmill("prepare", root, "--yes", "--split-ratio", "4,1,1", "--sample-type", "TextSample",
              "--field-map", "text=json[deep][tags][1],txt", "--num-workers", "2")
    names = [f"shard_{n:04}.tar" for n in range(6)]
    case("plain", root, {"train": [names[:4], []], "val": [names[4:5], []], "test": [names[5:], []]},
         typed={"train": "TextSample", "test": "TextSample"})


def names(folder: Path):
    """Shard names that need quoting, escaping or care."""
    root = folder / "names"
    shards = ["a{b,c}.tar", "r{1..3}.tar", "with space.tar", "-dash.tar", "ünï/köd.tar", "line\nbreak.tar", "#x.tar",
              "'q'.tar", "1.tar", "007.tar", "null.tar", "x: y.tar", "back\\slash.tar", "no.tar"]
    for number, shard in enumerate(shards):
        text_shard(root / shard, number * 10, 5)
    text_shard(root / "long" / "gnu.tar", 1000, 3, tarfile.GNU_FORMAT, prefix="g" * 90 + "/" + "h" * 120)
    text_shard(root / "long" / "pax.tar", 2000, 3, tarfile.PAX_FORMAT, prefix="p" * 90 + "/" + "ö" * 120)
    gristmill("prepare", root, "--yes", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset")
    everything = sorted((str(p.relative_to(root)) for p in root.rglob("*.tar")), key=lambda n: n.split("/"))
    case("names", root, {"train": [everything, []]})


def excludes(folder: Path):
    """Patterns, excluded samples and shards, then an update that keeps them and adds a shard."""
    root = folder / "excludes"
    for number in range(4):
        text_shard(root / f"train-{number}.tar", number * 10, 10)
    text_shard(root / "val-0.tar", 100, 10)
    gone = ["train-1.tar/s000012", "train-1.tar/s000013", "train-1.tar/s000014", "val-0.tar/s000105"]
    gristmill("prepare", root, "--yes", "--split-parts", "train:train-.*", "--split-parts", "val:val-.*",
              "--exclude-sample", "train-1.tar/s0000{12..14}", "--exclude-sample", gone[-1],
              "--exclude-sample", "train-3.tar", "--sample-type", "TextSample", "--field-map", '{"text": "json[c][0]"}')
    train = [f"train-{n}.tar" for n in range(3)]
    first = folder / "excludes-first"
    shutil.copytree(root, first)
    case("excludes", first, {"train": [train, gone], "val": [["val-0.tar"], gone]}, typed={"val": "TextSample"}, listed=50)
    text_shard(root / "train-9.tar", 900, 7)
    gristmill("prepare", root, "--yes", "--update")
    case("update", root, {"train": [[*train, "train-9.tar"], gone], "val": [["val-0.tar"], gone]},
         typed={"train": "TextSample"}, listed=57)


def damaged(folder: Path):
    """A header damaged in the middle, an archive cut short, duplicates kept first, an empty shard, a folder named x.tar."""
    root = folder / "damaged"
    good = text_shard(root / "a.tar", 0, 10)
    blocks = bytearray(good.read_bytes())
    blocks[4 * 1024 * 2 + 10] ^= 0xFF  # the header of s000004.txt
    good.write_bytes(blocks)
    cut = text_shard(root / "b.tar", 100, 10)
    cut.write_bytes(cut.read_bytes()[: 9 * 2048 + 1024 + 512 + 3])  # inside the json of s000109
    text_shard(root / "c.tar", 200, 3)
    write_tar(root / "empty.tar", [])
    (root / "folder.tar").mkdir()
    gristmill("prepare", root, "--yes", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset", exits=(1,))

    def parts(number):
        return {
            "txt": hashlib.sha256(f"text {number}".encode()).hexdigest(),
            "json": hashlib.sha256(json.dumps({"n": number, "c": [f"caption {number}"]}).encode()).hexdigest(),
        }

    numbers = [n for n in range(10) if n not in (3, 4)] + list(range(100, 109)) + list(range(200, 203))
    found = load_keys(root)
    # What touches the damage may be left out (3: it runs up to the damaged header; 4: it is the damaged one), nothing else.
    must = {f"s{n:06}": parts(n) for n in numbers}
    if "s000003" in found:
        must["s000003"] = parts(3)
    case("damaged", root, {"train": [[], []]}, expected={"train": must}, by_name=False)

    beginning = folder / "damaged-beginning"
    first = write_tar(beginning / "a.tar", [(f"a{n}.txt", b"text") for n in range(4)])
    directory = tarfile.TarInfo("sub")
    directory.type = tarfile.DIRTYPE
    header = directory.tobuf(tarfile.USTAR_FORMAT)
    first.write_bytes(header + bytes([header[0] ^ 1]) + header[1:] + first.read_bytes())
    text_shard(beginning / "b.tar", 0, 5)
    gristmill("prepare", beginning, "--yes", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset", exits=(1,))
    case("damaged beginning", beginning, {"train": [["b.tar"], []]}, by_name=False)

    globals_between = folder / "globals"
    comment = tarfile.TarInfo.create_pax_global_header({"comment": "x"})
    pieces = [text_shard(globals_between / "piece", n, 1).read_bytes()[:2048] for n in range(4)]
    (globals_between / "piece").unlink()
    (globals_between / "a.tar").write_bytes(comment + comment.join(pieces) + bytes(1024))
    gristmill("prepare", globals_between, "--yes", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset")
    case("global headers", globals_between, {"train": [["a.tar"], []]})

    twins = folder / "twins"
    text_shard(twins / "a.tar", 0, 10)
    text_shard(twins / "b.tar", 5, 10)
    gristmill("prepare", twins, "--yes", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset", exits=(1,))
    assert not (twins / ".nv-meta" / ".info.json").exists(), "duplicate keys were published"
    gristmill("prepare", twins, "--yes", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset",
              "--duplicates", "keep-first", exits=(0, 1))
    gone = [f"b.tar/s{n:06}" for n in range(5, 10)]
    case("twins", twins, {"train": [["a.tar", "b.tar"], gone]}, by_name=False)


def load_keys(root: Path):
    """Keys that are in the index and not excluded, as far as the one damaged shard goes."""
    text = (root / ".nv-meta" / "split.yaml").read_text()
    return {f"s{n:06}" for n in range(10) if f"s{n:06}" not in text}


def compressed(folder: Path):
    """`.tgz` left out, then rewritten."""
    for mode in ("skip", "rewrite"):
        root = folder / f"tgz-{mode}"
        text_shard(root / "a.tar", 0, 5)
        raw = text_shard(root / "z.tmp", 50, 5)
        (root / "z.tgz").write_bytes(gzip.compress(raw.read_bytes(), mtime=0))
        raw.unlink()
        gristmill("prepare", root, "--yes", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset", "--tgz", mode,
                  exits=(0, 1))
        shards = ["a.tar"] + (["z.tar"] if mode == "rewrite" else [])
        case(f"tgz {mode}", root, {"train": [shards, []]}, by_name=mode == "rewrite")


def without_tables(folder: Path):
    """Training needs no database."""
    root = folder / "no-tables"
    for number in range(3):
        text_shard(root / f"{number}.tar", number * 10, 5)
    gristmill("prepare", root, "--yes", "--split-ratio", "1,1,1", "--sample-type", "CrudeWebdataset", "--skip-sample-tables")
    case("no tables", root, {"train": [["0.tar"], []], "val": [["1.tar"], []], "test": [["2.tar"], []]}, by_name=False)


def replayed(folder: Path):
    """A saved plan gives the same data set; shuffled shards; `VQAOCRSample` under the module where it can be loaded."""
    root = folder / "replayed"
    for number in range(5):
        entries = []
        for sample in range(4):
            entries.append((f"{number}/{sample}.txt", b"question"))
            entries.append((f"{number}/{sample}.ocr.txt", b"text"))
        write_tar(root / f"{number}.tar", entries)
    plan = folder / "plan.yaml"
    gristmill("prepare", root, "--yes", "--split-ratio", "3,1,1", "--shuffle-tars", "--sample-type", "VQAOCRSample",
              "--field-map", "image=txt", "--field-map", "context=txt", "--field-map", "text=ocr.txt", "--save-plan", plan, "--dry-run")
    assert not (root / ".nv-meta" / ".info.json").exists(), "--dry-run wrote"
    gristmill("run", plan)
    order = [f"{n}.tar" for n in (3, 1, 2, 4, 0)]
    case("replayed", root, {"train": [order[:3], []], "val": [order[3:4], []], "test": [order[4:], []]},
         typed={"train": "VQAOCRSample"})


def templates(folder: Path):
    """The generated Python files work as they are: a sample loader, and a cooker."""
    root = folder / "loader"
    for number in range(3):
        text_shard(root / f"{number}.tar", number * 10, 5)
    names = [f"{n}.tar" for n in range(3)]
    gristmill("prepare", root, "--yes", "--split-ratio", "1,0,0", "--sample-type", "TextSample", "--sample-loader")
    case("sample loader", root, {"train": [names, []]}, typed={"train": "TextSample"})
    root = folder / "cooker"
    for number in range(3):
        write_tar(root / f"{number}.tar", [(f"{number}{n}.txt", b"text") for n in range(4)])
    gristmill("prepare", root, "--yes", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset", "--cooker")
    case("cooker", root, {"train": [names, []]}, cooked={"train": 12})


def golden(folder: Path, golden_folder: Path):
    """The reference's own cases, through the drop-in name."""
    for name in ("captioning_fieldmap", "presplit_folders", "odd_names"):
        source = golden_folder / name
        root = folder / f"golden-{name}"
        shutil.copytree(source / "input", root)
        for run in json.loads((source / "case.json").read_text())["runs"]:
            gristmill(*run["command"], cwd=root, exits=(run["exit"],))
        view = json.loads((source / "expected" / "loader_view.json").read_text())
        listed = {}
        for split in view["splits"]:
            listed[split] = [shards_of(root, split), []]
        case(f"golden {name}", root, listed)


def shards_of(root: Path, split: str):
    import braceexpand
    import yaml

    data = yaml.safe_load((root / ".nv-meta" / "split.yaml").read_text())
    return [name for item in data["split_parts"][split] for name in braceexpand.braceexpand(item)]


def demo(folder: Path):
    """The bundled data set."""
    root = folder / "demo"
    gristmill("demo", root, "--yes")
    prepared = sorted(p.parent.parent for p in root.rglob(".nv-meta/.info.json"))
    assert prepared, "the demo prepared nothing"
    for path in prepared:
        splits = {split: [shards_of(path, split), excluded_of(path)] for split in ("train", "val", "test")}
        sizes = [len(shards) for shards, _ in splits.values()]
        assert sum(sizes) == len(list(path.rglob("*.tar"))), f"demo: shards are missing from the splits: {sizes}"
        case(f"demo {path.name}", path, splits)


def excluded_of(root: Path):
    import braceexpand
    import yaml

    data = yaml.safe_load((root / ".nv-meta" / "split.yaml").read_text())
    return [name for item in data["exclude"] for name in braceexpand.braceexpand(item)]


def main():
    global BINARY
    BINARY = sys.argv[1]
    folder = Path(sys.argv[2])
    golden_folder = Path(sys.argv[3])
    for make in (plain, names, excludes, damaged, compressed, without_tables, replayed, templates, demo):
        make(folder)
    golden(folder, golden_folder)
    (folder / "cases.json").write_text(json.dumps(CASES, indent=1))
    print(f"prepared {len(CASES)} data sets")


if __name__ == "__main__":
    main()
