# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch that make_networks.py exports."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, given, channels):
        super().__init__()
        self.first = nn.Conv2d(given, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        nn.init.normal_(self.norm.running_mean, 0, 0.1)
        nn.init.uniform_(self.norm.running_var, 0.5, 1.5)

    def forward(self, x):
        return functional.relu(self.second(functional.leaky_relu(self.norm(self.first(x)), 0.1)))


class UNet(nn.Module):
    """For images of any size: the lowest level is padded to its skip, the others are interpolated to theirs."""

    def __init__(self, base=4, depth=3, classes=3):
        super().__init__()
        channels = [base * 2**level for level in range(depth + 1)]
        self.encoder = nn.ModuleList(Block(a, b) for a, b in zip([3, *channels], channels))
        self.enlarge = nn.ConvTranspose2d(channels[-1], channels[-2], 2, 2)
        self.reduce = nn.ModuleList(nn.Conv2d(b, a, 1) for a, b in zip(channels[:-2], channels[1:-1]))
        self.decoder = nn.ModuleList(Block(2 * each, each) for each in channels[:-1])
        self.logits = nn.Conv2d(base, classes, 1)

    def forward(self, x):
        skips = []
        for level, block in enumerate(self.encoder):
            x = block(x if level == 0 else functional.max_pool2d(x, 2))
            skips.append(x)
        for level in reversed(range(len(self.decoder))):
            skip = skips[level]
            if level == len(self.decoder) - 1:
                x = self.enlarge(x)
                down, right = skip.shape[2] - x.shape[2], skip.shape[3] - x.shape[3]
                x = functional.pad(x, [right // 2, right - right // 2, down // 2, down - down // 2])
            else:
                x = functional.interpolate(self.reduce[level](x), size=skip.shape[2:], mode="bilinear", align_corners=False)
            x = self.decoder[level](torch.cat([skip, x], 1))
        return self.logits(x)


class ConvNeXtBlock(nn.Module):
    """Linear layers and a norm of channels that come last."""

    def __init__(self, channels, approximate):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.wide, self.narrow = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.rand(channels))
        self.approximate = approximate

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.narrow(functional.gelu(self.wide(y), approximate=self.approximate))
        return x + (self.scale * y).permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self, approximate="none"):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, 4)
        self.norm = nn.LayerNorm(8, eps=1e-6)
        self.blocks = nn.Sequential(ConvNeXtBlock(8, approximate), ConvNeXtBlock(8, approximate))
        self.logits = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        y = self.norm(self.stem(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return functional.interpolate(self.logits(self.blocks(y)), size=x.shape[2:], mode="bilinear", align_corners=False)


class Gated(nn.Module):
    """Squeeze and excitation, and norms of groups and of the image."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 2, 1)
        self.groups, self.instance = nn.GroupNorm(4, 8), nn.InstanceNorm2d(8)
        self.less, self.more = nn.Linear(8, 4), nn.Linear(4, 8)

    def forward(self, x):
        x = self.instance(self.groups(self.first(x)))
        gate = torch.sigmoid(self.more(functional.relu(self.less(x.mean((2, 3))))))
        return self.last(x * gate[:, :, None, None])


class VolumeNet(nn.Module):
    """A U-Net for volumes, flat along the first axis at first, that pads what it enlarges to the skips' sizes."""

    def __init__(self, norm, base=4):
        super().__init__()
        self.first = nn.Sequential(nn.Conv3d(2, base, (1, 3, 3), padding=(0, 1, 1)), self.make_norm(norm, base), nn.PReLU(base))
        self.inner = nn.Sequential(nn.Conv3d(base, 2 * base, 3, padding=1), self.make_norm(norm, 2 * base), nn.LeakyReLU(0.1))
        self.deep = nn.Sequential(nn.MaxPool3d(2), nn.Conv3d(2 * base, 2 * base, 3, padding=2, dilation=2), self.make_norm(norm, 2 * base), nn.ELU())
        self.flat, self.enlarge, self.last = nn.MaxPool3d((1, 2, 2)), nn.ConvTranspose3d(2 * base, 2 * base, 2, 2), nn.Conv3d(5 * base, 2, 1)

    @staticmethod
    def make_norm(norm, channels):
        if norm != "batch":
            return nn.InstanceNorm3d(channels, affine=True) if norm == "instance" else nn.GroupNorm(2, channels)
        made = nn.BatchNorm3d(channels)
        nn.init.normal_(made.running_mean, 0, 0.1)
        nn.init.uniform_(made.running_var, 0.5, 1.5)
        return made

    def forward(self, x):
        high = self.first(x)
        middle = self.inner(self.flat(high))
        low = self.enlarge(self.deep(middle))
        low = functional.pad(low, [0, middle.shape[4] - low.shape[4], 0, middle.shape[3] - low.shape[3], 0, middle.shape[2] - low.shape[2]])
        low = functional.interpolate(torch.cat([middle, low], 1), size=high.shape[2:], mode="trilinear", align_corners=False)
        return self.last(torch.cat([high, low], 1))
