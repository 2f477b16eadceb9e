# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Results against those of an earlier version, bit by bit; references.py says which and renews them."""

import json

import pytest

import references

STORED = json.loads(references.FILE.read_text())
SEEDS = list(references.SLIDES)
STORED_SETS = list(STORED["network"])


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    references.make_slides(folder)
    return folder


@pytest.fixture(scope="module")
def folder(drawn):
    """Where the slides are: other pixels are told by the first test, and would tell nothing about what is made of them."""
    if {str(seed): references.digest_slide(drawn, seed) for seed in SEEDS} != STORED["slides"]:
        pytest.skip("the slides have other pixels than when the references were made")
    return drawn


def get_threads(seed):
    """One or two: the references are the same for both."""
    return 1 + seed % 2


@pytest.mark.parametrize("seed", SEEDS)
def test_slides(drawn, seed):
    assert references.digest_slide(drawn, seed) == STORED["slides"][str(seed)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("preset", references.PRESETS)
def test_labels(folder, preset, seed):
    assert references.digest_label(folder, preset, seed, get_threads(seed)) == STORED["label"][preset][str(seed)]


def skip_without_references(instructions):
    """Bits can only be the same with the same instructions."""
    available = references.get_instruction_sets()
    if not available:
        pytest.skip("the library that chooses the instruction set was not built (it takes a shared library of Highway)")
    if instructions not in available or instructions not in STORED_SETS:
        pytest.skip(f"the references hold for {', '.join(STORED_SETS)}; this machine has {', '.join(available)}")


@pytest.fixture(params=STORED_SETS)
def instructions(request, network):
    skip_without_references(request.param)
    return request.param


@pytest.mark.parametrize("kind", references.TRAININGS)
def test_trainings(folder, kind, instructions):
    found = {str(seed): references.digest_training(folder, kind, seed, get_threads(seed), instructions) for seed in SEEDS}
    assert found == STORED["network"][instructions][kind]


def test_training_by_three_ranks(folder, network):
    """Of the best instruction set: ranks know nothing of it."""
    instructions = next(iter(references.get_instruction_sets()), "")
    skip_without_references(instructions)
    found = {str(seed): references.digest_training_by_ranks(folder, "gray", seed, 3, instructions) for seed in SEEDS}
    assert found == STORED["network"][instructions]["gray"]


@pytest.mark.parametrize("model", ["tissue", "fresh"])
def test_segmentations(folder, model, instructions):
    found = {
        str(seed): references.digest_segmentation(folder, model, seed, get_threads(seed), instructions) for seed in SEEDS
    }
    assert found == STORED["network"][instructions][f"segment {model}"]


@pytest.mark.parametrize("kind", references.TRAININGS)
def test_losses_of_any_instruction_set(folder, kind, network):
    """What the program chooses itself. The initial weights' loss is a sum in double of terms with some 2e-7 each. What
    Adam makes of a gradient near 0 hangs on its sign, so that last bits become 1e-3 of the last loss in some runs."""
    found = references.digest_training(folder, kind, 1, 2)
    stored = STORED["network"][STORED_SETS[0]][kind]["1"]
    assert found["first loss"] == pytest.approx(stored["first loss"], rel=1e-6)
    for name in ("training loss", "validation loss"):
        assert found[name] == pytest.approx(stored[name], rel=1e-2)
