#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What storage that answers late costs a training step on whole slides.

    slow_storage.py WORK-FOLDER [--delay 20] [--network resnet18:width=16] [--side 4096] [--tile-size 1024] [--rounds 3]

Trains a network that labels slides on two synthetic slides, once from the folder that they are in, once through a file
system (FUSE) that shows the same folder and answers every read after --delay milliseconds, any number of them side by
side, as storage at the other end of a network does. What it has sent it takes out of the system's cache --forget seconds later, so that
each pass over a slide reads it anew. One thread computes. Of a step it tells how long that thread ran and how long it waited for
anything but a processor, which other programs may have had (/proc/PID/task/TID/schedstat): what two more epochs cost, divided
by their steps, of several rounds the least sum of both; and how many reads of what size a step made.

The program is $GIGAPIXEL_PROGRAM, else build/bin/gigapixel. Needs Linux, and root: it mounts the file system itself,
below WORK-FOLDER.
"""

import argparse
import ctypes
import errno
import heapq
import os
import pathlib
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("GIGAPIXEL_PROGRAM", ROOT / "build/bin/gigapixel")
EPOCHS = (1, 3)  # of the two runs whose difference is taken
SLIDES = 2

# include/uapi/linux/fuse.h
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, INTERRUPT, DESTROY, BATCH_FORGET = 1, 2, 3, 14, 15, 18, 25, 26, 36, 38, 42
ASYNC_READ = 1
INVALIDATE_INODE = 2
FORCE, DETACH = 1, 2


class Queue:
    """Hands messages on when they are due."""

    def __init__(self, send):
        self.hand_on = send
        self.due = []  # (when, number, message)
        self.number = 0
        self.changed = threading.Condition()

    def put(self, seconds, message):
        with self.changed:
            self.number += 1
            heapq.heappush(self.due, (time.monotonic() + seconds, self.number, message))
            self.changed.notify()

    def run(self):
        while True:
            with self.changed:
                while not self.due or self.due[0][0] > time.monotonic():
                    self.changed.wait(self.due[0][0] - time.monotonic() if self.due else None)
                message = heapq.heappop(self.due)[2]
            if not self.hand_on(message):
                return


class LateFolder:
    """Shows the files of a folder at another place, and answers each read late. A context manager."""

    def __init__(self, folder, place, delay, forget):
        self.paths = {number: path for number, path in enumerate(sorted(folder.iterdir()), start=2)}
        self.files = {number: os.open(path, os.O_RDONLY) for number, path in self.paths.items()}
        self.place, self.delay, self.forget = place, delay, forget
        self.reads = self.bytes = 0
        # Waiting for their time. What is forgotten has a queue of its own: that waits for reads under way, which are
        # answered by the other one.
        self.answers, self.forgotten = Queue(self.send), Queue(self.send)

    def __enter__(self):
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0"
        libc = ctypes.CDLL(None, use_errno=True)
        self.place.mkdir(exist_ok=True)
        if libc.mount(b"late", os.fsencode(self.place), b"fuse.late", 0, options.encode()) != 0:
            sys.exit(f"{self.place}: nothing is mounted there: {os.strerror(ctypes.get_errno())}; be root")
        for work in (self.answer, self.answers.run, self.forgotten.run):
            threading.Thread(target=work, daemon=True).start()
        return self

    def __exit__(self, *_):
        ctypes.CDLL(None).umount2(os.fsencode(self.place), FORCE | DETACH)
        os.close(self.device)
        for file in self.files.values():
            os.close(file)

    def answer(self):
        while True:
            try:
                request = os.read(self.device, 1 << 18)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                return  # it is no longer mounted
            _, operation, unique, node = struct.unpack_from("<IIQQ", request)
            if operation in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            code, body = self.make_answer(operation, node, request[40:])
            late = operation == READ and code == 0
            self.answers.put(self.delay if late else 0, struct.pack("<IiQ", 16 + len(body), -code, unique) + body)
            if late:
                first, size = struct.unpack_from("<QI", request, 48)
                self.forgotten.put(self.delay + self.forget, struct.pack("<IiQQqq", 40, INVALIDATE_INODE, 0, node, first, size))

    def send(self, message):
        """False: it is no longer mounted."""
        try:
            os.write(self.device, message)
        except OSError as error:
            return error.errno == errno.ENOENT  # who asked waits no longer, or what is to be forgotten is not there
        return True

    def make_answer(self, operation, node, body):
        """Error code and body."""
        if operation == INIT:
            readahead = struct.unpack_from("<I", body, 8)[0]
            return 0, struct.pack("<IIIIHHII", 7, 31, readahead, ASYNC_READ, 1024, 1024, 4096, 1).ljust(64, b"\0")
        if operation == LOOKUP:
            name = os.fsdecode(body.rstrip(b"\0"))
            found = [number for number, path in self.paths.items() if path.name == name]
            return (0, struct.pack("<QQQQII", found[0], 0, 60, 60, 0, 0) + self.describe(found[0])) if found else (errno.ENOENT, b"")
        if operation == GETATTR:
            return 0, struct.pack("<QII", 60, 0, 0) + self.describe(node)
        if operation == OPEN:
            return 0, struct.pack("<QII", node, 0, 0)
        if operation == READ:
            first, size = struct.unpack_from("<QI", body, 8)
            data = os.pread(self.files[node], size, first)
            self.reads += 1
            self.bytes += len(data)
            return 0, data
        return (0, b"") if operation in (RELEASE, FLUSH, DESTROY) else (errno.ENOSYS, b"")

    def describe(self, node):
        """Its struct fuse_attr."""
        size = 0 if node == 1 else os.fstat(self.files[node]).st_size
        mode = stat.S_IFDIR | 0o555 if node == 1 else stat.S_IFREG | 0o444
        return struct.pack("<6Q10I", node, size, -(-size // 512), 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def execute(*words):
    """Seconds that the thread which ran longest ran, and waited for anything but a processor."""
    process = subprocess.Popen([str(word) for word in (PROGRAM, *words)], stdout=subprocess.DEVNULL)
    threads = {}  # by number: when it was first seen, and what it has come to
    while process.poll() is None:
        for file in pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
            try:
                ran, wanted, _ = (int(number) / 1e9 for number in file.read_text().split())
            except (OSError, ValueError):
                continue  # it has ended
            now = time.monotonic()
            begin = threads.get(file, (now - ran - wanted,))[0]
            threads[file] = (begin, ran, now - begin - ran - wanted)
        time.sleep(0.01)
    if process.returncode != 0:
        sys.exit(f"{words[0]} failed")
    return max(threads.values(), key=lambda thread: thread[1])[1:] if threads else (0, 0)


def draw_slides(folder, side):
    for number in range(SLIDES):
        file = folder / f"{number}.tif"
        if not file.exists():
            execute("synthesize", file, "--size", f"{side}x{side}", "--seed", number, "--quiet")


def measure_step(slides, arguments):
    """Seconds that it ran and waited."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        table = folder / "cohort.csv"
        table.write_text("slide,label,split\n" + "".join(f"{slides / f'{i}.tif'},{'ab'[i]},train\n" for i in range(SLIDES)))

        def train(epochs):
            options = ["--network", arguments.network, "--tile-size", arguments.tile_size, "--threads", 1]
            return execute("train", "--cohort", table, "--epochs", epochs, *options, "--quiet", "-o", folder / f"run-{epochs}")

        few, more = (train(epochs) for epochs in EPOCHS)
        steps = SLIDES * (EPOCHS[1] - EPOCHS[0])
        return tuple((b - a) / steps for a, b in zip(few, more))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--delay", type=float, default=20, help="milliseconds (20)")
    parser.add_argument("--forget", type=float, default=1, help="seconds; more than a tile takes, less than a pass (1)")
    parser.add_argument("--network", default="resnet18:width=16")
    parser.add_argument("--side", type=int, default=4096)
    parser.add_argument("--tile-size", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    slides = arguments.folder / f"slides-{arguments.side}"
    slides.mkdir(parents=True, exist_ok=True)
    draw_slides(slides, arguments.side)
    local, late = [], []
    for _ in range(arguments.rounds):
        local.append(measure_step(slides, arguments))
        with LateFolder(slides, arguments.folder / "late", arguments.delay / 1000, arguments.forget) as folder:
            late.append(measure_step(folder.place, arguments))
            reads, size = folder.reads, folder.bytes
    here, there = min(local, key=sum), min(late, key=sum)
    steps = SLIDES * sum(EPOCHS)
    late_reads = f"{reads / steps:.0f} | {size / reads / 1000:.0f}"
    print("| from | ran s | waited s | both, of local | reads | kB each |\n| --- | --- | --- | --- | --- | --- |")
    print(f"| local | {here[0]:.2f} | {here[1]:.2f} | 1 | | |")
    print(f"| {arguments.delay:.0f} ms late | {there[0]:.2f} | {there[1]:.2f} | {sum(there) / sum(here):.2f} | {late_reads} |")


if __name__ == "__main__":
    main()
