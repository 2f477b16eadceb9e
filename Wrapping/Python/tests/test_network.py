# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks from Python, against PyTorch's own layers and autograd with the same weights."""

import json
import os
import pathlib
import pickle
import struct
import subprocess
import sys

import itk
import itkgigapixel as gp
import numpy as np
import pytest
import tifffile
import torch
from itkgigapixel.engine import text_of_model
from conftest import GRAY, image, PROBABILITY, refused, refused_by_itk, ROOT, trainer
from remedios import load, logits, parameters


def test_logits_are_pytorchs(picture, start):
    network = itk.GigapixelUNetImageFilter[GRAY, PROBABILITY].New(Input=image(picture[0]))
    network.SetModelFileName(str(start))
    network.Update()
    ours = torch.logit(torch.from_numpy(itk.array_from_image(network.GetOutput())).double())
    with torch.no_grad():
        theirs = logits(picture[0], parameters(load(start / "last.safetensors")[1]))
    # The probabilities come in float: their logits near 0 (new weights) carry an error of about 2e-7.
    assert float((ours - theirs).norm() / theirs.norm()) < 1e-5


def test_gradients_are_autograds(picture, start):
    """After the first step Adam's first moment is a tenth of the gradient."""
    _, tensors = load(start / "last.safetensors")
    p = parameters(tensors)
    truth = torch.from_numpy(picture[1] > 0).double()
    torch.nn.functional.binary_cross_entropy_with_logits(logits(picture[0], p), truth).backward()
    moment = next(v for k, v in tensors.items() if k.endswith("first_moment"))
    at = 0
    for layer in (f"L{k}" for k in range(1, 8)):
        for name in (f"{layer}.weight", f"{layer}.bias"):
            theirs = p[name].grad.flatten()
            ours = moment[at : at + theirs.numel()] * 10
            at += theirs.numel()
            assert float((ours - theirs).norm() / theirs.norm()) < 1e-5, name
    assert at == moment.numel() == 4492


