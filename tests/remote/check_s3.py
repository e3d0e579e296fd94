"""Compares what gristmill writes into object stores with what it writes on local files.

    check_s3.py GRISTMILL GOLDEN

On SeaweedFS and moto: prepare, pack and dedup from a store to the same store, lint, verify and info of the results, copies of folders. On SeaweedFS
also every other command that writes, several writers of one split.yaml, how many bytes of shards are read, each fault of the network, runs that are
killed at a random request, mounts (check_mount.py), and a reader without the right to write. Some of the same on a store that ignores conditions
(check_conditions.py), on Azurite (check_azure.py), and on a stand-in for Google's store. The secrets must be in nothing that is printed or kept.
"""
import gzip
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.parse
from pathlib import Path

import azure
import check_azure
import check_conditions
import check_mount
import gcs
from s3_server import READER, READER_SECRET, SECRET, Server, msc_config

# Each on a share of the requests, at most twice for the same one.
FAULTS = [
    {"e503": 0.3},
    {"e429": 0.2, "retry_after": 1},
    {"e500": 0.2},
    {"e400": 0.2},
    {"drop": 0.2},
    {"lost": 0.2},
    {"reset": 0.2},
    {"cut": 0.3},
    {"short": 0.3},
    {"first_byte": (0.2, 0.3)},
]
# The number of those that are drawn; GRISTMILL_ALL_FAULTS=1 tries all.
DRAWN_FAULTS = 4
# Kills of each command.
KILLS = 3


