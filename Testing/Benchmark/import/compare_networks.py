#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Real networks, imported and computed in tiles, beside what onnxruntime and PyTorch compute: a table of differences.

    ninja -C build gigapixel ApplyNetwork
    Testing/Benchmark/import/compare_networks.py [--build build]

- brainchop's network for axial slices (of tf2onnx: two inputs, channels last, 256 x 256): slices of a volume, and places.
- A U-Net with drawn weights, of both exporters of PyTorch, for any size: 2048 x 1777 pixels.
- akamaster's ResNet-20 up to its last map (a legacy file of a DataParallel module): features of real H&E pictures, beside
  PyTorch's in double, and how far PyTorch's own floats are from these.
- That U-Net trained for 20 steps of Adam in tiles, and by eager PyTorch on the whole image from the same weights; and the
  learned weights, given to PyTorch.

A tie is a pixel whose two greatest probabilities differ by less than 1e-4. Needs NumPy, tifffile, Pillow, pytest, PyTorch and
onnxruntime, and the test data ($GIGAPIXEL_TEST_DATA).
"""

import argparse
import os
import pathlib
import sys
import tempfile

import numpy
import onnxruntime
import tifffile
import torch
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[3]
TIE = 1e-4


def use(build):
    """The tests' functions, with the programs of a build."""
    for variable, program in (("PROGRAM", "gigapixel"), ("APPLY_NETWORK", "ApplyNetwork")):
        os.environ[f"GIGAPIXEL_{variable}"] = str(build / "bin" / program)
    sys.path.insert(0, str(ROOT / "Testing/Import"))
    global conftest, images, make_published, modules, published, test_import
    import conftest
    import images
    import make_published
    import modules
    import published
    import test_import


def print_classes(network, size, tiles, given, expected):
    """Probabilities of height, width, classes."""
    ordered = numpy.sort(expected, 2)
    ties = ordered[..., -1] - ordered[..., -2] < TIE
    different = given.argmax(2) != expected.argmax(2)
    say(network, f"{size}, tiles of {tiles or 'the whole image'}", f"{(different & ~ties).sum()} of {(~ties).sum()} pixels of another class; {ties.sum()} ties",
        abs(given - expected).max())


def say(network, what, found, difference):
    print(f"| {network} | {what} | {found} | {difference:.1e} |", flush=True)


def softmax(logits):
    powers = numpy.exp(logits - logits.max(2, keepdims=True))
    return powers / powers.sum(2, keepdims=True)


def compare_brainchop(folder):
    network, model = published.AXIAL, folder / "brainchop.safetensors"
    conftest.run("import", network, "-o", model)
    session, volume = onnxruntime.InferenceSession(str(network)), published.read_volume()
    for z in range(32, len(volume), 64):
        pixels = published.make_places(volume[z], z)
        expected = make_published.compute_axial(session, pixels)
        for tiles, given in zip((0, 64, 96), conftest.compute(model, pixels, 0, 64, 96)):
            print_classes("brainchop axial", f"slice {z}, 256 x 256", tiles, given, expected)


def compare_unet(folder):
    for name in ("unet", "unet_exported"):
        model, network = folder / f"{name}.safetensors", test_import.write_network(name, folder)
        conftest.run("import", network, "-o", model)
        pixels = images.make_image(1777, 2048, 3)
        session = onnxruntime.InferenceSession(str(network))
        maps = numpy.ascontiguousarray((pixels.astype(numpy.float32) / 255).transpose(2, 0, 1)[None])
        (logits,) = session.run(None, {session.get_inputs()[0].name: maps})
        expected = softmax(logits[0].transpose(1, 2, 0).astype(numpy.float64))
        for tiles, given in zip((0, 512), conftest.compute(model, pixels, 0, 512)):
            print_classes(f"U-Net, {'dynamo' if 'exported' in name else 'former'} exporter", "2048 x 1777", tiles, given, expected)


