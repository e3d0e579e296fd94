"""Azurite, the emulator of Azure Blob Storage, on the loopback address, and a small client for it: Python's standard library only.

    with Server() as s: s.client.create("data"); subprocess.run(…, env={**os.environ, **s.env})
"""
import atexit
import base64
import hashlib
import hmac
import http.client
import os
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from pathlib import Path
from xml.etree import ElementTree

from s3_server import die_with_parent, free_ports, tools

ACCOUNT = "gmtestaccount"
# Recognisable: tests look for it in what is printed.
SECRET = base64.b64encode(b"azure-account-key-that-is-a-secret").decode()
VERSION = "2021-12-02"
# Those that were made.
SIGNATURES = []


def program():
    """The program that starts Azurite; None if it is not installed."""
    path = tools().parent / "azurite/node_modules/.bin/azurite-blob"
    return path if path.exists() else None


def mac(text):
    return base64.b64encode(hmac.new(base64.b64decode(SECRET), text.encode(), hashlib.sha256).digest()).decode()


def sas(permissions="rwdlac", expires=3600):
    """A signature for everything in the account."""
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + expires))
    text = "\n".join([ACCOUNT, permissions, "b", "sco", "", end, "", "", VERSION, "", ""])
    SIGNATURES.append(mac(text))
    return urllib.parse.urlencode({"sv": VERSION, "ss": "b", "srt": "sco", "sp": permissions, "se": end, "sig": SIGNATURES[-1]})


class Client:
    def __init__(self, port):
        self.port, self.local = port, threading.local()

    def call(self, method, path, query=(), body=b"", ok=(), **headers):
        """One signed request; returns headers and body."""
        headers = {name if "-" in name else name.replace("_", "-"): value for name, value in headers.items()}
        headers.update({"x-ms-date": formatdate(usegmt=True), "x-ms-version": VERSION})
        query, path = sorted(dict(query).items()), "/" + ACCOUNT + urllib.parse.quote(path)
        own = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers) if name.startswith("x-ms-"))
        fields = [method, "", "", str(len(body) or ""), "", headers.get("content-type", ""), *[""] * 6]
        text = "\n".join(fields) + "\n" + own + f"/{ACCOUNT}{path}" + "".join(f"\n{name}:{value}" for name, value in query)
        headers["authorization"] = f"SharedKey {ACCOUNT}:{mac(text)}"
        target = path + ("?" + urllib.parse.urlencode(query) if query else "")
        answer = self.send(method, target, body, {**headers, "content-length": str(len(body))})
        content = answer.read()
        if answer.status >= 300 and answer.status not in ok:
            raise RuntimeError(f"{method} {target}: {answer.status} {content[:300]}")
        return dict(answer.getheaders()), content

    def send(self, method, target, body, headers):
        """Sends a request; on a new connection if the server has closed the last one, which was idle."""
        last = getattr(self.local, "connection", None)
        self.local.connection = last or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            self.local.connection.request(method, target, body=body, headers=headers)
            return self.local.connection.getresponse()
        except OSError:
            self.local.connection = None
            if not last:
                raise
            return self.send(method, target, body, headers)

    def create(self, container):
        self.call("PUT", f"/{container}", {"restype": "container"}, ok=(409,))

    def put(self, container, key, body):
        self.call("PUT", f"/{container}/{key}", body=body, content_type="application/octet-stream", x_ms_blob_type="BlockBlob")

    def put_folder(self, container, key):
        """Puts a blob that only marks a folder, as Microsoft's tools do."""
        self.call("PUT", f"/{container}/{key}", x_ms_blob_type="BlockBlob", **{"x-ms-meta-hdi_isfolder": "true"})

    def put_block(self, container, key, body):
        self.call("PUT", f"/{container}/{key}", {"comp": "block", "blockid": base64.b64encode(b"other" * 8).decode()}, body)

    def get(self, container, key):
        return self.call("GET", f"/{container}/{key}")[1]

    def list(self, container, prefix="", **query):
        """Entries with the name as Key."""
        entries, query = [], {"restype": "container", "comp": "list", "prefix": prefix, **query}
        query = {name: value for name, value in query.items() if value}
        while True:
            root = ElementTree.fromstring(self.call("GET", f"/{container}", query)[1].decode("utf-8-sig"))
            entries += [{"Key": blob.findtext("Name")} for blob in root.iter("Blob")]
            query["marker"] = root.findtext("NextMarker")
            if not query["marker"]:
                return entries

    def uploads(self, container, prefix=""):
        """Blobs of which there are only blocks."""
        there = {entry["Key"] for entry in self.list(container, prefix)}
        return [entry for entry in self.list(container, prefix, include="uncommittedblobs") if entry["Key"] not in there]

    def tree(self, container, prefix=""):
        keys = [entry["Key"] for entry in self.list(container, prefix)]
        with ThreadPoolExecutor(8) as pool:
            return dict(zip([key[len(prefix):] for key in keys], pool.map(lambda key: self.get(container, key), keys)))

    def upload(self, folder, container, prefix=""):
        files = [path for path in sorted(Path(folder).rglob("*")) if path.is_file()]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda path: self.put(container, prefix + str(path.relative_to(folder)), path.read_bytes()), files))


class Server:
    def __enter__(self):
        self.folder, self.proxy, self.process = Path(tempfile.mkdtemp(prefix="gmaz-")), None, None
        atexit.register(self.stop)
        self.port = free_ports(1)[0]
        self.client = Client(self.port)
        words = [program(), "--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--location", self.folder, "--silent", "--disableTelemetry"]
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "AZURITE_ACCOUNTS": f"{ACCOUNT}:{SECRET}"}
        self.log = open(self.folder / "server.log", "ab")
        self.process = subprocess.Popen([str(word) for word in words], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=env, preexec_fn=die_with_parent)
        for _ in range(120):
            try:
                self.client.create("ready")
                return self
            except OSError:
                assert self.process.poll() is None, (self.folder / "server.log").read_text()
                time.sleep(0.25)
        raise RuntimeError("azurite did not start")

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.proxy:
            self.proxy.stop()
            self.proxy = None
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def with_proxy(self, **faults):
        """Puts a fault proxy before it; from now on `env` names that one. Returns it."""
        from fault_proxy import Proxy
        if self.proxy:
            self.proxy.stop()
        self.proxy = Proxy(self.port, **faults).start()
        return self.proxy

    @property
    def endpoint(self):
        return self.proxy.endpoint if self.proxy else f"http://127.0.0.1:{self.port}"

    @property
    def env(self):
        """What a program needs to find the server, and nothing that would lead elsewhere."""
        return {"AZURE_STORAGE_ENDPOINT": self.endpoint, "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": SECRET,
                "AZURE_POD_IDENTITY_AUTHORITY_HOST": "http://127.0.0.1:1", "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}

    def connection(self):
        """A connection string of the account."""
        return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={SECRET};BlobEndpoint={self.endpoint}/{ACCOUNT};"
