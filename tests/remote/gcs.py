"""A stand-in for Google Cloud Storage, written after the reference of its XML interface: listings, ranges, generations, uploads in parts, checksums,
and a service that gives tokens. Objects are in memory.

    with Server() as s: s.env, s.client, s.profile(path, {"store": "data/set"})
"""
import base64
import hashlib
import json
import re
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

SECRET = "refresh-token-that-is-a-secret"
TOKEN = "access-token-that-is-a-secret"
PAGE = 7


def _table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


TABLE = tuple(_table())


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return base64.b64encode((value ^ 0xFFFFFFFF).to_bytes(4, "big")).decode()


class Client:
    """Looks into the store without requests; what `check_s3.py` asks for."""

    def __init__(self):
        self.objects, self.parts, self.generation, self.lock = {}, {}, 0, threading.Lock()

    def put(self, bucket, key, body):
        self.generation += 1
        self.objects[bucket, key] = (body, self.generation)

    def get(self, bucket, key): return self.objects[bucket, key][0]
    def list(self, bucket, prefix=""): return [{"Key": key} for name, key in sorted(self.objects) if name == bucket and key.startswith(prefix)]
    def tree(self, bucket, prefix=""): return {entry["Key"][len(prefix):]: self.get(bucket, entry["Key"]) for entry in self.list(bucket, prefix)}
    def uploads(self, bucket, prefix=""): return [upload for upload, (name, key, _) in self.parts.items() if name == bucket and key.startswith(prefix)]

    def upload(self, folder, bucket, prefix=""):
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                self.put(bucket, prefix + str(path.relative_to(folder)), path.read_bytes())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_): pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", headers.get("length", len(body)))
        self.end_headers()
        if self.command != "HEAD":
            try:
                self.wfile.write(body)
            except ConnectionError:
                # What was read ahead is not always needed.
                self.close_connection = True

    def refuse(self, status, code): self.answer(status, f"<Error><Code>{code}</Code><Message>m</Message></Error>".encode())

    def handle_request(self):
        store, server = self.server.client, self.server
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        bucket, _, key = urllib.parse.unquote(path).lstrip("/").partition("/")
        if self.command in ("PUT", "POST") and "Content-Length" not in self.headers:
            return self.refuse(411, "MissingContentLength")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with store.lock:
            if path == "/token":
                is_right = urllib.parse.parse_qs(body.decode()).get("refresh_token") == [SECRET]
                return self.answer(200, json.dumps({"access_token": TOKEN, "expires_in": 3600}).encode()) if is_right else self.answer(401)
            if server.needs_token and self.headers.get("Authorization") != f"Bearer {TOKEN}":
                return self.refuse(401, "AuthenticationRequired")
            if bucket != "data":
                return self.refuse(404, "NoSuchBucket")
            there = store.objects.get((bucket, key))
            wanted = self.headers.get("x-goog-if-generation-match")
            if self.command in ("GET", "HEAD"):
                return self.read(store, bucket, key, query, there, wanted)
            if wanted is not None and self.command == "PUT" and int(wanted) != (there[1] if there else 0):
                return self.refuse(412, "PreconditionFailed")
            if self.command == "PUT" and self.headers.get("x-goog-hash") != f"crc32c={crc32c(body)}":
                return self.refuse(400, "BadDigest")
            return self.write(store, bucket, key, query, body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_request

    def read(self, store, bucket, key, query, there, wanted):
        if not key and "uploads" in query:
            found = "".join(f"<Upload><Key>{escape(key)}</Key><UploadId>{upload}</UploadId></Upload>" for upload, (_, key, _) in store.parts.items())
            return self.answer(200, f"<ListMultipartUploadsResult>{found}</ListMultipartUploadsResult>".encode())
        if not key:
            return self.answer(200, self.listing(store, bucket, query).encode())
        if there is None:
            return self.refuse(404, "NoSuchKey")
        content, generation = there
        if wanted is not None and int(wanted) != generation:
            return self.refuse(412, "PreconditionFailed")
        headers = {"ETag": f'"{hashlib.md5(content).hexdigest()}"', "x_goog_generation": str(generation), "Last_Modified": "Sun, 06 Nov 1994 08:49:37 GMT"}
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        if span is None:
            return self.answer(200, content, **headers)
        begin, end = int(span[1]), min(int(span[2]) + 1, len(content))
        if begin >= len(content):
            return self.answer(416, b"", Content_Range=f"bytes */{len(content)}")
        return self.answer(206, content[begin:end], Content_Range=f"bytes {begin}-{end - 1}/{len(content)}", **headers)

    def listing(self, store, bucket, query):
        prefix, after, page = query.get("prefix", ""), query.get("continuation-token", ""), int(query.get("max-keys", PAGE))
        names = []
        for entry in store.list(bucket, prefix):
            rest = entry["Key"][len(prefix):]
            name = prefix + rest.partition("/")[0] + "/" if query.get("delimiter") and "/" in rest else entry["Key"]
            if name > after and name not in names[-1:]:
                names.append(name)
        more, names = len(names) > page, names[:page]
        xml = f"<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>{str(more).lower()}</IsTruncated>"
        xml += f"<NextContinuationToken>{escape(names[-1])}</NextContinuationToken>" if more else ""
        for name in names:
            quoted = urllib.parse.quote(name, safe="/")
            if (bucket, name) not in store.objects:
                xml += f"<CommonPrefixes><Prefix>{quoted}</Prefix></CommonPrefixes>"
                continue
            content, generation = store.objects[bucket, name]
            xml += (f"<Contents><Key>{quoted}</Key><Generation>{generation}</Generation><LastModified>1994-11-06T08:49:37.123Z</LastModified>"
                    f"<ETag>&quot;{hashlib.md5(content).hexdigest()}&quot;</ETag><Size>{len(content)}</Size></Contents>")
        return xml + "</ListBucketResult>"

    def write(self, store, bucket, key, query, body):
        upload = query.get("uploadId")
        if self.command == "PUT" and upload is None:
            store.put(bucket, key, body)
            return self.answer(200)
        if self.command == "POST" and "uploads" in query:
            store.generation += 1
            store.parts[f"u{store.generation}"] = (bucket, key, {})
            return self.answer(200, f"<InitiateMultipartUploadResult><UploadId>u{store.generation}</UploadId></InitiateMultipartUploadResult>".encode())
        if self.command == "DELETE" and upload is None:
            return self.answer(204) if store.objects.pop((bucket, key), None) else self.refuse(404, "NoSuchKey")
        if upload not in store.parts:
            return self.refuse(404, "NoSuchUpload")
        parts = store.parts[upload][2]
        if self.command == "DELETE":
            del store.parts[upload]
            return self.answer(204)
        if self.command == "PUT":
            parts[int(query["partNumber"])] = body
            return self.answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')
        for part in ElementTree.fromstring(body):
            number, tag = int(part.findtext("PartNumber")), part.findtext("ETag")
            if tag != f'"{hashlib.md5(parts[number]).hexdigest()}"':
                return self.refuse(400, "InvalidPart")
        store.put(bucket, key, b"".join(parts[number] for number in sorted(parts)))
        del store.parts[upload]
        return self.answer(200, b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")


class Server:
    def __enter__(self):
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.client, self.http.needs_token = Client(), False
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.client, self.address = self.http.client, f"http://127.0.0.1:{self.http.server_port}"
        self.env = {"STORAGE_EMULATOR_HOST": self.address, "GCE_METADATA_HOST": "127.0.0.1:1", "NO_PROXY": "127.0.0.1"}
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()

    def profile(self, path, profiles):
        """A configuration of multi-storage-client, whose credentials are needed from now on."""
        self.http.needs_token = True
        info = {"type": "authorized_user", "client_id": "i", "client_secret": "c", "refresh_token": SECRET, "token_uri": f"{self.address}/token"}
        credentials = {"type": "GoogleServiceAccountCredentialsProvider", "options": {"info": info}}
        storage = {name: {"type": "gcs", "options": {"base_path": base, "endpoint_url": self.address}} for name, base in profiles.items()}
        config = {"profiles": {name: {"storage_provider": storage[name], "credentials_provider": credentials} for name in profiles}}
        Path(path).write_text(json.dumps(config))
        return Path(path)
