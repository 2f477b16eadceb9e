# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What a training keeps of its epochs, against its file as the csv module reads it."""

import csv

import itkgigapixel as gp
import pytest
from conftest import image, refused, trainer


def test_a_history_is_that_of_the_file(picture, tmp_path):
    run = trainer(picture, tmp_path / "run", epochs=3)
    run.AddValidationImage(image(picture[0]), image(picture[1]))
    run.Update()
    with open(tmp_path / "run" / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    found = gp.history(tmp_path / "run")
    assert [epoch.epoch for epoch in found] == [1, 2, 3] and found.score == "dice"
    columns = {"loss": "training_loss", "validation_loss": "validation_loss", "score": "validation_dice", "learning_rate": "learning_rate"}
    for epoch, row in zip(found, rows, strict=True):
        assert {name: getattr(epoch, name) for name in columns} == {name: float(row[column]) for name, column in columns.items()}
    last = found[-1]
    text = f"3 epochs, loss {last.loss:.4g}, validation loss {last.validation_loss:.4g}, dice {last.score:.4g}"
    assert repr(found) == f"History({str(tmp_path / 'run')!r}: {text})"


def test_what_was_not_computed_is_none(start):
    (epoch,) = gp.history(start)
    assert epoch.validation_loss is None and epoch.score is None and epoch.loss > 0
    assert repr(gp.history(start)) == f"History({str(start)!r}: 1 epoch, loss {epoch.loss:.4g})"


def test_no_run(tmp_path):
    with refused(FileNotFoundError, "E-FILE-MISSING", file=str(tmp_path / "history.csv")):
        gp.history(tmp_path)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "epoch,training_loss,validation_loss,validation_dice,learning_rate\n1,0.5\n1,x,,,\n", "\xff"])
def test_another_table_is_refused(tmp_path, text):
    (tmp_path / "history.csv").write_text(text, encoding="latin-1")
    with refused(ValueError, "E-RUN-FORMAT", file=str(tmp_path / "history.csv")):
        gp.history(tmp_path)
