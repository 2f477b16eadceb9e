# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Errors and warnings have codes and fields, whoever finds what is wrong: Python, ITK's filters or the program."""

import errno
import functools
import pickle
import re

import itkgigapixel as gp
import numpy as np
import pytest
import tifffile
import torch
from conftest import ROOT
from itkgigapixel import errors
from itkgigapixel.commands import run


def refusal(kind, call, *arguments, **options) -> gp.GigapixelError:
    with pytest.raises(kind) as raised:
        call(*arguments, **options)
    error = raised.value
    assert isinstance(error, gp.GigapixelError) and isinstance(error, RuntimeError)
    assert str(error).endswith(f"[{error.code}]") and error.why and "[E-" not in error.why
    return error


def test_a_missing_slide(tmp_path):
    name = str(tmp_path / "nowhere.svs")
    for call in (gp.Slide, gp.label, lambda name: gp.convert(name, tmp_path / "a.pyramid.tif")):
        error = refusal(gp.GigapixelError, call, name)
        assert (error.code, error.file, error.option, error.value) == ("E-FILE-MISSING", name, None, None)


def test_errors_of_filters(drawn, tmp_path):
    error = refusal(RuntimeError, gp.label, drawn[0], preset="best")
    assert error.code == "E-TISSUE-PRESET"
    error = refusal(RuntimeError, gp.segment, drawn[0], str(tmp_path / "no.safetensors"))
    assert (error.code, error.file) == ("E-FILE-MISSING", str(tmp_path / "no.safetensors"))
    error = refusal(RuntimeError, gp.train, [("nowhere.tif", drawn[1])], network="remedios2023", epochs=1)
    assert (error.code, error.file) == ("E-FILE-MISSING", "nowhere.tif")


def test_errors_of_the_program(drawn, tmp_path):
    error = refusal(RuntimeError, gp.segment_volume, tmp_path / "nowhere.nii.gz", str(tmp_path / "run"))
    assert error.code == "E-FILE-MISSING" and error.file
    error = refusal(RuntimeError, gp.classify, [drawn[0], str(tmp_path / "no.tif")], str(tmp_path / "no-run"))
    assert error.code == "E-FILE-MISSING" and error.file


def test_wrong_arguments(drawn, tmp_path):
    slide = gp.Slide(drawn[0])
    error = refusal(ValueError, slide.read, level=9)
    assert (error.code, error.file, error.option, error.value) == ("E-SLIDE-LEVEL", drawn[0], "level", "9")
    error = refusal(ValueError, slide.read, region=(0, 0, 0, 1))
    assert (error.code, error.file, error.option) == ("E-REGION", drawn[0], "region")
    error = refusal(TypeError, gp.segment, drawn[0], 5)
    assert (error.code, error.option) == ("E-OPTION-VALUE", "model")
    error = refusal(TypeError, slide.read, level="0")  # an error of Python's own
    assert error.code == "E-OPTION-VALUE"


@pytest.mark.parametrize(
    "option, function, argument",
    [
        ("--slide-mpp", gp.label, "slide_mpp"),
        ("slide_mpp", gp.label, "slide_mpp"),
        ("--region", gp.segment, "region"),
        ("--region", gp.train, None),
        ("--image", gp.Slide.__init__, "image"),
        ("--image", gp.classify, None),
        ("--tile-size", gp.import_onnx, "tile_size"),
        ("VOLUME", gp.segment_volume, "volume"),
        ("MASTER_PORT", gp.train, None),
        (None, gp.train, None),
    ],
)
def test_options_are_arguments(option, function, argument):
    assert errors.argument_of(option, function) == argument

    @errors.names_arguments
    @functools.wraps(function)
    def refused(*_, **__):
        raise errors.error_of(ValueError, "E-OPTION-VALUE", "so", option=option)

    assert refusal(ValueError, refused).option == argument


