#!/usr/bin/env python3
"""A proxy of CONNECT requests, for tests.  Loopback only, standard library only.

    connect_proxy.py LOG

Prints `http://127.0.0.1:PORT`.  LOG gets a line for each request: its method, its target, and its `Proxy-Authorization` or `-`.
"""
import http.server, socket, sys, threading


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass

    def do_CONNECT(self):
        LOG.write(f"CONNECT {self.path} {self.headers.get('Proxy-Authorization') or '-'}\n")
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port))) as upstream:
            self.send_response(200); self.end_headers()
            back = threading.Thread(target=copy, args=(upstream, self.connection), daemon=True); back.start()
            copy(self.connection, upstream); back.join()
        self.close_connection = True


def copy(source, target):
    """Copies bytes until one side closes, and closes the other side for writing."""
    try:
        while data := source.recv(1 << 16): target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError: pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    def handle_error(self, *a): pass


LOG = open(sys.argv[1], "a", buffering=1)
server = Server(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
