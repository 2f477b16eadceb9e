#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""One training step on a whole volume by `gigapixel train`, beside eager PyTorch on the same volume with the same weights.

    volume_step.py --program build/bin/gigapixel --folder work [--size 240x240x155] [--network unet3d:base=16] [--memory 2G]
                   [--scratch DIR] [--batch 4]

The default size is that of BraTS. Both have one thread. CPU seconds are those of the network, without reading; `planned` are those
that `gigapixel plan` prints, on this machine. Those by TFLOP are by the operations of the convolutions of a step in one piece,
whatever was computed twice. Memory of ours is the process's peak, libraries included, beside what was planned; eager's is its
peak above what it has before the step. `gradient` is how far the step that ours takes (SGD, rate 1, which has no moments) is from
eager's gradient, relative to its norm. --batch takes the mean gradient of so many volumes, of which ours has one in memory at a time, and eager all
in one array. --without-eager where that does not fit: the step is one of Adam then, the default, whose moments take memory. Needs NumPy, nibabel, PyTorch and safetensors.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import nibabel
import numpy
import torch
import torch.nn.functional as F
from eager_graph import compute, count_operations, load_model
from plan_runs import run
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from torch_step import measure, status


def make_volume(folder, size, seed=1):
    """Noise on waves, and where the waves are high: as volume and labels on a grid of 1 mm."""
    name = "x".join(map(str, size)) + (f"-{seed}" if seed > 1 else "")
    values, labels = folder / f"{name}.nii", folder / f"{name}.labels.nii"
    if not labels.exists():
        x, y, z = numpy.ogrid[: size[0], : size[1], : size[2]]
        waves = numpy.sin((x + seed - 1) / 17) * numpy.cos(y / 23) * numpy.sin(z / 11)
        noise = numpy.random.default_rng(seed).normal(0, 0.5, size)
        nibabel.save(nibabel.Nifti1Image((waves + noise).astype(numpy.float32), numpy.eye(4)), values)
        nibabel.save(nibabel.Nifti1Image((waves > 0.2).astype(numpy.uint8), numpy.eye(4)), labels)
    return values, labels


def train(options, folder, volumes, *more):
    """One step on the mean gradient of the volumes."""
    rows = [f"{values},{labels},train\n" for values, labels in volumes]
    (folder / "cohort.csv").write_text("slide,mask,split\n" + "".join(rows))
    arguments = ["--cohort", folder / "cohort.csv", "-o", folder / "run", "--network", options.network, "--epochs", 1, "--quiet"]
    arguments += ["--images-per-step", len(volumes), "--no-augmentation", "--json", "--threads", options.threads]
    result = run(options.program, "train", *arguments, "--memory", options.memory, *more)
    return result or sys.exit("The memory limit is too small; see gigapixel plan")


def plan(options, volume, *more):
    """Of a step on one volume."""
    arguments = ["--network", options.network, "--memory", options.memory, "--threads", options.threads, *more]
    plans = run(options.program, "plan", volume[0], *arguments, "--measure", "--quiet", "--json")["plans"]
    return next(row for row in plans if row["purpose"] == "training")


def draw_weights(options, folder):
    """A model's file with numbers that are drawn, under the names and shapes that a training of a small volume ends with."""
    path = folder / "weights.safetensors"
    train(options, folder / "small", [make_volume(folder, (64, 64, 64))])
    arrays = load_file(folder / "small/run/best.safetensors")
    random = numpy.random.default_rng(2)
    for name, array in arrays.items():
        deviation = (2 / max(1, numpy.prod(array.shape[1:]))) ** 0.5 if array.ndim > 1 else 0.1
        middle = 1 if array.ndim == 1 and name.endswith(("running_var", "1.weight", "4.weight")) else 0
        drawn = random.normal(middle, deviation, array.shape)
        arrays[name] = (abs(drawn) if name.endswith("running_var") else drawn).astype(numpy.float32)
    with safe_open(folder / "small/run/best.safetensors", "np") as model:
        save_file(arrays, path, metadata=model.metadata())
    return path


def step_eagerly(layout, weights, gradient, *volumes):
    """In a process of its own."""
    torch.set_num_threads(1)
    layout = torch.channels_last_3d if layout == "channels_last" else torch.contiguous_format
    operations, arrays = load_model(weights, layout)

    def load(paths):
        images = [numpy.asarray(nibabel.load(path).dataobj).transpose(2, 1, 0).astype(numpy.float32) for path in paths]
        return torch.from_numpy(numpy.stack(images))[:, None]

    voxels, truth = load(volumes[::2]), load(volumes[1::2])
    for each in voxels:
        each.copy_((each - each.mean()) / each.std(unbiased=False))
    voxels = voxels.contiguous(memory_format=layout)
    before, losses = status("VmRSS"), []

    def once():
        loss = F.binary_cross_entropy_with_logits(compute(operations, arrays, voxels), truth)
        losses.append(loss.item())
        loss.backward()

    seconds, _ = measure(once, 1)
    numpy.savez(gradient, **{name: array.grad.numpy() for name, array in arrays.items() if array.grad is not None})
    print(json.dumps({"seconds": seconds, "bytes": status("VmHWM") - before, "loss": losses[0], "torch": torch.__version__}))