def test_every_function_names_its_arguments(drawn, tmp_path):
    """Whoever finds what is wrong: the function, a filter, or the program."""
    slide, mask = drawn
    (tmp_path / "model.onnx").write_bytes(b"nothing")
    calls = [
        (gp.Slide, (slide,), {"image": 9}, "E-SLIDE-IMAGE", "image"),
        (gp.Slide, (slide, -1.0), {}, "E-OPTION-VALUE", "mpp"),
        (gp.convert, (slide, tmp_path / "a.pyramid.tif"), {"region": (0, 0, 0, 1)}, "E-REGION", "region"),
        (gp.label, (slide,), {"downsample": 0}, "E-OPTION-VALUE", "downsample"),
        (gp.train, ([(slide, mask, (0, 0, 5))],), {"epochs": 1}, "E-REGION", None),
        (gp.train, ([(slide, mask, (0, 0, 10**6, 10**6))],), {"network": "remedios2023", "epochs": 1}, "E-REGION", None),
        (gp.features, (slide, None), {"patch": 0}, "E-OPTION-VALUE", "patch"),
        (gp.features, (slide, None), {}, "E-OPTION-VALUE", "module"),
        (gp.features, (slide, torch.nn.Flatten()), {"deviation": (0, 1, 1)}, "E-OPTION-VALUE", "deviation"),
        (gp.features, (slide, torch.nn.Flatten()), {"mean": (0, 1, float("nan"))}, "E-OPTION-VALUE", "mean"),
        (gp.features, (slide, torch.nn.Flatten()), {"mean": "abc"}, "E-OPTION-VALUE", "mean"),
        (gp.features, (slide, "a\0b"), {}, "E-FILE-NAME", None),
        (gp.features, (slide, b"\xff"), {}, "E-FILE-NAME", None),
        (gp.import_onnx, (tmp_path / "model.onnx",), {"name": "a\0b"}, "E-OPTION-VALUE", None),
        (gp.train, (None,), {}, "E-OPTION-VALUE", "slides"),
        (gp.train, ([5],), {}, "E-OPTION-VALUE", "slides"),
        (gp.train, ([(slide, mask)],), {"epochs": float("nan")}, "E-OPTION-VALUE", "epochs"),
        (gp.measure, (None,), {}, "E-OPTION-VALUE", "masks"),
        (gp.classify, (None, "run"), {}, "E-OPTION-VALUE", "slides"),
        (lambda: list(gp.Slide(slide).tiles(float("nan"))), (), {}, "E-OPTION-VALUE", "size"),
        (gp.Slide(slide).read, ("0",), {}, "E-OPTION-VALUE", "level"),
        (gp.Slide(slide).read, (), {"region": 5}, "E-REGION", "region"),
        (gp.Slide(slide).read, (), {"region": "1234"}, "E-REGION", "region"),
        (gp.Slide(slide).thumbnail, (0.5,), {}, "E-OPTION-VALUE", "size"),
        (gp.Slide, (slide,), {"channels": 1.5}, "E-OPTION-VALUE", "channels"),
        (gp.Slide, (slide,), {"window": 5}, "E-OPTION-VALUE", "window"),
        (gp.segment_volume, ("volume.nii.gz", "run"), {"overlap": 2}, None, "overlap"),
        (gp.import_onnx, (tmp_path / "model.onnx",), {"tile_size": -3}, None, "tile_size"),
        (gp.classify, (slide, str(tmp_path / "run")), {"precision": "fp7"}, None, "precision"),
    ]
    for function, arguments, options, code, argument in calls:
        error = refusal(RuntimeError, function, *arguments, **options)
        assert error.option == argument and code in (None, error.code), (function, options, error)


@pytest.mark.parametrize("ending", [".jpg", ".JPEG", ".jp2", ".webp"])
def test_masks_keep_their_values(drawn, tmp_path, ending):
    """Before anything is read of a model."""
    output = tmp_path / f"mask{ending}"
    for call in (lambda: gp.label(drawn[0], output), lambda: gp.segment_volume("volume.nii.gz", "run", output)):
        error = refusal(ValueError, call)
        assert (error.code, error.file, error.option) == ("E-OUTPUT-ENDING", str(output), "output")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "error, kind, code",
    [
        (ValueError("so"), errors.GigapixelValueError, "E-OPTION-VALUE"),
        (TypeError("so"), errors.GigapixelTypeError, "E-OPTION-VALUE"),
        (NotImplementedError("so"), errors.GigapixelNotImplementedError, "E-NETWORK-OPERATION"),
        (FileNotFoundError(2, "No such file", "a.json"), errors.GigapixelFileNotFoundError, "E-FILE-MISSING"),
        (FileExistsError(17, "File exists", "a.json"), errors.GigapixelFileExistsError, "E-OUTPUT-EXISTS"),
        (PermissionError(13, "Permission denied", "a.json"), errors.GigapixelPermissionError, "E-FILE-ACCESS"),
        (OSError(errno.ENOSPC, "No space left on device"), errors.GigapixelOSError, "E-DISK-FULL"),
        (IsADirectoryError(21, "Is a directory", "a"), errors.GigapixelOSError, "E-FILE-ACCESS"),
        (MemoryError("so"), errors.GigapixelMemoryError, "E-MEMORY"),
        (ImportError("so"), errors.GigapixelImportError, "E-INSTALLATION"),
        (RuntimeError("/a.cxx:5:\nITK ERROR: Some(0x1f): a.tif: it is cut short; get it again. [E-FILE-DAMAGED]"), errors.GigapixelOSError, "E-FILE-DAMAGED"),
        (RuntimeError("something else"), gp.GigapixelError, "E-OTHER"),
    ],
)
def test_errors_of_others_get_the_code_of_their_kind(error, kind, code):
    made = errors.with_code(error)
    assert type(made) is kind and made.code == code
    again = pickle.loads(pickle.dumps(made))
    assert (type(again), str(again), again.code, again.file, again.why) == (kind, str(made), code, made.file, made.why)
    if isinstance(error, OSError):
        assert (made.errno, made.filename) == (again.errno, again.filename) == (error.errno, error.filename)


