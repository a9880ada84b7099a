#!/usr/bin/env python3
"""Sends what takes memory to a service, and prints the most memory that the service had.

    hostile.py SOCKET PROCESS [--clients N] [--seconds S] [--kinds KIND,…]

The service has the objects of `stops.py lines`. Each client has one kind, connects again when it
is disconnected. The first three kinds and the observers read nothing:

unfinished  long lines without an end
header      a header that announces 60 MB, a part of them, and the end of the connection
batch       300 fetches of all objects in one batch
fetches     one fetch of all objects after another
values      lines of many small values
observers   subscriptions to all objects with their values, in different orders
saves       saves of 10,000 long objects, which are deleted again
lists       predicates with lists of 200,000 values
searches    searches for words of many objects, with 1,000 hits

The figure is the maximum of VmHWM, in KiB, which the kernel keeps for the process.
"""

import argparse
import json
import random
import re
import select
import socket
import sys
import time

PART = 1 << 16
# Of a client that keeps its connection and sends nothing more.
WAIT = None
FETCH = {"entity": "Note"}


def message(number, method, params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def unfinished(source):
    yield b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * source.randrange(40 << 20, 64 << 20)
    yield WAIT


def header(source):
    yield b"Content-Length: 60000000\r\n\r\n" + b"x" * source.randrange(20 << 20, 59 << 20)


def batch(source):
    calls = b",".join(message(number, "fetch", FETCH) for number in range(300))
    while True:
        yield b"[" + calls + b"]\n"


def fetches(source):
    number = 0
    while True:
        number += 1
        yield message(number, "fetch", {**FETCH, "offset": source.randrange(1000)}) + b"\n"


def values(source):
    while True:
        line = b"[" + b",".join([b'{"":0}'] * source.randrange(100_000, 600_000)) + b"]\n"
        yield line


def observers(source):
    number = 0
    while True:
        number += 1
        keys = [source.choice(["title", "-title", "body", "-number"]), source.choice(["number", "-body"])]
        fetch = {**FETCH, "sort": keys, "limit": source.randrange(1000, 200_000)}
        yield message(number, "observe", {"fetch": fetch}) + b"\n"


def saves(source):
    number = 0
    while True:
        number += 2
        values = {"title": "hostile", "body": "x" * source.randrange(100, 4000)}
        inserts = [{"entity": "Note", "values": values}] * 10_000
        yield message(number, "save", {"insert": inserts}) + b"\n"
        gone = {"entity": "Note", "predicate": "title == 'hostile'"}
        yield message(number + 1, "delete", gone) + b"\n"


def lists(source):
    number = 0
    while True:
        number += 1
        wanted = [source.randrange(1 << 40) for _ in range(200_000)]
        params = {**FETCH, "predicate": "number IN %@", "arguments": [wanted]}
        yield message(number, "fetch", params) + b"\n"


def searches(source):
    number = 0
    while True:
        number += 1
        query = source.choice(["milk", "br", "honey tea", "oat rice", "plum OR corn"])
        yield message(number, "search", {"query": query, "limit": 1000}) + b"\n"


KINDS = {
    kind.__name__: kind
    for kind in (unfinished, header, batch, fetches, values, observers, saves, lists, searches)
}
# What these kinds are sent is read, so that more can follow.
READING = {"fetches", "saves", "lists", "values", "searches"}


class Client:
    def __init__(self, path, kind, seed):
        self.path, self.kind = path, kind
        self.source = random.Random(seed)
        self.count = 0
        self.open()

    def open(self):
        self.count += 1
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(self.path)
        self.socket.setblocking(False)
        self.parts = KINDS[self.kind](self.source)
        self.left = memoryview(b"")
        self.waits = False
        self.reopens = time.monotonic() + self.source.uniform(5, 60)

    def reopen(self):
        self.socket.close()
        self.open()

    def write(self):
        if not self.left:
            part = next(self.parts, b"")
            self.waits = part is WAIT
            if self.waits:
                return
            if not part:
                return self.reopen()
            self.left = memoryview(part)
        self.left = self.left[self.socket.send(self.left[:PART]):]

    def read(self):
        if not self.socket.recv(PART):
            self.reopen()

    def turn(self, action):
        try:
            action()
        except BlockingIOError:
            pass
        except OSError:
            self.reopen()


def peak(process):
    with open(f"/proc/{process}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("socket")
    parser.add_argument("process", type=int)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    clients = [
        Client(options.socket, kinds[number % len(kinds)], number)
        for number in range(options.clients)
    ]
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        sockets = {client.socket: client for client in clients}
        reading = [client.socket for client in clients if client.kind in READING]
        writing = [client.socket for client in clients if not client.waits]
        readable, writable, _ = select.select(reading, writing, [], 0.1)
        for found in readable:
            sockets[found].turn(sockets[found].read)
        for found in writable:
            client = sockets[found]
            if client.socket is found:
                client.turn(client.write)
        for client in clients:
            if time.monotonic() > client.reopens:
                client.turn(client.reopen)
    print(
        json.dumps(
            {"peakKiB": peak(options.process), "connections": sum(c.count for c in clients)},
            separators=(",", ":"),
        )
    )


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"the service is gone: {error}")
