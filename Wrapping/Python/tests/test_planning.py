# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What a plan says is what is done."""

import itkgigapixel as gp
import pytest
from conftest import refused


def test_tiles_of_a_plan_cover_the_slide(drawn):
    # The limit counts what the process holds, and earlier tests have left it some.
    plan = gp.plan(gp.Slide(drawn[0]), "remedios2023", memory="8G")
    assert (plan["width"], plan["height"], plan["network"], plan["budgetBytes"]) == (3000, 2000, "remedios2023", 2**33)
    (row,) = (row for row in plan["plans"] if (row["purpose"], row["options"]) == ("training", ""))
    side = row["tileSize"]
    assert row["fits"] and row["peakBytes"] < 2**33 and row["tiles"] == -(-3000 // side) * -(-2000 // side)
    by_size = gp.plan(size=(3000, 2000), network="remedios2023", tile_size=512)["plans"]
    assert {row["tiles"] for row in by_size} == {24}


def test_plan_of_a_model_and_a_volume(drawn, start):
    import itk

    model = itk.GigapixelModel.Load(str(start))
    assert gp.plan(drawn[0], model, level=1)["width"] == gp.Slide(drawn[0]).levels[1].width
    plan = gp.plan(size=(96, 64, 32), network="unet3d:base=8", freeze=["enc"])
    assert (plan["width"], plan["height"], plan["depth"]) == (96, 64, 32) and plan["keptParameters"] > 0


def test_plan_of_a_sliding_window():
    plans = gp.plan(size=(3000, 2000), network="remedios2023", sliding_window=True, patch=256, overlap=0)["plans"]
    (row,) = (row for row in plans if row["purpose"] == "inference" and row["semantics"] == "patch")
    assert row["tiles"] == 12 * 8


@pytest.mark.parametrize(
    "arguments, code, option",
    [({}, "E-OPTION-MISSING", "slide"), ({"size": (9,)}, "E-OPTION-VALUE", "size"), ({"size": (9, 9), "memory": "much"}, "E-OPTION-VALUE", "memory"),
     ({"slide": "s.svs", "size": (9, 9)}, "E-OPTION-CONFLICT", "size")],
)  # fmt: skip
def test_plans_of_nothing_are_refused(arguments, code, option):
    with refused(ValueError, code, option=option):
        gp.plan(**arguments)