def test_each_code_has_a_kind():
    """Of Python's exceptions, by one table, whoever finds what is wrong."""
    page = (ROOT / "Documentation" / "Codes.md").read_text()
    codes = re.findall(r"^## (E-[A-Z0-9-]+)$", page, re.MULTILINE)
    assert len(codes) > 60
    assert not [code for code in codes if errors.family_of(code) is None]
    entries = " ".join(errors._FAMILIES.values()).split()
    assert len(set(entries)) == len(entries)
    assert not [entry for entry in entries if not any(re.fullmatch(entry.replace("*", ".*"), code) for code in codes)]


@pytest.mark.parametrize(
    "code, kind",
    [
        ("E-FILE-MISSING", FileNotFoundError),
        ("E-OUTPUT-EXISTS", FileExistsError),
        ("E-FILE-ACCESS", PermissionError),
        ("E-DISK-FULL", OSError),
        ("E-SLIDE-DAMAGED", OSError),
        ("E-SLIDE-FORMAT", ValueError),
        ("E-OPTION-VALUE", ValueError),
        ("E-NETWORK-OPERATION", NotImplementedError),
        ("E-MEMORY-BUDGET", MemoryError),
        ("E-INSTALLATION", ImportError),
        ("E-OTHER", RuntimeError),
        ("E-" + "LATER", RuntimeError),
    ],
)
def test_kinds_of_errors_that_the_program_tells(code, kind):
    error = errors.error_of_fields({"code": code, "file": "a.tif", "why": "so"})
    assert isinstance(error, kind) and isinstance(error, gp.GigapixelError) and isinstance(error, RuntimeError)
    assert error.code == code and not (kind is RuntimeError and isinstance(error, (ValueError, OSError)))


def test_a_missing_file_is_one_of_pythons(tmp_path):
    name = str(tmp_path / "nowhere.svs")
    with pytest.raises(FileNotFoundError) as raised:
        gp.Slide(name)
    assert (raised.value.errno, raised.value.filename, raised.value.code) == (errno.ENOENT, name, "E-FILE-MISSING")
    with pytest.raises(FileNotFoundError):
        gp.train([("nowhere.tif", "nowhere-mask.tif")], network="remedios2023", epochs=1)
    with pytest.raises(FileNotFoundError):
        gp.classify(name, str(tmp_path / "no-run"))


def test_errors_that_pytorch_hands_on_have_their_code():
    """A DataLoader makes them again of their class and a text."""
    assert errors.GigapixelOSError("Caught in worker 0.\nTraceback:\n  a.tif: it is cut short. [E-FILE-DAMAGED]\n").code == "E-FILE-DAMAGED"
    assert gp.GigapixelError("something").code == "E-OTHER"


def test_errors_that_are_none_of_ours_stay():
    """Of a user's module, which has classes of its own."""

    class Own(RuntimeError):
        pass

    for error in (Own("so"), KeyError("so"), ZeroDivisionError(), TimeoutError("so")):
        assert errors.with_code(error) is error


def test_warnings_of_commands(drawn, tmp_path):
    """As of the line that called the package, once each."""
    with pytest.warns(gp.GigapixelWarning) as told:
        run("label", {"preset": "fluorescence", "output": tmp_path / "mask.tif"}, [drawn[0]])
    assert {warning.filename for warning in told} == {__file__}
    said = [warning.message for warning in told]
    assert [(each.code, each.file) for each in said] == [("W-TISSUE-PRESET", drawn[0]), ("W-DOUBT-MASK-FULL", drawn[0])]
    assert all(str(each).endswith(f"[{each.code}]") for each in said)


def test_damage_is_an_error_of_strict_slides(tmp_path):
    """A field of the C++ side that the text alone does not show: the file."""
    path = tmp_path / "cut.tif"
    tifffile.imwrite(path, np.random.default_rng(1).integers(0, 255, (600, 600, 3), np.uint8), tile=(256, 256), photometric="rgb", compression="deflate")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    error = refusal(RuntimeError, lambda: gp.Slide(path).read())
    assert error.file == str(path) and error.code in ("E-CODEC-DATA", "E-FILE-DAMAGED", "E-TIFF-FORMAT", "E-SLIDE-DAMAGED")
