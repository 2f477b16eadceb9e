#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Does a 3-D U-Net learn the tissues of the brain from whole volumes, and what do patches reach in the same time?

    Testing/Benchmark/learn/learn_oasis.py WORK-FOLDER [--seeds 1,2,3] [--stages 4:90:0.01,2:24:0.005,1:6:0.003] [--memory 4G]
                                           [--tile-size image] [--network unet3d:base=4,depth=2,classes=4] [--draw]

Ten brains of the test data ($GIGAPIXEL_TEST_DATA/volumes/oasis, CC BY-NC): T1 without the skull, and cerebrospinal fluid, gray and
white matter. By their numbers the first seven are trained on, the eighth tells the best epoch, the last two judge. For each seed

volumes   `gigapixel train` takes whole volumes, one a step, in stages: every fourth voxel along each axis for 90 epochs, which take a
          64th of the time, every second for 24, all for 6, each from the best weights of the one before
patches   eager PyTorch takes patches of 96 x 96 x 96 voxels, two a step, around voxels of the brain that are drawn by chance, with the
          same network, first weights, loss, optimizer and schedule, until it has taken as many CPU seconds, validation included
          (or --seconds, so that both can run at the same time)

Both have one thread and no augmentation. Batch norms keep the statistics of one brain, every eighth voxel. A model of patches is
applied to whole volumes, since all that it computes for a voxel is
within reach of it. Dice, and 95 % Hausdorff and mean surface distance in mm, are those of `gigapixel evaluate`.

WORK-FOLDER/results.json gets what is done, and a run that was interrupted goes on when the same command is given again; results.md
is a table of it, curve.png the Dice of the eighth brain over CPU seconds, slices.png a brain that judges. --draw makes these anew and
does nothing else.

