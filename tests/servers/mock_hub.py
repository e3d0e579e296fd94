#!/usr/bin/env python3
"""A small stand-in for the Hugging Face hub, for tests of reading data sets over HTTP.  Loopback only, standard library only.

    mock_hub.py ROOT [--port 0] [--port-file FILE] [--log FILE] [faults…]

ROOT/<org>/<name>/… is the data set <org>/<name>, revision `main`; ROOT/<org>/<name>@<revision>/… another revision (a `/` in it is written
`%2F`: `name@refs%2Fconvert%2Fparquet`).  Prints `http://127.0.0.1:PORT`: give it as HF_ENDPOINT.  A commit's id is the SHA-1 of the
names, sizes and contents below its folder.  Files of 1 MiB and more, and all that end in .parquet, .arrow, .gz, .zst, .bin, are LFS files: `resolve`
answers 302 to a second port (another origin, so a client must not send its token there), the rest is answered at once.  HEAD works everywhere.

Served:
  GET /api/datasets/ORG/NAME[/revision/REV]                        facts: sha, siblings, gated, private
  GET /api/datasets/ORG/NAME/tree/REV[/DIR][?recursive=true&expand=…&limit=N&cursor=C]      pages, `Link: <…>; rel="next"`
  POST /api/datasets/ORG/NAME/paths-info/REV                       facts of named paths
  GET /api/datasets/ORG/NAME/parquet                               {config: {split: [urls]}} of refs/convert/parquet, when there is one
  GET /datasets/ORG/NAME/resolve/REV/PATH                          the file; ETag, X-Repo-Commit, X-Linked-Size, X-Linked-Etag; ranges
  The same below /api/models/ORG/NAME and /ORG/NAME/resolve/REV/PATH
Errors carry X-Error-Code (RepoNotFound, GatedRepo, RevisionNotFound, EntryNotFound) and X-Error-Message.

Faults, each a flag; those with a number count requests to the data port, or for 429 and 5xx to both, and stop then (0: for ever):
  --token T            private: without `Authorization: Bearer T` 401 RepoNotFound (as the hub says of what it hides)
  --gated T            gated: 401 GatedRepo without a token, 403 GatedRepo with another one than T; listing works with any token
  --rate-limit N       first N requests: 429 with Retry-After and RateLimit headers     --retry-after S (default 1)
  --server-error N     first N requests: 503                                            --timeout-first N: first N never answer
  --cut N              first N data answers break off in the middle of the body         --cut-at B: after B bytes (default half)
  --cut-each           every data answer stops after --cut-at bytes, so only a client that resumes gets through
  --ignore-range       data requests with Range get 200 and the whole file              --no-length: chunked, without Content-Length
  --short N            first N data answers send one byte less than they announce and close
  --wrong-bytes N      first N data answers have one byte changed (the length is right): only the checksum tells
  --etag-changes       after the first data request the file is another one (new ETag): a resume must begin anew
  --page N             entries per page of a listing (default 1000)
  --link-host HOST     links to next pages name another host, as through a mirror
  --delay MS           before each answer                                               --rate BYTES: bytes a second
  --leak-check         the data port answers 400 to a request that carries Authorization (a token sent across origins)
  --expire-after N     a redirect target works N times, then 403 (signed addresses expire): ask `resolve` again
  --moved OLD=NEW      /datasets/OLD/… and /api/datasets/OLD/… answer 307 to NEW (a renamed data set)
  --moves-after N      after N answers about the revision `main`, it is ROOT/<org>/<name>@next; the earlier commit stays
With --tls FILE both ports speak TLS, by the certificate and the key in FILE; the addresses are then https.
"""
import argparse, hashlib, json, os, re, ssl, sys, threading, time, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LFS_ENDS = (".parquet", ".arrow", ".gz", ".zst", ".bin"); LFS_SIZE = 1 << 20