def test_several_classes(picture, tmp_path):
    """The probabilities of three classes as a vector image, against PyTorch; the labels are the most probable ones."""
    source = json.loads((ROOT / "Modules" / "Network" / "networks" / "remedios2023.json").read_text())
    source["layers"][-1]["out"] = 3
    source["loss"] = {"type": "softmax cross-entropy"}
    network = tmp_path / "three.json"
    network.write_text(json.dumps(source))
    one = trainer((picture[0], (picture[0] // 100).astype(np.uint8)), tmp_path / "run", epochs=2)
    one.SetNetwork(str(network))
    one.Update()

    def segment(output, mode="automatic"):
        result = itk.GigapixelUNetImageFilter[GRAY, output].New(Input=image(picture[0]), OutputMode=mode)
        result.SetModel(one.GetLastModel())
        result.Update()
        return itk.array_from_image(result.GetOutput())

    with torch.no_grad():
        theirs = logits(picture[0], parameters(load(tmp_path / "run" / "last.safetensors")[1])).softmax(0)
    ours = segment(itk.VectorImage[itk.F, 2])
    assert ours.shape == (*picture[0].shape, 3)
    assert np.abs(ours - theirs.permute(1, 2, 0).numpy()).max() < 1e-5
    labels = segment(GRAY)
    assert np.array_equal(np.take_along_axis(ours, labels[..., None].astype(int), 2)[..., 0], ours.max(2))
    assert np.abs(segment(itk.VectorImage[itk.UC, 2], "probability") / 255 - ours).max() <= 0.5 / 255 + 1e-6


def test_weighted_loss_is_pytorchs(picture, start, tmp_path):
    """What one step of training reports, before it has changed a weight."""
    weighted = trainer(picture, tmp_path / "run", rate=1e-30)
    weighted.SetClassWeights((1.0, 3.0))
    weighted.Update()
    truth = torch.from_numpy(picture[1] > 0).double()
    weights = 1 + 2 * truth
    with torch.no_grad():
        found = logits(picture[0], parameters(load(start / "last.safetensors")[1]))
        losses = torch.nn.functional.binary_cross_entropy_with_logits(found, truth, reduction="none")
        expected = float((weights * losses).sum() / weights.sum())
    assert weighted.GetTrainingProgress()["loss"] == pytest.approx(expected, rel=1e-5)


def test_training_is_pytorchs(picture, start, tmp_path):
    """Ten steps with Adam: the weights stay together."""
    trained = trainer(picture, tmp_path / "run", epochs=10)
    trained.Update()
    p = parameters(load(start / "last.safetensors")[1])
    optimizer = torch.optim.Adam(p.values(), lr=1e-3)
    truth = torch.from_numpy(picture[1] > 0).double()
    for _ in range(10):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits(picture[0], p), truth)
        loss.backward()
        optimizer.step()
    ours = parameters(load(tmp_path / "run" / "last.safetensors")[1])
    for name, theirs in p.items():
        # Adam divides by the gradient's size, so that rounding shows in weights whose gradient is nearly zero.
        assert float((ours[name] - theirs).abs().max()) < 2e-5, name
    assert trained.GetTrainingProgress()["loss"] == pytest.approx(float(loss), rel=1e-4)


OPTIONS = {
    "sgd": {"optimizer": "sgd", "learning_rate": 0.05, "weight_decay": 0.01, "momentum": 0.8},
    "adamw": {"optimizer": "adamw", "learning_rate": 1e-3, "weight_decay": 0.1},
    "lion": {"optimizer": "lion", "learning_rate": 1e-4, "weight_decay": 0.1},
    "cosine": {"optimizer": "sgd", "learning_rate": 0.05, "learning_rate_schedule": "cosine", "warmup": 3},
    "clipped": {"optimizer": "sgd", "learning_rate": 0.05, "clip_gradient": 0.02},
    "frozen": {"optimizer": "adamw", "learning_rate": 1e-3, "freeze": ["L1", "L3.weight"]},
    "both losses": {"learning_rate": 1e-3, "loss": "dice+cross-entropy"},
    # The focal loss has small gradients, and Adam would divide by them.
    "focal": {"optimizer": "sgd", "learning_rate": 0.05, "loss": "focal"},
}


def make_optimizer(named, options):
    """PyTorch's, as its users write it: arrays of fewer than two axes are not decayed, frozen ones are left out."""
    frozen = tuple(options.get("freeze", ()))
    trained = [v for k, v in named.items() if not any(k == name or k.startswith(name + ".") for name in frozen)]
    decay = options.get("weight_decay", 0.01 if options.get("optimizer") == "adamw" else 0)
    groups = [
        {"params": [v for v in trained if v.ndim > 1], "weight_decay": decay},
        {"params": [v for v in trained if v.ndim <= 1], "weight_decay": 0},
    ]
    rate = options["learning_rate"]
    if options.get("optimizer", "adam") == "sgd":
        return torch.optim.SGD(groups, rate, momentum=options.get("momentum", 0.9)), trained
    lion = pytest.importorskip("timm.optim").Lion  # PyTorch has none
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "lion": lion}[options.get("optimizer", "adam")](groups, rate), trained


def loss_of(found, truth, options):
    entropy = torch.nn.functional.binary_cross_entropy_with_logits(found, truth)
    if "loss" not in options:
        return entropy
    if options["loss"] == "focal":
        return pytest.importorskip("torchvision.ops").sigmoid_focal_loss(found, truth, alpha=-1, gamma=2, reduction="mean")
    p = found.sigmoid()
    return entropy + 1 - (2 * (p * truth).sum() + 1) / (p.sum() + truth.sum() + 1)


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_training_are_pytorchs(name, picture, start, tmp_path):
    """Ten steps with PyTorch's own optimizers, schedulers and clipping."""
    options, steps = OPTIONS[name], 10
    sample = [(image(picture[0]), image(picture[1]))]
    gp.train(sample, tmp_path / "run", network="remedios2023", epochs=steps, augment=False, tile_size=256, **options)
    p = parameters(load(start / "last.safetensors")[1])
    optimizer, trained = make_optimizer(p, options)
    schedule = torch.optim.lr_scheduler
    schedulers = []
    if "warmup" in options:
        warmup = options["warmup"]
        parts = [schedule.LinearLR(optimizer, 1 / warmup, total_iters=warmup - 1), schedule.CosineAnnealingLR(optimizer, steps - warmup)]
        schedulers.append(schedule.SequentialLR(optimizer, parts, [warmup]))
    truth = torch.from_numpy(picture[1] > 0).double()
    rates = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(logits(picture[0], p), truth, options).backward()
        if "clip_gradient" in options:
            torch.nn.utils.clip_grad_norm_(trained, options["clip_gradient"])
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        for scheduler in schedulers:
            scheduler.step()
    ours = parameters(load(tmp_path / "run" / "last.safetensors")[1])
    for key, theirs in p.items():
        assert float((ours[key] - theirs).abs().max()) < 2e-5, key
    history = (tmp_path / "run" / "history.csv").read_text().splitlines()[1:]
    assert [float(line.split(",")[-1]) for line in history] == pytest.approx(rates, rel=1e-8)


def test_images_of_a_step_are_a_batch(picture, tmp_path):
    """Two images of one size, one after the other, are PyTorch's batch of both."""
    other = (np.roll(picture[0], 100, 1), np.roll(picture[1], 77, 0))
    samples = [(image(pixels), image(truth)) for pixels, truth in (picture, other)]
    options = {"network": "remedios2023", "images_per_step": 2, "augment": False, "tile_size": 256}
    gp.train(samples, tmp_path / "start", epochs=1, learning_rate=1e-30, **options)
    gp.train(samples, tmp_path / "run", epochs=5, learning_rate=1e-3, **options)
    p = parameters(load(tmp_path / "start" / "last.safetensors")[1])
    optimizer = torch.optim.Adam(p.values(), lr=1e-3)
    for _ in range(5):
        optimizer.zero_grad()
        found = torch.stack([logits(pixels, p) for pixels, _ in (picture, other)])
        truth = torch.stack([torch.from_numpy(truth > 0).double() for _, truth in (picture, other)])
        torch.nn.functional.binary_cross_entropy_with_logits(found, truth).backward()
        optimizer.step()
    ours = parameters(load(tmp_path / "run" / "last.safetensors")[1])
    for name, theirs in p.items():
        assert float((ours[name] - theirs).abs().max()) < 2e-5, name


def test_model(start, tmp_path):
    model = itk.GigapixelModel.Load(str(start))
    assert model.GetMicronsPerPixel() == pytest.approx(0.5)
    model.Save(str(tmp_path / "copy.safetensors"))
    first, copy = load(start / "best.safetensors")[1], load(tmp_path / "copy.safetensors")[1]
    assert first.keys() == copy.keys() and all(torch.equal(first[k], copy[k]) for k in first)
    again = pickle.loads(pickle.dumps(model))
    assert again.GetMicronsPerPixel() == model.GetMicronsPerPixel()


def test_streamed_segmentation_is_whole(picture, start):
    def network():
        result = itk.GigapixelUNetImageFilter[GRAY, GRAY].New(Input=image(picture[0]))
        result.SetModelFileName(str(start))
        return result

    whole = network()
    whole.Update()
    pieces = network()
    streamer = itk.StreamingImageFilter[GRAY, GRAY].New(Input=pieces.GetOutput(), NumberOfStreamDivisions=5)
    streamer.Update()
    assert np.array_equal(itk.array_from_image(whole.GetOutput()), itk.array_from_image(streamer.GetOutput()))
    assert pieces.GetNumberOfComputedTiles() == whole.GetNumberOfComputedTiles()


def test_progress_and_abort(picture, tmp_path):
    followed = trainer(picture, tmp_path / "run", epochs=3)
    epochs, shares = [], []
    followed.AddObserver(itk.IterationEvent(), lambda: epochs.append(followed.GetTrainingProgress()["epoch"]))
    followed.AddObserver(itk.ProgressEvent(), lambda: shares.append(followed.GetProgress()))
    followed.Update()
    assert epochs == [1, 2, 3] and shares == sorted(shares) and shares[-1] == pytest.approx(1)

    stopped = trainer(picture, tmp_path / "stopped", epochs=50)
    stopped.AddObserver(itk.IterationEvent(), stopped.AbortGenerateDataOn)
    with pytest.raises(RuntimeError, match="(?i)abort"):
        stopped.Update()
    assert stopped.GetTrainingProgress()["epoch"] < 50


def test_ctrl_c(drawn, tmp_path):
    """In an interpreter of its own, which sends itself the signal after the first step."""
    code = """
import os, signal, sys, threading, time, itkgigapixel as gp
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
def interrupt():
    while not os.path.exists(sys.argv[3] + "/last.safetensors"):
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    gp.train([sys.argv[1:3]], sys.argv[3], network="remedios2023", epochs=10000)
except KeyboardInterrupt:
    print("interrupted")
"""
    run = [sys.executable, "-c", code, *drawn, str(tmp_path / "run")]
    assert subprocess.run(run, capture_output=True, text=True, timeout=120).stdout == "interrupted\n"


def test_one_piece_is_tiles(picture, tmp_path):
    results = []
    for side in (-1, 256):
        one = trainer(picture, tmp_path / str(side))
        one.SetTileSize(side)
        one.Update()
        results.append(one.GetTrainingProgress()["loss"])
    assert results[0] == pytest.approx(results[1], rel=1e-6)


def test_former_words_are_refused_with_what_took_their_place(drawn, picture, tmp_path):
    with pytest.raises(TypeError, match=r"SetTileSize\(-1\).*SharedMemoryOn"):
        trainer(picture, tmp_path / "run").SetStrategy("whole")
    with refused(TypeError, "E-OPTION-UNKNOWN", option="strategy"):
        gp.train([drawn], strategy="whole")
    with refused(TypeError, "E-OPTION-UNKNOWN", option="cache"):
        gp.train([drawn], cache=tmp_path / "cache")
    with refused(TypeError, "E-OPTION-UNKNOWN", option="strategy"):
        gp.segment(drawn[0], "tissue", strategy="unified")


def test_resume_is_uninterrupted(picture, tmp_path):
    trainer(picture, tmp_path / "whole", epochs=4).Update()
    trainer(picture, tmp_path / "parts", epochs=2).Update()
    rest = trainer(picture, tmp_path / "parts", epochs=4)
    rest.ResumeOn()
    rest.Update()
    whole, parts = (load(tmp_path / name / "last.safetensors")[1] for name in ("whole", "parts"))
    assert all(torch.equal(whole[k], parts[k]) for k in whole)


def test_resume_by_any_path(drawn, tmp_path, monkeypatch):
    """From another folder, by relative paths, through a link and with a slash at the end, to the same bits."""
    slide, mask = (pathlib.Path(path) for path in drawn)
    region = (512, 256, 512, 384)
    gp.train([(slide, mask, region)], tmp_path / "straight", network="remedios2023", epochs=3)
    gp.train([(slide, mask, region)], tmp_path / "run", network="remedios2023", epochs=1)
    (tmp_path / "link").symlink_to(slide.parent)
    monkeypatch.chdir(tmp_path)
    gp.train([(f"link/{slide.name}", f"link/./{mask.name}", region)], "run/", epochs=2, resume=True)
    (tmp_path / "cohort.csv").write_text(
        f'slide,mask,split,region\n{slide.name},link/../{slide.parent.name}/{mask.name},train,"512,256,512,384"\n'
    )
    (tmp_path / slide.name).symlink_to(slide)
    gp.train("./cohort.csv", tmp_path / "run", epochs=3, resume=True)
    straight, parts = (load(tmp_path / name / "last.safetensors")[1] for name in ("straight", "run"))
    assert all(torch.equal(straight[k], parts[k]) for k in straight)
    with refused(RuntimeError, "E-RUN-CONFLICT", file=str(tmp_path / "run")):
        gp.train([(slide, mask, (0, 0, 512, 384))], tmp_path / "run", epochs=4, resume=True)


@pytest.mark.parametrize("kind", [bool, np.uint8])
def test_masks_may_be_arrays(drawn, tmp_path, kind):
    """To the bit what their files give, also where a run is resumed."""
    slide, mask = drawn
    values = itk.array_from_image(itk.imread(mask, itk.UC))[:1000, :1500]  # an upper left quarter, which stands for the whole slide
    array = values > 0 if kind is bool else values
    files = [tmp_path / "mask.png", tmp_path / "tissue.png"]
    for content, file in zip((values, np.pad(values, ((0, 0), (300, 0)), constant_values=255)[:, :1500]), files):
        itk.imwrite(itk.image_view_from_array(np.ascontiguousarray(content)), str(file))
    tissue = itk.array_from_image(itk.imread(str(files[1]), itk.UC)).astype(kind) * kind(255)
    of_file = gp.train([(slide, files[0])], tmp_path / "file", network="remedios2023", tissue=files[1], epochs=2)
    gp.train([(slide, array)], tmp_path / "array", network="remedios2023", tissue=tissue, epochs=1)
    of_array = gp.train([(slide, array)], tmp_path / "array", tissue=tissue, epochs=2, resume=True)
    assert of_array.GetIdentity() == of_file.GetIdentity()
    segmented = [itk.array_from_image(gp.segment(slide, of_file, tissue=each, probability=True)) for each in (files[1], tissue)]
    assert np.array_equal(*segmented) and (segmented[0] == 0).any() and segmented[0].any()


@pytest.mark.parametrize("mask", [np.zeros((9, 9), np.float32), np.zeros((9, 9, 3), np.uint8), np.zeros((0, 9), bool)])
def test_arrays_that_are_no_masks(drawn, mask):
    with refused(ValueError, "E-MASK-FORMAT", option="tissue"):
        gp.segment(drawn[0], "tissue", tissue=mask)
    with refused(ValueError, "E-MASK-FORMAT", option="slides"):
        gp.train([(drawn[0], mask)])


def test_text_of_a_model(start):
    model = itk.GigapixelModel.Load(str(start))
    said = text_of_model(model)
    assert said.startswith("GigapixelModel(") and "0.5 um" in said and model.GetNetworkName() in said and model.GetIdentity()[:8] in said


def test_errors_are_sentences(picture, tmp_path):
    network = itk.GigapixelUNetImageFilter[GRAY, GRAY].New(Input=image(picture[0]))
    network.SetModelFileName(str(tmp_path / "nothing.safetensors"))
    with refused_by_itk("E-FILE-MISSING", file=str(tmp_path / "nothing.safetensors")):
        network.Update()
    with refused_by_itk("E-FILE-MISSING", file=str(tmp_path / "nothing.safetensors")):
        itk.GigapixelModel.Load(str(tmp_path / "nothing.safetensors"))


def test_samples_that_are_none(drawn, picture):
    """What a sample is, in one sentence, whatever was given for one."""
    slide, mask = drawn
    image = itk.image_view_from_array(picture[0])
    for samples, error, code in (
        ([str(slide), str(mask)], TypeError, "E-OPTION-VALUE"),
        ([(str(slide),)], TypeError, "E-OPTION-VALUE"),
        ([(str(slide), image)], TypeError, "E-OPTION-VALUE"),
        ([(picture[0].tolist(), picture[1])], TypeError, "E-OPTION-VALUE"),
        ([(picture[0].astype(float), picture[1])], ValueError, "E-OPTION-VALUE"),
        ([(str(slide), str(mask), (0, 0, 64))], ValueError, "E-REGION"),
    ):
        with refused(error, code):
            gp.train(samples)
    with refused(ValueError, "E-OPTION-CONFLICT", option="mpp"):
        gp.train([(slide, mask)], level=1, mpp=2.0)


def test_the_image_of_a_slide_is_trained_on(tmp_path):
    pixels = [np.random.default_rng(seed).integers(0, 256, (300, 400, 3), np.uint8) for seed in (1, 2)]
    stored = {"tile": (128, 128), "resolution": (20000, 20000), "resolutionunit": "CENTIMETER"}
    two, alone, mask = (str(tmp_path / name) for name in ("two.tif", "alone.tif", "mask.tif"))
    with tifffile.TiffWriter(two) as file:
        for each in pixels:
            file.write(each, photometric="rgb", **stored)
    tifffile.imwrite(alone, pixels[1], photometric="rgb", **stored)
    tifffile.imwrite(mask, (pixels[1][..., 0] > 128).astype(np.uint8) * 255, photometric="minisblack", **stored)

    def train(slide, folder):
        gp.train([(slide, mask)], tmp_path / folder, network="remedios2023", epochs=1)
        return parameters(load(tmp_path / folder / "last.safetensors")[1])

    first, second, expected = train(gp.Slide(two, image=1), "1"), train(gp.Slide(two, image=2), "2"), train(alone, "alone")
    assert all(torch.equal(second[name], expected[name]) for name in expected)
    assert not all(torch.equal(first[name], expected[name]) for name in expected)
    with refused(ValueError, "E-OPTION-CONFLICT", option="slides"):
        gp.train([(gp.Slide(two, image=2), mask)], validation=[(two, mask)], epochs=1)


@pytest.mark.parametrize("mpp", [-1, 0, float("nan")])
def test_training_at_no_such_resolution(drawn, mpp):
    with refused(ValueError, "E-OPTION-VALUE", option="mpp"):
        gp.train([drawn], mpp=mpp, epochs=1)


@pytest.mark.parametrize("model", [None, 3])
def test_what_is_no_model(drawn, model):
    with refused(TypeError, "E-OPTION-VALUE", option="model"):
        gp.segment(drawn[0], model)


def test_threshold_is_a_probability(drawn):
    with refused(ValueError, "E-OPTION-VALUE", option="threshold", value="50"):
        gp.segment(drawn[0], "tissue", threshold=50)


def test_threshold_is_of_models_with_one_output(drawn, tmp_path):
    """Of others the greatest output decides, so that a threshold would change nothing."""
    layer = {"name": "S", "type": "convolution", "in": 1, "out": 2, "kernel": 1, "activation": "none"}
    network = json.dumps({"name": "two", "input": {"channels": 1}, "layers": [layer], "loss": {"type": "softmax cross-entropy"}})
    header = {"__metadata__": {"gigapixel": "2", "network": network, "tile_size": "64", "microns_per_pixel": "0.5"}}
    header["S.bias"] = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    header["S.weight"] = {"dtype": "F32", "shape": [2, 1, 1, 1], "data_offsets": [8, 16]}
    text = json.dumps(header).encode()
    (tmp_path / "two.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + np.ones(4, "<f4").tobytes())
    gp.segment(drawn[0], tmp_path / "two.safetensors")
    with refused(RuntimeError, "E-OPTION-APPLIES"):
        gp.segment(drawn[0], tmp_path / "two.safetensors", threshold=0.3)


@pytest.mark.parametrize(
    "choice, error, code",
    [
        ({"memory": "2 slides"}, ValueError, "E-OPTION-VALUE"),
        ({"memory": "100K"}, RuntimeError, "E-MEMORY-BUDGET"),
        ({"tile_size": "patches"}, ValueError, "E-OPTION-VALUE"),
        ({"device": "cuda"}, RuntimeError, "E-DEVICE-MISSING"),
        ({"precision": "fp8"}, RuntimeError, "E-OPTION-VALUE"),
    ],
)
def test_choices_that_are_none(drawn, choice, error, code):
    for call in (lambda: gp.train([drawn], network="remedios2023", epochs=1, **choice), lambda: gp.segment(drawn[0], "tissue", **choice)):
        with refused(error, code) as raised:
            call()
        if error is ValueError:
            assert (raised.value.option, raised.value.value) == tuple(map(str, *choice.items()))


def test_a_slides_resolution_chooses_the_level(drawn, tmp_path):
    """Where only the user knows the resolution, the model's level is found by it: 0.25 um at level 0, 0.5 at level 1."""
    level_zero = gp.Slide(drawn[0])
    path = tmp_path / "nameless.tif"
    with tifffile.TiffWriter(path) as file:
        for level in (0, 1):
            file.write(level_zero.read(level), tile=(256, 256), photometric="rgb", subfiletype=level)
    segmentation = gp.segment(gp.Slide(path, mpp=0.25), "tissue")
    assert tuple(segmentation.GetLargestPossibleRegion().GetSize()) == (1500, 1000)
    assert tuple(segmentation.GetSpacing()) == pytest.approx((0.0005, 0.0005))


def room_for(gibibytes: float) -> str:
    """A limit of the process's peak as text: what earlier tests have left in its memory counts."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return f"{pages * os.sysconf('SC_PAGE_SIZE') / 2**30 + gibibytes:.2f}G"


def test_networks_of_other_channels_than_slides_have_are_refused(drawn, tmp_path):
    layer = {"name": "S", "type": "convolution", "in": 4, "out": 1, "kernel": 1, "activation": "none"}
    network = json.dumps({"name": "sum", "input": {"channels": 4}, "layers": [layer]})
    (tmp_path / "four.json").write_text(network)
    with refused(RuntimeError, "E-MODEL-INPUT", file=drawn[0], value="3"):
        gp.train([drawn[:2]], tmp_path / "run", network=tmp_path / "four.json", epochs=1)
    header = {"__metadata__": {"gigapixel": "2", "network": network, "tile_size": "64", "microns_per_pixel": "0.5"}}
    header["S.bias"] = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    header["S.weight"] = {"dtype": "F32", "shape": [1, 4, 1, 1], "data_offsets": [4, 20]}
    text = json.dumps(header).encode()
    (tmp_path / "four.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + np.ones(5, "<f4").tobytes())
    with refused(RuntimeError, "E-SLIDE-CHANNELS", file=drawn[0], value="3"):
        gp.segment(drawn[0], tmp_path / "four.safetensors")


def test_a_slide_of_four_channels_is_segmented(tmp_path):
    planes = np.random.default_rng(1).integers(0, 256, (4, 300, 421), np.uint8)
    sizes = {f"PhysicalSize{axis}": 0.5 for axis in "XY"} | {f"PhysicalSize{axis}Unit": "µm" for axis in "XY"}
    slide = tmp_path / "four.ome.tif"
    tifffile.imwrite(slide, planes, ome=True, tile=(128, 128), compression="zlib", photometric="minisblack", metadata={"axes": "CYX", **sizes})
    weights = (1.0, -2.0, 0.5, 0.75)
    layer = {"name": "S", "type": "convolution", "in": 4, "out": 1, "kernel": 1, "activation": "none"}
    network = json.dumps({"name": "sum", "input": {"channels": 4}, "layers": [layer]})
    header = {"__metadata__": {"gigapixel": "2", "network": network, "tile_size": "64", "microns_per_pixel": "0.5"}}
    header["S.bias"] = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    header["S.weight"] = {"dtype": "F32", "shape": [1, 4, 1, 1], "data_offsets": [4, 20]}
    text = json.dumps(header).encode()
    (tmp_path / "four.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + np.array([-0.1, *weights], "<f4").tobytes())
    logits = np.tensordot(weights, (255.0 - planes) / 255, 1) - 0.1
    given = itk.array_from_image(gp.segment(slide, tmp_path / "four.safetensors"))
    assert (((given > 0) == (logits > 0)) | (abs(logits) < 1e-6)).all()


def test_functions_from_slide_to_segmentation(drawn, tmp_path):
    sample = (drawn[0], drawn[1], (0, 0, 1500, 2000))
    model = gp.train([sample], tmp_path / "run", network="remedios2023", epochs=2, loss="dice", class_weights=(0, 1), progress=True)
    assert model.GetMicronsPerPixel() == pytest.approx(0.5)
    path = gp.segment(drawn[0], model, tmp_path / "mask.pyramid.tif", progress=True)
    mask = gp.Slide(path)
    assert mask.levels[0][:2] == (3000, 2000) and mask.mpp == pytest.approx(0.5)
    again = gp.segment(drawn[0], tmp_path / "run", memory=room_for(1.25), shared_memory=True)
    assert np.array_equal(mask.read(gray=True), itk.array_from_image(again))


PEAK = """
import pathlib, re, sys
import itkgigapixel as gp

slide, mask, network, folder = sys.argv[1:]

def train(limit):
    gp.train([(slide, mask)], f"{folder}/run-{limit}", network=network, epochs=1, memory=limit)

def segment(limit):
    gp.segment(slide, next(pathlib.Path(folder).glob("*/best.safetensors")), f"{folder}/{limit}.tif", memory=limit)

def measure(compute):
    limit = "8M"
    while True:
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        try:
            compute(limit)
        except gp.GigapixelError as refusal:
            assert refusal.code == "E-MEMORY-BUDGET", refusal
            limit = re.search(r"at least (\\d+) MiB are needed", str(refusal))[1] + "M"
        else:
            peak = re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())
            return limit, peak[1]

for compute in (train, segment, segment):
    print(compute.__name__, *measure(compute), flush=True)
"""


def can_forget_peak() -> bool:
    try:
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


@pytest.mark.skipif(not can_forget_peak(), reason="the system does not let a process forget its peak")
@pytest.mark.parametrize("network", ["remedios2023", "unet:base=8,depth=3"])
def test_least_limit_is_the_peak_of_the_process(network, drawn, tmp_path):
    """The least limit that a refusal names, in a process that holds Python, ITK and PyTorch: before and after it has computed."""
    words = [sys.executable, "-c", PEAK, *drawn, network, tmp_path]
    lines = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["train", "segment", "segment"]
    for line in lines:
        limit, kibibytes = line.split()[1:]
        assert int(kibibytes) * 2**10 <= int(limit[:-1]) * 2**20, line