The program is $GIGAPIXEL_PROGRAM, else build/bin/gigapixel. Needs NumPy, nibabel, Pillow, safetensors and PyTorch.
"""

import argparse
import csv
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys

import nibabel
import numpy as np
from PIL import Image, ImageDraw
from safetensors import safe_open

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("GIGAPIXEL_PROGRAM", ROOT / "build/bin/gigapixel")
DATA = pathlib.Path(os.environ.get("GIGAPIXEL_TEST_DATA", "")) / "volumes/oasis"
sys.path.insert(0, str(ROOT / "Testing/Benchmark/engine"))

from eager_graph import calibrate, compute, load_model  # noqa: E402

SIDE = 96  # of a patch
BATCH = 2
VALIDATIONS = 6  # of a training on patches
TISSUES = {1: "CSF", 2: "gray", 3: "white"}
# A z-score, the preset's, depends on how much of a volume is brain: of the tissues that each value is most likely to be in the seven
# brains, without any network, mean Dice in these is 0.889 behind it, and 0.897 behind this.
NORMALIZATION = {"type": "percentiles", "low": 0, "high": 99}
WAYS = {"volumes": "#0b5cad", "patches": "#e07b00"}


def execute(*words):
    """The program, with its result as JSON."""
    done = subprocess.run([str(word) for word in (PROGRAM, *words, "--json", "--quiet")], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{words[0]} failed")
    return json.loads(done.stdout)


class Study:
    """The folder with all that is made, and what is known."""

    def __init__(self, options):
        self.folder, self.options = options.work, options
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file, self.network = self.folder / "results.json", self.folder / "network.json"
        self.results = json.loads(self.file.read_text()) if self.file.exists() else {}
        settings = {key: str(value) for key, value in vars(options).items() if key not in ("work", "seeds", "draw", "parts", "seconds")}
        if self.results.setdefault("settings", settings) != settings and not options.draw:
            sys.exit(f"{self.file} is of other settings: {self.results['settings']}")
        names = sorted(path.name.split("_")[0] for path in DATA.glob("*_SS.nii.gz"))
        if len(names) != 10:
            sys.exit(f"{DATA} has {len(names)} brains, not ten")
        self.splits = {"train": names[:7], "validation": names[7:8], "test": names[8:]}

    def keep(self, name, found):
        if self.file.exists():  # another process may have done another part
            self.results = json.loads(self.file.read_text())
        self.results[name] = found
        self.file.with_suffix(".part").write_text(json.dumps(self.results, indent=1))
        self.file.with_suffix(".part").rename(self.file)

    def labels(self, way, seed, name):
        return self.folder / f"{way}-{seed}-{name}.nii.gz"

    def judge(self, way, seed):
        """Of each brain that has a file of labels."""
        return {name: execute("evaluate", self.labels(way, seed, name), truth_of(name)) for name in self.splits["test"]}


def volume_of(name):
    return DATA / f"{name}_SS.nii.gz"


def truth_of(name):
    return DATA / f"{name}_tissues.nii.gz"


def write_cohort(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("slide,mask,split\n" + "".join(f"{volume},{mask},{split}\n" for volume, mask, split in rows))
    return path


def get_limits(options):
    tiling = ["--tile-size", options.tile_size] if options.tile_size else []
    return ["--threads", 1, "--memory", options.memory, *tiling]


def thin(study, name, step):
    """Every so many voxels of a brain and its labels along each axis: two files."""
    folder, files = study.folder / f"every-{step}", []
    folder.mkdir(exist_ok=True)
    for path in (volume_of(name), truth_of(name)):
        files.append(folder / path.name)
        if not files[-1].exists():
            image = nibabel.load(path)
            few = np.asarray(image.dataobj)[::step, ::step, ::step]
            nibabel.save(nibabel.Nifti1Image(few, image.affine @ np.diag([step, step, step, 1])), files[-1])
    return files


def write_network(study, model):
    """The network of a model, by whose file all train, with the study's normalization in place of the preset's."""
    with safe_open(model, "np") as file:
        network = json.loads(file.metadata()["network"])
    network["input"]["normalization"] = NORMALIZATION
    study.network.write_text(json.dumps(network))


def begin(study, seed):
    """A model with the first weights of a seed, after a step of next to nothing on every eighth voxel of a brain, where tissues take
    the same shares; its norms have the statistics of what they see there."""
    folder = study.folder / f"start-{seed}"
    model = folder / "calibrated.safetensors"
    if not model.exists():
        files = thin(study, study.splits["train"][0], 8)
        cohort = write_cohort(folder / "cohort.csv", [(*files, "train")])
        words = ["--network", study.options.network, "--seed", seed, "--epochs", 1, "--learning-rate", 1e-9, "--no-augmentation"]
        execute("train", "--cohort", cohort, "-o", folder / "run", *words, "--threads", 1)
        write_network(study, folder / "run/last.safetensors")
        calibrate(folder / "run/last.safetensors", normalize(nibabel.load(files[0])), model)
    return model


def train_for(study, name, seed, rows, weights, epochs, rate):
    """What the program says, CPU seconds, interruptions included, and the Dice of the validation brain after each epoch."""
    options, run = study.options, study.folder / name
    cohort, clock = write_cohort(run.with_suffix(".csv"), rows), run.with_suffix(".seconds")
    seconds = json.loads(clock.read_text()) if clock.exists() else 0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = ["--network", study.network, "--weights", weights, "--seed", seed, "--epochs", epochs, "--learning-rate", rate]
    words += ["--learning-rate-schedule", "cosine", "--warmup", options.warmup, "--no-augmentation", "--resume"]
    try:
        found = execute("train", "--cohort", cohort, "-o", run, *words, *get_limits(options))
    finally:
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        clock.write_text(json.dumps(seconds))
    with open(run / "history.csv") as file:
        return found, seconds, [float(row["validation_dice"]) for row in csv.DictReader(file)]


def train_on_volumes(study, seed):
    """From few voxels to all: each stage begins with the best weights of the one before."""
    options = study.options
    brains = [(name, split) for split in ("train", "validation") for name in study.splits[split]]
    weights, before, steps = begin(study, seed), 0, 0
    for step, epochs, rate in options.stages:
        rows = [(*(thin(study, name, step) if step > 1 else (volume_of(name), truth_of(name))), split) for name, split in brains]
        name = f"every-{step}-{seed}"
        found, seconds, dice = train_for(study, name, seed, rows, weights, epochs, rate)
        weights = study.folder / name / "best.safetensors"
        before, steps = before + seconds, steps + epochs * len(study.splits["train"])
    curve = [[before - seconds + seconds * (epoch + 1) / len(dice), value] for epoch, value in enumerate(dice)]
    for brain in study.splits["test"]:
        words = ["--model", study.folder / name, "-o", study.labels("volumes", seed, brain), "--overwrite"]
        execute("segment", volume_of(brain), *words, *get_limits(options))
    figures = {"steps": steps, "coarseSeconds": before - seconds, "cpuSeconds": before, "curve": curve}
    figures |= {key: found["plan"][key] for key in ("tiles", "tileSize")}
    return figures | {key: found[key] for key in ("peakBytes", "estimatedPeakBytes")}


def normalize(image):
    """Voxels as NORMALIZATION has them; z, y, x."""
    voxels = np.asarray(image.dataobj).transpose(2, 1, 0).astype(np.float32)
    low, high = np.percentile(voxels, [NORMALIZATION["low"], NORMALIZATION["high"]])
    return ((voxels.clip(low, high) - low) / (high - low)).astype(np.float32)


def read_brain(name):
    """Voxels and labels; z, y, x."""
    labels = np.asarray(nibabel.load(truth_of(name)).dataobj).transpose(2, 1, 0).astype(np.int64)
    return normalize(nibabel.load(volume_of(name))), labels


def draw_patch(brains, random):
    voxels, labels, places = brains[random.integers(len(brains))]
    place = np.array(np.unravel_index(places[random.integers(len(places))], labels.shape))
    corner = np.clip(place - SIDE // 2, 0, np.array(labels.shape) - SIDE)
    cut = tuple(slice(first, first + SIDE) for first in corner)
    return voxels[cut], labels[cut]


def get_mean_dice(found, truth):
    return float(np.mean([2 * ((found == c) & (truth == c)).sum() / ((found == c).sum() + (truth == c).sum()) for c in TISSUES]))


def spent():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def train_on_patches(study, seed, seconds):
    """As many CPU seconds as the training on volumes took; weights are those of the best validation."""
    import torch

    options = study.options
    torch.set_num_threads(1)
    layout = torch.channels_last_3d
    operations, arrays = load_model(begin(study, seed), layout)
    adam = torch.optim.Adam([array for array in arrays.values() if array.requires_grad], options.learning_rate)
    brains = [(voxels, labels, np.flatnonzero(labels)) for voxels, labels in map(read_brain, study.splits["train"])]
    held_back = read_brain(study.splits["validation"][0])

    def label(voxels):
        with torch.no_grad():
            x = torch.from_numpy(voxels)[None, None].contiguous(memory_format=layout)
            return compute(operations, arrays, x)[0].argmax(0).numpy()

    random, steps, curve, best = np.random.default_rng(seed), 0, [], None
    begun = spent()
    while (part := (spent() - begun) / seconds) < 1 or len(curve) < VALIDATIONS:
        if part >= (len(curve) + 1) / VALIDATIONS:
            curve.append([spent() - begun, get_mean_dice(label(held_back[0]), held_back[1])])
            if best is None or curve[-1][1] > max(dice for _, dice in curve[:-1]):
                best = [array.detach().clone() for array in arrays.values()]
            print(f"  patches, {steps} steps: Dice {curve[-1][1]:.4f}", flush=True)
            continue
        for group in adam.param_groups:
            group["lr"] = options.learning_rate * min((steps + 1) / options.warmup, (1 + np.cos(np.pi * min(part, 1))) / 2)
        voxels, labels = zip(*(draw_patch(brains, random) for _ in range(BATCH)))
        x = torch.from_numpy(np.stack(voxels))[:, None].contiguous(memory_format=layout)
        loss = torch.nn.functional.cross_entropy(compute(operations, arrays, x), torch.from_numpy(np.stack(labels)))
        adam.zero_grad()
        loss.backward()
        adam.step()
        steps += 1
    taken = spent() - begun
    with torch.no_grad():
        for array, value in zip(arrays.values(), best):
            array.copy_(value)
    for name in study.splits["test"]:
        found = label(read_brain(name)[0]).transpose(2, 1, 0).astype(np.uint8)
        nibabel.save(nibabel.Nifti1Image(found, nibabel.load(volume_of(name)).affine), study.labels("patches", seed, name))
    return {"steps": steps, "cpuSeconds": taken, "curve": curve}


def write_table(study, seeds):
    """Dice of each seed and tissue as the mean of the brains that judge; the worst brain beside it."""
    lines = ["| seed | trained on | steps | CPU s | mean Dice | worst brain | CSF | gray | white | HD95, mm | surface, mm |", "| --- " * 11 + "|"]
    means = {way: [] for way in WAYS}
    for seed in seeds:
        for way in WAYS:
            found = study.results.get(f"{way}-{seed}")
            if not found:
                continue
            judged = list(found["judged"].values())
            means[way].append(np.mean([brain["meanDice"] for brain in judged]))
            of_label = lambda key, labels: np.mean([brain["labels"][label - 1][key] for brain in judged for label in labels])
            cells = [seed, way, found["steps"], f"{found['cpuSeconds']:.0f}", f"{means[way][-1]:.4f}"]
            cells += [f"{min(brain['meanDice'] for brain in judged):.4f}", *(f"{of_label('dice', [label]):.4f}" for label in TISSUES)]
            cells += [f"{of_label(key, TISSUES):.2f}" for key in ("hausdorff95Mm", "meanSurfaceDistanceMm")]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    lines.append("")
    for way, dice in means.items():
        if dice:
            lines.append(f"{way}: mean Dice of {len(dice)} seeds {np.mean(dice):.4f}, {min(dice):.4f} to {max(dice):.4f}")
    (study.folder / "results.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines), flush=True)


def draw_curve(study, seeds):
    curves = [(way, study.results[f"{way}-{seed}"]["curve"]) for way in WAYS for seed in seeds if f"{way}-{seed}" in study.results]
    last = max(curve[-1][0] for _, curve in curves)
    dice = [value for _, curve in curves for _, value in curve]
    low, high = np.floor(min(dice) * 10) / 10, np.ceil(max(dice) * 10) / 10
    width, height, left, top, right, bottom = 640, 400, 40, 24, 16, 48
    picture = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(picture)

    def place(seconds, value):
        return left + (width - left - right) * seconds / last, top + (height - top - bottom) * (high - value) / (high - low)

    for value in np.arange(round(low * 10), round(high * 10) + 1) / 10:
        draw.line([place(0, value), place(last, value)], "#dddddd")
        draw.text((left - 8, place(0, value)[1]), f"{value:.1f}", "black", anchor="rm")
    for seconds in range(0, int(last) + 1, max(1, int(last / 6 / 10)) * 10):
        draw.text((place(seconds, low)[0], height - bottom + 10), str(seconds), "black", anchor="mt")
    draw.text((width // 2, height - 12), "CPU seconds", "black", anchor="mb")
    draw.text((left, 3), "Mean Dice of the validation brain", "black")
    for number, (way, color) in enumerate(WAYS.items()):
        draw.text((width - right - 80 * (2 - number), 3), way, color)
    for way, curve in curves:
        draw.line([place(*point) for point in curve], WAYS[way], 2, joint="curve")
    picture.quantize(32).save(study.folder / "curve.png", optimize=True)


def draw_slices(study, seed):
    """A horizontal and a frontal slice: T1, the truth, and what the two ways found."""
    name = study.splits["test"][0]
    voxels = np.asarray(nibabel.load(volume_of(name)).dataobj)
    maps = [truth_of(name), *(study.labels(way, seed, name) for way in WAYS)]
    maps = [np.asarray(nibabel.load(path).dataobj) for path in maps if path.exists()]
    colors = np.array([(0, 0, 0), (60, 110, 200), (150, 150, 150), (245, 240, 225)], np.uint8)
    gray = np.clip(voxels * (255 / np.percentile(voxels, 99.5)), 0, 255).astype(np.uint8)
    brain = np.argwhere(voxels > 0)
    low, high = brain.min(0), brain.max(0) + 1
    middle = (low + high) // 2
    cut = [slice(*ends) for ends in zip(low, high)]
    rows = []
    for slices in ((cut[0], cut[1], middle[2]), (cut[0], middle[1], cut[2])):
        pictures = [np.repeat(gray[slices][..., None], 3, -1), *(colors[labels[slices].astype(int)] for labels in maps)]
        rows.append(np.concatenate([picture.transpose(1, 0, 2)[::-1] for picture in pictures], 1))
    Image.fromarray(np.concatenate(rows)).quantize(64).save(study.folder / "slices.png", optimize=True)


def read_stages(text):
    stages = [stage.split(":") for stage in text.split(",")]
    return [(int(step), int(epochs), float(rate)) for step, epochs, rate in stages]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--parts", default="volumes,patches")
    parser.add_argument("--seconds", type=float, help="CPU seconds of a training on patches, in place of those on volumes")
    parser.add_argument("--network", default="unet3d:base=4,depth=2,classes=4")
    parser.add_argument("--stages", type=read_stages, default="4:90:0.01,2:24:0.005,1:6:0.003", help="VOXELS:EPOCHS:LEARNING-RATE,...")
    parser.add_argument("--learning-rate", type=float, default=0.01, help="of patches")
    parser.add_argument("--warmup", type=int, default=5, help="steps")
    parser.add_argument("--memory", default="4G")
    parser.add_argument("--tile-size", help="of gigapixel train and segment, in place of the plan's choice")
    parser.add_argument("--draw", action="store_true", help="only make the table and the pictures anew")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # what was spent is kept
    options.work = options.work.resolve()
    study, seeds = Study(options), [int(word) for word in options.seeds.split(",")]
    for seed, way in [] if options.draw else [(seed, way) for seed in seeds for way in options.parts.split(",")]:
        if f"{way}-{seed}" not in study.results:
            if way == "volumes":
                found = train_on_volumes(study, seed)
            else:
                seconds = options.seconds or study.results[f"volumes-{seed}"]["cpuSeconds"]
                found = train_on_patches(study, seed, seconds)
            study.keep(f"{way}-{seed}", {**found, "judged": study.judge(way, seed)})
            write_table(study, seeds)
    write_table(study, seeds)
    draw_curve(study, seeds)
    draw_slices(study, seeds[0])


if __name__ == "__main__":
    main()
