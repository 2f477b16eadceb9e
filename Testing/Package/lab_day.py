# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""A day of a laboratory, with what is installed beside this Python: it draws slides, and does with them what users do.

    python lab_day.py RESULTS.json      in a folder that it may write to

Each step checks its result. Without PyTorch, the steps that need it must say what to install. RESULTS.json has what this ran on
and, for each step, "ok", "needs torch" or the error; the process fails where there is an error. Utilities/test-matrix calls it.
"""

import importlib.metadata
import importlib.util
import json
import pathlib
import platform
import sys
import time
import traceback

import itkgigapixel as gp
import numpy as np
from itkgigapixel.commands import run

FOLDER = pathlib.Path("slides")
SLIDES = [FOLDER / f"{number}.pyramid.tif" for number in range(4)]
TRUTHS = [pathlib.Path(f"truth-{number}.tif") for number in range(4)]
PACKAGES = ["itk", "numpy", "torch", "timm", "segmentation_models_pytorch", "tiatoolbox"]
HAS_TORCH = importlib.util.find_spec("torch") is not None


def draw():
    """Two slides for training, one to look at, one that is new."""
    FOLDER.mkdir()
    for number, (slide, truth) in enumerate(zip(SLIDES, TRUTHS)):
        run("synthesize", {"size": "1024x768", "seed": number, "truth": str(truth)}, [str(slide)])


def open_slide():
    with gp.Slide(SLIDES[2]) as slide:
        assert (slide.levels[0].width, slide.levels[0].height) == (1024, 768) and slide.mpp > 0
        assert slide.thumbnail(128).shape[2] == 3


def read_at_mpp():
    with gp.Slide(SLIDES[2]) as slide:
        last = len(slide.levels) - 1
        pixels, half = slide.read(level=last), slide.read(mpp=2 * slide.levels[last].mpp)
    means = np.mean([pixels[y::2, x::2] for y in (0, 1) for x in (0, 1)], 0)
    assert half.shape == means.shape and np.abs(half - means).max() <= 0.5


def label_folder():
    run("label", {"output": "masks"}, [str(FOLDER)])
    scores = [gp.evaluate(f"masks/{slide.name}", truth)["dice"] for slide, truth in zip(SLIDES, TRUTHS)]
    assert min(scores) > 0.8, scores


def train():
    pairs = list(zip(SLIDES[:2], TRUTHS))
    gp.train(pairs, "run", network="remedios2023", epochs=20, learning_rate=1e-2)


def segment():
    gp.segment(SLIDES[3], "run", "new.pyramid.tif")


def evaluate():
    assert gp.evaluate("new.pyramid.tif", TRUTHS[3])["dice"] > 0.7


def train_graph():
    gp.train(list(zip(SLIDES[:2], TRUTHS)), "unet", network="unet:base=4,depth=2", epochs=1, tile_size=256)
    gp.segment(SLIDES[3], "unet", "unet.pyramid.tif")


def import_timm():
    import timm
    import torch

    torch.manual_seed(1)
    module = timm.create_model("resnet10t", pretrained=False, num_classes=2)
    gp.import_network(module, "timm.safetensors", class_names=["normal", "tumor"], mpp=gp.Slide(SLIDES[0]).mpp)


def import_smp():
    import segmentation_models_pytorch as smp
    import torch

    torch.manual_seed(1)
    module = smp.Unet("resnet18", encoder_weights=None, classes=1).eval()
    gp.import_network(module, "smp.safetensors", mpp=gp.Slide(SLIDES[0]).mpp)
    probability = np.asarray(gp.segment(SLIDES[2], "smp.safetensors", probability=True))
    pixels = torch.from_numpy(gp.Slide(SLIDES[2]).read()).permute(2, 0, 1)[None] / 255
    with torch.no_grad():
        expected = module(pixels).sigmoid()[0, 0].numpy()
    assert np.abs(probability - 255 * expected).max() < 0.51  # rounded


def classify():
    import timm
    import torch

    torch.manual_seed(1)
    module = timm.create_model("resnet10t", pretrained=False, num_classes=2).eval()
    pixels = torch.from_numpy(gp.Slide(SLIDES[2]).read()).permute(2, 0, 1)[None] / 255
    with torch.no_grad():
        expected = module(pixels).softmax(1)[0].numpy()
    probabilities = gp.classify(SLIDES[2], "timm.safetensors").probabilities
    assert list(probabilities) == ["normal", "tumor"]
    assert np.abs(np.array(list(probabilities.values())) - expected).max() < 1e-4


def features():
    import h5py
    import timm

    module = timm.create_model("resnet10t", pretrained=False, num_classes=0)
    rows, places = gp.features(SLIDES[2], module, "features.h5", patch=128, mpp=gp.Slide(SLIDES[2]).mpp)
    with h5py.File("features.h5") as file:
        assert np.array_equal(np.squeeze(file["features"]), rows) and np.array_equal(np.squeeze(file["coords"]), places)
    assert len(rows) == 8 * 6


def load_data():
    import torch

    patches = gp.torch.PatchDataset(SLIDES, patch=128, mpp=gp.Slide(SLIDES[2]).mpp)
    stream = gp.torch.PatchStream(patches, seed=1, batch_size=16)
    loader = torch.utils.data.DataLoader(stream, batch_size=None, num_workers=2)
    assert sum(len(batch["image"]) for batch in loader) == len(patches) == 4 * 8 * 6


def read_beside_tiatoolbox():
    from tiatoolbox.wsicore.wsireader import WSIReader

    theirs = WSIReader.open(SLIDES[2])
    assert np.array_equal(theirs.read_rect((0, 0), (1024, 768), resolution=0, units="level"), gp.Slide(SLIDES[2]).read())


STEPS = [draw, open_slide, read_at_mpp, label_folder, train, segment, evaluate, train_graph]
OF_TORCH = [import_timm, import_smp, classify, features, load_data]


def try_step(step) -> str:
    begin = time.monotonic()
    try:
        step()
    except gp.GigapixelError as error:
        if not HAS_TORCH and error.code == "E-INSTALLATION" and isinstance(error, ImportError) and "itk-gigapixel[torch]" in error.do:
            return "needs torch"
        traceback.print_exc()
        return f"failed: {error}"
    except Exception as error:
        traceback.print_exc()
        return f"failed: {type(error).__name__}: {error}"
    print(f"{step.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    return "ok"


def main(results):
    begin = time.monotonic()
    steps = [*STEPS, *OF_TORCH] if HAS_TORCH else STEPS
    if importlib.util.find_spec("tiatoolbox"):
        steps.append(read_beside_tiatoolbox)
    found = {step.__name__: try_step(step) for step in steps}
    found = {**found, **{step.__name__: "needs torch" for step in OF_TORCH if step not in steps}}
    expected = {"ok"} if HAS_TORCH else {"ok", "needs torch"}
    passed = set(found.values()) <= expected and (HAS_TORCH or found["train_graph"] == "needs torch")
    about = {
        "passed": passed,
        "system": platform.freedesktop_os_release()["PRETTY_NAME"],
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES if importlib.util.find_spec(name)},
        "seconds": round(time.monotonic() - begin),
        "steps": found,
    }
    pathlib.Path(results).write_text(json.dumps(about, indent=1))
    sys.exit(not passed)


if __name__ == "__main__":  # workers of the DataLoader import this file again where they are spawned
    main(*sys.argv[1:])
