# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Batches from workers of PyTorch's DataLoader, in memory that is used again, against what is cut from the whole slide."""

import gc
import os
import re
import subprocess
import sys
import threading
from multiprocessing.resource_sharer import DupFd

import itkgigapixel as gp
import numpy as np
import pytest
import torch
from itkgigapixel import torch_shared
from torch.utils.data import DataLoader

SIDE = 200
#: Buffers of images or of masks that are in use at the same time: two batches are on their way, a loop holds two while it takes
#: the next one, and the worker may not have closed the last one yet.
IN_USE = 5

#: The begin of a program that has a loader.
SCRIPT = """if __name__ == "__main__":
    import gc, os, sys, itkgigapixel as gp, torch
    stream = gp.torch.PatchStream(gp.torch.PatchDataset([sys.argv[1]], patch=200), batch_size=4)
    loader = torch.utils.data.DataLoader(stream, batch_size=None, num_workers=2, persistent_workers=True)
"""


@pytest.fixture(scope="module")
def whole(drawn):
    return torch.from_numpy(gp.Slide(drawn[0]).read()).permute(2, 0, 1)


@pytest.fixture(scope="module")
def classes():
    """Of all pixels of the slide."""
    return np.random.default_rng(1).integers(0, 5, (2000, 3000), np.uint8)


def load(drawn, batch_size=4, workers=1, dataset=None, shuffle=False, by="stream", **how):
    """The stream or the loader makes batches of 4; there are 38, more than a worker has buffers."""
    patches = gp.torch.PatchDataset([drawn[0]], patch=SIDE, **(dataset or {}))
    sizes = (batch_size, None) if by == "stream" else (None, batch_size)
    stream = gp.torch.PatchStream(patches, shuffle=shuffle, batch_size=sizes[0])
    return DataLoader(stream, batch_size=sizes[1], num_workers=workers, **how)


def check(batches, whole, classes=None, count=150):
    """Pixels are those of the slide, and *count* patches come."""
    found = 0
    for batch in batches:
        for k, (x, y) in enumerate(zip(batch["x"].tolist(), batch["y"].tolist())):
            part = np.s_[..., y : y + SIDE, x : x + SIDE]
            pixels = whole[part] if batch["image"].dtype == torch.uint8 else whole[part].to(batch["image"].dtype) / 255
            assert torch.equal(batch["image"][k], pixels)
            assert classes is None or np.array_equal(batch["mask"][k].numpy(), classes[part])
            found += 1
    assert found == count


def buffers(pid="self") -> set[str]:
    """Files in memory that a process has mapped."""
    with open(f"/proc/{pid}/maps") as maps:
        return {line.split()[4] for line in maps if "memfd:itkgigapixel" in line}


def worker_of(loader) -> int:
    return loader._iterator._workers[0].pid


@pytest.mark.parametrize("by, method, dtype", [("stream", "fork", torch.bfloat16), ("stream", "spawn", torch.uint8), ("loader", "fork", torch.uint8)])
def test_kept_batches_stay(drawn, whole, classes, by, method, dtype):
    dataset = {"masks": [classes], "dtype": dtype}
    how = {"multiprocessing_context": method, "persistent_workers": True}
    loader = load(drawn, dataset=dataset, workers=2, shuffle=True, by=by, **how)
    kept = list(loader)
    assert len(buffers()) > 2 * IN_USE
    for _ in range(2):
        check(loader, whole, classes)
    check(kept, whole, classes)


def test_parts_of_batches_stay(drawn, whole):
    """A view, an array, and a tensor that shares only the storage keep the memory of their batch."""
    loader = load(drawn, persistent_workers=True)
    parts = []
    for k, batch in enumerate(loader):
        image, x, y = batch["image"][0], int(batch["x"][0]), int(batch["y"][0])
        parts.append(([lambda: image, image.numpy, image.detach, lambda: torch.empty(0, dtype=torch.uint8).set_(image)][k % 4](), x, y))
    del batch, image
    for _ in range(2):
        check(loader, whole)
    for part, x, y in parts:
        assert torch.equal(torch.as_tensor(part), whole[:, y : y + SIDE, x : x + SIDE])


