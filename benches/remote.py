#!/usr/bin/env python3
"""Times gristmill on an object store on the loopback address, next to the reference program, and counts requests and bytes.

    remote.py GRISTMILL [--latency 0.05] [--stream-rate 60M] [--energon PYTHON] [--runs 3] [--only prepare-small,…]

Rows:
  prepare-small   200 shards of 1.3 MB, 100 samples of three parts of 4 KB each
  prepare-large   16 shards of 21 MB, one member of 1 MiB a sample
  pack, dedup     107 MB of JSONL from the store to the store, next to `s5cmd` down, the same on the disk, and `s5cmd` up
  files           `pack` and `dedup` of --files JSONL files of 100 KB, next to the same
  shard           --samples samples of three parts of 1 KB, written again from the store to the store, next to the same
  copy            16 files of 16 MB with `cp` into the store and back, next to `s5cmd cp`
  mount           what `shard` wrote, mounted: time to the first name with and without what is kept of the store, requests of `find`; of a shard
                  with one part of --large bytes, what `head -c 100` reads, and reading it next to `gristmill cp`. Needs root and /dev/fuse
  browse          5,000 shards: `cp --dry-run` next to `s5cmd ls`; not prepared and prepared, the first sample on the screen with and without what is kept
                  of the store, and the time from a key to the next frame, in the store and on the disk

PYTHON is the Python of an environment with megatron-energon and multi-storage-client[boto3]: its `energon prepare` with one worker is the baseline
of `prepare`. The proxy waits --latency seconds before each answer and each new connection, and with --stream-rate each connection has at most
this number of bytes a second. Each figure is the median of --runs, and of one run
of the reference program.
"""
import argparse, fcntl, io, json, os, pty, random, resource, select, shutil, statistics, struct, subprocess, sys, tarfile, tempfile, termios, time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/remote"))
from fault_proxy import parse  # noqa: E402
from s3_server import Server, msc_config, tools  # noqa: E402

BUCKET = "bench"