def compare_trunk(folder):
    """Sums of floats depend on their order: what PyTorch makes of both orders of channels is compared as well."""
    model, state = folder / "trunk.safetensors", make_published.read_state()
    conftest.run("import", conftest.write_json(folder, published.make_trunk()), "--weights", published.RESNET, "-o", model)
    names = ["ours, one tile", "ours, tiles of 64", "PyTorch", "PyTorch, channels last"]
    errors, apart, greatest = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0), 0.0
    pictures = published.list_pictures()[:5]
    for picture in pictures:
        pixels = published.read_picture(picture)
        maps = make_published.standardize(pixels)
        exact = make_published.compute_trunk(state, maps.double())
        theirs = [make_published.compute_trunk(state, each) for each in (maps, maps.contiguous(memory_format=torch.channels_last))]
        greatest = max(greatest, exact.max())
        for name, features in zip(names, [*map(published.get_features, conftest.compute(model, pixels, 0, 64)), *theirs]):
            errors[name] = max(errors[name], abs(features - exact).max())
            apart[name] = max(apart[name], abs(features - theirs[0]).max())
    for name in names:
        say("ResNet-20", f"{len(pictures)} pictures, {name}", f"from PyTorch's in double, up to {greatest:.2f}; from its floats {apart[name]:.1e}", errors[name])


def train_here(folder, model, pixels, labels):
    tifffile.imwrite(folder / "slide.tif", pixels, tile=(64, 64), photometric="rgb", resolution=(20000, 20000), resolutionunit="CENTIMETER")
    Image.fromarray(labels).save(folder / "mask.png")
    (folder / "cohort.csv").write_text("slide,mask,split\nslide.tif,mask.png,train\n")
    conftest.run("train", "--cohort", folder / "cohort.csv", "-o", folder / "run", "--network", model, "--weights", model, "--epochs", 20,
                 "--learning-rate", 1e-3, "--no-augmentation", "--tile-size", 64, "--quiet")
    return folder / "run" / "best.safetensors"  # without validation the last ones


def train_eager(module, maps, labels):
    adam = torch.optim.Adam(module.parameters(), 1e-3)
    for _ in range(20):
        adam.zero_grad()
        torch.nn.functional.cross_entropy(module(maps), torch.from_numpy(labels.astype(numpy.int64))[None]).backward()
        adam.step()


def make_module(model):
    """With a model's weights. The exporter has merged the norms into the convolutions before them, which keep their names."""
    module = modules.UNet()
    for block in (*module.encoder, *module.decoder):
        block.norm = torch.nn.Identity()
    module.load_state_dict({key: torch.from_numpy(array.copy()) for key, array in conftest.read_arrays(model).items()})
    return module


def compare_training(folder):
    model = folder / "start.safetensors"
    conftest.run("import", test_import.write_network("unet_exported", folder), "-o", model, "--mpp", 0.5)
    pixels = images.make_image(211, 157, 3)
    labels = (pixels[..., 0] // 86).astype(numpy.uint8)
    learned = train_here(folder, model, pixels, labels)
    maps = torch.from_numpy((pixels / numpy.float32(255)).transpose(2, 0, 1)[None])
    module = make_module(model)
    train_eager(module, maps, labels)
    start, ours, theirs = conftest.read_arrays(model), conftest.read_arrays(learned), module.state_dict()
    moved = max(abs(ours[key] - start[key]).max() for key in ours)
    say("U-Net, dynamo exporter", "20 steps of Adam, tiles of 64; eager PyTorch on the whole image", f"{len(ours)} arrays, which moved by up to {moved:.1e}",
        max(abs(array - theirs[key].numpy()).max() for key, array in ours.items()))
    with torch.no_grad():
        expected = make_module(learned)(maps).softmax(1)[0].numpy().transpose(1, 2, 0)
    for tiles, given in zip((0, 64), conftest.compute(learned, pixels, 0, 64)):
        print_classes("U-Net, given back", "157 x 211", tiles, given, expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    use(parser.parse_args().build.resolve())
    print("| network | computed | found | greatest difference |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        for compare in (compare_brainchop, compare_unet, compare_trunk, compare_training):
            folder = pathlib.Path(name) / compare.__name__
            folder.mkdir()
            compare(folder)


if __name__ == "__main__":
    main()
