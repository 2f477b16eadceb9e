# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Networks that state a normalization, on slides of 8 and 16 bit and floats. References are tifffile and NumPy."""

import csv
import json

import numpy
import pytest
import tifffile
from conftest import fails, run, weights
from test_channels import NAMES, draw, write
from test_network_files import write_arrays

pytestmark = pytest.mark.usefixtures("network")

SIZE = (200, 300)
PERCENTILES = {"type": "percentiles", "low": 0.1, "high": 99.9}
ZSCORE = {"type": "z-score"}
WINDOW = {"type": "window", "low": 150, "high": 900}
CLIP = {"type": "clip", "low": 50, "high": 1100}
UNIT = {"type": "window", "low": 0, "high": 1}
CHOICE = ["--channel", "CD3", "--channel", "DAPI"]


def describe(normalization, channels=2, **entries):
    """Two convolutions, of one class."""
    operations = [
        {"name": "x", "type": "input", "channels": channels},
        {"name": "a", "type": "conv2d", "inputs": ["x"], "out_channels": 3, "kernel_size": 3, "padding": 1},
        {"name": "r", "type": "relu", "inputs": ["a"]},
        {"name": "y", "type": "conv2d", "inputs": ["r"], "out_channels": 1, "kernel_size": 1},
    ]
    return {"name": "mine", "input": {"normalization": normalization, **entries}, "operations": operations, "output": "y", "loss": {"type": "binary cross-entropy"}}


def make_weights(channels=2):
    random = numpy.random.default_rng(1)
    shapes = {"a.bias": 3, "a.weight": (3, channels, 3, 3), "y.bias": 1, "y.weight": (1, 3, 1, 1)}
    return {name: random.normal(0, 0.7, shape).astype("f4") for name, shape in shapes.items()}


def write_model(path, network):
    """With a channel of each name, as train writes it."""
    metadata = {"gigapixel": "2", "network": json.dumps(network), "tile_size": "64", "microns_per_pixel": "0.5"}
    return write_arrays(path, {name: numpy.asarray(array) for name, array in make_weights(network["operations"][0]["channels"]).items()}, metadata)


def normalize(plane, how, measured):
    """Of a channel, with the statistics of another one."""
    values = plane.astype(float)
    if how["type"] == "z-score":
        return (values - measured.mean(dtype=float)) / measured.std(dtype=float)
    if how["type"] == "none":
        return values
    low, high = how["low"], how["high"]
    if how["type"] == "percentiles":
        low, high = numpy.percentile(measured.astype(float), [low, high])
    values = numpy.clip(values, low, high)
    return values if how["type"] == "clip" else (values - low) / (high - low)


def apply(values):
    """Probabilities of the network for values (channels, y, x)."""
    arrays = {name: array.astype(float) for name, array in make_weights(len(values)).items()}
    height, width = values.shape[1:]
    padded = numpy.pad(values, ((0, 0), (1, 1), (1, 1)))
    maps = arrays["a.bias"][:, None, None] + sum(
        numpy.tensordot(arrays["a.weight"][:, :, y, x], padded[:, y : y + height, x : x + width], 1) for y in range(3) for x in range(3)
    )
    logits = arrays["y.bias"][0] + numpy.tensordot(arrays["y.weight"][0, :, 0, 0], numpy.maximum(maps, 0), 1)
    return 1 / (1 + numpy.exp(-logits))


def check(slide, model, wanted, folder, *words):
    """Masks of several thresholds tell the probabilities to 1e-5, and the file of them to its rounding."""
    assert numpy.ptp(wanted) > 0.05  # the values matter
    thresholds = [0.5, *numpy.quantile(wanted, [0.2, 0.5, 0.8]).round(4)]
    for threshold in thresholds:
        run("segment", slide, "--model", model, "-o", folder / "m.tif", "--threshold", threshold, "--overwrite", *words)
        known = abs(wanted - threshold) > 1e-5
        assert numpy.array_equal(tifffile.imread(folder / "m.tif", key=0)[known] > 0, (wanted >= threshold)[known])
    run("segment", slide, "--model", model, "-o", folder / "m.tif", "--probability", folder / "p.tif", "--overwrite", *words)
    assert abs(tifffile.imread(folder / "p.tif", key=0) - 255 * wanted).max() < 0.51