def write_shards(folder, shards, samples, parts, content=None):
    """Writes shards of `samples` samples, each with parts of these sizes."""
    folder.mkdir(parents=True)
    content = content or random.Random(7).randbytes(1 << 21) * (1 + max(parts.values()) // (1 << 21))
    for shard in range(shards):
        with tarfile.open(folder / f"{shard:05}.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
            for sample in range(samples):
                for name, size in parts.items():
                    member = tarfile.TarInfo(f"{shard:05}{sample:06}.{name}")
                    member.size = size
                    archive.addfile(member, io.BytesIO(content[:size]))


def write_text(file, size):
    file.parent.mkdir(parents=True, exist_ok=True)
    words = random.Random(3)
    vocabulary = ["".join(words.choices("etaoinshrdlu", k=words.randrange(2, 9))) for _ in range(20_000)]
    with file.open("w") as text:
        while text.tell() < size:
            text.write(json.dumps({"text": " ".join(words.choices(vocabulary, k=300))}) + "\n")


class Bench:
    def __init__(self, arguments, server, folder):
        self.arguments, self.server, self.folder = arguments, server, folder
        self.s5cmd = str(tools() / "s5cmd")
        self.proxy = server.with_proxy(latency=arguments.latency, **parse(f"stream_rate={arguments.stream_rate}"))

    def environment(self):
        kept = {name: str(self.folder / name.lower()) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
        return {**os.environ, **self.server.env, **kept}

    def timed(self, words, fails=False, **more):
        """Runs a command; returns wall and CPU seconds, requests, and MB from the store. With `fails`, it may fail: then `None`."""
        before = self.proxy.stats()
        used, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run([str(word) for word in words], env={**self.environment(), **more}, capture_output=True, text=True, errors="replace")
        wall, now = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode and fails:
            return None
        if done.returncode:
            raise SystemExit(f"{words}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        after = self.proxy.stats()
        cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        return {"wall": wall, "cpu": cpu, "requests": after["requests"] - before["requests"], "mb": (after["down"] - before["down"]) / 1e6}

    def median(self, make):
        found = [self.timed(*make(run)) for run in range(self.arguments.runs)]
        return {key: statistics.median(one[key] for one in found) for key in found[0]}

    def row(self, name, ours, baseline=None):
        text = lambda one: f"{one['wall']:7.2f} s wall  {one['cpu']:6.2f} s CPU  {one['requests']:6.0f} requests  {one['mb']:8.1f} MB"
        print(f"{name}\n  gristmill  {text(ours)}", flush=True)
        if baseline:
            ratio = f"wall {baseline['wall'] / ours['wall']:.1f}×, CPU {baseline['cpu'] / ours['cpu']:.1f}×"
            print(f"  baseline   {text(baseline)}\n  ratio      {ratio}", flush=True)

    def prepare(self, name, shards, samples, parts):
        local = self.folder / name
        write_shards(local, shards, samples, parts)
        size = sum(file.stat().st_size for file in local.iterdir())
        for run in range(self.arguments.runs + 1):
            self.server.client.upload(local, BUCKET, f"{name}{run}/")
        flags = ["--yes", "--split-ratio", "8,1,1", "--skip-dataset-yaml"]
        ours = self.median(lambda run: ([self.arguments.gristmill, "prepare", f"s3://{BUCKET}/{name}{run}", *flags],))
        baseline = None
        if self.arguments.energon:
            msc_config(self.folder / "msc.json", self.server.env["AWS_ENDPOINT_URL"], {"bench": BUCKET})
            program = [self.arguments.energon, "-m", "megatron.energon.cli.main", "prepare", f"msc://bench/{name}{self.arguments.runs}"]
            flags = ["--non-interactive", "--force-overwrite", "--num-workers", "1", "--split-ratio", "8,1,1", "--skip-dataset-yaml"]
            # It fails at times: its processes share a connection.
            for run in range(3):
                baseline = self.timed([*program, *flags], fails=run < 2, MSC_CONFIG=str(self.folder / "msc.json"))
                if baseline:
                    break
        self.row(f"{name} ({shards} shards, {size / 1e6:.0f} MB)", ours, baseline)
        print(f"  bytes read {ours['mb'] * 1e6 / size:.1%}, {ours['requests'] / shards:.2f} requests a shard", flush=True)

    def through_the_disk(self, source, command):
        """The same with s5cmd before and after."""
        local = self.folder / "down"
        shutil.rmtree(local, ignore_errors=True)
        steps = [[self.s5cmd, "cp", f"s3://{BUCKET}/{source}/*", f"{local}/{source}/"], command(local), [self.s5cmd, "cp", f"{local}/out/", f"s3://{BUCKET}/up/"]]
        found = [self.timed(step) for step in steps]
        shutil.rmtree(local)
        return {key: sum(one[key] for one in found) for key in found[0]}

    def store_to_store(self, name, source, command):
        """Runs a command on a folder of the store, with its output in the folder `out` and the number of the run, and the same on the disk."""
        baseline = self.through_the_disk(source, lambda root: command(root, ""))
        ours = self.median(lambda run: (command(f"s3://{BUCKET}", run),))
        self.row(name, ours, baseline)
        return ours

    def copy(self):
        local, back = self.folder / "files", self.folder / "back"
        local.mkdir()
        for number in range(16):
            (local / f"{number:02}").write_bytes(random.Random(number).randbytes(16_000_000))
        program = self.arguments.gristmill
        up = lambda words: self.median(lambda run: ([*words, f"{local}/", f"s3://{BUCKET}/copy-{Path(words[0]).name}{run}/"],))
        self.row("copy up (256 MB)", up([program, "cp"]), up([self.s5cmd, "cp"]))

        def down(words, source):
            def make(run):
                shutil.rmtree(back, ignore_errors=True)
                return ([*words, source, f"{back}/"],)
            return self.median(make)

        root = f"s3://{BUCKET}/copy-{Path(program).name}0"
        self.row("copy down (256 MB)", down([program, "cp"], f"{root}/"), down([self.s5cmd, "cp"], f"{root}/*"))
        shutil.rmtree(local), shutil.rmtree(back)

    def shard(self):
        local = self.folder / "set"
        shards = max(1, self.arguments.samples // 10_000)
        write_shards(local, shards, self.arguments.samples // shards, {"jpg": 1000, "txt": 1000, "json": 1000})
        size = sum(file.stat().st_size for file in local.iterdir())
        self.server.client.upload(local, BUCKET, "set/")
        shutil.rmtree(local)
        command = lambda root, run: [self.arguments.gristmill, "shard", f"{root}/set", "--yes", "--output", f"{root}/out{run}/set"]
        ours = self.store_to_store(f"shard ({size / 1e6:.0f} MB)", "set", command)
        print(f"  bytes read {ours['mb'] * 1e6 / size:.1%}", flush=True)

    def mount(self):
        address = f"s3://{BUCKET}/out0/set"
        for state in ("without", "with"):
            if state == "without":
                shutil.rmtree(self.folder / "xdg_cache_home", ignore_errors=True)
            with Mount(self, address) as mount:
                # At the end, the index is copied.
                found = self.timed(["find", mount.folder, "-type", "f"])
            print(f"mount, {state} a copy of the index\n  first name {mount.seconds:.2f} s", flush=True)
            print(f"  find       {found['wall']:.2f} s, {found['requests']} requests", flush=True)
        local = self.folder / "large"
        write_shards(local, 1, 1, {"bin": self.arguments.large})
        self.server.client.upload(local, BUCKET, "large/")
        shutil.rmtree(local)
        shards = f"s3://{BUCKET}/large"
        self.timed([self.arguments.gristmill, "prepare", shards, "--yes", "--split-ratio", "1,0,0", "--skip-dataset-yaml"])
        with Mount(self, shards) as mount:
            part = next(path for path in mount.folder.iterdir() if path.suffix == ".bin")
            head = self.timed(["head", "-c", "100", part])
            cat = self.timed(["dd", f"if={part}", "of=/dev/null", "bs=1M"])
        copy = self.timed([self.arguments.gristmill, "cp", f"{shards}/00000.tar", self.folder / "copy.tar"])
        print(f"mount, a part of {self.arguments.large / 1e6:.0f} MB\n  head       {head['wall']:.2f} s, {head['requests']} requests, {head['mb']:.2f} MB")
        print(f"  all of it  {cat['wall']:.2f} s, {cat['requests']} requests\n  cp         {copy['wall']:.2f} s; ratio {copy['wall'] / cat['wall']:.2f}", flush=True)

    def browse(self):
        local = self.folder / "many"
        write_shards(local, 5000, 20, {"txt": 3600}, b"words of a sample " * 200)
        # Not through the proxy.
        direct = {"AWS_ENDPOINT_URL": self.server.endpoint, "S3_ENDPOINT_URL": self.server.endpoint}
        self.timed([self.s5cmd, "cp", f"{local}/", f"s3://{BUCKET}/many/"], **direct)
        address = f"s3://{BUCKET}/many"
        ours = self.median(lambda run: ([self.arguments.gristmill, "cp", "--dry-run", f"{address}/", f"{self.folder}/nowhere{run}/"],))
        self.row("list of 5,000 keys", ours, self.median(lambda run: ([self.s5cmd, "ls", f"{address}/*"],)))
        shutil.rmtree(self.folder / "xdg_cache_home", ignore_errors=True)
        for kind in ("not prepared", "prepared"):
            if kind == "prepared":
                subprocess.run([self.arguments.gristmill, "prepare", local, "--split-ratio", "8,1,1", "--sample-type", "CrudeWebdataset", "--yes", "--quiet"], check=True)
                self.timed([self.s5cmd, "cp", f"{local}/", f"s3://{BUCKET}/many/"], **direct)
            for state in ("without", "with"):
                screens = [Screen(self, address, kept=state == "with") for _ in range(self.arguments.runs)]
                print(f"browse, {kind}, {state} what is kept of the store: first sample {statistics.median(one.seconds for one in screens):.2f} s", flush=True)
                print(f"  key to frame {statistics.median(sum((one.frames for one in screens), [])) * 1000:.1f} ms", flush=True)
        on_disk = [Screen(self, local, kept=True) for _ in range(self.arguments.runs)]
        print(f"  on the disk: first sample {statistics.median(one.seconds for one in on_disk):.2f} s", flush=True)
        print(f"  key to frame {statistics.median(sum((one.frames for one in on_disk), [])) * 1000:.1f} ms", flush=True)
        shutil.rmtree(local)

    def texts(self, names):
        local = self.folder / "text"
        write_text(local / "a.jsonl", 107_000_000)
        self.server.client.upload(local, BUCKET, "text/")
        for name, command in self.text_commands("text"):
            if name in names:
                self.store_to_store(name, "text", command)

    def text_commands(self, source):
        """Returns commands that read the texts of a folder."""
        tokenizer = HERE.parent / "tests/golden/modalities/tokenizers/bpe1k"
        program = self.arguments.gristmill
        out = lambda root, run, name: ["--yes", "--output", f"{root}/out{run}/{source}-{name}"]
        pack = lambda root, run: [program, "pack", f"{root}/{source}", "--format", "nanosets", "--tokenizer", tokenizer, "--eos-token", "<|endoftext|>", *out(root, run, "tokens")]
        dedup = lambda root, run: [program, "dedup", f"{root}/{source}", "--minlen", "50", *out(root, run, "unique")]
        return ("pack", pack), ("dedup", dedup)

    def files(self):
        local, whole = self.folder / "small", self.folder / "whole.jsonl"
        count = self.arguments.files
        write_text(whole, count * 100_000)
        lines = whole.read_text().splitlines(keepends=True)
        local.mkdir()
        for number in range(count):
            (local / f"{number:05}.jsonl").write_text("".join(lines[number * len(lines) // count:(number + 1) * len(lines) // count]))
        self.server.client.upload(local, BUCKET, "small/")
        for name, command in self.text_commands("small"):
            self.store_to_store(f"{name} of {count} files", "small", command)


class Screen:
    """A browser in a terminal: the seconds until its first sample is there, and those from keys to the next frame."""

    def __init__(self, bench, path, kept):
        if not kept:
            shutil.rmtree(bench.folder / "xdg_cache_home", ignore_errors=True)
        self.terminal, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        begin = time.monotonic()
        words = [bench.arguments.gristmill, "browse", str(path)]
        environment = {**bench.environment(), "TERM": "xterm-256color"}
        process = subprocess.Popen(words, env=environment, stdin=inner, stdout=inner, stderr=inner, start_new_session=True)
        os.close(inner)
        self.read_until(b"words", 60)
        self.seconds = time.monotonic() - begin
        self.read_until(None, 1)
        self.frames = []
        for _ in range(10):
            begin = time.monotonic()
            os.write(self.terminal, b"\x1b[B")
            self.read_until(b"", 10)
            self.frames.append(time.monotonic() - begin)
            self.read_until(None, 0.3)
        os.write(self.terminal, b"q")
        self.read_until(None, 1)
        process.terminate()
        process.wait(30)
        os.close(self.terminal)

    def read_until(self, wanted, seconds):
        """Reads until some output has these bytes; with none, until the time is over."""
        seen, end = b"", time.monotonic() + seconds
        while select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
            try:
                seen += os.read(self.terminal, 1 << 16)
            except OSError:
                return
            if wanted is not None and wanted in seen:
                return
        if wanted is not None:
            raise SystemExit(f"{wanted} is not on the screen: {seen[-2000:]}")


class Mount:
    """A mount of a data set, and the seconds from its start until its first name is there."""

    def __init__(self, bench, address):
        self.bench, self.address, self.folder = bench, address, bench.folder / "mounted"

    def __enter__(self):
        begin = time.monotonic()
        words = [self.bench.arguments.gristmill, "mount", self.address, str(self.folder)]
        self.process = subprocess.Popen(words, env=self.bench.environment(), stdout=subprocess.PIPE, text=True)
        while not (line := self.process.stdout.readline()).endswith("ends it\n"):
            if not line:
                raise SystemExit(f"{words}: it ended before it was mounted")
        with os.scandir(self.folder) as entries:
            next(entries)
        self.seconds = time.monotonic() - begin
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", str(self.folder)], check=True)
        self.process.wait(30)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gristmill")
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--stream-rate", default="0")
    parser.add_argument("--energon")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="prepare-small,prepare-large,copy,pack,dedup,files,shard,mount,browse")
    parser.add_argument("--files", type=int, default=120)
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--large", type=int, default=1 << 30)
    arguments = parser.parse_args()
    names = arguments.only.split(",")
    with Server("seaweed", seconds=3600) as server, tempfile.TemporaryDirectory() as folder:
        server.client.create(BUCKET)
        bench = Bench(arguments, server, Path(folder))
        if "prepare-small" in names:
            bench.prepare("prepare-small", 200, 100, {"jpg": 3000, "txt": 3000, "json": 3000})
        if "prepare-large" in names:
            bench.prepare("prepare-large", 16, 20, {"jpg": 1 << 20})
        if "copy" in names:
            bench.copy()
        if {"pack", "dedup"} & set(names):
            bench.texts(names)
        if "files" in names:
            bench.files()
        if {"shard", "mount"} & set(names):
            bench.shard()
        if "mount" in names:
            bench.mount()
        if "browse" in names:
            bench.browse()


if __name__ == "__main__":
    main()