class Hub:
    """What is in the folder, and how often each fault has struck."""
    def __init__(self, a):
        self.a, self.root, self.lock, self.left, self.tickets, self.cache, self.hit, self.asked = a, Path(a.root).resolve(), threading.Lock(), {}, {}, {}, 0, 0
        for k in ("rate_limit", "server_error", "timeout_first", "cut", "short", "wrong_bytes"):
            v = getattr(a, k); self.left[k] = 0 if v is None else (float("inf") if v == 0 else v)
        self.scheme = "https" if a.tls else "http"
        self.log = open(a.log, "a", buffering=1) if a.log else None

    def strikes(self, fault):
        with self.lock:
            if self.left[fault] <= 0: return False
            self.left[fault] -= 1; return True

    def folder(self, repo, revision):
        """The folder of a data set at a branch name or a commit id; None where there is none; False where there is no such data set."""
        org, _, name = repo.partition("/"); base = self.root / org
        if not name or ".." in repo or not base.is_dir(): return False
        found = {("main" if p.name == name else urllib.parse.unquote(p.name[len(name) + 1:])): p for p in base.iterdir() if p.is_dir() and (p.name == name or p.name.startswith(name + "@"))}
        if not found: return False
        if revision == "main" and self.a.moves_after is not None and self.asked > self.a.moves_after: revision = "next"
        if revision in found: return found[revision]
        return next((p for p in found.values() if self.commit(p) == revision), None)

    def files(self, folder): return sorted(p for p in folder.rglob("*") if p.is_file())

    def digest(self, path, kind):
        st = path.stat(); key = (path, st.st_size, st.st_mtime_ns, kind)
        if key not in self.cache:
            data = path.read_bytes(); self.cache[key] = hashlib.sha256(data).hexdigest() if kind == "sha256" else hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        return self.cache[key]

    def commit(self, folder):
        h = hashlib.sha1()
        for p in self.files(folder): h.update(f"{p.relative_to(folder)}\0{self.digest(p, 'sha256')}\0".encode())
        return h.hexdigest()

    def lfs(self, path): return path.stat().st_size >= LFS_SIZE or path.name.endswith(LFS_ENDS)

    def entry(self, path, folder):
        rel = str(path.relative_to(folder))
        if path.is_dir(): return {"type": "directory", "oid": hashlib.sha1(rel.encode()).hexdigest(), "size": 0, "path": rel}
        size = path.stat().st_size
        if not self.lfs(path): return {"type": "file", "oid": self.digest(path, "sha1"), "size": size, "path": rel}
        sha = self.digest(path, "sha256"); pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha}\nsize {size}\n".encode()
        return {"type": "file", "oid": hashlib.sha1(b"blob %d\0" % len(pointer) + pointer).hexdigest(), "size": size, "path": rel, "lfs": {"oid": sha, "size": size, "pointerSize": len(pointer)}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"; data_port = False
    def log_message(self, *a): pass
    def do_GET(self): self.serve()
    def do_HEAD(self): self.serve()
    def do_POST(self): self.serve()

    # ---- small helpers
    def token(self): return (self.headers.get("Authorization") or "").removeprefix("Bearer ").strip()
    def note(self, code):
        if self.hub.log: self.hub.log.write(json.dumps({"port": "data" if self.data_port else "hub", "method": self.command, "path": self.path, "range": self.headers.get("Range"), "token": bool(self.token()), "code": code}) + "\n")
    def answer(self, code, body=b"", headers=(), kind="application/json"):
        if not isinstance(body, bytes): body = json.dumps(body).encode()
        self.note(code); self.send_response(code); self.send_header("Content-Type", kind); self.send_header("Content-Length", str(len(body)))
        for k, v in headers: self.send_header(k, v)
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(body)
    def error(self, code, what, text): self.answer(code, {"error": text}, [("X-Error-Code", what), ("X-Error-Message", text)] if what else [("X-Error-Message", text)])

    def serve(self):
        a, hub = self.hub.a, self.hub
        if self.command == "POST": self.posted = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if a.delay: time.sleep(a.delay / 1000)
        if hub.strikes("timeout_first"): self.note("none"); time.sleep(600); self.close_connection = True; return
        if hub.strikes("rate_limit"):
            return self.answer(429, {"error": "rate limit"}, [("Retry-After", str(a.retry_after)), ("RateLimit", f'"{"resolvers" if self.data_port else "api"}";r=0;t={a.retry_after}'), ("RateLimit-Policy", '"fixed window";"api";q=500;w=300')])
        if hub.strikes("server_error"): return self.error(503, None, "Service Unavailable")
        try: (self.data if self.data_port else self.route)()
        except (BrokenPipeError, ConnectionResetError): self.close_connection = True

    # ---- the hub's own port
    def route(self):
        a = self.hub.a; url = urllib.parse.urlsplit(self.path); parts = [urllib.parse.unquote(p) for p in url.path.split("/")[1:]]; query = dict(urllib.parse.parse_qsl(url.query))
        api = parts[0] == "api"
        if api: parts = parts[1:]
        if not api and parts[2:3] == ["resolve"]: parts = ["models", *parts]
        if parts[:1] not in (["datasets"], ["models"]) or len(parts) < 3: return self.error(404, None, "Not found")
        repo, rest = "/".join(parts[1:3]), parts[3:]
        for m in a.moved:
            old, new = m.split("=")
            if repo == old: return self.answer(307, b"", [("Location", self.path.replace(f"/{old}", f"/{new}", 1))])
        t = self.token()
        if a.token and t != a.token: return self.error(401, "RepoNotFound", "Repository not found")
        if a.gated and (not t or (not api and t != a.gated)):
            return self.error(403 if t else 401, "GatedRepo", f"Access to dataset {repo} is restricted" + ("" if t else ". You must have access to it and be authenticated to access it. Please log in."))
        if self.hub.folder(repo, "main") is False: return self.error(404 if t else 401, "RepoNotFound", "Repository not found")
        if api and rest[:1] == ["parquet"]: return self.converted(repo)
        verb, revision, path = (rest[0], rest[1], "/".join(rest[2:])) if len(rest) > 1 else ("revision", "main", "")
        if not api and verb != "resolve": return self.error(404, None, "Not found")
        with self.hub.lock: self.hub.asked += verb == "revision" and revision == "main"
        folder = self.hub.folder(repo, revision)
        if not folder: return self.error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        if verb == "revision": return self.answer(200, {"id": repo, "sha": self.hub.commit(folder), "private": bool(a.token), "gated": "auto" if a.gated else False, "disabled": False, "siblings": [{"rfilename": str(p.relative_to(folder))} for p in self.hub.files(folder)], "tags": [], "downloads": 0, "likes": 0})
        if verb == "paths-info":
            body = self.posted.decode(); want = json.loads(body).get("paths", []) if body[:1] == "{" else urllib.parse.parse_qs(body).get("paths", [])
            return self.answer(200, [self.hub.entry(folder / p, folder) for p in want if (folder / p).exists()])
        target = (folder / path).resolve()
        if not target.is_relative_to(folder) or not target.exists(): return self.error(404, "EntryNotFound", "Entry not found")
        return self.tree(folder, target, query) if verb == "tree" else self.resolve(repo, folder, target) if verb == "resolve" and target.is_file() else self.error(404, "EntryNotFound", "Entry not found")

    def tree(self, folder, target, query):
        found = sorted(target.rglob("*") if query.get("recursive", "").lower() == "true" else target.iterdir()); start = int(query.get("cursor") or 0); n = min(int(query.get("limit") or 1000), self.hub.a.page); head = []
        if start + n < len(found):
            query["cursor"] = start + n; path = self.path.split("?")[0]; head = [("Link", f'<{self.hub.scheme}://{self.hub.a.link_host or self.headers["Host"]}{path}?{urllib.parse.urlencode(query)}>; rel="next"')]
        self.answer(200, [self.hub.entry(p, folder) for p in found[start:start + n]], head)

    def converted(self, repo):
        folder = self.hub.folder(repo, "refs/convert/parquet")
        if not folder: return self.error(404, "RevisionNotFound", "no converted files")
        out = {}
        for p in self.hub.files(folder):
            rel = p.relative_to(folder).parts
            if len(rel) == 3 and rel[2].endswith(".parquet"): out.setdefault(rel[0], {}).setdefault(rel[1].removeprefix("partial-"), []).append(f"{self.hub.scheme}://{self.headers['Host']}/datasets/{repo}/resolve/refs%2Fconvert%2Fparquet/{'/'.join(rel)}")
        self.answer(200, out)

    def resolve(self, repo, folder, target):
        commit = self.hub.commit(folder)
        if not self.hub.lfs(target):
            self.extra = [("X-Repo-Commit", commit), ("ETag", f'"{self.hub.digest(target, "sha1")}"')]; return self.body(target)
        sha, size = self.hub.digest(target, "sha256"), target.stat().st_size
        ticket = hashlib.sha256(f"{target}{time.time_ns()}".encode()).hexdigest()[:20]
        with self.hub.lock: self.hub.tickets[ticket] = [target, self.hub.a.expire_after or float("inf")]
        self.answer(302, b"", [("Location", f"{self.hub.scheme}://127.0.0.1:{self.hub.data_address}/{repo}/{sha}?ticket={ticket}"), ("X-Repo-Commit", commit), ("X-Linked-Size", str(size)), ("X-Linked-Etag", f'"{sha}"'), ("ETag", f'"{sha[:32]}"'), ("Accept-Ranges", "bytes")])

    # ---- the port of the large files
    def data(self):
        if self.hub.a.leak_check and self.token(): return self.error(400, None, "a token was sent to another origin")
        ticket = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query)).get("ticket")
        with self.hub.lock:
            t = self.hub.tickets.get(ticket); ok = bool(t and t[1] > 0)
            if ok: t[1] -= self.command == "GET"
            self.hub.hit += self.command == "GET"; hit = self.hub.hit
        if not ok: return self.answer(403, b"<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>", kind="application/xml")
        sha = self.hub.digest(t[0], "sha256")
        if self.hub.a.etag_changes and hit > 1: sha = hashlib.sha256(sha.encode()).hexdigest()
        self.extra = [("ETag", f'"{sha}"'), ("Accept-Ranges", "bytes")]; self.body(t[0], changed=self.hub.a.etag_changes and hit > 1)

    def body(self, path, changed=False):
        a, hub, size = self.hub.a, self.hub, path.stat().st_size; begin, end, code = 0, size, 200
        r = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if r and r[0] != "bytes=-" and not a.ignore_range and (self.headers.get("If-Range") or dict(self.extra)["ETag"]).strip('"') == dict(self.extra)["ETag"].strip('"'):
            begin, end = (max(size - int(r[2]), 0), size) if not r[1] else (int(r[1]), min(int(r[2]) + 1, size) if r[2] else size)
            if begin >= size or begin >= end: return self.answer(416, b"", [("Content-Range", f"bytes */{size}"), *self.extra])
            code = 206
        n = end - begin; data = self.data_port and self.command == "GET"; stop = n
        if data:
            if a.cut_each: stop = min(n, a.cut_at or max(n // 2, 1))
            elif hub.strikes("cut"): stop = min(n, a.cut_at if a.cut_at is not None else n // 2)
            elif hub.strikes("short"): stop = n - 1
        wrong = begin + n // 2 if data and n and hub.strikes("wrong_bytes") else None
        self.note(code); self.send_response(code); chunked = a.no_length and data
        for k, v in [("Content-Type", "application/octet-stream"), ("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(n)), *([("Content-Range", f"bytes {begin}-{end - 1}/{size}")] if code == 206 else []), *self.extra]: self.send_header(k, v)
        self.end_headers()
        if self.command == "HEAD": return
        sent = 0; t = time.time()
        with open(path, "rb") as f:
            f.seek(begin)
            while sent < stop:
                b = f.read(min(64 << 10, stop - sent)); p = begin + sent
                if wrong is not None and p <= wrong < p + len(b): b = b[:wrong - p] + bytes([b[wrong - p] ^ 1]) + b[wrong - p + 1:]
                if changed: b = bytes(x ^ 1 for x in b)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(b), b) if chunked else b); sent += len(b)
                if a.rate and sent / a.rate > time.time() - t: time.sleep(sent / a.rate - (time.time() - t))
        if stop < n: self.close_connection = True; self.wfile.flush(); self.connection.shutdown(1); return
        if chunked: self.wfile.write(b"0\r\n\r\n")


class Server(ThreadingHTTPServer):
    daemon_threads = True; request_queue_size = 128
    tls = None
    def handle_error(self, *a): pass
    def finish_request(self, request, client):
        # The handshake is made in the thread of the connection, so a client that refuses the certificate stops no other.
        super().finish_request(self.tls.wrap_socket(request, server_side=True) if self.tls else request, client)


def start(a):
    """Both servers, running in threads; returns the address of the hub."""
    if a.tls: Server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); Server.tls.load_cert_chain(a.tls)
    hub = Hub(a); mk = lambda name, data, port: Server(("127.0.0.1", port), type(name, (Handler,), {"hub": hub, "data_port": data}))
    files = mk("DataPort", True, 0); hub.data_address = files.server_address[1]; front = mk("HubPort", False, a.port)
    for s in (files, front): threading.Thread(target=s.serve_forever, daemon=True).start()
    return f"{hub.scheme}://127.0.0.1:{front.server_address[1]}"


def arguments():
    p = argparse.ArgumentParser(usage="mock_hub.py ROOT [options]", epilog=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter); p.add_argument("root"); p.add_argument("--port", type=int, default=0); p.add_argument("--port-file"); p.add_argument("--log"); p.add_argument("--tls")
    for f in ("token", "gated"): p.add_argument("--" + f)
    for f in ("rate-limit", "server-error", "timeout-first", "cut", "short", "wrong-bytes", "cut-at", "expire-after", "moves-after", "delay", "rate"): p.add_argument("--" + f, type=int)
    for f in ("cut-each", "ignore-range", "no-length", "etag-changes", "leak-check"): p.add_argument("--" + f, action="store_true")
    p.add_argument("--retry-after", type=int, default=1); p.add_argument("--page", type=int, default=1000); p.add_argument("--link-host"); p.add_argument("--moved", action="append", default=[]); return p


if __name__ == "__main__":
    a = arguments().parse_args(); address = start(a)
    if a.port_file: tmp = a.port_file + ".tmp"; open(tmp, "w").write(address + "\n"); os.replace(tmp, a.port_file)
    print(address, flush=True)
    try: threading.Event().wait()
    except KeyboardInterrupt: pass