@pytest.mark.parametrize("by", ["stream", "loader"])
def test_memory_is_used_again(drawn, by):
    """In 1000 batches, with their masks."""
    loader = load(drawn, dataset={"masks": [np.zeros((5, 5), np.uint8)]}, by=by, persistent_workers=True)
    for batch in loader:
        pass
    seen = set()
    for _ in range(27):
        for batch in loader:
            seen |= buffers()
    assert 2 < len(seen) <= 2 * IN_USE and len(buffers(worker_of(loader))) <= 2 * IN_USE


def test_pytorch_sends_each_buffer_once(drawn, whole, monkeypatch):
    """Then buffers go by their names, for which no connection is opened."""
    received = []
    detach = DupFd.detach
    monkeypatch.setattr(DupFd, "detach", lambda self: received.append(self) or detach(self))
    loader = load(drawn, persistent_workers=True)
    for _ in range(3):
        check(loader, whole)
    assert 0 < len(received) <= IN_USE


def test_buffers_that_cannot_be_opened_by_name(drawn, whole, monkeypatch):
    """Some systems do not show a process the files of others."""
    loader = load(drawn, persistent_workers=True)
    open_file = os.open

    def refuse(path, *how):
        if re.match("/proc/[0-9]+/fd/", str(path)):
            raise PermissionError(path)
        return open_file(path, *how)

    begun = iter(loader)  # the workers keep what they had when they began
    monkeypatch.setattr(os, "open", refuse)
    check(begun, whole)
    check(loader, whole)


class Twice(torch.utils.data.IterableDataset):
    """Sends each batch by a queue of its own as well."""

    def __init__(self, stream, queue):
        self.stream, self.queue = stream, queue

    def __iter__(self):
        for batch in self.stream:
            self.queue.put(batch)
            yield batch


def test_batches_that_are_sent_twice(drawn, whole):
    patches = gp.torch.PatchDataset([drawn[0]], patch=SIDE)
    queue = torch.multiprocessing.Queue()
    stream = Twice(gp.torch.PatchStream(patches, shuffle=False, batch_size=4), queue)
    kept = []
    for batch in DataLoader(stream, batch_size=None, num_workers=1):
        kept += [batch, queue.get()]
    check(kept, whole, count=300)


@pytest.mark.parametrize("kind", ["map", "stream"])
def test_batches_of_the_loader_are_not_copied(drawn, whole, monkeypatch, kind):
    """Patches are read one after another, as a batch has them, as soon as the worker knows how many they are."""
    patches = gp.torch.PatchDataset([drawn[0]], patch=SIDE)
    stream = gp.torch.PatchStream(patches, shuffle=False)
    copied = torch.multiprocessing.Value("i")
    stack = torch.stack

    def count(*args, **kwargs):
        copied.value += 1
        return stack(*args, **kwargs)

    monkeypatch.setattr(torch, "stack", count)
    monkeypatch.setattr(torch_shared, "samples_at_once", 1)  # which a worker that is forked has from this process
    loader = DataLoader(patches if kind == "map" else stream, 4, num_workers=1, persistent_workers=True, multiprocessing_context="fork")
    for _ in range(3):
        check(loader, whole)
    assert copied.value == {"map": 0, "stream": 1}[kind]


class Wrapped(torch.utils.data.Dataset):
    """What users make of patches: other images, and values of other kinds."""

    def __init__(self, patches):
        self.patches = patches

    def __len__(self):
        return len(self.patches)

    def __getitem__(self, number):
        sample = self.patches[number]
        sample["upright"] = sample["image"].contiguous() / 2
        sample["part"] = sample["image"][1, ::2, 3:50]
        sample["one"] = torch.tensor(number / 3)
        sample["row"] = torch.arange(3) + number
        sample["more"] = {"name": str(number), "values": [number, np.float32(number)]}
        return sample


def as_pytorch(samples):
    return torch.utils.data.default_collate([dict(sample) for sample in samples])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["patches", "wrapped", "stream"])
def test_batches_are_those_of_pytorch(drawn, classes, workers, kind):
    """The DataLoader makes them. Values are the same as of dicts without a type of ours."""
    patches = gp.torch.PatchDataset([drawn[0]], patch=SIDE, masks=[classes])
    dataset = {"patches": patches, "wrapped": Wrapped(patches), "stream": gp.torch.PatchStream(patches)}[kind]
    sampler = None if kind == "stream" else np.random.default_rng(1).permutation(150)
    ours, theirs = (list(DataLoader(dataset, 4, sampler=sampler, num_workers=workers, collate_fn=how)) for how in (None, as_pytorch))
    assert sum(len(batch["image"]) for batch in theirs) == 150
    for a, b in zip(ours, theirs, strict=True):
        assert a.keys() == b.keys()
        for name, values in b.items():
            if isinstance(values, torch.Tensor):
                assert a[name].dtype == values.dtype and torch.equal(a[name], values)
            else:
                assert a[name]["name"] == values["name"] and all(map(torch.equal, a[name]["values"], values["values"]))


