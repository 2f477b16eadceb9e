# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""train and segment with --tissue: the same as of slides whose glass was painted white beforehand."""

import shutil

import numpy
import pytest
import tifffile

from conftest import TRAIN, blobs, fails, run, write_slide

pytestmark = pytest.mark.usefixtures("network")

IGNORED = 7


def read_weights(file):
    data = file.read_bytes()
    return data[8 + int.from_bytes(data[:8], "little") :]


@pytest.fixture(scope="module")
def slides(tmp_path_factory):
    """Slides as they are and with painted glass, their tissue masks at 1/8, and a cohort of each kind: the folder."""
    folder = tmp_path_factory.mktemp("tissue")
    for name in ("plain", "painted", "tissue"):
        (folder / name).mkdir()
    random = numpy.random.default_rng(5)
    rows = ["slide,mask,split"]
    for index, (name, split) in enumerate((("a", "train"), ("b", "train"), ("c", "validation"))):
        tissue = blobs(80, 96, seed=index + 1)
        tissue[:, 60:] = 0  # nothing but glass at the right
        whole = numpy.repeat(numpy.repeat(tissue, 8, 0), 8, 1) > 0
        pixels = random.integers(0, 256, (640, 768, 3), numpy.uint8)
        labels = (random.random((640, 768)) < 0.3).astype(numpy.uint8)
        write_slide(folder / "plain" / f"{name}.tif", pixels)
        write_slide(folder / "painted" / f"{name}.tif", numpy.where(whole[..., None], pixels, 255).astype(numpy.uint8))
        write_slide(folder / "plain" / f"{name}.mask.tif", labels)
        write_slide(folder / "painted" / f"{name}.mask.tif", numpy.where(whole, labels, IGNORED).astype(numpy.uint8))
        write_slide(folder / "tissue" / f"{name}.pyramid.tif", tissue, mpp=4)
        rows.append(f"{name}.tif,{name}.mask.tif,{split}")
    for kind in ("plain", "painted"):
        (folder / kind / "cohort.csv").write_text("\n".join(rows) + "\n")
    return folder


def train(slides, kind, output, network, *more):
    options = ["--epochs", 2, "--ignored-label", IGNORED, "--network", network, "--tile-size", 256, "--json"]
    run("train", "--cohort", slides / kind / "cohort.csv", "-o", output, *options, *more)
    return read_weights(output / "last.safetensors"), (output / "history.csv").read_text().splitlines()[1].split(",")[:4]


@pytest.mark.parametrize("name", ["remedios2023", "unet:base=2,depth=2"])
def test_training_takes_glass_for_white_and_leaves_it_out(slides, tmp_path, name):
    expected = train(slides, "painted", tmp_path / "expected", name)
    assert train(slides, "plain", tmp_path / "found", name, "--tissue", slides / "tissue") == expected
    assert train(slides, "plain", tmp_path / "other", name)[0] != expected[0]


def test_a_run_knows_its_tissue(slides, tmp_path):
    train(slides, "plain", tmp_path / "run", "remedios2023", "--tissue", slides / "tissue")
    options = ["train", "--cohort", slides / "plain" / "cohort.csv", "-o", tmp_path / "run", "--epochs", 3, "--resume"]
    options += ["--ignored-label", IGNORED, "--tile-size", 256]
    refused = fails(*options)
    assert (refused.code, refused.file, refused.value) == ("E-RUN-CONFLICT", str(tmp_path / "run"), "training samples")
    masks = tmp_path / "masks"
    shutil.copytree(slides / "tissue", masks)
    shutil.copy(masks / "b.pyramid.tif", masks / "a.pyramid.tif")
    refused = fails(*options, "--tissue", masks)
    assert (refused.code, refused.value) == ("E-RUN-CONFLICT", "training samples")
    run(*options, "--tissue", slides / "tissue")
    train(slides, "plain", tmp_path / "without", "remedios2023")
    options[options.index(tmp_path / "run")] = tmp_path / "without"
    refused = fails(*options, "--tissue", slides / "tissue")
    assert (refused.code, refused.value) == ("E-RUN-CONFLICT", "training samples")


