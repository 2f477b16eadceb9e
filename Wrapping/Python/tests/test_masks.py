# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Figures of masks against their formulas, and masks as other programs have them, there and back."""

import json

import itk
import itkgigapixel as gp
import numpy as np
import pytest
from conftest import refused


def test_figures_are_those_of_the_formulas(drawn):
    truth = np.asarray(itk.imread(drawn[1])) > 0
    found = np.roll(truth, 9, axis=1)
    figures = gp.evaluate(found, truth)
    assert (figures["prediction"], figures["truth"]) == ("prediction", "truth")  # and no file that is gone
    both, either = (found & truth).sum(), (found | truth).sum()
    assert (figures["dice"], figures["iou"]) == pytest.approx((2 * both / (found.sum() + truth.sum()), both / either))
    assert figures["sensitivity"] == pytest.approx(both / truth.sum())
    with refused(ValueError, "E-MASK-FORMAT", option="truth"):
        gp.evaluate(drawn[1], truth.astype(float))
    with refused(FileNotFoundError, "E-FILE-MISSING", file="none.tif"):
        gp.evaluate("none.tif", drawn[1])


def test_outlines_there_and_back(drawn, tmp_path):
    slide, truth = drawn
    outlines, back = tmp_path / "truth.geojson", tmp_path / "back.tif"
    assert gp.outline(truth, gp.Slide(slide), outlines, class_name="Tumor") == outlines
    features = json.loads(outlines.read_text())["features"]
    assert {each["properties"]["classification"]["name"] for each in features} == {"Tumor"}
    assert gp.rasterize(outlines, slide, back, class_names=["Tumor"], downsample=1) == back
    assert (np.asarray(itk.imread(str(back))) == np.asarray(itk.imread(truth))).all()
    with pytest.warns(gp.GigapixelWarning, match="W-ANNOTATION-CLASS"):
        gp.rasterize(outlines, slide, back, class_names=["Other", "Tumor"], downsample=1)
    assert set(np.unique(np.asarray(itk.imread(str(back))))) == {0, 2}
    with refused(ValueError, "E-OPTION-VALUE", option="downsample"):
        gp.rasterize(outlines, slide, back, downsample=0)


def test_segmentation_of_slicer_is_where_the_slide_is(drawn, tmp_path):
    slide, truth = drawn
    file = tmp_path / "truth.seg.nrrd"
    gp.outline(truth, slide, file)
    segmentation, picture = itk.imread(str(file)), itk.imread(slide)
    assert (np.asarray(segmentation)[0] == np.asarray(itk.imread(truth)) // 255).all()
    assert list(segmentation.GetSpacing())[:2] == pytest.approx(list(picture.GetSpacing()))
    assert list(segmentation.GetOrigin())[:2] == pytest.approx(list(picture.GetOrigin()))
    assert b"Segment0_Name:=Tissue" in file.read_bytes()


def test_overlay_tints_the_mask(drawn, tmp_path):
    slide, truth = drawn
    picture = gp.overlay(slide, truth, tmp_path / "look.png", picture_size=256)
    tinted = np.asarray(itk.imread(str(picture))).astype(int)
    with pytest.warns(gp.GigapixelWarning, match="W-DOUBT-MASK-EMPTY"):
        gp.overlay(slide, np.zeros_like(np.asarray(itk.imread(truth))), tmp_path / "plain.png", picture_size=256)
    plain = np.asarray(itk.imread(str(tmp_path / "plain.png"))).astype(int)
    assert tinted.shape == plain.shape and max(tinted.shape[:2]) == 256
    where = np.asarray(itk.imread(truth))
    step = where.shape[0] / tinted.shape[0]
    inside = where[(np.arange(tinted.shape[0]) * step + step / 2).astype(int)][:, (np.arange(tinted.shape[1]) * step + step / 2).astype(int)] > 0
    changed = (tinted != plain).any(axis=2)
    assert changed[inside].mean() > 0.95 and changed[~inside].mean() < 0.1


def test_numbered_objects_there_and_back(drawn, tmp_path):
    """As an array of integers; each label is one outline, whose number it gets again."""
    slide, truth = drawn
    height, width = np.asarray(itk.imread(truth)).shape
    objects = np.arange(1, 301).reshape(15, 20).repeat(height // 15, 0).repeat(width // 20, 1)
    objects = np.pad(objects, ((0, height - objects.shape[0]), (0, width - objects.shape[1])))
    for dtype in (np.uint16, np.uint32, np.int64):  # scikit-image labels in signed integers
        gp.outline(objects.astype(dtype), slide, tmp_path / "o.geojson", instances=True)
        gp.rasterize(tmp_path / "o.geojson", slide, tmp_path / "back.tif", instances=True, downsample=1)
        back = gp.Slide(tmp_path / "back.tif").read()
        assert back.dtype == np.uint16 and (back == objects).all()
        rows = gp.measure(objects.astype(dtype))
        assert {row["label"] for row in rows} == set(range(1, 301))
    with refused(ValueError, "E-MASK-FORMAT", option="mask"):
        gp.outline(-objects, slide, tmp_path / "o.geojson", instances=True)