@pytest.mark.parametrize(
    "dtype, normalization",
    [
        ("uint16", PERCENTILES),
        ("uint16", ZSCORE),
        ("uint16", WINDOW),
        ("uint16", [PERCENTILES, ZSCORE]),
        ("float32", PERCENTILES),
        ("float32", ZSCORE),
        ("uint8", PERCENTILES),
        ("uint8", ZSCORE),
    ],
)
def test_probabilities_are_of_stored_values(tmp_path, dtype, normalization):
    planes = (draw(SIZE[1], SIZE[0], 3, "float32") / (16 if dtype == "uint8" else 1)).astype(dtype)
    slide = write(tmp_path / "s.ome.tif", planes)
    model = write_model(tmp_path / "m.safetensors", describe(normalization))
    ways = normalization if isinstance(normalization, list) else [normalization] * 2
    stored = tifffile.imread(slide)[[1, 0]]
    wanted = apply(numpy.stack([normalize(plane, how, plane) for plane, how in zip(stored, ways)]))
    check(slide, model, wanted, tmp_path, *CHOICE)
    check(slide, model, wanted, tmp_path, *CHOICE, "--tile-size", 32)


def test_standardization_is_of_normalized_values(tmp_path):
    planes = draw(SIZE[1], SIZE[0])
    slide = write(tmp_path / "s.ome.tif", planes)
    model = write_model(tmp_path / "m.safetensors", describe([CLIP, {"type": "none"}], mean=[400, 100], deviation=[300, 250]))
    wanted = apply(numpy.stack([(normalize(planes[1], CLIP, None) - 400) / 300, (planes[0].astype(float) - 100) / 250]))
    check(slide, model, wanted, tmp_path, *CHOICE)
    (tmp_path / "n.json").write_text(json.dumps(describe([CLIP, {"type": "none"}])))
    given = write_arrays(tmp_path / "w.safetensors", make_weights())
    run("import", tmp_path / "n.json", "--weights", given, "--mean", "400,100", "--deviation", "300,250", "-o", tmp_path / "imported.safetensors")
    check(slide, tmp_path / "imported.safetensors", wanted, tmp_path, *CHOICE)


