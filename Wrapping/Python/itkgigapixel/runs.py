# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""What a training keeps of its epochs."""

from __future__ import annotations

import csv
import os
from typing import Iterable, NamedTuple, Optional

from itkgigapixel.errors import error_of, in_a_sentence, names_arguments
from itkgigapixel.slide_content import Path, file_name


class Epoch(NamedTuple):
    """One epoch of a training. None: not computed."""

    epoch: int
    loss: Optional[float]
    validation_loss: Optional[float]
    score: Optional[float]  #: Dice on the slides of validation, or the score that :class:`History` names
    learning_rate: Optional[float]  #: of the last step


class History(list[Epoch]):
    """The epochs of a training, an :class:`Epoch` each. ``pandas.DataFrame(history)`` makes a table of them.

    Parameters
    ----------
    epochs : iterable of Epoch
        The epochs in their order.
    run : str
        The folder of the run.
    score : str
        What the score is, such as "dice" or "auc".

    Examples
    --------
    >>> history = gp.history("run")
    >>> history[-1].loss, history.score
    """

    def __init__(self, epochs: Iterable[Epoch], run: str, score: str):
        super().__init__(epochs)
        self.run: str = run
        self.score: str = score

    def __repr__(self) -> str:
        text = f"History({self.run!r}: {len(self)} epoch{'' if len(self) == 1 else 's'}"
        for name, value in zip(("loss", "validation loss", self.score), self[-1][1:4] if self else ()):
            text += "" if value is None else f", {name} {value:.4g}"
        return f"{text})"


@names_arguments
@in_a_sentence()
def history(run: Path) -> History:
    """The losses of a training, epoch by epoch, also while it goes on.

    Parameters
    ----------
    run : path-like
        The folder that :func:`train` was given.

    Returns
    -------
    History
        An :class:`Epoch` for each epoch that is finished.

    Raises
    ------
    FileNotFoundError
        The folder has no finished epoch.
    ValueError
        Its ``history.csv`` is not as :func:`train` writes it.

    Examples
    --------
    >>> gp.history("run")
    History('run': 20 epochs, loss 0.1032, validation loss 0.1241, dice 0.9617)
    >>> [epoch.loss for epoch in gp.history("run")]
    """
    name = os.path.join(file_name(run), "history.csv")
    epochs = []
    try:
        with open(name, newline="", encoding="utf-8") as file:
            columns, *lines = list(csv.reader(file)) or [[]]
        is_ours = columns[:3] == ["epoch", "training_loss", "validation_loss"] and columns[4:] == ["learning_rate"]
        epochs += [Epoch(int(number), *(float(value) if value else None for value in values)) for number, *values in lines]
    except (TypeError, ValueError, csv.Error):
        is_ours = False
    if not is_ours:
        raise error_of(ValueError, "E-RUN-FORMAT", "it is not the table that a training writes", "name the folder of a run", file=name)
    return History(epochs, file_name(run), columns[3].removeprefix("validation_"))
