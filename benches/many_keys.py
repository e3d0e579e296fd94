#!/usr/bin/env python3
"""Times commands on a prefix with very many keys, and measures their memory. The server makes the keys up when they are listed, and stores nothing.

    many_keys.py GRISTMILL [--keys 100000,1000000]

Half of the objects are pictures and half texts of the same names, a thousand in each folder.
"""
import argparse, bisect, json, os, subprocess, tempfile, threading, time, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE = FOLDER = 1000
CONTENT = b"x" * 100
COMMANDS = {
    "cp": ["cp", "s3://many/files", "copy", "--dry-run"],
    "info": ["info", "s3://many/files"],
    "shard": ["shard", "s3://many/files", "--output", "shards", "--dry-run"],
}


class Keys:
    """The keys `files/FOLDER/NAME`, in order, by their numbers."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        if number >= self.count:
            raise IndexError(number)
        return f"files/{number // FOLDER:05}/{number // 2:08}.{('jpg', 'txt')[number % 2]}"

    def has(self, key):
        at = bisect.bisect_left(self, key)
        return at < self.count and self[at] == key


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        self.server.requests += 1
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        key = urllib.parse.unquote(path).removeprefix("/many").lstrip("/")
        if not key:
            return self.answer(200, self.listing(query).encode(), Content_Type="application/xml")
        if not self.server.keys.has(key):
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        found, first = self.headers.get("Range"), 0
        last = len(CONTENT) - 1
        if found:
            first, end = found.removeprefix("bytes=").split("-")
            first, last = int(first), min(int(end or last), last)
        ranges = {"Content_Range": f"bytes {first}-{last}/{len(CONTENT)}"} if found else {}
        self.answer(206 if found else 200, CONTENT[first : last + 1], ETag='"etag"', **ranges)

    def do_HEAD(self):
        self.server.requests += 1
        key = urllib.parse.unquote(self.path.partition("?")[0]).removeprefix("/many").lstrip("/")
        if key and not self.server.keys.has(key):
            return self.answer(404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.send_header("ETag", '"etag"')
        self.end_headers()

    def listing(self, query):
        keys, prefix, delimiter = self.server.keys, query.get("prefix", ""), query.get("delimiter")
        most = min(int(query.get("max-keys", PAGE)), PAGE)
        at = int(query["continuation-token"]) if "continuation-token" in query else bisect.bisect_right(keys, query.get("start-after", ""))
        at = max(at, bisect.bisect_left(keys, prefix))
        entries = []
        while at < len(keys) and len(entries) < most and keys[at].startswith(prefix):
            key = keys[at]
            cut = key.find("/", len(prefix)) if delimiter else -1
            if cut < 0:
                entries.append(f"<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;etag&quot;</ETag><Size>{len(CONTENT)}</Size></Contents>")
                at += 1
            else:
                entries.append(f"<CommonPrefixes><Prefix>{key[: cut + 1]}</Prefix></CommonPrefixes>")
                at = bisect.bisect_left(keys, key[: cut + 1] + "~")
        more = at < len(keys) and keys[at].startswith(prefix)
        token = f"<NextContinuationToken>{at}</NextContinuationToken>" if more else ""
        return f"<ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>{token}{''.join(entries)}</ListBucketResult>"


def measure(binary, words, address, folder):
    """Runs a command; returns its seconds, the seconds of its processor, and its most memory in MiB."""
    names = {f"XDG_{name}_HOME": f"{folder}/{name.lower()}" for name in ("STATE", "CACHE", "CONFIG")}
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL": address, "AWS_REGION": "us-east-1"}
    begin = time.monotonic()
    process = subprocess.Popen([binary, *words], env={**os.environ, **names, **keys}, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{words}: exit {process.returncode}\n{text.decode(errors='replace')[-2000:]}")
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gristmill")
    parser.add_argument("--keys", default="100000,1000000")
    arguments = parser.parse_args()
    for count in map(int, arguments.keys.split(",")):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads, server.keys = True, Keys(count)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, words in COMMANDS.items():
            server.requests = 0
            with tempfile.TemporaryDirectory() as folder:
                wall, cpu, memory = measure(os.path.abspath(arguments.gristmill), words, f"http://127.0.0.1:{server.server_port}", folder)
            row = {"keys": count, "command": name, "s": round(wall, 2), "cpu_s": round(cpu, 2), "mib": round(memory), "requests": server.requests}
            print(json.dumps(row), flush=True)
        server.shutdown()


if __name__ == "__main__":
    main()