def compare_steps(begun, ended, gradient):
    wrong = norm = 0
    for name, array in numpy.load(gradient).items():
        wrong += float(((begun[name].astype(float) - ended[name] - array) ** 2).sum())
        norm += float((array.astype(float) ** 2).sum())
    return (wrong / norm) ** 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, help="gigapixel")
    parser.add_argument("--folder", type=Path, help="where volumes and runs are made")
    parser.add_argument("--size", default="240x240x155", help="WIDTHxHEIGHTxDEPTH")
    parser.add_argument("--network", default="unet3d:base=16")
    parser.add_argument("--memory", default="2G")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1, help="volumes whose mean gradient is the step")
    parser.add_argument("--scratch", type=Path, help="folder for maps that are kept while the network goes over the volume")
    parser.add_argument("--tile-size", help="in place of the plan's choice")
    parser.add_argument("--without-eager", action="store_true")
    parser.add_argument("--eager", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.eager:
        return step_eagerly(*options.eager)
    if not options.program or not options.folder:
        parser.error("--program and --folder are needed")
    folder = options.folder.resolve() / options.network.replace(":", "-").replace(",", "-")
    for each in (folder / "small", folder / "large"):
        each.mkdir(parents=True, exist_ok=True)
        subprocess.run(["rm", "-rf", each / "run"], check=True)
    weights = draw_weights(options, folder)
    size = tuple(int(side) for side in options.size.split("x"))
    volumes = [make_volume(folder, size, 1 + i) for i in range(options.batch)]
    tiling = ["--scratch", options.scratch] if options.scratch else []
    tiling += ["--tile-size", options.tile_size] if options.tile_size else []
    planned = options.batch * plan(options, volumes[0], *tiling)["networkSeconds"]
    operations, arrays = load_model(weights)
    tera = options.batch * count_operations(operations, arrays, size[::-1]) / 1e12
    more = ["--weights", weights, *tiling]
    more += [] if options.without_eager else ["--optimizer", "sgd", "--momentum", 0, "--learning-rate", 1]
    found = train(options, folder / "large", volumes, *more)
    chosen = found["plan"]
    how = f"{chosen['tiles']} tiles of {chosen['tileSize']}"
    if chosen["segments"]:
        how = f"{len(chosen['segments'])} segments, {chosen['keptBytes'] / 1e6:.0f} MB kept"
    seconds, peak = found["cpuSeconds"]["network"], found["peakBytes"]
    rows = [[f"ours, {how}", seconds, planned, peak, f"{found['estimatedPeakBytes'] / peak:.2f}", found["loss"], ""]]
    print(f"{options.network}, {options.batch} of {options.size}, {tera:.2f} TFLOP; ours took {found['cpuSeconds']} CPU seconds")
    print("| engine | CPU s | of eager's | CPU s by TFLOP | planned s | MB | planned / peak | loss | gradient |\n" + "| --- " * 9 + "|")
    print_row(rows[0], tera, None)
    for layout in () if options.without_eager else ("contiguous", "channels_last"):
        gradient = folder / f"{layout}.npz"
        command = [sys.executable, __file__, "--eager", layout, weights, gradient, *(path for pair in volumes for path in pair)]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            print(f"| eager {layout} | {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'ended by signal'} |" + " |" * 7)
            continue
        eager = json.loads(done.stdout)
        difference = compare_steps(load_file(weights), load_file(folder / "large/run/best.safetensors"), gradient)
        rows.append([f"eager {eager['torch']}, {layout}", eager["seconds"], None, eager["bytes"], "", eager["loss"], f"{difference:.1e}"])
        print_row(rows[-1], tera, rows[1][1])
    if len(rows) > 1:
        print_row(rows[0], tera, rows[1][1])


def print_row(row, tera, eager):
    name, seconds, planned, peak, ratio, loss, difference = row
    share = f"{seconds / eager:.2f}" if eager else ""
    cells = [name, f"{seconds:.1f}", share, f"{seconds / tera:.1f}", f"{planned:.1f}" if planned else "", f"{peak / 1e6:.0f}"]
    print("| " + " | ".join([*cells, ratio, f"{loss:.6f}", difference]) + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