def test_statistics_are_of_the_level_of_a_window(tmp_path):
    """Of the coarsest level of a megapixel, whatever level and region is read."""
    planes = [draw(2000 // n, 2000 // n, 2, seed=n) for n in (1, 2, 4)]
    slide = write(tmp_path / "s.ome.tif", planes[0], levels=planes[1:])
    network = describe(PERCENTILES)
    model = write_arrays(tmp_path / "m.safetensors", make_weights(), {"gigapixel": "2", "network": json.dumps(network), "tile_size": "64", "microns_per_pixel": "0"})
    wanted = apply(numpy.stack([normalize(plane, PERCENTILES, measured) for plane, measured in zip(planes[2], planes[1])]))
    check(slide, model, wanted, tmp_path, "--level", 2)
    run("segment", slide, "--model", model, "-o", tmp_path / "part.tif", "--level", 2, "--region", "400,800,600,400")
    part = tifffile.imread(tmp_path / "part.tif", key=0)
    assert numpy.array_equal(part > 0, wanted[200:300, 100:250] >= 0.5)


def test_patches_see_normalized_values(tmp_path):
    """Of one pixel's operations, patches see what the whole image sees, mirrored or not; beyond the image there is 0."""
    planes = draw(SIZE[1], SIZE[0], 2)
    slide = write(tmp_path / "s.ome.tif", planes)
    network = describe(ZSCORE)
    network["operations"][1].update(kernel_size=1, padding=0)
    arrays = make_weights()
    arrays["a.weight"] = arrays["a.weight"][:, :, 1:2, 1:2].copy()
    metadata = {"gigapixel": "2", "network": json.dumps(network), "tile_size": "64", "microns_per_pixel": "0.5"}
    model = write_arrays(tmp_path / "m.safetensors", arrays, metadata)
    words = ["segment", slide, "--model", model, "--overwrite", "--probability", tmp_path / "p.tif", "-o", tmp_path / "m.tif"]
    run(*words)
    whole = tifffile.imread(tmp_path / "p.tif", key=0).astype(int)
    assert numpy.ptp(whole) > 20
    for options in (["--patch", 64], ["--patch", 64, "--mirror"], ["--patch", 512]):
        run(*words, "--sliding-window", *options)
        assert abs(tifffile.imread(tmp_path / "p.tif", key=0) - whole).max() <= 1


@pytest.mark.parametrize("is_rgb", [False, True])
def test_glass_is_dark_or_white(tmp_path, is_rgb):
    """What a mask of tissue leaves out has the value 0, of RGB 255, before values are normalized by statistics of all of the slide."""
    slide, glass = tmp_path / "s.ome.tif", 255 if is_rgb else 0
    planes = draw(SIZE[1], SIZE[0], 2)
    if is_rgb:
        planes = numpy.stack([*planes, planes[0] // 2])
        planes = (planes // 8).clip(0, 255).astype(numpy.uint8)
        options = dict(tile=(64, 64), photometric="rgb", resolution=(20000, 20000), resolutionunit="CENTIMETER")
        tifffile.imwrite(slide.with_name("s.tif"), numpy.moveaxis(planes, 0, -1).copy(), **options)
        slide = slide.with_name("s.tif")
    else:
        write(slide, planes)
    tissue = numpy.zeros(SIZE, numpy.uint8)
    tissue[:, :150] = 255
    tifffile.imwrite(tmp_path / "t.tif", tissue, tile=(64, 64), resolution=(20000, 20000), resolutionunit="CENTIMETER", metadata=None)
    model = write_model(tmp_path / "m.safetensors", describe(ZSCORE, len(planes)))
    wanted = apply(numpy.stack([normalize(numpy.where(tissue > 0, plane, glass), ZSCORE, plane) for plane in planes]))
    run("segment", slide, "--model", model, "-o", tmp_path / "m.tif", "--probability", tmp_path / "p.tif", "--tissue", tmp_path / "t.tif")
    assert abs(tifffile.imread(tmp_path / "p.tif", key=0) - 255 * numpy.where(tissue > 0, wanted, 0)).max() < 0.51


@pytest.fixture
def slides(tmp_path):
    """chosen.ome.tif of 16 bit, and float.ome.tif of what its channels become, with a mask of both."""
    planes = draw(SIZE[1], SIZE[0])
    write(tmp_path / "chosen.ome.tif", planes)
    values = numpy.stack([normalize(planes[c], PERCENTILES, planes[c]) for c in (1, 0)]).astype("f4")
    write(tmp_path / "float.ome.tif", values, ["first", "second"])
    mask = (planes[1] > 1200).astype(numpy.uint8) * 255
    tifffile.imwrite(tmp_path / "mask.tif", mask, tile=(64, 64), resolution=(20000, 20000), resolutionunit="CENTIMETER", metadata=None)
    return tmp_path


def train(folder, slide, target, network, *words):
    table = folder / f"{target}.csv"
    table.write_text(f"slide,mask,split\n{folder / slide},{folder / 'mask.tif'},train\n")
    words = ["--network", network, "--mpp", 0.5, "--no-augmentation", *words]
    return run("train", "--cohort", table, "-o", folder / target, *words, "--json")


def read_model(path):
    """The header, and the bytes of the arrays."""
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end]), data[end:]


def read_floats(folder):
    """The network's arrays."""
    header, data = read_model(folder / "last.safetensors")
    places = [entry["data_offsets"] for name, entry in sorted(header.items()) if name != "__metadata__" and not name.startswith("training.")]
    return numpy.concatenate([numpy.frombuffer(data[begin:end], "<f4") for begin, end in places])


def test_training_sees_stored_values(slides):
    preset = "unet:base=2,depth=1,channels=2,normalization=percentiles"
    train(slides, "chosen.ome.tif", "run", preset, "--epochs", 3, *CHOICE)
    model = run("info", slides / "run", "--json").json
    assert (model["slideChannels"], model["input"]["normalization"]) == (["CD3", "DAPI"], "percentiles 0.1 to 99.9 become 0 to 1")
    # The same network on what the values become.
    header, _ = read_model(slides / "run/last.safetensors")
    same = json.loads(header["__metadata__"]["network"])
    assert same["input"]["normalization"] == PERCENTILES
    same["input"]["normalization"] = UNIT
    same["learning rate"] = 0.001
    (slides / "same.json").write_text(json.dumps(same))
    train(slides, "float.ome.tif", "same", slides / "same.json", "--epochs", 3)
    assert numpy.allclose(read_floats(slides / "run"), read_floats(slides / "same"), rtol=0, atol=1e-4)
    # segment does the same without options.
    for name in ("chosen.ome.tif", "float.ome.tif"):
        model = slides / ("run" if name.startswith("chosen") else "same")
        run("segment", slides / name, "--model", model, "-o", slides / f"{name}.mask.tif", "--probability", slides / f"{name}.p.tif")
    chosen, other = (tifffile.imread(slides / f"{name}.p.tif", key=0).astype(int) for name in ("chosen.ome.tif", "float.ome.tif"))
    assert abs(chosen - other).max() <= 1


def test_models_find_all_channels_by_name(slides):
    """Trained without --channel, too: an order is kept by names, as a network tells channels apart by their places alone."""
    preset = "unet:base=2,depth=1,channels=2,normalization=percentiles"
    planes = draw(SIZE[1], SIZE[0], 2)
    write(slides / "chosen.ome.tif", planes, ["A", "B"])
    train(slides, "chosen.ome.tif", "run", preset, "--epochs", 2)
    model = run("info", slides / "run", "--json").json
    assert (model["slideChannels"], model["window"]) == (["A", "B"], None)

    def segment(name, *words):
        run("segment", slides / name, "--model", slides / "run", "-o", slides / "m.tif", "--probability", slides / "p.tif", "--overwrite", *words)
        return tifffile.imread(slides / "p.tif", key=0)

    wanted = segment("chosen.ome.tif")
    write(slides / "turned.ome.tif", planes[[1, 0]], ["B", "A"])
    write(slides / "more.ome.tif", numpy.stack([planes[1], planes[1] // 2, planes[0]]), ["B", "C", "A"])
    for name in ("turned.ome.tif", "more.ome.tif"):
        assert numpy.array_equal(segment(name), wanted)
    write(slides / "others.ome.tif", planes, ["C", "B"])
    refused = fails("segment", slides / "others.ome.tif", "--model", slides / "run", "-o", slides / "n.tif")
    assert (refused.code, refused.value) == ("E-SLIDE-CHANNEL", "A")
    assert numpy.array_equal(segment("others.ome.tif", "--channel", "C", "--channel", "B"), wanted)
    (slides / "both.csv").write_text("".join(["slide,mask,split\n", *(f"{slides / name}.ome.tif,{slides / 'mask.tif'},train\n" for name in ("chosen", "turned"))]))
    words = ["train", "--cohort", slides / "both.csv", "-o", slides / "other", "--network", preset]
    assert fails(*words).code == "E-SLIDE-CHANNELS"


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("normalization", [PERCENTILES, ZSCORE])
def test_channels_of_one_value(tmp_path, dtype, normalization):
    """Where nearly all values of a channel are the same, those above become 1 by percentiles, as 255 by a window, with a warning."""
    planes = draw(SIZE[1], SIZE[0], 2, "float32") / (16 if dtype == "uint8" else 1)
    planes[1] = 3
    is_sparse = normalization == PERCENTILES
    if is_sparse:
        planes[1, 10:13, 20:25] = [[4, 7, 200, 3, 90]] * 3
    if dtype == "float32" and is_sparse:
        planes[1, 0, 0] = numpy.nan
    planes = planes.astype(dtype)
    slide = write(tmp_path / "s.ome.tif", planes)
    model = write_model(tmp_path / "m.safetensors", describe(normalization))
    result = run("segment", slide, "--model", model, "-o", tmp_path / "m.tif", "--probability", tmp_path / "p.tif")
    assert "W-SLIDE-CHANNEL-FLAT" in result.codes
    wanted = apply(numpy.stack([normalize(planes[0], normalization, planes[0]), (planes[1] > 3).astype(float)]))
    assert abs(tifffile.imread(tmp_path / "p.tif", key=0) - 255 * wanted).max() < 0.51
    if is_sparse:
        result = run("convert", slide, tmp_path / "w.tif", "--channel", 2, "--window", "auto")
        assert result.codes == ["W-SLIDE-CHANNEL-FLAT"]
        assert numpy.array_equal(tifffile.imread(tmp_path / "w.tif", key=0), (planes[1] > 3) * 255)


def test_a_run_goes_on_with_its_normalization(slides):
    preset = "unet:base=2,depth=1,channels=2,normalization=percentiles"
    train(slides, "chosen.ome.tif", "run", preset, "--epochs", 2, *CHOICE)
    train(slides, "chosen.ome.tif", "whole", preset, "--epochs", 4, *CHOICE)
    words = ["train", "--cohort", slides / "run.csv", "-o", slides / "run", "--mpp", 0.5, "--resume", "--epochs", 4, "--no-augmentation", *CHOICE]
    assert fails(*words, "--network", preset.replace("percentiles", "z-score")).code == "E-RUN-CONFLICT"
    run(*words)
    assert weights(slides / "run") == weights(slides / "whole")


def test_classifiers_see_stored_values(tmp_path):
    """A model of 16 bit says of a slide what its weights say of the floats that the values become."""
    rows = []
    for number in range(2):
        planes = draw(170, 140, 2, seed=10 * number)
        planes[1] += 500 * number
        rows.append(f"{write(tmp_path / f'{number}.ome.tif', planes, ['A', 'B'])},{'ab'[number]},train\n")
    values = numpy.stack([normalize(plane, PERCENTILES, plane) for plane in planes]).astype("f4")
    write(tmp_path / "float.ome.tif", values, ["A", "B"])
    (tmp_path / "c.csv").write_text("slide,label,split\n" + "".join(rows))
    words = ["--network", "resnet18:width=2,channels=2,normalization=percentiles", "--tile-size", 96, "--epochs", 1]
    run("train", "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run", *words, "--channel", "B", "--channel", "A")
    header, arrays = read_model(tmp_path / "run/best.safetensors")
    network = json.loads(header["__metadata__"]["network"])
    network["input"]["normalization"] = UNIT
    header["__metadata__"]["network"] = json.dumps(network)
    text = json.dumps(header).encode()
    (tmp_path / "unit.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + arrays)
    found = []
    for slide, model in (("1.ome.tif", "run"), ("float.ome.tif", "unit.safetensors")):
        run("classify", tmp_path / slide, "--model", tmp_path / model, "-o", tmp_path / f"{slide}.csv")
        with open(tmp_path / f"{slide}.csv", newline="") as file:
            row = next(csv.DictReader(file))
        found.append({name: float(value) for name, value in row.items() if value.replace(".", "").replace("e-", "").isdigit()})
    assert len(found[0]) >= 2 and found[0] == pytest.approx(found[1], abs=1e-4)


def test_plans_count_floats(tmp_path):
    """Of the same size, samples of 4 bytes take more than those of one."""
    write(tmp_path / "s.ome.tif", draw(1500, 1200, 2))

    def plan(*options):
        """The peak of training and of inference in tiles, which comes first."""
        rows = run("plan", tmp_path / "s.ome.tif", "--json", "--tile-size", 512, "--threads", 1, "--network", *options).json["plans"]
        return {row["purpose"]: row["peakBytes"] for row in reversed(rows)}

    plain, floats = plan("unet:channels=2,base=2,depth=1", "--window", "auto"), plan("unet:channels=2,base=2,depth=1,normalization=percentiles")
    assert floats.keys() == {"training", "inference"}
    assert all(floats[purpose] - plain[purpose] >= 3 * 2 * 512 * 512 for purpose in floats)


def test_refusals(tmp_path):
    slide = write(tmp_path / "s.ome.tif", draw(SIZE[1], SIZE[0], 2))
    model = write_model(tmp_path / "m.safetensors", describe(PERCENTILES))
    out = ["-o", tmp_path / "out.tif"]
    for words in (["segment", slide, "--model", model, *out], ["plan", slide, "--network", model]):
        for window in ("auto", "100,2000"):
            refused = fails(*words, "--window", window)
            assert (refused.code, refused.option, refused.value) == ("E-OPTION-CONFLICT", "--window", window)
    (tmp_path / "c.csv").write_text(f"slide,mask,split\n{slide},{slide},train\n")
    words = ["train", "--cohort", tmp_path / "c.csv", "-o", tmp_path / "run"]
    refused = fails(*words, "--network", "unet:channels=2,normalization=z-score", "--window", "auto")
    assert (refused.code, refused.option) == ("E-OPTION-CONFLICT", "--window")
    assert not (tmp_path / "run").exists() and not (tmp_path / "out.tif").exists()
    # A network without a normalization takes no 16 bit, and no network takes labels of 32.
    assert fails(*words, "--network", "unet:channels=2").code == "E-SLIDE-CHANNELS"
    wide = write(tmp_path / "wide.ome.tif", draw(SIZE[1], SIZE[0], 2, "uint32"))
    assert fails("segment", wide, "--model", model, *out).code == "E-SLIDE-CHANNELS"
    # Networks that take floats compute in no shared memory, which is said before a slide is read.
    shared = fails("segment", tmp_path / "missing.tif", slide, "--model", model, "-o", tmp_path / "masks/", "--shared-memory")
    assert (shared.code, shared.option) == ("E-OPTION-APPLIES", "--shared-memory")
    # Gray becomes no colors where values are read as they are stored.
    colors = write_model(tmp_path / "colors.safetensors", describe(PERCENTILES, 3))
    tifffile.imwrite(tmp_path / "gray.tif", draw(SIZE[1], SIZE[0], 1)[0].astype("uint8"), tile=(64, 64))
    for words in (["plan", tmp_path / "gray.tif", "--network", colors], ["segment", tmp_path / "gray.tif", "--model", colors, "--level", 0, *out]):
        assert fails(*words).code == "E-SLIDE-CHANNELS"
    # Three channels of 16 bit are no colors of which gray is made.
    assert fails("segment", write(tmp_path / "three.ome.tif", draw(SIZE[1], SIZE[0])), "--model", model, *out).code == "E-SLIDE-CHANNELS"
    layer = {"name": "S", "type": "convolution", "in": 2, "out": 1, "kernel": 3, "padding": 1, "activation": "none"}
    chain = {"name": "chain", "input": {"channels": 2, "normalization": PERCENTILES}, "layers": [layer]}
    for network in (chain, describe({**ZSCORE, "voxels": "non-zero-box"}), describe(PERCENTILES, invert=True), describe([ZSCORE] * 3)):
        (tmp_path / "n.json").write_text(json.dumps(network))
        assert fails("networks", tmp_path / "n.json").code == "E-NETWORK-FORMAT"
