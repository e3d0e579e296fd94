"""The checks of check_s3.py on Azurite, by a `Check` whose server is one: prepare, pack and dedup in a container, copies, edits of splits, rights, faults and
kills. Neither the key of the account nor a signature is in what is printed or kept."""
import json
import shutil

import azure

# Each on a share of the requests, at most twice for the same one; two of them are drawn.
FAULTS = [{"e503": 0.3}, {"e500": 0.2}, {"lost": 0.3}, {"cut": 0.3}, {"short": 0.3}, {"reset": 0.2}]
DRAWN_FAULTS = 2


def steps(check):
    """The checks in order."""
    names = (plain, splits, profile, copies, doctor, signatures, faults, kills)
    return [check.make_local, *[named(step, check) for step in names], check.check_kept]


def named(step, check):
    def run():
        step(check)
    run.__name__ = step.__name__
    return run


def plain(check):
    prefix = check.prefix()
    for name, words in check.commands(f"az://data/{prefix}").items():
        check.run(*words)
        check.compare(prefix, name)
    check.run("lint", f"az://data/{prefix}/set")
    check.run("verify", f"az://data/{prefix}/set")
    assert "18" in check.run("info", f"abfss://data@{azure.ACCOUNT}.dfs.core.windows.net/{prefix}/set")
    assert "nothing to do" in check.run(*check.commands(f"az://data/{prefix}")["tokens"]).lower()
    check.run("info", f"az://data/{prefix}/nothing", code=3)
    assert "no such container" in check.run("info", "az://nothing/set", code=3)


def splits(check):
    """Edits of split.yaml are those of a disk."""
    prefix, local = check.prefix(), check.folder / "splits"
    shutil.copytree(check.local / "set", local)
    for root in (local, f"az://data/{prefix}/set"):
        check.run("prepare", root, "--split-ratio", "8,1,1", "--skip-dataset-yaml", "--yes")
        check.run("splits", "exclude", root, "shards/shard_0000.tar", "--note", "blurred", "--yes")
        check.run("splits", "move", root, "shards/shard_0001.tar", "--to", "val", "--yes")
    name = ".nv-meta/split.yaml"
    assert check.server.client.get("data", f"{prefix}/set/{name}") == (local / name).read_bytes()


def profile(check):
    """A profile of multi-storage-client, which alone has the address and the key."""
    prefix = check.prefix()
    # The only file that may have a secret; it is removed before those that are kept are searched.
    config = check.folder / "msc.json"
    config.write_text(json.dumps({"profiles": {"store": {
        "storage_provider": {"type": "azure", "options": {"base_path": f"data/{prefix}"}},
        "credentials_provider": {"type": "AzureCredentials", "options": {"connection": check.server.connection()}}}}}))
    changes = {"MSC_CONFIG": str(config), **{name: "" for name in check.server.env if name.startswith("AZURE_STORAGE_")}}
    check.run(*check.commands("msc://store")["set"], **changes)
    check.compare(prefix, "set")
    config.unlink()


def copies(check):
    """Folders up, within the account, and down again, with a file that is put in blocks; equal files are skipped."""
    down, expected = check.folder / "azure-down", tree(check.files)
    up = ["cp", check.files, "az://data/copies/up"]
    check.run(*up)
    check.server.client.put_folder("data", "copies/up/set")
    assert "by the store itself" in check.run("cp", "az://data/copies/up", "az://data/copies/again")
    check.run("cp", "az://data/copies/again/**", down)
    assert check.server.client.tree("data", "copies/again/") == expected
    assert check.server.client.tree("data", "copies/up/") == {**expected, "set": b""}
    assert tree(down) == expected
    assert "--if-changed" in check.run(*up, code=2)
    result = json.loads(check.run(*up, "--if-changed", "--json").splitlines()[0])
    assert result["files"] == 0 and result["skipped"]["by_checksum"] > 0, result["skipped"]
    assert not check.server.client.uploads("data", "copies")


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def doctor(check):
    """The rights of the key, what the store obeys, and blocks that are left."""
    prefix, client = check.prefix(), check.server.client
    client.put_block("data", f"{prefix}/left", b"12345")
    checks = json.loads(check.run("doctor", f"az://data/{prefix}", "--json").splitlines()[0])
    found = {entry["check"]: entry["fine"] for entry in checks["checks"]}
    assert all(found[name] for name in ("list", "read", "write", "delete", "If-None-Match", "If-Match", "checksums")), found
    assert [(upload["key"], upload["bytes"]) for upload in checks["uploads"]] == [(f"{prefix}/left", 5)]
    assert "Ended 1 upload" in check.run("doctor", f"az://data/{prefix}", "--abort-uploads", "--older-than", "0s", "--yes")
    assert not client.uploads("data", prefix)
    assert not [entry for entry in client.list("data", prefix) if "doctor" in entry["Key"] or "left" in entry["Key"]]


def signatures(check):
    """Signatures in place of the key: one with all rights, one that may only read, and one that has ended."""
    prefix = check.prefix()
    words, address = check.commands(f"az://data/{prefix}")["set"], f"az://data/{prefix}/set"
    with_sas = lambda *args: {"AZURE_STORAGE_ACCOUNT_KEY": "", "AZURE_STORAGE_SAS_TOKEN": azure.sas(*args)}
    check.run(*words, "--log-level", "debug", **with_sas())
    check.compare(prefix, "set")
    assert "by the store itself" in check.run("cp", address, f"az://data/{prefix}/again", **with_sas())
    reader = check.run("doctor", address, **with_sas("rl"))
    assert "list: yes" in reader and "write: no" in reader, reader
    assert "c (create) and w (write)" in check.run(*words, "--force-overwrite", code=3, **with_sas("rl"))
    check.run("info", address, code=3, **with_sas("rl", -100))
    check.run("info", address, code=3, AZURE_STORAGE_ACCOUNT_KEY="d3Jvbmc=")
    assert "no credentials" in check.run("info", address, code=3, AZURE_STORAGE_ACCOUNT_KEY="", PATH="/nonexistent")
    assert "AZURE_STORAGE_SAS_TOKEN" in check.run("info", f"{address}?{azure.sas()}", code=2)


def faults(check):
    for fault in check.draw.sample(FAULTS, DRAWN_FAULTS):
        proxy = check.server.with_proxy(seed=check.draw.randrange(1 << 30), **fault)
        prefix = check.prefix()
        check.run(*check.commands(f"az://data/{prefix}")["set"])
        check.compare(prefix, "set")
        check.run("cp", check.files / "large.bin", f"az://data/{prefix}/copies/large.bin")
        assert check.server.client.get("data", f"{prefix}/copies/large.bin") == (check.files / "large.bin").read_bytes()
        mistakes = {kind: count for kind, count in proxy.stats()["mistakes"].items() if count and kind != "early"}
        assert not mistakes, f"{fault}: {mistakes}"


def kills(check):
    """Kills a command when the proxy has counted some requests; the next run ends in the same bytes."""
    proxy = check.server.with_proxy()
    for name in ("set", "tokens", "shards"):
        prefix = check.prefix()
        words = [check.binary, *map(str, check.commands(f"az://data/{prefix}")[name])]
        for _ in range(2):
            check.kill_after(proxy, words, check.draw.randrange(1, 40))
        check.run(*words[1:])
        check.compare(prefix, name)
    check.server.proxy.stop()
    check.server.proxy = None