@pytest.fixture(scope="module")
def model(slides, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "run"
    train(slides, "plain", folder, "unet:base=2,depth=2")
    return folder


@pytest.mark.parametrize("region", [[], ["--region", "133,57,401,333"]])
def test_segmentation_takes_glass_for_white_and_makes_it_0(slides, model, tmp_path, region):
    def segment(slide, name, *options):
        files = [tmp_path / f"{name}.tif", tmp_path / f"{name}.probability.tif"]
        run("segment", slide, "--model", model, "-o", files[0], "--probability", files[1], "--threshold", 0.3, *region, *options)
        return [tifffile.imread(file, key=0) for file in files]

    expected = segment(slides / "painted" / "a.tif", "expected")
    found = segment(slides / "plain" / "a.tif", "found", "--tissue", slides / "tissue")
    tissue = numpy.repeat(numpy.repeat(tifffile.imread(slides / "tissue" / "a.pyramid.tif"), 8, 0), 8, 1)
    x, y, width, height = (int(n) for n in region[1].split(",")) if region else (0, 0, 768, 640)
    for wanted, got in zip(expected, found):
        wanted[tissue[y : y + height, x : x + width] == 0] = 0
        assert wanted.any()
        numpy.testing.assert_array_equal(got, wanted)


def test_a_mask_that_is_not_there_is_named(slides, model, tmp_path):
    one = slides / "tissue" / "a.pyramid.tif"
    refused = fails(*TRAIN, "--cohort", slides / "plain" / "cohort.csv", "-o", tmp_path / "run", "--tissue", one)
    assert (refused.code, refused.file) == ("E-OPTION-CONFLICT", str(one))
    (tmp_path / "empty").mkdir()
    options = ["segment", slides / "plain" / "a.tif", "--model", model, "-o", tmp_path / "out.tif", "--tissue"]
    refused = fails(*options, tmp_path / "empty")
    assert (refused.code, refused.file) == ("E-FILE-MISSING", str(tmp_path / "empty")) and "a.pyramid.tif" in refused.why
    refused = fails(*options, tmp_path / "nosuch.tif")
    assert (refused.code, refused.file) == ("E-FILE-MISSING", str(tmp_path / "nosuch.tif"))
    assert not (tmp_path / "out.tif").exists() and not (tmp_path / "run").exists()


def test_another_tissue_is_another_making(slides, model, tmp_path):
    options = ["segment", slides / "plain" / "a.tif", "--model", model, "-o", tmp_path / "out.tif"]
    run(*options, "--tissue", slides / "tissue" / "a.pyramid.tif")
    assert run(*options, "--tissue", slides / "tissue", "--json").json["skipped"]  # the same file
    refused = fails(*options)
    assert (refused.code, refused.file) == ("E-OUTPUT-EXISTS", str(tmp_path / "out.tif")) and "tissue" in refused.why


def test_a_mask_of_another_slide_is_refused(slides, model, tmp_path):
    a, b = slides / "plain" / "a.tif", slides / "plain" / "b.tif"
    for slide in (a, b):
        run("label", slide, "-o", tmp_path / f"{slide.stem}.pyramid.tif")
    segment = ["segment", a, "--model", model, "-o", tmp_path / "out.tif", "--tissue"]
    refused = fails(*segment, tmp_path / "b.pyramid.tif")
    assert (refused.code, refused.file) == ("E-MASK-GRID", str(tmp_path / "b.pyramid.tif"))
    assert not (tmp_path / "out.tif").exists()
    run(*segment, tmp_path / "a.pyramid.tif")
    # The mask of a slide serves what it was converted to.
    run("convert", a, tmp_path / "converted.tif")
    segment[1], segment[5] = tmp_path / "converted.tif", tmp_path / "out2.tif"
    run(*segment, tmp_path / "a.pyramid.tif")
    cohort = tmp_path / "cohort.csv"
    cohort.write_text(f"slide,mask,split\n{a},{a.parent / 'a.mask.tif'},train\n")
    train = [*TRAIN, "--cohort", cohort, "-o", tmp_path / "run", "--epochs", 1, "--ignored-label", IGNORED, "--tissue"]
    refused = fails(*train, tmp_path / "b.pyramid.tif")
    assert (refused.code, refused.file) == ("E-MASK-GRID", str(tmp_path / "b.pyramid.tif"))


def test_masks_without_tissue(slides, model, tmp_path):
    empty = write_slide(tmp_path / "empty.tif", numpy.zeros((80, 96), numpy.uint8), mpp=4)
    folder = tmp_path / "tissue"
    folder.mkdir()
    for name in "abc":
        source = empty if name == "c" else slides / "tissue" / f"{name}.pyramid.tif"
        (folder / f"{name}.pyramid.tif").write_bytes(source.read_bytes())
    train = [*TRAIN, "--cohort", slides / "plain" / "cohort.csv", "-o", tmp_path / "run", "--ignored-label", IGNORED]
    refused = fails(*train, "--tissue", folder)  # of the validation: before the first epoch
    assert (refused.code, refused.file) == ("E-MASK-EMPTY", str(folder / "c.pyramid.tif"))
    segment = ["segment", slides / "plain" / "a.tif", "--model", model, "-o", tmp_path / "out.tif", "--tissue", empty]
    warnings = run(*segment, "--json").json["warnings"]
    assert ("W-DOUBT-MASK-EMPTY", str(empty)) in [(each["code"], each["file"]) for each in warnings]


def test_one_mask_serves_several_regions_of_its_slide(slides, tmp_path):
    cohort = tmp_path / "cohort.csv"
    a, regions = slides / "plain" / "a.tif", ('"0,0,400,300"', '"0,300,400,300"')
    lines = "".join(f"{a},{a.parent / 'a.mask.tif'},{split},{r}\n" for r, split in zip(regions, ("train", "validation")))
    cohort.write_text("slide,mask,split,region\n" + lines)
    train = [*TRAIN, "--cohort", cohort, "-o", tmp_path / "run", "--epochs", 1, "--ignored-label", IGNORED]
    run(*train, "--tissue", slides / "tissue" / "a.pyramid.tif")
    cohort.write_text(cohort.read_text().replace("0,300,400,300", "600,0,100,300").replace("validation", "train"))  # nothing but glass
    train[train.index(tmp_path / "run")] = tmp_path / "run2"
    refused = fails(*train, "--tissue", slides / "tissue" / "a.pyramid.tif")
    assert refused.code == "E-MASK-EMPTY" and str(a) in refused.why