def test_samples_that_do_not_fit_are_refused_as_by_pytorch(drawn):
    patches = gp.torch.PatchDataset([drawn[0]], patch=SIDE)
    samples = [patches[0], patches[1]]
    samples[1]["image"] = samples[1]["image"][:, 1:]
    with pytest.raises(RuntimeError):
        torch.utils.data.default_collate(samples)
    weights = torch.ones(3, requires_grad=True)
    for sample in samples:
        sample["image"] = weights * 2
    torch.utils.data.default_collate(samples)["image"].sum().backward()
    assert weights.grad.tolist() == [4, 4, 4]


def test_nothing_is_left(drawn):
    """After a loop that ends, and one that is broken off: no shared memory, and no open file."""

    def shared():
        gc.collect()
        with open("/proc/self/maps") as maps:
            mapped = {line.split()[4] for line in maps if re.search("memfd:itkgigapixel|/dev/shm/torch_", line)}
        return mapped, len(os.listdir("/proc/self/fd"))

    list(load(drawn))  # what Python's and PyTorch's machinery keeps is open from here on
    before = shared()
    for _ in range(3):
        kept = list(load(drawn, workers=2))
        assert len(shared()[0] - before[0]) == 38
        next(iter(load(drawn, workers=2)))
        del kept
    after = shared()
    assert after[0] <= before[0] and after[1] <= before[1]


def test_a_worker_that_dies_is_an_error(drawn):
    """In a process of its own: PyTorch raises it in the handler of a signal."""
    script = SCRIPT + """
    failed = False
    try:
        for k, batch in enumerate(loader):
            if k == 0:
                os.kill(loader._iterator._workers[0].pid, 9)
    except (RuntimeError, OSError, EOFError):  # the last two where a batch of the worker was just to be fetched
        failed = True
    del loader, batch
    gc.collect()
    print(failed, "memfd:itkgigapixel" in open("/proc/self/maps").read())
    """
    ended = subprocess.run([sys.executable, "-c", script, drawn[0]], capture_output=True, text=True)
    assert ended.stdout == "True False\n", ended.stderr


def test_batches_outlive_their_worker(drawn, whole):
    loader = load(drawn)
    kept = list(loader)
    del loader
    gc.collect()
    check(kept, whole)


def test_several_loaders(drawn, whole):
    """At once. The workers of the second are forked while the first has batches here, which they inherit."""
    first = load(drawn, persistent_workers=True)
    kept = []
    for batch in first:
        kept.append(batch)
        check(load(drawn, batch_size=50), whole) if len(kept) % 10 == 0 else None
    second = load(drawn, shuffle=True, persistent_workers=True)
    for _ in range(2):
        for a, b in zip(first, second, strict=True):
            kept += [a, b]
    check(kept, whole, count=750)


def test_another_thread_receives(drawn, whole):
    """As the thread that pins memory does."""
    kept = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: kept.extend(load(drawn)))
        thread.start()
        thread.join()
    check(kept, whole, count=300)


def test_the_other_way_to_share(drawn, whole):
    torch.multiprocessing.set_sharing_strategy("file_system")
    try:
        kept = list(load(drawn))
        assert not buffers()
    finally:
        torch.multiprocessing.set_sharing_strategy("file_descriptor")
    check(kept, whole)


def test_places_take_no_files(drawn):
    """Those of an epoch may be kept, of any number of batches."""
    loader = load(drawn, batch_size=1, persistent_workers=True)
    next(iter(loader))
    before = len(os.listdir("/proc/self/fd"))
    kept = [(batch["slide"], batch["x"], batch["y"]) for batch in loader]
    assert len(kept) == 150 and len(os.listdir("/proc/self/fd")) < before + 50


def test_the_interpreter_ends_with_batches(drawn):
    script = SCRIPT + """
    kept = [batch for batch, _ in zip(loader, range(20))]
    """
    ended = subprocess.run([sys.executable, "-c", script, drawn[0]], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
