#!/usr/bin/env python3
"""Measures how soon requests stop, and how much slow clients delay others, for Tools/bench.

    stops.py lines [--count N] [--sorted N] >LINES
    stops.py stop SOCKET WHAT [--rounds N] [--seconds S]
    stops.py beside SOCKET WHAT [--seconds S] [--slow]

`lines` prints the objects that the others need, as lines of `cordial import`. WHAT of `stop` is
fetch, matches, sort, index or store: the request is cancelled while it runs, and the time to its
response counts. WHAT of `beside` is reads or saves: ten clients read 50 objects each, or save one,
again and again; with --slow, another client does nothing but slow reads, or one slow update. The
figures are one JSON object.
"""

import argparse
import json
import random
import select
import socket
import sys
import time

PATTERN = ".*[a-z]+ .*[0-9]+[aeiou]x"
SLOW = {
    "fetch": ("fetch", {"entity": "Note"}),
    "matches": (
        "fetch",
        {
            "entity": "Note",
            "predicate": "title MATCHES %@",
            "arguments": [PATTERN],
            "result": "count",
        },
    ),
    "sort": ("fetch", {"entity": "Row", "sort": ["label"], "result": "ids"}),
    "index": ("index/verify", {}),
    "store": ("store/verify", {}),
}


class Peer:
    """A connection that sends requests and splits what comes into messages."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.parts = []
        self.ready = []
        self.next = 1

    def send(self, method, params):
        request = {"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}
        self.next += 1
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        return self.next - 1

    def cancel(self, number):
        note = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}}
        self.socket.sendall(json.dumps(note).encode() + b"\n")

    def line(self):
        """Returns the next message; a long one is not parsed here."""
        self.first = None
        while not self.ready:
            data = self.socket.recv(1 << 20)
            self.first = self.first or time.perf_counter()
            if not data:
                sys.exit("the service closed the connection")
            *ends, rest = data.split(b"\n")
            for end in ends:
                self.ready.append(b"".join(self.parts) + end)
                self.parts = []
            self.parts.append(rest)
        return self.ready.pop(0)

    def call(self, method, params):
        self.send(method, params)
        return json.loads(self.line())


def lines(options):
    source = random.Random(7)
    words = ["milk", "bread", "honey", "tea", "oat", "rice", "plum", "corn"]
    for number in range(options.count):
        title = f"{source.choice(words)} {source.choice(words)} {number}"
        body = " ".join(source.choice(words) for _ in range(12))
        values = {"title": title, "body": body, "number": number}
        print(json.dumps({"id": f"Note/{number}", "values": values}))
    for number in range(options.sorted):
        label = f"{source.getrandbits(60):x}"
        print(json.dumps({"id": f"Row/{number}", "values": {"label": label}}))


def figures(times):
    times.sort()
    at = lambda part: times[min(len(times) - 1, int(len(times) * part))]
    return {
        "count": len(times),
        "p50Milliseconds": at(0.5) * 1000,
        "p99Milliseconds": at(0.99) * 1000,
        "maxMilliseconds": times[-1] * 1000,
    }


def stop(options):
    method, params = SLOW[options.what]
    peer = Peer(options.socket)
    began = time.perf_counter()
    whole = peer.call(method, params)
    # A response is long; until its first byte, the request runs.
    length = peer.first - began
    if "error" in whole:
        sys.exit(str(whole["error"]))
    times, early, rounds = [], 0, 0
    end = time.perf_counter() + options.seconds
    while rounds < options.rounds and time.perf_counter() < end:
        rounds += 1
        number = peer.send(method, params)
        # Anywhere in the request, but for its end, where the response may be under way.
        time.sleep(random.random() * length * 0.8)
        began = time.perf_counter()
        peer.cancel(number)
        answer = peer.line()
        if b'"error"' not in answer[:200]:
            early += 1
            continue
        if json.loads(answer)["error"]["code"] != -32800:
            sys.exit(answer[:300])
        times.append(time.perf_counter() - began)
    if early > rounds / 2:
        sys.exit(f"{early} of {rounds} requests ended before they were cancelled")
    if len(times) < min(20, options.rounds / 2):
        sys.exit(f"only {rounds} requests in {options.seconds} seconds")
    return {**figures(times), "runMilliseconds": length * 1000, "early": early}


def beside(options):
    source = random.Random(11)

    def request():
        if options.what == "reads":
            first = source.randrange(100_000)
            bounds = [first, first + 50]
            predicate = "number >= %@ AND number < %@"
            return "fetch", {"entity": "Note", "predicate": predicate, "arguments": bounds}
        return "save", {"insert": [{"entity": "Note", "values": {"title": "new"}}]}

    def slow():
        if options.what == "reads":
            return SLOW["matches"]
        return "update", {
            "entity": "Note",
            "predicate": "title MATCHES %@",
            "arguments": [PATTERN],
            "set": {"number": 1},
        }

    peers = [Peer(options.socket) for _ in range(10)]
    hostile = Peer(options.socket) if options.slow else None
    began = {}
    for peer in peers:
        began[peer] = time.perf_counter()
        peer.send(*request())
    slow_count = 0
    if hostile:
        for _ in range(8 if options.what == "reads" else 1):
            hostile.send(*slow())
    sockets = {peer.socket: peer for peer in peers}
    if hostile:
        sockets[hostile.socket] = hostile
    times, end = [], time.perf_counter() + options.seconds
    while time.perf_counter() < end:
        for found in select.select(list(sockets), [], [], 1)[0]:
            peer = sockets[found]
            answers = [peer.line()] + peer.ready
            peer.ready = []
            now = time.perf_counter()
            for answer in answers:
                if b'"error"' not in answer[:200]:
                    continue
                # A slow update may reach the limit of its predicate's time, for which saves wait.
                if peer is not hostile or json.loads(answer)["error"]["code"] != 1303:
                    sys.exit(answer[:300].decode())
            if peer is hostile:
                slow_count += len(answers)
                if options.what == "reads":
                    for _ in answers:
                        peer.send(*slow())
                continue
            times.append(now - began[peer])
            began[peer] = time.perf_counter()
            peer.send(*request())
    return {**figures(times), "slowCount": slow_count}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("lines")
    made.add_argument("--count", type=int, default=200_000)
    made.add_argument("--sorted", type=int, default=1_000_000)
    stopping = commands.add_parser("stop")
    stopping.add_argument("socket")
    stopping.add_argument("what", choices=SLOW)
    stopping.add_argument("--rounds", type=int, default=100)
    stopping.add_argument("--seconds", type=float, default=120, help="the maximum seconds of all rounds")
    waiting = commands.add_parser("beside")
    waiting.add_argument("socket")
    waiting.add_argument("what", choices=["reads", "saves"])
    waiting.add_argument("--seconds", type=float, default=10)
    waiting.add_argument("--slow", action="store_true")
    options = parser.parse_args()
    if options.command == "lines":
        return lines(options)
    found = stop(options) if options.command == "stop" else beside(options)
    print(json.dumps(found, separators=(",", ":")))


main()
