# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Labels of whole slides: trained on, and said of others, as the program says them."""

import json
import pathlib
import subprocess
import sys

import itk
import itkgigapixel as gp
import numpy as np
import pytest
import tifffile
from conftest import refused

PROGRAM = pathlib.Path(sys.executable).parent / "gigapixel"
NETWORK = "resnet18:width=2"


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """Six slides of noise, every second with dark spots; two are for validation."""
    folder = tmp_path_factory.mktemp("labels")
    rows = ["slide,label,split"]
    for i in range(6):
        random = np.random.default_rng(i)
        pixels = random.integers(150, 250, (140, 170, 3), dtype=np.uint8)
        pixels[40:80, 50:90] //= 3 if i % 2 else 1
        tifffile.imwrite(folder / f"{i}.tif", pixels, tile=(64, 64), photometric="rgb", resolution=(20000, 20000), resolutionunit=3)
        rows.append(f"{i}.tif,{'tumor' if i % 2 else 'normal'},{'validation' if i > 3 else 'train'}")
    (folder / "cohort.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def model(cohort, tmp_path_factory):
    run = tmp_path_factory.mktemp("run") / "run"
    return gp.train(cohort / "cohort.csv", run, network=NETWORK, epochs=1, tile_size=96, balance=True), run


def test_the_program_says_the_same(cohort, model, tmp_path):
    trained, run = model
    slides = [cohort / "4.tif", cohort / "1.tif"]
    words = ["classify", *slides, "--model", run, "-o", tmp_path / "p.csv", "--json", "--quiet"]
    theirs = json.loads(subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=True).stdout)
    for source in (trained, run, run / "best.safetensors"):
        ours = gp.classify(slides, source)
        assert [one.probabilities for one in ours] == [row["probabilities"] for row in theirs]
        assert [one.predicted for one in ours] == [row["predicted"] for row in theirs]
    one = gp.classify(gp.Slide(slides[1]), trained)
    assert one == ours[1] and list(one.probabilities) == ["normal", "tumor"]
    assert sum(one.probabilities.values()) == pytest.approx(1, abs=1e-6)
    assert len(gp.classify(cohort, trained)) == 6


def test_options_reach_the_program(cohort, model):
    whole = gp.classify(cohort / "0.tif", model[0], tile_size="image", level=0, memory="8G")
    assert whole.probabilities["tumor"] == pytest.approx(gp.classify(cohort / "0.tif", model[0]).probabilities["tumor"], abs=1e-5)


def test_tissue_may_be_an_array(cohort, model, tmp_path):
    """Of a label, and of features, as from its file."""
    tissue = np.zeros((140, 170), bool)
    tissue[:, 30:] = True
    tifffile.imwrite(tmp_path / "tissue.tif", tissue.astype(np.uint8) * 255, tile=(64, 64), photometric="minisblack")
    slide, trained = cohort / "1.tif", model[0]
    of_array, of_file = (gp.classify(slide, trained, tissue=each).probabilities for each in (tissue, tmp_path / "tissue.tif"))
    assert of_array == of_file != gp.classify(slide, trained).probabilities
    assert np.array_equal(*(gp.features(slide, trained, tissue=each)[0] for each in (tissue, tmp_path / "tissue.tif")))


def test_what_slides_state_reaches_the_program(cohort, model, tmp_path):
    """A slide without a resolution is not labeled by a model that has one; stated, at twice the size, it is another label."""
    pixels = tifffile.imread(cohort / "0.tif")
    silent = tmp_path / "silent.tif"
    tifffile.imwrite(silent, pixels, tile=(64, 64), photometric="rgb")
    with refused(RuntimeError, "E-SLIDE-RESOLUTION", file=str(silent)):
        gp.classify(silent, model[0])
    assert gp.classify(gp.Slide(silent, mpp=0.5), model[0]).probabilities == gp.classify(cohort / "0.tif", model[0]).probabilities
    with refused(ValueError, "E-OPTION-CONFLICT", option="slide_mpp", value="none, 0.5 um"):
        gp.classify([gp.Slide(silent, mpp=0.5), cohort / "0.tif"], model[0])
    run = tmp_path / "run"
    samples = [(gp.Slide(silent, mpp=0.5), "normal"), (gp.Slide(silent, mpp=0.5), "tumor")]
    with refused(ValueError, "E-OPTION-CONFLICT", option="slide_mpp"):
        gp.train([*samples, (cohort / "0.tif", "normal")], labels=True, network=NETWORK, epochs=1)
    with refused(ValueError, "E-OPTION-CONFLICT", option="slide_mpp"):
        gp.train(cohort / "cohort.csv", validation=samples, labels=True, network=NETWORK, epochs=1)
    gp.train(samples, run, labels=True, network=NETWORK, epochs=1, tile_size=96)
    words = [PROGRAM, "info", run / "last.safetensors", "--json"]
    assert json.loads(subprocess.run(words, capture_output=True, check=True).stdout)["mpp"] == pytest.approx(0.5)


