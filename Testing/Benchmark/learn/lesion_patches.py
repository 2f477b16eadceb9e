# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Patch sampling, for learn_lesions.py: the thin ResNet-18 in eager PyTorch on patches that have their slide's label."""

import resource
import time

import numpy as np
import openslide
import tifffile
from safetensors_arrays import load

SIDE = 256  # of a patch
BATCH = 16
WAYS = {"mean": np.mean, "95th percentile": lambda p: np.percentile(p, 95), "maximum": np.max}


def read_slide(path):
    slide = openslide.OpenSlide(str(path))
    return np.array(slide.read_region((0, 0), 0, slide.dimensions).convert("RGB"))


def make_module(width, pool):
    """The preset resnet18 under its names, which are torchvision's."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inputs, channels, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, channels, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(channels)
            self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(channels)
            shortcut = [nn.Conv2d(inputs, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)]
            self.downsample = nn.Sequential(*shortcut) if stride > 1 else nn.Identity()

        def forward(self, x):
            y = torch.relu(self.bn1(self.conv1(x)))
            return torch.relu(self.bn2(self.conv2(y)) + self.downsample(x))

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            inputs = width
            for stage in range(4):
                channels = width << stage
                blocks = [Block(inputs, channels, 2 if stage else 1), Block(channels, channels, 1)]
                setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
                inputs = channels
            self.fc = nn.Conv2d(inputs, 1, 1)

        def forward(self, x):
            x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            if pool == "max":
                x = x.amax((2, 3), keepdim=True)
            elif pool == "lse":
                x = (torch.logsumexp(10 * x, (2, 3), keepdim=True) - np.log(x.shape[2] * x.shape[3])) / 10
            else:
                x = x.mean((2, 3), keepdim=True)
            return self.fc(x)[:, 0, 0, 0]

    return ResNet().eval()  # norms keep their statistics, as the preset's do


class Slides:
    """Pixels of a split, what is no tissue in white, and where there is tissue."""

    def __init__(self, cohort, split):
        self.rows = cohort.rows(split)
        self.tissue = [tifffile.imread(cohort.tissue / f"{row['name']}.pyramid.tif") > 0 for row in self.rows]
        self.pixels = []
        for row, tissue in zip(self.rows, self.tissue):
            pixels = read_slide(row["file"])
            pixels[~tissue] = 255
            self.pixels.append(pixels)
        self.labels = np.array([row["label"] == "lesion" for row in self.rows], np.float32)

    def draw(self, number, random):
        """A patch around a place in tissue, turned and mirrored by chance."""
        pixels, tissue = self.pixels[number], self.tissue[number]
        ys, xs = np.nonzero(tissue[::16, ::16])
        place = random.integers(len(ys))
        corner = [np.clip(16 * at[place] - SIDE // 2, 0, size - SIDE) for at, size in ((ys, tissue.shape[0]), (xs, tissue.shape[1]))]
        patch = pixels[corner[0] : corner[0] + SIDE, corner[1] : corner[1] + SIDE]
        patch = np.rot90(patch, random.integers(4))
        return patch[:, ::-1] if random.integers(2) else patch

    def cut(self, number):
        """All patches in a grid that have tissue."""
        pixels, tissue = self.pixels[number], self.tissue[number]
        corners = [(y, x) for y in range(0, tissue.shape[0] - SIDE + 1, SIDE // 2) for x in range(0, tissue.shape[1] - SIDE + 1, SIDE // 2)]
        return [pixels[y : y + SIDE, x : x + SIDE] for y, x in corners if tissue[y : y + SIDE, x : x + SIDE].mean() > 0.05]


def to_input(patches):
    import torch

    mean, deviation = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    x = torch.from_numpy(np.stack(patches).astype(np.float32)) / 255
    return ((x - mean) / deviation).permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)


def get_area(truth, scores):
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, scores))


def read_clock(device):
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime if device == "cpu" else time.monotonic()


def train(study, weights, rate, stages):
    """Adam, with a cosine over the last stage's seconds, which the drawing of patches takes part in; then a score for each slide.

    :param stages: of each the cohort that patches are drawn from, and for how many seconds
    """
    import torch

    options = study.options
    module = make_module(16, options.pool)
    missing = module.load_state_dict(load(weights), strict=False).missing_keys
    assert all(name.endswith("num_batches_tracked") for name in missing), missing
    device = options.device
    module = module.to(device, memory_format=torch.channels_last)
    adam = torch.optim.Adam(module.parameters(), rate)
    random, steps, spent = np.random.default_rng(options.seeds[0]), 0, 0.0
    for number, (cohort, seconds) in enumerate(stages):
        slides, is_last = Slides(cohort, "train"), number + 1 == len(stages)
        begin = read_clock(device)
        while (part := (read_clock(device) - begin) / seconds) < 1:
            for group in adam.param_groups:
                group["lr"] = rate * ((1 + np.cos(np.pi * part)) / 2 if is_last else 1)
            numbers = random.integers(len(slides.rows), size=BATCH)
            x = to_input([slides.draw(number, random) for number in numbers]).to(device)
            truth = torch.from_numpy(slides.labels[numbers]).to(device)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(module(x), truth)
            adam.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), options.clip_gradient or 1e9)
            adam.step()
            steps += 1
        spent += read_clock(device) - begin
    found = {"steps": steps, "seconds": spent}
    for split in ("validation", "test"):
        held_back, scores = Slides(study.slides, split), {way: [] for way in WAYS}
        for number in range(len(held_back.rows)):
            patches = held_back.cut(number)
            with torch.no_grad():
                parts = [torch.sigmoid(module(to_input(patches[i : i + BATCH]).to(device))).cpu() for i in range(0, len(patches), BATCH)]
            probabilities = torch.cat(parts).numpy() if parts else np.zeros(1)
            for way, reduce in WAYS.items():
                scores[way].append(float(reduce(probabilities)))
        found[split] = scores
    return found
