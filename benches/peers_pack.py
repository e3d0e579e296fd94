"""The reference programs packing the same text, for the baseline column of the bench `pack`: tokens and seconds of processor time,
without what a start takes (measured with one document).

Usage, with the Python of an environment that tests/peers/run has made: peers_pack.py datatrove|modalities|forager TEXT.jsonl TOKENIZER.json

Take some 10 MB of the bench's text: a reference program needs half a minute for it.
"""

import json
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

END = "<|endoftext|>"

# Seconds of processor time that went into what the other programs do without.
APART = {}


def datatrove(text, tokenizer, work):
    import numpy as np
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer

    LocalPipelineExecutor(
        pipeline=[JsonlReader(str(text.parent), glob_pattern=text.name), DocumentTokenizer(str(work / "out"), str(tokenizer), eos_token=END, shuffle_documents=False)],
        tasks=1, workers=1, logging_dir=str(work / "log"),
    ).run()
    return sum(int(np.fromfile(path, np.uint64)[-1]) for path in (work / "out").glob("*.index"))


def modalities(text, tokenizer, work):
    from modalities.api import FileExistencePolicy, create_raw_data_index, pack_encoded_data
    from modalities.dataloader.dataset import PackedMemMapDatasetBase

    folder = work / "tokenizer"
    folder.mkdir()
    shutil.copy(tokenizer, folder / "tokenizer.json")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END}))
    before = spent()
    create_raw_data_index(text, work / "text.idx", FileExistencePolicy.ERROR)
    APART["raw index"] = spent() - before
    settings = {
        "settings": {
            "src_path": str(text), "dst_path": str(work / "out.pbin"), "index_path": str(work / "text.idx"), "jq_pattern": ".text",
            "num_cpus": 2, "eod_token": END, "processing_batch_size": 100, "raw_samples_queue_size": 300, "processed_samples_queue_size": 300,
        },
        "tokenizer": {
            "component_key": "tokenizer", "variant_key": "pretrained_hf_tokenizer",
            "config": {"pretrained_model_name_or_path": str(folder), "padding": False, "truncation": False},
        },
    }
    pack_encoded_data(settings, FileExistencePolicy.ERROR)
    packed = PackedMemMapDatasetBase(work / "out.pbin", sample_key="x")
    return sum(len(packed[at]["x"]) for at in range(len(packed)))


def forager(text, tokenizer, work):
    import numpy as np
    from data_forager.datasets.tokens import TokensDataset
    from data_forager.indexers.tokenization_indexer import create_tokenize_and_index_jsonl_text_func
    from tokenizers import Tokenizer

    base = work / "base"
    base.mkdir()
    shutil.copy(text, base / "text.jsonl")
    loaded = Tokenizer.from_file(str(tokenizer))
    create_tokenize_and_index_jsonl_text_func(
        tokenizer_func=lambda line: loaded.encode(line, add_special_tokens=False).ids, eos_idx=loaded.token_to_id(END),
        input_base_path=str(base), sample_size=4096, token_dtype=np.uint16,
    )()
    return len(TokensDataset.create_from_index_on_filesystem(str(base), token_dtype=np.uint16)) * 4096


def spent():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def run(peer, text, tokenizer):
    with tempfile.TemporaryDirectory() as work:
        cpu, wall = spent(), time.time()
        tokens = peer(text, tokenizer, Path(work))
        return tokens, spent() - cpu, time.time() - wall


def main():
    peer, text, tokenizer = globals()[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        one = Path(folder) / "one.jsonl"
        with open(text, "rb") as lines:
            one.write_bytes(lines.readline())
        run(peer, one, tokenizer)  # what is imported late
        _, idle, begun = run(peer, one, tokenizer)
    tokens, cpu, wall = run(peer, text, tokenizer)
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    rate, speed = tokens / (cpu - idle) / 1e6, text.stat().st_size / (wall - begun) / 1e6
    print(f"{sys.argv[1]}: {tokens / 1e6:.2f} M tokens, {cpu - idle:.1f} CPU s, {rate:.3f} M tokens per CPU s, {speed:.2f} MB/s, {peak:.0f} MiB resident")
    for what, seconds in APART.items():
        print(f"  without the {what} ({seconds:.1f} CPU s): {tokens / (cpu - idle - seconds) / 1e6:.3f} M tokens per CPU s")


if __name__ == "__main__":
    main()
