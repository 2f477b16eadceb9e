# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # From a slide to a trained network and its mask
# Start it with `python slide_to_segmentation.py [training slide] [new slide]`, or cell by cell in an editor that knows
# `# %%`. Without slides it draws two. What it writes goes to the folder `slide_to_segmentation`.

# %%
import pathlib
import sys

import itk
import numpy as np

import itkgigapixel as gp

folder = pathlib.Path("slide_to_segmentation")
folder.mkdir(exist_ok=True)

# %% [markdown]
# ## Slides
# Two drawn slides of glass, tissue, debris and pen: real ones take their place.


# %%
def draw(seed: int) -> str:
    source = itk.SyntheticSlideImageSource.New()
    source.SetSize(2048, 1536)
    source.SetSeed(seed)
    path = str(folder / f"slide-{seed}.pyramid.tif")
    itk.imwrite(source.GetOutput(), path)  # streamed: the slide is never whole in memory
    return path


training, new = sys.argv[1:3] if len(sys.argv) > 2 else (draw(1), draw(2))
slide = gp.Slide(training)
print(slide)
for number, level in enumerate(slide.levels):
    print(f"  level {number}: {level.width} x {level.height}, {level.mpp:g} um per pixel")

# %% [markdown]
# ## Tissue labels
# The published chain of filters, or another of `gp.presets()`. The mask is eight times coarser than the slide, and lies
# in the same place in mm.

# %%
mask = gp.label(training, folder / "tissue.pyramid.tif", progress=True)
print(f"{np.mean(gp.Slide(mask).read(gray=True) > 0):.0%} of the slide is tissue")

# %% [markdown]
# ## A network
# Trained on the whole slide, in tiles that give exactly the gradient of the whole, within the memory that is allowed.
# This small network needs seconds. Without `network` it is a U-Net in RGB, which needs minutes.

# %%
model = gp.train(
    [(training, mask)],
    folder / "run",
    network="remedios2023",
    epochs=60,
    learning_rate=1e-2,
    memory=3 << 30,
    resume=True,
    progress=True,
)

# %% [markdown]
# ## Segmentation of another slide

# %%
segmentation = gp.Slide(gp.segment(new, model, folder / "segmentation.pyramid.tif", progress=True))
found = segmentation.read(gray=True)[4::8, 4::8] > 0  # on the grid of the labels
tissue = itk.array_from_image(gp.label(new))[: found.shape[0], : found.shape[1]] > 0
print(f"Dice with the tissue labels of that slide: {2 * (tissue & found).sum() / (tissue.sum() + found.sum()):.3f}")

# %% [markdown]
# ## A picture
# The new slide, with what the network found in it tinted green.

# %%
pixels = gp.Slide(new).read()[4::8, 4::8].copy()[: found.shape[0], : found.shape[1]]
pixels[found, 1] = np.maximum(pixels[found, 1], 220)
itk.imwrite(itk.image_from_array(pixels, ttype=itk.Image[itk.RGBPixel[itk.UC], 2]), str(folder / "picture.png"))
print(f"Look at {folder / 'picture.png'}")
