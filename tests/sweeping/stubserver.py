"""A small server that speaks the OpenAI shape, and ends in the middle of its work when told to: PORT [ANSWERS]."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LEFT = [int(sys.argv[2]) if len(sys.argv) > 2 else None]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        known = self.path in ("/health", "/v1/models")
        body = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if LEFT[0] is not None:
            LEFT[0] -= 1
            if LEFT[0] < 0:
                print("RuntimeError: CUDA error: an illegal memory access was encountered", flush=True)
                os._exit(3)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for number in range(asked["max_tokens"]):
            self._event({"choices": [{"index": 0, "delta": {"content": f"word{number} "}, "finish_reason": None}]})
        usage = {"prompt_tokens": 5, "completion_tokens": asked["max_tokens"]}
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, value: dict) -> None:
        self.wfile.write(b"data: " + json.dumps({"id": "a", "model": "m", **value}).encode() + b"\n\n")

    def log_message(self, *args: object) -> None:
        """Quiet."""


print(f"key {os.environ.get('STUB_KEY')}", flush=True)
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
