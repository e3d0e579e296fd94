"""Packs token folders and Forager samples with gristmill, and with the reference programs from the same text; compares every byte,
and loads what gristmill wrote with the reference loaders.

Usage: check_tokens_folders.py GRISTMILL FOLDER   (FOLDER: made by tokens_corpus.py)
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from data_forager.datasets.jsonl import JsonlDataset
from data_forager.datasets.tokens import TokensDataset
from data_forager.datasets.tokens_with_aux import TokensWithAuxDataset
from data_forager.indexers.jsonl_indexer import create_default_jsonl_indexer
from data_forager.indexers.tokenization_indexer import (
    create_tokenize_and_index_jsonl_text_func,
    create_tokenize_and_index_with_aux_func,
)
from data_forager.sample_generators.aux import LossMaskGenerator, Part
from datatrove.executor import LocalPipelineExecutor
from datatrove.io import get_datafolder
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer
from datatrove.pipeline.tokens.merger import DocumentTokenizerMerger
from datatrove.utils.dataset import DatatroveFileDataset, DatatroveFolderDataset
from tokenizers import Tokenizer
from tokens_support import END, digest, gristmill, main


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def same(ours, theirs, what):
    ours = {name: data for name, data in files(ours).items() if ".gristmill" not in name}
    theirs = files(theirs)
    assert ours.keys() == theirs.keys(), f"{what}: files {sorted(ours)} and {sorted(theirs)}"
    for name, data in theirs.items():
        assert ours[name] == data, f"{what}: {name} differs ({len(ours[name])} and {len(data)} bytes)"
    assert theirs, what


def token_folder(top, name, data, tokenizer, tasks, flags, exits=(0,), glob=None, **options):
    """Both programs on the same text; then the reference loader on ours."""
    work = top / "folders" / name
    path = top / "tokenizers" / tokenizer / "tokenizer.json"
    end = options.get("eos_token")
    LocalPipelineExecutor(
        pipeline=[
            JsonlReader(str(top / "corpus" / data), glob_pattern=glob),
            DocumentTokenizer(str(work / "theirs"), str(path), **{"shuffle_documents": False, **options}),
        ],
        tasks=tasks, workers=1, logging_dir=str(work / "log"), skip_completed=False,
    ).run()
    arguments = ["--eos-token", end] if end else []
    arguments += ["--glob", glob] if glob else []
    gristmill(
        "pack", top / "corpus" / data, "--format", "nanosets", "--tokenizer", path, "--output", work / "ours",
        "--tasks", tasks, *arguments, *flags, exits=exits,
    )
    same(work / "ours", work / "theirs", name)
    load_folder(work / "ours", name)


def load_folder(folder, name):
    sizes = {p.name: int(p.read_text().split("\n")[0].rsplit("|", 1)[1]) for p in folder.glob("*.metadata")}
    size = set(sizes.values()).pop()
    tokens = [np.fromfile(p, np.uint16 if size == 2 else np.uint32) for p in sorted(folder.glob("*.ds"))]
    for length in (31, 256):
        wanted = [part[at : at + length + 1] for part in tokens for at in range(0, len(part) - length, length + 1)]
        loaded = DatatroveFolderDataset(str(folder), length, filename_pattern="*.ds", recursive=False, token_size=size, return_positions=True)
        assert len(loaded) == len(wanted), f"{name}: {len(loaded)} windows of {length}, wanted {len(wanted)}"
        assert digest(loaded[n]["input_ids"] for n in range(len(loaded))) == digest(wanted), name
    for path in sorted(folder.glob("*.ds")):
        one = DatatroveFileDataset(str(path), 31, token_size=size)
        assert len(one) == path.stat().st_size // size // 32, path


def folders(top):
    ends = dict(eos_token=END)
    for tokenizer in ("gpt2", "llama3", "qwen", "wordpiece", "unigram", "metaspace"):
        yield f"{tokenizer}, end token", lambda t=tokenizer: token_folder(top, f"{t}-end", "clean", t, 3, [], **ends)
        yield f"{tokenizer}, its own template", lambda t=tokenizer: token_folder(top, f"{t}-own", "clean", t, 2, [])
    # Lines that cannot be used are problems here and warnings there; the bytes are the same.
    yield "compressed and odd lines", lambda: token_folder(top, "mixed", "mixed", "llama3", 3, [], exits=(1,), **ends)
    yield "a glob", lambda: token_folder(top, "glob", "clean", "gpt2", 2, [], glob="*.jsonl", **ends)
    yield "documents shuffled", lambda: token_folder(
        top, "shuffled", "clean", "gpt2", 2, ["--shuffle", "documents", "--seed", "7"], shuffle_documents=True, seed=7, **ends)
    yield "shuffled and split", lambda: token_folder(
        top, "split", "clean", "gpt2", 5, ["--shuffle", "documents", "--max-tokens-per-file", "4000"],
        shuffle_documents=True, seed=42, max_tokens_per_file=4000, **ends)
    yield "documents and chunks shuffled", lambda: token_folder(
        top, "chunks", "clean", "qwen", 2, ["--shuffle", "documents", "--chunk-size", "129", "--seed", "3"],
        shuffle_documents=True, shuffle_chunk_size=129, seed=3, **ends)
    yield "chunks alone, split", lambda: token_folder(
        top, "chunks-alone", "clean", "gpt2", 2, ["--chunk-size", "64", "--seed", "0", "--max-tokens-per-file", "5000"],
        shuffle_chunk_size=64, seed=0, max_tokens_per_file=5000, **ends)
    yield "loss masks", lambda: token_folder(top, "masks", "masks", "gpt2", 1, ["--loss-masks"], save_loss_metadata=True, **ends)
    yield "loss masks, normalized text", lambda: token_folder(
        top, "masks-nfkc", "masks", "unigram", 1, ["--loss-masks"], save_loss_metadata=True)
    yield "loss masks, shuffled", lambda: token_folder(
        top, "masks-shuffled", "masks", "llama3", 1, ["--loss-masks", "--shuffle", "documents"],
        save_loss_metadata=True, shuffle_documents=True, seed=42, **ends)
    # Padding stored in a tokenizer file is a problem.
    yield "padded by batches", lambda: token_folder(top, "padded", "many", "padded", 1, ["--problems-ok"], **ends)
    yield "progress is shared", lambda: progress(top)
    yield "merger", lambda: merger(top)


def progress(top):
    """What gristmill calls done, the reference program leaves alone."""
    work, path = top / "folders" / "progress", top / "tokenizers" / "gpt2" / "tokenizer.json"
    gristmill(
        "pack", top / "corpus" / "clean", "--format", "nanosets", "--tokenizer", path, "--output", work / "ours",
        "--tasks", 2, "--eos-token", END, "--logging-dir", work / "log",
    )
    before = {p: p.stat().st_mtime_ns for p in (work / "ours").iterdir()}
    LocalPipelineExecutor(
        pipeline=[
            JsonlReader(str(top / "corpus" / "clean")),
            DocumentTokenizer(str(work / "ours"), str(path), eos_token=END, shuffle_documents=False),
        ],
        tasks=2, workers=1, logging_dir=str(work / "log"), skip_completed=True,
    ).run()
    assert before == {p: p.stat().st_mtime_ns for p in (work / "ours").iterdir()}, "done tasks were done again"
    stats = json.loads((work / "log" / "stats" / "00000.json").read_text())
    tokens = np.fromfile(work / "ours" / "00000_unshuffled.ds.index", np.uint64)[-1]
    assert any(step.get("stats", {}).get("tokens", {}).get("total") == tokens for step in stats), stats
    # The second task by the reference program, begun anew, and then both by its tools.
    (work / "log" / "completions" / "00001").unlink()
    gristmill_stats = json.loads((work / "log" / "stats" / "00001.json").read_text())
    LocalPipelineExecutor(
        pipeline=[
            JsonlReader(str(top / "corpus" / "clean")),
            DocumentTokenizer(str(work / "ours"), str(path), eos_token=END, shuffle_documents=False),
        ],
        tasks=2, workers=1, logging_dir=str(work / "log"), skip_completed=True,
    ).run()
    theirs = json.loads((work / "log" / "stats" / "00001.json").read_text())
    for our_step, their_step in zip(gristmill_stats, theirs, strict=True):
        assert our_step["name"] == their_step["name"], (our_step, their_step)
        assert our_step["stats"].keys() == their_step["stats"].keys(), (our_step, their_step)
    again = gristmill(
        "pack", top / "corpus" / "clean", "--format", "nanosets", "--tokenizer", path, "--output", work / "ours",
        "--tasks", 2, "--eos-token", END, "--logging-dir", work / "log", "--json",
    )
    assert json.loads(again.stdout)["nothing_to_do"], again.stdout
    tools = Path(sys.executable).parent
    merged = subprocess.run([tools / "merge_stats", work / "log" / "stats", "-o", work / "merged.json"], capture_output=True, text=True)
    assert merged.returncode == 0, merged.stderr
    counted = json.loads((work / "merged.json").read_text())[1]["stats"]["tokens"]["total"]
    every = sum(int(np.fromfile(f, np.uint64)[-1]) for f in (work / "ours").glob("*.ds.index"))
    assert counted == every, (counted, every)
    # What its `jobs_status` and `failed_logs` read (they want a package that is not among ours).
    assert json.loads((work / "log" / "executor.json").read_text())["world_size"] == 2
    folder = get_datafolder(str(work / "log"))
    assert set(folder.list_files("completions")) == {"completions/00000", "completions/00001"}
    assert sorted(folder.list_files("logs")) == ["logs/task_00000.log", "logs/task_00001.log"]


def merger(top):
    work, source = top / "folders" / "merged", top / "folders" / "split" / "theirs"
    options = dict(max_tokens_per_file=9000, shuffle_chunk_size=None, seed=5)
    LocalPipelineExecutor(
        pipeline=[DocumentTokenizerMerger(str(source), str(work / "theirs"), "all", **options)],
        tasks=1, workers=1, logging_dir=str(work / "log"), skip_completed=False,
    ).run()
    gristmill("nanosets", "merge", source, "--output", work / "ours", "--name", "all", "--max-tokens-per-file", 9000, "--seed", 5)
    same(work / "ours", work / "theirs", "merger")


def samples(top, name, data, tokenizer, flags, dtype, size, special=True, masks=False):
    work = top / "samples" / name
    theirs, ours = work / "theirs", work / "ours"
    shutil.copytree(top / "corpus" / data, theirs)
    shutil.copytree(top / "corpus" / data, ours)
    path = top / "tokenizers" / tokenizer / "tokenizer.json"
    loaded = Tokenizer.from_file(str(path))
    end = loaded.token_to_id(END)
    common = dict(
        tokenizer_func=lambda text: loaded.encode(text, add_special_tokens=special).ids, eos_idx=end,
        input_base_path=str(theirs), sample_size=size, token_dtype=dtype,
    )
    if masks:
        def parts(line):
            return [Part(type=part["type"], text=part["text"]) for part in json.loads(line)["parts"]]
        create_tokenize_and_index_with_aux_func(process_parts_func=parts, aux_generators={"loss_mask": LossMaskGenerator()}, **common)()
    else:
        create_tokenize_and_index_jsonl_text_func(**common)()
    arguments = ["--sample-size", size] if size else ["--variable"]
    gristmill("pack", ours, "--format", "forager", "--tokenizer", path, "--eos-token", END, *arguments, *flags)
    same(ours, theirs, name)
    if masks:
        mine, wanted = (TokensWithAuxDataset.create_from_index_on_filesystem(str(base)) for base in (ours, theirs))
        assert len(mine) == len(wanted) > 0
        for key in ("tokens", "loss_mask"):
            assert digest(mine[n][key] for n in range(len(mine))) == digest(wanted[n][key] for n in range(len(wanted)))
        return
    mine, wanted = (TokensDataset.create_from_index_on_filesystem(str(base), token_dtype=dtype) for base in (ours, theirs))
    assert len(mine) == len(wanted) > 0
    assert digest(mine[n] for n in range(len(mine))) == digest(wanted[n] for n in range(len(wanted)))
    if size:
        assert all(len(mine[n]) == size for n in range(len(mine)))


def plain_index(top):
    work = top / "samples" / "plain"
    for base in ("ours", "theirs"):
        shutil.copytree(top / "corpus" / "clean", work / base)
    create_default_jsonl_indexer(str(work / "theirs"))()
    gristmill("index", work / "ours", "--format", "forager")
    same(work / "ours", work / "theirs", "index of lines")
    mine, wanted = (JsonlDataset.create_from_index_on_filesystem(str(work / base)) for base in ("ours", "theirs"))
    assert len(mine) == len(wanted) > 0
    assert all(mine[n] == wanted[n] for n in range(len(mine)))


def forager(top):
    for tokenizer in ("gpt2", "llama3", "wordpiece", "unigram", "metaspace"):
        yield f"samples of 64, {tokenizer}", lambda t=tokenizer: samples(top, f"64-{t}", "clean", t, [], np.uint16, 64)
    yield "samples of 1000 in four bytes", lambda: samples(top, "1000", "clean", "qwen", ["--dtype", "u32"], np.uint32, 1000)
    yield "without the template", lambda: samples(
        top, "bare", "clean", "wordpiece", ["--no-special-tokens"], np.uint16, 64, special=False)
    yield "one sample a document", lambda: samples(top, "variable", "clean", "llama3", ["--dtype", "i64"], np.int64, None)
    yield "masks", lambda: samples(top, "masks", "parts", "gpt2", ["--loss-masks"], np.uint32, 48, masks=True)
    yield "masks, template", lambda: samples(top, "masks-llama", "parts", "llama3", ["--loss-masks"], np.uint32, 512, masks=True)
    yield "index of lines", lambda: plain_index(top)


if __name__ == "__main__":
    main(lambda top: [*folders(top), *forager(top)])
