#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""One training step on a whole volume by `gigapixel train`, beside eager PyTorch on the same volume with the same weights.

    volume_step.py --program build/bin/gigapixel --folder work [--size 240x240x155] [--network unet3d:base=16] [--memory 2G]

The default size is that of BraTS. Both have one thread. CPU seconds are those of the network, without reading. Memory of ours is
the process's peak, libraries included, beside what was planned; eager's is its peak above what it has before the step. `gradient`
is how far the step that ours takes (SGD, rate 1) is from eager's gradient, relative to its norm. --without-eager where that does
not fit. Needs NumPy, nibabel, PyTorch and safetensors.
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
from plan_runs import run
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from torch_step import measure, status


def make_volume(folder, size):
    """Noise on waves, and where the waves are high: as volume and labels on a grid of 1 mm."""
    name = "x".join(map(str, size))
    values, labels = folder / f"{name}.nii", folder / f"{name}.labels.nii"
    if not labels.exists():
        x, y, z = numpy.ogrid[: size[0], : size[1], : size[2]]
        waves = numpy.sin(x / 17) * numpy.cos(y / 23) * numpy.sin(z / 11)
        noise = numpy.random.default_rng(1).normal(0, 0.5, size)
        nibabel.save(nibabel.Nifti1Image((waves + noise).astype(numpy.float32), numpy.eye(4)), values)
        nibabel.save(nibabel.Nifti1Image((waves > 0.2).astype(numpy.uint8), numpy.eye(4)), labels)
    return values, labels


def train(options, folder, volume, *more):
    (folder / "cohort.csv").write_text(f"slide,mask,split\n{volume[0]},{volume[1]},train\n")
    arguments = ["--cohort", folder / "cohort.csv", "-o", folder / "run", "--network", options.network, "--epochs", 1, "--quiet"]
    arguments += ["--no-augmentation", "--json", "--threads", options.threads, "--memory", options.memory, *more]
    result = run(options.program, "train", *arguments)
    return result or sys.exit("The memory limit is too small; see gigapixel plan")


def draw_weights(options, folder):
    """A model's file with numbers that are drawn, under the names and shapes that a training of a small volume ends with."""
    path = folder / "weights.safetensors"
    train(options, folder / "small", make_volume(folder, (64, 64, 64)))
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


def compute(operations, arrays, maps):
    """The network as eager PyTorch has it; norms of kept statistics are frozen."""
    for o in operations[1:]:
        inputs, name = [maps[i] for i in o["inputs"]], o["name"]
        weight, bias = arrays.get(name + ".weight"), arrays.get(name + ".bias")
        stride, padding = o.get("stride", 1), o.get("padding", 0)
        if o["type"] == "conv3d":
            y = F.conv3d(inputs[0], weight, bias, stride, padding)
        elif o["type"] == "conv_transpose3d":
            y = F.conv_transpose3d(inputs[0], weight, bias, stride)
        elif o["type"] == "batch_norm":
            y = F.batch_norm(inputs[0], arrays[name + ".running_mean"], arrays[name + ".running_var"], weight, bias, False, 0.1, o.get("eps", 1e-5))
        elif o["type"] == "instance_norm":
            y = F.instance_norm(inputs[0], weight=weight, bias=bias, eps=o.get("eps", 1e-5))
        elif o["type"] == "relu":
            y = F.relu_(inputs[0])
        elif o["type"] == "max_pool3d":
            y = F.max_pool3d(inputs[0], o["kernel_size"])
        elif o["type"] == "pad":  # to the size of the skip
            missing = [b - a for a, b in zip(inputs[0].shape[2:], inputs[1].shape[2:])]
            y = F.pad(inputs[0], [v for d in reversed(missing) for v in (0, d)])
        elif o["type"] == "cat":
            y = torch.cat(inputs, 1)
        else:
            sys.exit(f"eager PyTorch has no {o['type']} here")
        maps[name] = y
    return maps[operations[-1]["name"]]


def step_eagerly(layout, volume, labels, weights, gradient):
    """In a process of its own."""
    torch.set_num_threads(1)
    layout = torch.channels_last_3d if layout == "channels_last" else torch.contiguous_format
    with safe_open(weights, "pt") as model:
        operations = json.loads(model.metadata()["network"])["operations"]
        arrays = {name: model.get_tensor(name) for name in model.keys()}
    for name, array in arrays.items():
        arrays[name] = array.contiguous(memory_format=layout) if array.dim() == 5 else array
        arrays[name].requires_grad_("running" not in name)
    load = lambda path: torch.from_numpy(numpy.asarray(nibabel.load(path).dataobj).transpose(2, 1, 0).astype(numpy.float32).copy())[None, None]
    voxels, truth = load(volume), load(labels)
    voxels = ((voxels - voxels.mean()) / voxels.std(unbiased=False)).contiguous(memory_format=layout)
    before, losses = status("VmRSS"), []

    def once():
        loss = F.binary_cross_entropy_with_logits(compute(operations, arrays, {operations[0]["name"]: voxels}), truth)
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
    parser.add_argument("--without-eager", action="store_true")
    parser.add_argument("--eager", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.eager:
        return step_eagerly(*options.eager)
    if not options.program or not options.folder:
        parser.error("--program and --folder are needed")
    folder = options.folder.resolve() / options.network.replace(":", "-")
    for each in (folder / "small", folder / "large"):
        each.mkdir(parents=True, exist_ok=True)
        subprocess.run(["rm", "-rf", each / "run"], check=True)
    weights = draw_weights(options, folder)
    volume = make_volume(folder, tuple(int(side) for side in options.size.split("x")))
    more = ["--weights", weights, "--optimizer", "sgd", "--momentum", 0, "--learning-rate", 1]
    found = train(options, folder / "large", volume, *more)
    loss = found["loss"]
    plan = found["plan"]
    tiles = f"{plan['tiles']} tiles of {plan['tileSize']}" if not plan["segments"] else f"{len(plan['segments'])} segments"
    print("| engine | CPU s | of eager's | MB | of what was planned | loss | gradient |\n" + "| --- " * 7 + "|")
    seconds, peak = found["cpuSeconds"]["network"], found["peakBytes"]
    rows = [(f"ours, {tiles}", seconds, peak, f"{peak / found['estimatedPeakBytes']:.2f}", loss, "")]
    for layout in () if options.without_eager else ("contiguous", "channels_last"):
        gradient = folder / f"{layout}.npz"
        command = [sys.executable, __file__, "--eager", layout, *volume, weights, gradient]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            print(f"| eager {layout} | {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'ended by signal'} | | | | | |")
            continue
        eager = json.loads(done.stdout)
        difference = compare_steps(load_file(weights), load_file(folder / "large/run/best.safetensors"), gradient)
        rows.append((f"eager {eager['torch']}, {layout}", eager["seconds"], eager["bytes"], "", eager["loss"], f"{difference:.1e}"))
    for name, seconds, peak, planned, loss, difference in rows:
        share = f"{seconds / rows[1][1]:.2f}" if len(rows) > 1 else ""
        print(f"| {name} | {seconds:.1f} | {share} | {peak / 1e6:.0f} | {planned} | {loss:.6f} | {difference} |")


if __name__ == "__main__":
    sys.exit(main())
