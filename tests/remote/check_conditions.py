"""What gristmill does on a store that ignores `If-Match` and `If-None-Match`: moto, to which a proxy passes none of them.

Called by check_s3.py.
"""
import shutil
import subprocess

from check_azure import named

# Programs that write the same file at the same time.
EDITORS = 8


def steps(check):
    return [check.make_local, *(named(step, check) for step in (commands, editors, prepares, copy))]


def begin(check, number, words, proxy):
    """Starts a command with a state folder of its own, as on another machine, and returns its process."""
    env = check.environment(XDG_STATE_HOME=str(check.folder / f"machine{number}"), AWS_ENDPOINT_URL=proxy.endpoint)
    return subprocess.Popen([check.binary, *map(str, words)], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(check, processes, codes):
    """Waits for commands and returns their exit codes, which are all known, and at least one is 0."""
    found = []
    for process in processes:
        text, _ = process.communicate(timeout=120)
        check.without_secrets(text)
        assert process.returncode in codes, (process.args, process.returncode, text)
        found.append(process.returncode)
    assert 0 in found, found
    return found


def commands(check):
    """`prepare`, `pack` and an edit give the bytes that they give on local files, and report what the store ignores."""
    proxy = check.server.with_proxy(unconditional=1)
    prefix = check.prefix()
    for name in ("set", "tokens"):
        assert "ignores conditions" in check.run(*check.commands(f"s3://data/{prefix}")[name]), name
        check.compare(prefix, name)
    check.run("splits", "exclude", f"s3://data/{prefix}/set", "shards/shard_0000.tar", "--yes")
    assert b"exclude:\n- shards/shard_0000.tar" in check.server.client.get("data", f"{prefix}/set/.nv-meta/split.yaml")
    assert proxy.stats()["faults"]["unconditional"] > 0
    # A lock that is there is still obeyed.
    lock = f"{prefix}/set/.nv-meta/gristmill/lock"
    check.server.client.put("data", lock, b"{")
    assert "--break-lock" in check.run("splits", "exclude", f"s3://data/{prefix}/set", "shards/shard_0001.tar", "--yes", code=3)
    check.server.client.delete("data", lock)


def editors(check):
    """Edits of one split.yaml by several programs: each is in the file, or its program has failed."""
    proxy = check.server.proxy
    prefix = check.prefix()
    root = f"s3://data/{prefix}/set"
    check.run(*check.commands(f"s3://data/{prefix}")["set"])
    edit = lambda key: ["splits", "exclude", root, f"shards/shard_0003.tar/{key}", "--allow-unmatched", "--yes"]
    codes = finish(check, [begin(check, key, edit(key), proxy) for key in range(EDITORS)], {0, 3})
    text = check.server.client.get("data", f"{prefix}/set/.nv-meta/split.yaml").decode()
    for key, code in enumerate(codes):
        assert (f"shard_0003.tar/{key}\n" in text) == (code == 0), (codes, text)


def prepares(check):
    """Two runs of `prepare` with other splits: the set is that of one of them, not of both."""
    proxy = check.server.proxy
    ratios = ("8,1,1", "1,1,1")
    expected = []
    for number, ratio in enumerate(ratios):
        local = check.folder / f"ratio{number}"
        shutil.copytree(check.local / "set", local)
        check.run(*prepare(local, ratio))
        expected.append((local / ".nv-meta/split.yaml").read_bytes())
    assert expected[0] != expected[1]
    prefix = check.prefix()
    root = f"s3://data/{prefix}/set"
    codes = finish(check, [begin(check, number, prepare(root, ratio), proxy) for number, ratio in enumerate(ratios)], {0, 2, 3})
    ours = check.stored(prefix, "set")
    assert ours[".nv-meta/split.yaml"] == expected[codes.index(0)], codes
    check.run("verify", root)
    locks = [entry["Key"] for entry in check.server.client.list("data", prefix) if entry["Key"].endswith("/lock")]
    assert not locks, locks


def prepare(root, ratio):
    return ["prepare", root, "--split-ratio", ratio, "--skip-dataset-yaml", "--yes"]


def copy(check):
    """A copy appears as a whole, and one that is there is not replaced."""
    prefix = check.prefix()
    words = ["cp", check.local, f"s3://data/{prefix}/again"]
    check.run(*words)
    assert "--if-changed" in check.run(*words, code=2)
    ours = check.server.client.tree("data", f"{prefix}/again/")
    expected = {str(path.relative_to(check.local)): path.read_bytes() for path in check.local.rglob("*") if path.is_file()}
    assert ours == expected, sorted(set(ours) ^ set(expected))
    assert not check.server.client.uploads("data", prefix), "an upload is left"
