"""Packs pairs for Megatron and files for OLMo with gristmill, on new random texts each time. Writes the same pairs with the builder of
Megatron-Core and compares every byte; loads what gristmill wrote with the readers of Megatron-Core and OLMo-core.

Usage: check_tokens_megatron.py GRISTMILL FOLDER   (FOLDER: made by tokens_corpus.py)
"""

import json
import random
from pathlib import Path

import numpy as np
import torch
from megatron.core.datasets.indexed_dataset import DType, IndexedDataset, IndexedDatasetBuilder
from olmo_core.data import NumpyFSLDataset
from olmo_core.data.utils import iter_document_indices
from tokenizers import Tokenizer
from tokens_corpus import text
from tokens_support import END, gristmill, main

SEED = random.randrange(1 << 32)


def rows(dice, count):
    """Lines of two keys; the texts of the second are strings and lists of strings, some of them empty."""
    def some():
        return text(dice) if dice.random() < 0.9 else ""

    return [
        {"text": some(), "parts": some() if dice.random() < 0.5 else [some() for _ in range(dice.randrange(5))], "id": str(n)}
        for n in range(count)
    ]


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def load(top, name):
    folder = top / "tokenizers" / name
    return folder, Tokenizer.from_file(str(folder / "tokenizer.json"))


def documents(lines, key, tokenizer, end):
    """The sequences of each document, as preprocess_data.py makes them."""
    for line in lines:
        texts = line[key] if isinstance(line[key], list) else [line[key]]
        sequences = [ids for ids in (tokenizer.encode(part).ids for part in texts) if ids]
        if sequences:
            sequences[-1] = sequences[-1] + [end]
        yield sequences


def build(prefix, wanted, dtype):
    builder = IndexedDatasetBuilder(f"{prefix}.bin", dtype=dtype)
    for sequences in wanted:
        builder.add_document(torch.IntTensor([token for ids in sequences for token in ids]), [len(ids) for ids in sequences])
    builder.finalize(f"{prefix}.idx")


def same(ours, theirs, what):
    for end in ["bin", "idx"]:
        files = [Path(f"{prefix}.{end}").read_bytes() for prefix in (ours, theirs)]
        assert files[0] == files[1], f"{what}: .{end} differs (seed {SEED})"


def loads(prefix, wanted, what):
    loaded = IndexedDataset(str(prefix), multimodal=False, mmap=True)
    sequences = [ids for document in wanted for ids in document]
    assert len(loaded) == len(sequences), f"{what}: {len(loaded)} sequences (seed {SEED})"
    for number, ids in enumerate(sequences):
        assert (loaded[number] == np.array(ids)).all(), f"{what}: sequence {number} (seed {SEED})"
    borders = np.cumsum([0] + [len(document) for document in wanted])
    assert (loaded.document_indices == borders).all(), f"{what}: documents (seed {SEED})"


def megatron(top, name, partitions):
    work = top / "megatron" / f"{name}-{partitions}"
    folder, tokenizer = load(top, name)
    lines = rows(random.Random(f"{SEED} {name} {partitions}"), 400)
    write(work / "in.jsonl", lines)
    (work / "tokenizer").mkdir()
    (work / "tokenizer" / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    (work / "tokenizer" / "tokenizer_config.json").write_text(json.dumps({"eos_token": END}))
    gristmill(
        "megatron", "preprocess_data", "--tokenizer-type", "HuggingFaceTokenizer", "--tokenizer-model", work / "tokenizer",
        "--input", work / "in.jsonl", "--output-prefix", work / "ours", "--json-keys", "text", "parts", "--append-eod",
        "--workers", "3", *(["--partitions", partitions] if partitions > 1 else []),
    )
    lines = [line for first in range(partitions) for line in lines[first::partitions]]
    end, dtype = tokenizer.token_to_id(END), DType.optimal_dtype(tokenizer.get_vocab_size())
    for key in ["text", "parts"]:
        wanted = list(documents(lines, key, tokenizer, end))
        ours, theirs = work / f"ours_{key}_document", work / f"theirs_{key}_document"
        build(theirs, wanted, dtype)
        same(ours, theirs, f"{name}, {key}")
        loads(ours, wanted, f"{name}, {key}")
    gristmill("verify", work / "ours_parts_document", "--tokenizer", folder)
    merged(work, dtype)


def merged(work, dtype):
    (work / "pairs").mkdir()
    for number, name in enumerate(["b", "a-1", "a"]):
        source = work / f"ours_{['text', 'parts', 'text'][number]}_document"
        for end in ["bin", "idx"]:
            (work / "pairs" / f"{name}.{end}").write_bytes(Path(f"{source}.{end}").read_bytes())
    gristmill("megatron", "merge_datasets", "--input", work / "pairs", "--output-prefix", work / "merged")
    builder = IndexedDatasetBuilder(str(work / "wanted.bin"), dtype=dtype)
    for name in ["a", "a-1", "b"]:
        builder.add_index(str(work / "pairs" / name))
    builder.finalize(str(work / "wanted.idx"))
    same(work / "merged", work / "wanted", "merged pairs")


def olmo(top, name):
    work = top / "olmo" / name
    folder, tokenizer = load(top, name)
    lines = [line for line in rows(random.Random(f"{SEED} olmo {name}"), 500) if line["text"]]
    write(work / "in.jsonl", lines)
    gristmill(
        "pack", work / "in.jsonl", "--format", "olmo", "--tokenizer", folder / "tokenizer.json", "--eos-token", END,
        "--max-tokens-per-file", 9000, "--output", work / "ours", "--yes",
    )
    end, size = tokenizer.token_to_id(END), tokenizer.get_vocab_size()
    dtype = np.uint16 if size <= 1 << 16 else np.uint32
    files = sorted((work / "ours").rglob("*.npy"))
    assert len(files) > 1, files
    found = []
    for path in files:
        ids = np.fromfile(path, dtype=dtype)
        found += [ids[start:stop].tolist() for start, stop in iter_document_indices(path, use_array_if_local=False)]
    wanted = [tokenizer.encode(line["text"], add_special_tokens=False).ids + [end] for line in lines]
    wanted = [ids if ids[-2:] != [end, end] else ids[:-1] for ids in wanted]
    assert found == wanted, f"{name}: documents by the tables (seed {SEED})"
    loaded = NumpyFSLDataset(
        *files, sequence_length=64, pad_token_id=end, eos_token_id=end, vocab_size=size, dtype=dtype
    )
    loaded.prepare()
    windows = [ids[at : at + 64] for ids in (np.fromfile(path, dtype=dtype) for path in files) for at in range(0, len(ids) - 63, 64)]
    assert len(loaded) == len(windows), f"{name}: {len(loaded)} windows (seed {SEED})"
    for number, window in enumerate(windows):
        assert (loaded[number]["input_ids"].numpy() == window).all(), f"{name}: window {number} (seed {SEED})"


def cases(top: Path):
    print(f"seed {SEED}")
    for name in ["gpt2", "llama3"]:
        for partitions in [1, 3]:
            yield f"Megatron: {name}, {partitions} partitions", lambda name=name, partitions=partitions: megatron(
                top, name, partitions
            )
        yield f"OLMo: {name}", lambda name=name: olmo(top, name)


if __name__ == "__main__":
    main(cases)
