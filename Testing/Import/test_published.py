# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Published networks on real pictures, computed in tiles, against what onnxruntime and PyTorch have computed (make_published.py)."""

import hashlib
import json

import numpy
import pytest

import published
from conftest import HERE, compute, read_arrays, run, write_json

STORED = numpy.load(HERE / "published.npz")


def require(*files):
    """Skips without the test data; where there are some, files that lack are an error."""
    if not all(file.exists() for file in files):
        assert not published.FOLDER, f"GIGAPIXEL_TEST_DATA is set, but there are not all of {', '.join(map(str, files))}"
        pytest.skip("no published networks here (set GIGAPIXEL_TEST_DATA)")


def test_network_of_two_inputs(tmp_path):
    """brainchop's network for axial slices, of tf2onnx: channels last, for 256 x 256 pixels, and a second input that is joined
    behind the decoder."""
    require(published.AXIAL, published.VOLUME)
    model = tmp_path / "model.safetensors"
    said = json.loads(run("import", published.AXIAL, "-o", model, "--json").stdout)
    assert (said["channels"], said["classes"], said["parameters"], said["input"]["multiple"]) == (4, 7, 1016839, 32)
    volume = published.read_volume()
    for z, labels, probabilities in zip(*(STORED[f"brainchop/{name}"] for name in ("slices", "labels", "probabilities"))):
        assert len(numpy.unique(labels)) > 3
        for given in compute(model, published.make_places(volume[z], z), 0, 64, 96):
            assert (given.argmax(2) == labels).all()
            assert abs(given[::8, ::8] - probabilities).max() < 1e-4


def test_weights_of_a_parallel_module(tmp_path):
    """akamaster's ResNet-20, a legacy file of a DataParallel module: its arrays to the bit, and the features that they give."""
    require(published.RESNET, published.PICTURES)
    model = tmp_path / "model.safetensors"
    run("import", write_json(tmp_path, published.make_trunk()), "--weights", published.RESNET, "-o", model)
    hashes, given = dict(zip(STORED["resnet20/arrays"], STORED["resnet20/hashes"])), read_arrays(model)
    assert set(hashes) - set(given) == {"linear.weight", "linear.bias"}
    for key, array in given.items():
        assert hashlib.sha256(array.tobytes()).hexdigest() == hashes[key]
    top, left, bottom, right = STORED["resnet20/part"]
    pixels, features = published.read_picture(published.list_pictures()[0])[top:bottom, left:right], STORED["resnet20/features"]
    assert features.max() > 9
    for probabilities in compute(model, pixels, 0, 16):
        # Of values up to 9.4. Floats round sums of up to 576 products in each of 19 layers: PyTorch's own differ by 4.6e-6.
        assert abs(published.get_features(probabilities) - features).max() < 1e-5