def below(folder):
    """The files of a folder, without run folders and what is random, by name."""
    names = {str(path.relative_to(folder)): path for path in sorted(Path(folder).rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in names.items() if is_compared(name)}


def tree(folder):
    """All files of a folder by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def is_compared(name):
    return "gristmill/" not in name and ".yaml.bak-" not in name and not name.endswith("index.uuid")


class Check:
    def __init__(self, binary, golden, server, folder, seed):
        self.binary, self.golden, self.server, self.folder = binary, Path(golden), server, Path(folder)
        self.draw, self.number = random.Random(seed), 0

    def environment(self, **changes):
        state = {f"XDG_{name}_HOME": str(self.folder / name.lower()) for name in ("STATE", "CACHE", "CONFIG")}
        base = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "AZURE_", "XDG_"))}
        return {**base, **state, **self.server.env, "HOME": str(self.folder), "GRISTMILL_PART_BYTES": str(5 << 20), **changes}

    def run(self, *args, code=0, **changes):
        """Runs a command and returns what it prints."""
        words = [self.binary, *map(str, args)]
        done = subprocess.run(words, env=self.environment(**changes), capture_output=True, text=True, timeout=120)
        text = done.stdout + done.stderr
        self.without_secrets(text)
        if done.returncode not in (code if isinstance(code, tuple) else (code,)):
            raise SystemExit(f"{' '.join(words)}\nexit {done.returncode}, not {code}\n{text}")
        return text

    @staticmethod
    def without_secrets(text):
        for secret in (SECRET, READER_SECRET, gcs.SECRET, gcs.TOKEN, azure.SECRET, *azure.SIGNATURES):
            for form in (secret, urllib.parse.quote(secret, safe="")):
                assert form not in text, "a secret is printed or kept"

    def commands(self, root):
        """The commands, with inputs and outputs below a folder or an address."""
        tokenizer = self.golden / "modalities/tokenizers/bpe1k"
        end = ["--tokenizer", tokenizer, "--eos-token", "<|endoftext|>", "--yes"]
        return {
            "set": ["prepare", f"{root}/set", "--split-ratio", "8,1,1", "--skip-dataset-yaml", "--yes"],
            "tokens": ["pack", f"{root}/text", "--format", "nanosets", *end, "--output", f"{root}/tokens"],
            "unique": ["dedup", f"{root}/text", "--minlen", "50", "--output", f"{root}/unique", "--yes"],
            # Two shards of several parts.
            "shards": ["shard", f"{root}/text/large.jsonl", "--key", "number", "--max-count", "4500", "--output", f"{root}/shards", "--yes"],
        }

    def inputs(self, folder):
        """Fills a folder: shards, and text of some megabytes, so that one output has several parts."""
        shutil.copytree(self.golden / "energon/captioning_fieldmap/input", folder / "set")
        shutil.copytree(self.golden / "dedup/v01_basic/input", folder / "text")
        words = random.Random(1)
        lines = (" ".join(f"w{words.randrange(5000)}" for _ in range(200)) for _ in range(9000))
        (folder / "text/large.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))

    def prefix(self):
        """Uploads the inputs below a new prefix and returns it."""
        self.number += 1
        prefix = f"run{self.number}"
        self.server.client.upload(self.local, "data", prefix + "/")
        return prefix

    def stored(self, prefix, name):
        tree = self.server.client.tree("data", f"{prefix}/{name}/")
        return {key: content for key, content in tree.items() if is_compared(key)}

    def compare(self, prefix, name):
        ours, expected = self.stored(prefix, name), self.expected[name]
        assert sorted(ours) == sorted(expected), f"{name}: {sorted(ours)} in place of {sorted(expected)}"
        for key, content in expected.items():
            assert ours[key] == content, f"{name}: {key} differs"
        assert not self.server.client.uploads("data", prefix), f"{name}: an upload is left"
        locks = [entry["Key"] for entry in self.server.client.list("data", prefix) if entry["Key"].endswith("/lock")]
        assert not locks, locks

    def make_local(self):
        self.local = self.folder / "inputs"
        self.inputs(self.local)
        local = self.folder / "local"
        shutil.copytree(self.local, local)
        for words in self.commands(local).values():
            self.run(*words)
        self.expected = {name: below(local / name) for name in self.commands(local)}
        # One file of several parts.
        self.files = self.folder / "files"
        shutil.copytree(self.local, self.files)
        (self.files / "large.bin").write_bytes(random.Random(2).randbytes(21 << 20))

    def check_plain(self):
        prefix = self.prefix()
        for name, words in self.commands(f"s3://data/{prefix}").items():
            self.run(*words)
            self.compare(prefix, name)
        self.run("lint", f"s3://data/{prefix}/set")
        self.run("verify", f"s3://data/{prefix}/set")
        self.run("lint", f"s3://data/{prefix}/tokens")
        assert "18" in self.run("info", f"s3://data/{prefix}/set")
        assert "nothing to do" in self.run(*self.commands(f"s3://data/{prefix}")["tokens"]).lower()
        self.run("info", f"s3://data/{prefix}/nothing", code=3)
        self.run("info", "s3://nobucket/set", code=3)

    def check_profile(self):
        """The same by a profile of multi-storage-client, which alone has the endpoint and the keys."""
        prefix = self.prefix()
        # The only file that may have a secret; it is removed before those that are kept are searched.
        config = msc_config(self.folder / "msc.json", self.server.env["AWS_ENDPOINT_URL"], {"store": f"data/{prefix}"})
        changes = {"MSC_CONFIG": str(config), **{name: "" for name in self.server.env if name.startswith("AWS_")}}
        for name, words in self.commands("msc://store").items():
            self.run(*words, **changes)
            self.compare(prefix, name)
        self.run("verify", "msc://store/set", **changes)
        assert "path: msc://store/set" in self.run("info", "msc://store/set", **changes)
        config.unlink()

    def check_copies(self):
        """Folders up, within the store, and down again; equal files are skipped."""
        self.number += 1
        prefix, down = f"copy{self.number}", self.folder / f"down{self.number}"
        expected = tree(self.files)
        up = ["cp", self.files, f"s3://data/{prefix}/up"]
        self.run(*up)
        assert "by the store itself" in self.run("cp", f"s3://data/{prefix}/up", f"s3://data/{prefix}/again")
        self.run("cp", f"s3://data/{prefix}/again/**", down)
        for name in ("up", "again"):
            assert self.server.client.tree("data", f"{prefix}/{name}/") == expected, name
        assert tree(down) == expected
        assert "--if-changed" in self.run(*up, code=2)
        result = json.loads(self.run(*up, "--if-changed", "--json").splitlines()[0])
        assert result["files"] == 0 and result["skipped"]["by_checksum"] > 0, result["skipped"]
        assert not self.server.client.uploads("data", prefix)

    def check_shards(self):
        """Two golden cases of shard, from and to the store."""
        for case in ("reshard_shuffle", "media_split"):
            self.number += 1
            folder, prefix = self.golden / "webdataset" / case, f"shard{self.number}"
            self.server.client.upload(folder / "given", "data", prefix + "/")
            for run in json.loads((folder / "case.json").read_text())["runs"]:
                flags = ("--output", "--media-to")
                words = run["command"][1:]
                names = [words[at + 1] for at, word in enumerate(words) if word in flags]
                addresses = {name: f"s3://data/{prefix}/{name}" for name in ["input", *names]}
                self.run(*(addresses.get(word, word) for word in words), code=run["exit"])
                for name in names:
                    expected, ours = below(folder / "expected" / name), self.stored(prefix, name)
                    for key, content in expected.items():
                        # These name the program that wrote them.
                        assert ours[key] == content or key.endswith(".info.json"), f"{case}: {key} differs"
                    assert {key for key in ours if key.endswith(".tar")} == {key for key in expected if key.endswith(".tar")}
            assert not self.server.client.uploads("data", prefix)

    def check_mounts(self):
        check_mount.check_mounts(self)

    def check_doctor(self):
        """The rights of two users, what the store obeys, and an upload that is left."""
        prefix = self.prefix()
        client, key = self.server.client, f"{prefix}/left"
        client.call("POST", "data", key, {"uploads": ""})
        checks = json.loads(self.run("doctor", f"s3://data/{prefix}", "--json").splitlines()[0])
        found = {check["check"]: check["fine"] for check in checks["checks"]}
        assert all(found[name] for name in ("list", "read", "write", "delete", "If-None-Match", "If-Match")), found
        assert [upload["key"] for upload in checks["uploads"]] == [key]
        assert "No upload is older" in self.run("doctor", f"s3://data/{prefix}", "--abort-uploads", "--yes")
        self.run("doctor", f"s3://data/{prefix}", "--abort-uploads", "--older-than", "0s", code=2)
        assert "Ended 1 upload" in self.run("doctor", f"s3://data/{prefix}", "--abort-uploads", "--older-than", "0s", "--yes")
        assert not client.uploads("data", prefix)
        assert not [entry for entry in client.list("data", prefix) if "doctor" in entry["Key"]], "the probe is left"
        self.run("doctor", "s3://nobucket", code=3)

    def check_copies_with_faults(self):
        """Each fault, up and down; then kills, after which the next run goes on."""
        expected = tree(self.files)
        for fault in FAULTS if os.environ.get("GRISTMILL_ALL_FAULTS") else self.draw.sample(FAULTS, DRAWN_FAULTS):
            self.number += 1
            prefix, down = f"copy{self.number}", self.folder / f"down{self.number}"
            proxy = self.server.with_proxy(seed=self.draw.randrange(1 << 30), **fault)
            self.run("cp", self.files, f"s3://data/{prefix}/up")
            self.run("cp", f"s3://data/{prefix}/up", f"s3://data/{prefix}/again")
            self.run("cp", f"s3://data/{prefix}/again", down)
            assert tree(down) == expected, fault
            mistakes = {kind: count for kind, count in proxy.stats()["mistakes"].items() if count}
            assert not mistakes, f"{fault}: {mistakes}"
            assert proxy.stats()["at_once"] <= 64, f"{fault}: more requests at once than --connections"
        proxy = self.server.with_proxy()
        self.number += 1
        prefix, down = f"copy{self.number}", self.folder / f"down{self.number}"
        for source, target in ((self.files, f"s3://data/{prefix}/up"), (f"s3://data/{prefix}/up", down)):
            words = [self.binary, "cp", str(source), str(target), "--if-changed"]
            for _ in range(KILLS):
                self.kill_after(proxy, words, self.draw.randrange(1, 12))
            self.run(*words[1:])
        assert tree(down) == expected
        assert not self.server.client.uploads("data", prefix), "an upload is left"
        self.server.proxy.stop()
        self.server.proxy = None

    def kill_after(self, proxy, words, requests):
        """Runs a command and kills it when the proxy has counted some requests."""
        end = proxy.stats()["requests"] + requests
        process = subprocess.Popen(words, env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and proxy.stats()["requests"] < end:
            time.sleep(0.001)
        process.kill()
        process.wait()

    def others(self, root, config):
        """The commands on the folders of `make_others`, in order. `config` is a local file that names the paths of one of them."""
        lines, yes = f"{root}/lines/data.jsonl", "--yes"
        return [
            ["prepare", f"{root}/set", "--split-ratio", "8,1,1", "--skip-dataset-yaml", yes],
            ["splits", "exclude", f"{root}/set", "shards/shard_0000.tar", "--note", "blurred", yes],
            ["splits", "move", f"{root}/set", "shards/shard_0001.tar", "--to", "val", yes],
            ["prepare", f"{root}/set", "--force-overwrite", "--split-ratio", "1,1,1", "--skip-dataset-yaml", yes],
            ["splits", "exclude", f"{root}/set", "shards/shard_0002.tar", yes],
            ["prepare", f"{root}/set", "--update", yes],
            ["prepare", f"{root}/packed-set", "--split-ratio", "1,0,0", "--skip-dataset-yaml", "--tgz", "rewrite", yes],
            ["prepare", f"{root}/media", "--split-ratio", "1,0,0", "--skip-dataset-yaml", yes],
            ["prepare-media", f"{root}/media", "--media-metadata-by-glob", "*.png", yes],
            ["prepare-media", f"{root}/media", "--media-metadata-by-glob", "*", yes],
            ["index", lines, "--format", "modalities", yes],
            ["index", f"{root}/lines", "--format", "forager", "--index-folder", "plain", yes],
            ["modalities", "merge", f"{root}/packed", "--output", f"{root}/merged.pbin", "--compat", yes],
            ["repair", f"{root}/merged.pbin"],
            ["modalities", "shuffle", f"{root}/merged.pbin", "--seed", "7", "--output", f"{root}/shuffled.pbin", yes],
            ["modalities", "data", "pack_encoded_data", config],
            ["nanosets", "merge", f"{root}/tokens", "--name", "all", "--output", f"{root}/whole", yes],
            ["nanosets", "shuffle", f"{root}/tokens", "--window", "16", "--output", f"{root}/windows", yes],
            ["mix", "index", f"{root}/tokens", f"{root}/whole", "--sequence-length", "8", "--samples", "20", "--output", f"{root}/mixture", yes],
            ["megatron", "merge", f"{root}/pairs", "--output", f"{root}/pair", yes],
            ["prepare", f"{root}/mixes/all.yaml", yes],
        ]

    def make_others(self, folder):
        for name, golden in {
            "set": "energon/captioning_fieldmap/input",
            "media": "energon/media_by_extension/input",
            "lines": "modalities/pack_bpe/input",
            "packed": "modalities/merge/input",
            "tokens": "nanosets/06_merge/expected",
            "pairs": "megatron/m08_merge/input",
            "mixes": "energon/join_index/input",
        }.items():
            shutil.copytree(self.golden / golden, folder / name)
        (folder / "packed-set").mkdir()
        shutil.copy(folder / "set/shards/shard_0001.tar", folder / "packed-set/a.tar")
        with gzip.GzipFile(folder / "packed-set/b.tgz", "wb", mtime=0) as packed:
            packed.write((folder / "set/shards/shard_0002.tar").read_bytes())

    def pack_config(self, root):
        text = (self.golden / "modalities/pack_bpe/input/pack.yaml").read_text()
        text = text.replace("input/data.jsonl", f"{root}/lines/data.jsonl").replace("expected/data.pbin", f"{root}/configured.pbin")
        text = text.replace("expected/data.idx", f"{root}/lines/data.idx").replace("../tokenizers", str(self.golden / "modalities/tokenizers"))
        path = self.folder / "inputs-pack.yaml"
        path.write_text(text)
        return path

    def check_others(self):
        """Each further command on a disk and on the store; everything below the two is the same afterwards."""
        local = self.folder / "others"
        self.make_others(local)
        self.server.client.upload(local, "data", "others/")
        for root in (local, "s3://data/others"):
            for words in self.others(root, self.pack_config(root)):
                self.run(*words, code=(0, 1))
        ours = {key: content for key, content in self.server.client.tree("data", "others/").items() if is_compared(key)}
        expected = below(local)
        assert sorted(ours) == sorted(expected), sorted(set(ours) ^ set(expected))
        # Databases have the times at which filters of media were added.
        plain = lambda content: re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", b"", content)
        for key, content in expected.items():
            assert plain(ours[key]) == plain(content), f"others: {key} differs"
        assert not self.server.client.uploads("data", "others"), "an upload is left"

    def check_writers(self):
        """Eight programs exclude a sample each in one split.yaml; those that do not fail are all in it."""
        self.server.client.upload(self.folder / "others/set", "data", "writers/")

        def begin(key):
            words = ["splits", "exclude", "s3://data/writers", f"shards/shard_0003.tar/{key}", "--allow-unmatched", "--yes"]
            env = self.environment(XDG_STATE_HOME=str(self.folder / f"writer{key}"))
            return subprocess.Popen([self.binary, *words], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        codes = [process.wait(timeout=120) for process in [begin(key) for key in range(8)]]
        assert set(codes) <= {0, 3} and 0 in codes, codes
        text = self.server.client.get("data", "writers/.nv-meta/split.yaml").decode()
        for key, code in enumerate(codes):
            assert (f"shard_0003.tar/{key}\n" in text) == (code == 0), (codes, text)

    def check_google(self):
        """The commands on the stand-in for Google's store: without a token, then with one by a profile."""
        prefix = self.prefix()
        for name, words in self.commands(f"gs://data/{prefix}").items():
            self.run(*words)
            self.compare(prefix, name)
        self.run("verify", f"gs://data/{prefix}/set")
        self.run("info", f"gs://data/{prefix}/nothing", code=3)
        prefix = self.prefix()
        config = self.server.profile(self.folder / "msc.json", {"store": f"data/{prefix}"})
        assert "may not be read without" in self.run("info", f"gs://data/{prefix}/set", code=3)
        for name, words in self.commands("msc://store").items():
            self.run(*words, MSC_CONFIG=str(config))
            self.compare(prefix, name)
        config.unlink()

    def check_faults(self):
        for fault in FAULTS if os.environ.get("GRISTMILL_ALL_FAULTS") else self.draw.sample(FAULTS, DRAWN_FAULTS):
            proxy = self.server.with_proxy(seed=self.draw.randrange(1 << 30), **fault)
            prefix = self.prefix()
            for name, words in self.commands(f"s3://data/{prefix}").items():
                self.run(*words)
                self.compare(prefix, name)
            mistakes = {kind: count for kind, count in proxy.stats()["mistakes"].items() if count}
            assert not mistakes, f"{fault}: {mistakes}"
        self.server.proxy.stop()
        self.server.proxy = None

    def check_kills(self):
        """Kills each command when the proxy has counted some requests; the next run ends in the same bytes."""
        proxy = self.server.with_proxy()
        for name in self.expected:
            prefix = self.prefix()
            words = [self.binary, *map(str, self.commands(f"s3://data/{prefix}")[name])]
            for _ in range(KILLS):
                self.kill_after(proxy, words, self.draw.randrange(1, 40))
            self.run(*words[1:])
            self.compare(prefix, name)
        self.server.proxy.stop()
        self.server.proxy = None

    def check_bytes(self):
        """Of shards with large members only the headers are read, and of small ones each byte once, by few requests; `shard` reads each byte once."""
        proxy = self.server.with_proxy()
        for name, samples, size, share, requests in (("large", 12, 1 << 20, 0.03, 20), ("small", 150, 3000, 1.05, 6)):
            folder = self.folder / name
            folder.mkdir()
            for shard in range(8):
                with tarfile.open(folder / f"{shard}.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
                    for sample in range(samples):
                        member = tarfile.TarInfo(f"{shard}{sample:05}.bin")
                        member.size = size
                        archive.addfile(member, io.BytesIO(bytes(size)))
            self.server.client.upload(folder, "data", f"{name}/")
            before = proxy.stats()
            self.run("prepare", f"s3://data/{name}", "--split-ratio", "8,1,1", "--skip-dataset-yaml", "--yes")
            after = proxy.stats()
            total = sum(file.stat().st_size for file in folder.iterdir())
            read, made = after["down"] - before["down"], after["requests"] - before["requests"]
            assert read <= share * total + 200_000, f"{name}: {read} of {total} bytes are read"
            # And those of the set: what the set is, the lock, what is published.
            assert made <= 8 * requests + 160, f"{name}: {made} requests"
            self.run("shard", f"s3://data/{name}", "--output", f"s3://data/{name}-again", "--yes")
            read = proxy.stats()["down"] - after["down"]
            assert read <= 1.05 * total + 400_000, f"{name}: {read} of {total} bytes are read by shard"
        self.server.proxy.stop()
        self.server.proxy = None

    def check_rights(self):
        prefix = self.prefix()
        reader = {"AWS_ACCESS_KEY_ID": READER, "AWS_SECRET_ACCESS_KEY": READER_SECRET}
        words = self.commands(f"s3://data/{prefix}")
        self.run("browse", f"s3://data/{prefix}/set", **reader)
        assert "s3:PutObject" in self.run(*words["set"], code=3, **reader)
        assert self.stored(prefix, "set").keys() == below(self.local / "set").keys()
        reader_may = self.run("doctor", f"s3://data/{prefix}/set", **reader)
        assert "list: yes" in reader_may and "write: no" in reader_may
        assert "secret" in self.run("browse", f"s3://data/{prefix}/set", code=3, AWS_SECRET_ACCESS_KEY="wrong")
        assert "not know" in self.run("browse", f"s3://data/{prefix}/set", code=3, AWS_ACCESS_KEY_ID="AKIAUNKNOWN0000")
        self.run("browse", f"s3://data/{prefix}/set", "--anonymous", code=3)

    def check_kept(self):
        for path in self.folder.rglob("*"):
            if path.is_file() and "inputs" not in path.parts:
                self.without_secrets(path.read_bytes().decode(errors="replace"))
        for entry in self.server.client.list("data"):
            if entry["Key"].endswith(("plan.yaml", "report.json")):
                self.without_secrets(self.server.client.get("data", entry["Key"]).decode(errors="replace"))


def main(binary, golden):
    seed = int(os.environ.get("GRISTMILL_SEED") or random.randrange(1 << 30))
    print(f"seed {seed} (GRISTMILL_SEED repeats it)", flush=True)
    check_google(binary, golden, seed)
    check_on_azurite(binary, golden, seed)
    check_without_conditions(binary, golden, seed)
    for kind in ("seaweed", "moto"):
        with tempfile.TemporaryDirectory() as folder, Server(kind) as server:
            server.client.create("data")
            check = Check(binary, golden, server, folder, seed)
            steps = [check.make_local, check.check_plain, check.check_profile, check.check_copies]
            if kind == "seaweed":
                steps += [check.check_shards, check.check_mounts, check.check_others, check.check_writers, check.check_bytes, check.check_rights, check.check_doctor]
                steps += [check.check_faults, check.check_kills, check.check_copies_with_faults]
            take(kind, [*steps, check.check_kept])


def take(name, steps):
    for step in steps:
        begin = time.time()
        step()
        print(f"{name}: {step.__name__} {time.time() - begin:.1f} s", flush=True)


def check_google(binary, golden, seed):
    with tempfile.TemporaryDirectory() as folder, gcs.Server() as server:
        check = Check(binary, golden, server, folder, seed)
        take("google", [check.make_local, check.check_google, check.check_kept])


def check_on_azurite(binary, golden, seed):
    if not azure.program():
        return print("azure: skipped, Azurite is not installed: there is no npm", flush=True)
    with tempfile.TemporaryDirectory() as folder, azure.Server() as server:
        server.client.create("data")
        take("azure", check_azure.steps(Check(binary, golden, server, folder, seed)))


def check_without_conditions(binary, golden, seed):
    with tempfile.TemporaryDirectory() as folder, Server("moto") as server:
        server.client.create("data")
        take("without conditions", check_conditions.steps(Check(binary, golden, server, folder, seed)))


if __name__ == "__main__":
    main(*sys.argv[1:])