def test_a_strict_slide_has_no_damage(cohort, model, tmp_path):
    """JPEG tiles, of which one ends early."""
    slide = tmp_path / "damaged.tif"
    random = np.random.default_rng(7)
    noise = random.integers(0, 250, (128, 192, 3), dtype=np.uint8)
    tifffile.imwrite(slide, noise, tile=(64, 64), photometric="ycbcr", compression="jpeg", resolution=(20000, 20000), resolutionunit=3)
    with tifffile.TiffFile(slide) as file:
        begin, length = file.pages[0].dataoffsets[2], file.pages[0].databytecounts[2]
    content = bytearray(slide.read_bytes())
    content[begin + length // 2 : begin + length] = bytes(length - length // 2)
    slide.write_bytes(content)
    assert gp.classify(gp.Slide(slide), model[0]).predicted
    with refused(RuntimeError, "E-SLIDE-DAMAGED", file=str(slide)):
        gp.classify(gp.Slide(slide, strict=True), model[0])
    samples = [(gp.Slide(slide, strict=True), "normal"), (cohort / "1.tif", "tumor")]
    with refused(RuntimeError, "E-SLIDE-DAMAGED", file=str(slide)):
        gp.train(samples, labels=True, network=NETWORK, epochs=1)
    assert gp.train([(slide, "normal"), samples[1]], labels=True, network=NETWORK, epochs=1), "others are not strict"


@pytest.mark.parametrize("maps", [False, True])
def test_one_broken_slide_of_several(cohort, model, tmp_path, maps):
    """Loses nothing of the others, stands in its place, and is told of."""
    broken = tmp_path / "broken.tif"
    broken.write_bytes((cohort / "0.tif").read_bytes()[:300])
    missing = tmp_path / "missing.tif"
    slides = [cohort / "0.tif", broken, cohort / "1.tif", missing]
    with pytest.warns(gp.GigapixelWarning) as told:
        found = gp.classify(slides, model[0], maps=maps)
    assert [warning.message.code for warning in told] == ["W-SLIDE-FAILED"] * 2
    assert [each.slide for each in found] == list(map(str, slides))
    assert [each.error is None for each in found] == [True, False, True, False]
    assert [each.file for each in found.failures] == [str(broken), str(missing)] and found.failures[1].code == "E-FILE-MISSING"
    assert (found[1].predicted, found[1].probabilities, found[1].map) == (None, {}, None)
    good = gp.classify(slides[::2], model[0], maps=maps)
    assert good.failures == [] and [each.probabilities for each in found[::2]] == [each.probabilities for each in good]
    assert all((each.map is not None) == maps for each in found[::2])
    with pytest.raises(gp.GigapixelError) as refusal:
        gp.classify([broken, missing], model[0])
    assert refusal.value.file == str(broken)
    with pytest.raises(gp.GigapixelError):
        gp.classify(broken, model[0])


def test_maps_are_images_on_the_slide(cohort, model):
    slides = [cohort / "0.tif", cohort / "1.tif"]
    plain = gp.classify(slides, model[0])
    for one, other in zip(gp.classify(slides, model[0], maps=True, map_class="normal"), plain):
        assert one.probabilities == other.probabilities and other.map is None
        values = itk.array_from_image(one.map)
        assert values.shape == (5, 6) and values.dtype == np.float32 and values.min() >= 0
        assert list(one.map.GetSpacing()) == pytest.approx([0.016] * 2), "32 pixels of half a micrometer"
        assert list(one.map.GetOrigin()) == pytest.approx([0, 0])
    with refused(RuntimeError, "E-OPTION-VALUE", option="map_class", value="cancer"):
        gp.classify(slides, model[0], maps=True, map_class="cancer")


def test_the_class_itself(cohort, model):
    """A process object, as the trainer is: of a file or of an image, with the same figures."""
    slide = cohort / "1.tif"
    told = gp.classify(slide, model[0], maps=True)
    classifier = itk.GigapixelClassifier.New()
    classifier.SetModel(model[0])
    classifier.SetSlide(str(slide))
    classifier.ComputeMapOn()
    progress = []
    classifier.AddObserver(itk.ProgressEvent(), lambda: progress.append(classifier.GetProgress()))
    classifier.Update()
    assert list(classifier.GetClassNames()) == ["normal", "tumor"]
    assert list(classifier.GetProbabilities()) == list(told.probabilities.values())
    assert classifier.GetPredictedClass() == told.predicted and not classifier.GetMapIsAttention()
    assert np.array_equal(itk.array_from_image(classifier.GetMap()), itk.array_from_image(told.map))
    assert progress == sorted(progress) and progress[-1] == 1
    image = gp.Slide(slide).image()
    classifier.SetImage(image)
    classifier.Update()
    assert list(classifier.GetProbabilities()) == list(told.probabilities.values())


def test_pairs_of_slides_and_labels_are_a_cohort(cohort, model, tmp_path):
    """As files, as images or as arrays, with labels in place of masks."""
    names = [(i, "tumor" if i % 2 else "normal") for i in range(6)]
    options = {"network": NETWORK, "epochs": 1, "tile_size": 96, "balance": True, "labels": True}
    files = [(cohort / f"{i}.tif", label) for i, label in names]
    images = [(gp.Slide(file).image(), label) for file, label in files]
    arrays = [(tifffile.imread(file), label) for file, label in files]
    expected = gp.classify(cohort / "0.tif", model[0])
    for pairs in (files, images):
        trained = gp.train(pairs[:4], validation=pairs[4:], **options)
        assert gp.classify(cohort / "0.tif", trained) == expected
    # Arrays do not say how large their pixels are; weights are the same.
    trained = gp.train(arrays[:4], tmp_path / "arrays", validation=arrays[4:], **options)
    assert gp.classify(cohort / "0.tif", trained, level=0).probabilities == expected.probabilities
    with refused(ValueError, "E-OPTION-VALUE", option="slides"):
        gp.train([(arrays[0][0].astype(np.float32), "a")], labels=True)
    with refused(TypeError, "E-OPTION-VALUE", option="slides"):
        gp.train([(cohort / "0.tif", 1)], labels=True)
    with refused(RuntimeError, "E-SAMPLE-TRUTH"):
        gp.train(files[:1], labels=True)


@pytest.mark.parametrize(
    "columns",
    [
        {"label:spots": lambda i: i % 2, "label:noise": lambda i: None if i == 1 else i < 2},
        {"grade": lambda i: i % 3},
        {"value:spots (number)": lambda i: i / 7},
    ],
    ids=["findings", "grades", "values"],
)
def test_dicts_of_truths_are_the_columns_of_a_table(columns, cohort, tmp_path):
    """The weights are those of the same cohort from a file."""
    rows = [",".join(["slide", *columns, "split"])]
    samples = []
    for i in range(6):
        truth = {name: of(i) for name, of in columns.items()}
        fields = ["" if value is None else str(int(value) if isinstance(value, bool) else value) for value in truth.values()]
        rows.append(",".join([str(cohort / f"{i}.tif"), *fields, "train" if i < 4 else "validation"]))
        samples.append((cohort / f"{i}.tif", {name: value for name, value in truth.items() if value is not None}))
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    options = {"network": NETWORK, "epochs": 1, "tile_size": 96}
    gp.train(tmp_path / "table.csv", tmp_path / "table", **options)
    gp.train(samples[:4], tmp_path / "dicts", validation=samples[4:], labels=True, **options)
    assert (tmp_path / "dicts/best.safetensors").read_bytes() == (tmp_path / "table/best.safetensors").read_bytes()
    images = [(gp.Slide(file).image(), truth) for file, truth in samples]
    trained = gp.train(images[:4], validation=images[4:], labels=True, **options)
    assert gp.classify(cohort / "0.tif", trained) == gp.classify(cohort / "0.tif", tmp_path / "table")
    with refused(TypeError, "E-OPTION-VALUE", option="slides"):
        gp.train([*samples[:3], (cohort / "0.tif", "tumor")], labels=True)
    with refused(ValueError, "E-COHORT-FORMAT", value="stage"):
        gp.train([(cohort / "0.tif", {"stage": 1})], labels=True)
    with refused(ValueError, "E-OPTION-VALUE", option="objective"):
        gp.train([(cohort / "0.tif", {**samples[0][1], "grade": 1, "value:x": 2})], labels=True)
    with refused(RuntimeError, "E-SAMPLE-TRUTH", file=str(cohort / "0.tif"), value="1.5"):
        gp.train([(cohort / "0.tif", {"grade": 1.5})], labels=True)


def test_features_are_those_of_the_program(cohort, model, tmp_path):
    h5py = pytest.importorskip("h5py")
    slide = cohort / "1.tif"
    rows, places = gp.features(slide, model[0], tmp_path / "mine.h5")
    subprocess.run([PROGRAM, "features", slide, "--model", model[1], "-o", tmp_path / "theirs.h5", "--quiet"], check=True)
    assert (tmp_path / "mine.h5").read_bytes() == (tmp_path / "theirs.h5").read_bytes()
    with h5py.File(tmp_path / "mine.h5") as file:
        assert np.array_equal(file["features"], rows) and np.array_equal(file["coords"], places)
    assert rows.shape == (30, 16) and np.array_equal(gp.features(slide, model[1])[0], rows)
    with refused(ValueError, "E-OUTPUT-ENDING", file=str(tmp_path / "mine.npz")):
        gp.features(slide, model[0], tmp_path / "mine.npz")
    with refused(RuntimeError, "E-MODEL-OUTPUT"):
        gp.features(slide, "tissue")


def test_what_does_not_fit_is_refused(cohort, model, tmp_path):
    with refused(RuntimeError, "E-FILE-MISSING", file=str(tmp_path / "no.tif")):
        gp.classify(tmp_path / "no.tif", model[0])
    with refused(RuntimeError, "E-MODEL-OUTPUT"):
        gp.classify(cohort / "0.tif", "tissue")
    with refused(TypeError, "E-OPTION-VALUE", option="model"):
        gp.classify(cohort / "0.tif", 3)
    with refused(ValueError, "E-OPTION-MISSING", option="slides"):
        gp.classify([], model[0])


@pytest.mark.parametrize(
    "header, truths, names",
    [
        ("label:spots,label:ink", ["0,1", "1,0", "0,", "1,1", "0,0", "1,0"], ["spots", "ink"]),
        ("grade", list("121212"), ["1", "2"]),
        ("value:area (mm)", ["1", "7.5", "2", "8", "0.5", "9"], ["area (mm)"]),
    ],
)
def test_other_truths_than_classes(cohort, tmp_path, header, truths, names):
    rows = [f"{cohort / f'{i}.tif'},{'train' if i < 4 else 'validation'},{truth}" for i, truth in enumerate(truths)]
    (tmp_path / "c.csv").write_text("\n".join([f"slide,split,{header}", *rows]) + "\n")
    trained = gp.train(tmp_path / "c.csv", tmp_path / "run", network=NETWORK, epochs=1, tile_size=96)
    told = gp.classify(cohort / "0.tif", trained)
    assert list(told.values or told.probabilities) == names
    if header == "grade":
        assert told.predicted in names and sum(told.probabilities.values()) == pytest.approx(1, abs=1e-6)
    elif told.values:
        assert told.predicted is None and told.probabilities == {}
    else:
        assert told.predicted == [name for name, p in told.probabilities.items() if p >= 0.5]
    assert gp.classify([cohort / "0.tif"], tmp_path / "run") == [told]
