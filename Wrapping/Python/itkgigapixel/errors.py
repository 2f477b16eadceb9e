# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Errors and warnings with a code and fields."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import os
import re
import sys
import threading
import warnings
from errno import EACCES, EDQUOT, EEXIST, EFBIG, ENOENT, ENOSPC
from typing import Callable, Mapping, Optional, TypeVar

import numpy as np

from itkgigapixel.temporary import with_arguments

#: What the package tells beside results, errors and warnings. Python shows it where logging is set up for the level INFO.
MESSAGES = logging.getLogger("itkgigapixel")
MESSAGES.addHandler(logging.NullHandler())

Function = TypeVar("Function", bound=Callable)

#: what the system says of a disk, a quota or a file that is full
FULL = (ENOSPC, EDQUOT, EFBIG)


class _Coded:
    """A text with the fields of what it says."""

    code: str
    file: Optional[str]
    option: Optional[str]
    value: Optional[str]
    why: str
    do: Optional[str]

    def __init__(
        self,
        text: str = "",
        code: Optional[str] = None,
        *,
        file: Optional[str] = None,
        option: Optional[str] = None,
        value: Optional[str] = None,
        why: Optional[str] = None,
        do: Optional[str] = None,
    ):
        """:param code: None: the one that the text ends in, as of an error that PyTorch's DataLoader hands on from a worker"""
        super().__init__(text)
        if code is None:
            found = _CODE.search(text)
            code = found[1] if found else "E-OTHER"
        self.code, self.file, self.option, self.value, self.why, self.do = code, file, option, value, text if why is None else why, do

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class GigapixelError(_Coded, RuntimeError):
    """An error of this package. All functions raise their errors as this, whatever else they are.

    Each is also Python's own exception for it, which follows from its code: a FileNotFoundError, FileExistsError, PermissionError or
    another OSError (with errno and filename), a ValueError, TypeError, NotImplementedError, MemoryError or ImportError.
    The text is "file: why; do. [code]". The code and the fields do not change between versions, the wording may.

    ``code`` is one of ``Documentation/Codes.md``. None where they do not apply:
    ``file``; ``option``, the argument of the function that was called; ``value``, as text; ``do``, the next step.
    ``why`` is a clause.

    Examples
    --------
    >>> try:
    ...     gp.Slide("nowhere.svs")
    ... except gp.GigapixelError as error:
    ...     print(error.code, error.file)
    E-FILE-MISSING nowhere.svs
    """


class GigapixelValueError(GigapixelError, ValueError):
    """An argument or a file has a value that it cannot have."""


class GigapixelTypeError(GigapixelError, TypeError):
    """An argument has a type that it cannot have."""


class GigapixelNotImplementedError(GigapixelError, NotImplementedError):
    """Something that the package does not support."""


class GigapixelMemoryError(GigapixelError, MemoryError):
    """Memory does not suffice, or what may be used of it."""


class GigapixelImportError(GigapixelError, ImportError):
    """A package that is needed is not installed."""


class GigapixelOSError(GigapixelError, OSError):
    """A file cannot be read or written. It has the attributes of an OSError, too."""

    errno: Optional[int] = None
    strerror: Optional[str] = None
    filename: Optional[str] = None

    def __init__(self, text: str = "", code: Optional[str] = None, **fields: Optional[str]):
        super().__init__(text, code, **fields)
        self.strerror, self.filename = self.why, self.file


class GigapixelFileNotFoundError(GigapixelOSError, FileNotFoundError):
    """There is no such file."""

    errno = ENOENT


class GigapixelFileExistsError(GigapixelOSError, FileExistsError):
    """There is such a file already."""

    errno = EEXIST


class GigapixelPermissionError(GigapixelOSError, PermissionError):
    """The system does not allow it."""

    errno = EACCES


class GigapixelWarning(_Coded, UserWarning):
    """A warning of this package, with the fields of :class:`GigapixelError`. Its code begins with W-.

    Examples
    --------
    >>> warnings.filterwarnings("error", category=gp.GigapixelWarning)   # makes them errors
    """


#: What an error of each code is in Python, whoever finds it. Codes that are not here are of a plain :class:`GigapixelError`.
#: An entry with "*" is of all codes with this beginning that have no entry of their own.
_FAMILIES = {
    GigapixelFileNotFoundError: "E-FILE-MISSING E-FOLDER-EMPTY E-DICOM-PARTS",
    GigapixelFileExistsError: "E-OUTPUT-EXISTS",
    GigapixelPermissionError: "E-FILE-ACCESS",
    GigapixelOSError: "E-CODEC-DATA E-DISK-FULL E-FILE-CHANGED E-FILE-DAMAGED E-FILE-LIMIT E-OUTPUT-WRITE E-SLIDE-DAMAGED",
    GigapixelNotImplementedError: "E-DICOM-FORMAT E-NETWORK-OPERATION E-SLIDE-PARTS E-SLIDE-PLANES E-TIFF-CODEC",
    GigapixelMemoryError: "E-DEVICE-MEMORY E-MEMORY E-MEMORY-BUDGET",
    GigapixelImportError: "E-INSTALLATION",
    GigapixelValueError: "E-ANNOTATION-* E-COHORT-* E-COMMAND-* E-FILE-KIND E-FILE-NAME E-IMAGE-SIZE E-LABEL-VALUE E-MASK-* E-MODEL-* "
    "E-NETWORK-FORMAT E-NETWORK-IMAGE-SIZE E-OME-XML E-ONNX-FORMAT E-OPTION-* E-OUTPUT-ENDING E-OUTPUT-INPUT E-OUTPUT-KIND E-OUTPUT-TWICE "
    "E-PRECISION E-PREDICTIONS-* E-REGION E-REPORT-* E-RUN-* E-SAMPLE-TRUTH E-SLIDE-* E-TIFF-FORMAT E-TISSUE-PRESET E-VOLUME-* E-WEIGHTS-*",
    GigapixelError: "E-CALL-ORDER E-DEVICE-MISSING E-INTERNAL E-NOT-FINITE E-OTHER E-RANK-LOST E-RANKS-DIFFER E-READER-ENDED E-THREADS",
}


def family_of(code: str) -> Optional[type]:
    """The class of errors of this code; None: it has no entry."""
    for is_exact in (True, False):
        for ours, codes in _FAMILIES.items():
            for entry in codes.split():
                if code == entry if is_exact else entry.endswith("*") and code.startswith(entry[:-1]):
                    return ours
    return None


#: Python's kind: what it becomes, and the code of one that has none
_KINDS = (
    (ValueError, GigapixelValueError, "E-OPTION-VALUE"),
    (TypeError, GigapixelTypeError, "E-OPTION-VALUE"),
    (NotImplementedError, GigapixelNotImplementedError, "E-NETWORK-OPERATION"),
    (MemoryError, GigapixelMemoryError, "E-MEMORY"),
    (FileNotFoundError, GigapixelFileNotFoundError, "E-FILE-MISSING"),
    (FileExistsError, GigapixelFileExistsError, "E-OUTPUT-EXISTS"),
    (PermissionError, GigapixelPermissionError, "E-FILE-ACCESS"),
    (OSError, GigapixelOSError, "E-FILE-ACCESS"),
    (ImportError, GigapixelImportError, "E-INSTALLATION"),
    (RuntimeError, GigapixelError, "E-OTHER"),
)

_CODE = re.compile(r"\s*\[([EW]-[A-Z0-9-]+)\]\s*\Z")
#: the line of ITK's sources, and the address of the object
_PLACE = re.compile(r"\A(?:[^\n]+:\d+:\n)?\s*(?:(?:ITK ERROR|itk::ERROR): \w+\(0x[0-9a-f]+\): )?")


def text_of(fields: Mapping) -> str:
    """ "file: why; do. [code]", as the program writes it."""
    why = fields["why"]
    subjects = (fields.get(name) for name in ("file", "option"))
    text = "".join(f"{subject}: " for subject in subjects if subject and subject not in why) + why
    text += f"; {fields['do']}" if fields.get("do") else ""
    return f"{text}{'' if text.endswith(('?', '!')) else '.'} [{fields['code']}]"


def error_of(kind: type, code: str, why: str, do: Optional[str] = None, *, file=None, option=None, value=None) -> GigapixelError:
    """An error to raise.

    :param kind: Python's exception, such as ValueError; RuntimeError: that of the code
    :param code: one of ``Documentation/Codes.md``
    :param why: a clause without the file's name and without a full stop
    :param do: the next step, an imperative clause without a full stop
    """
    fields = {
        "code": code,
        "file": None if file is None else os.fsdecode(file),
        "option": option,
        "value": None if value is None else str(value),
        "why": why,
        "do": do,
    }
    return error_of_fields(fields, next(ours for python, ours, _ in _KINDS if issubclass(kind, python)))


def error_of_fields(fields: Mapping, kind: type = GigapixelError) -> GigapixelError:
    """The error that the program's "error" object says.

    :param kind: a class that says more than the code's does, as of a wrong type
    """
    fields = with_arguments(fields)
    if kind is GigapixelError:
        kind = family_of(fields["code"]) or GigapixelError
    return kind(text_of(fields), **{name: fields.get(name) for name in ("code", "file", "option", "value", "why", "do")})


def warn(fields: Mapping) -> None:
    """Gives a warning, as of the line that called the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    fields = with_arguments(fields)
    given = {name: fields.get(name) for name in ("code", "file", "option", "value", "why", "do")}
    warnings.warn(GigapixelWarning(text_of(fields), **given), stacklevel=level)


def _is_inside(file: str) -> bool:
    return os.path.dirname(file) == os.path.dirname(__file__) or os.path.basename(file) == "contextlib.py"


_at_work: list = []  # the thread of each function of the package that runs now
_lock = threading.Lock()  # of the list, and of the switch that follows it


def _forget_other_threads() -> None:
    """A forked process has none of them: one may have held the lock."""
    global _lock
    _lock = threading.Lock()
    _at_work[:] = [thread for thread in _at_work if thread == threading.get_ident()]


os.register_at_fork(after_in_child=_forget_other_threads)


def _readers():
    """The module of the readers, if its library is loaded or ITK's modules are that use it."""
    if not sys.modules.keys() & {"itkgigapixel.slide_reader", "itk._GigapixelPython", "itk.GigapixelPython"}:
        return None
    from itkgigapixel import slide_reader

    return slide_reader


def keep_warnings() -> None:
    """Warnings of the C++ classes are Python's, from now to the end of the function of the package that runs."""
    readers = _readers()
    with _lock:
        if readers is not None and _at_work:
            readers.KeepWarnings(True)


def _give_warnings(failed: bool) -> None:
    """All of them; where filters make one an error, that is raised at the end, but in place of no other error."""
    readers = _readers()
    if readers is None:
        return
    with _lock:
        if not _at_work:
            readers.KeepWarnings(False)
        texts = readers.TakeWarnings()
    raised = None
    for text in texts:
        try:
            warn(find_fields(text, "W-OTHER"))
        except GigapixelWarning as warning:
            raised = raised or warning
    if raised is not None and not failed:
        raise raised


def find_fields(text: str, otherwise: str) -> dict:
    """The fields of a text of the C++ classes, whose library keeps those of its last texts."""
    readers = _readers()
    values = () if readers is None else readers.FindDiagnostic(text)
    found = dict(zip(("code", "file", "option", "value", "why", "do"), (value or None for value in values)))
    return found if found.get("code") else fields_of_text(text, otherwise)


def fields_of_text(text: str, otherwise: str) -> dict:
    """What a text says by itself: its code, if it ends in one, and why."""
    sentence = _PLACE.sub("", text).strip()
    code = _CODE.search(sentence)
    return {"code": code[1] if code else otherwise, "why": _CODE.sub("", sentence).rstrip(".")}


def with_code(error: Exception) -> Exception:
    """The error as a :class:`GigapixelError`. One that is of no kind of ours comes back as it is."""
    if isinstance(error, GigapixelError) or (isinstance(error, TimeoutError) and error.errno is None):  # of a user's alarm
        return error
    for python, ours, otherwise in _KINDS:
        if isinstance(error, python) if python is not RuntimeError else type(error) is python:  # others have classes of their own
            break
    else:
        return error
    if isinstance(error, OSError):
        code = "E-DISK-FULL" if error.errno in FULL else otherwise
        fields = {"code": code, "file": None if error.filename is None else os.fsdecode(error.filename), "why": error.strerror or str(error)}
    else:
        fields = find_fields(str(error), otherwise)
    made = error_of_fields(fields, ours)
    if isinstance(error, OSError):
        made.errno, made.strerror, made.filename = error.errno, error.strerror, fields["file"]
    return made


_SWIG = "builtin type [Ss]wig"  # the text of warnings that each wrapped library gives with its first object


def _spare_swig() -> None:
    """Where filters make all warnings errors, the libraries that SWIG has made would end the process by a segmentation fault."""
    action, message, category, *_ = warnings.filters[0] if warnings.filters else [None] * 3
    if (action, getattr(message, "pattern", None), category) != ("ignore", _SWIG, DeprecationWarning):
        warnings.filterwarnings("ignore", _SWIG, DeprecationWarning)


@contextlib.contextmanager
def in_a_sentence():
    """Errors out of the block, and out of functions that it decorates, are a :class:`GigapixelError`, and warnings a :class:`GigapixelWarning`."""
    _spare_swig()
    with _lock:
        _at_work.append(threading.get_ident())
    keep_warnings()
    failed = False
    try:
        yield
    except BaseException as error:
        failed = True
        if not isinstance(error, Exception):
            raise
        made = with_code(error)
        if made is error:
            raise
        raise made.with_traceback(error.__traceback__) from error.__cause__
    finally:
        with _lock:
            _at_work.remove(threading.get_ident())
        _give_warnings(failed)


def argument_of(option: Optional[str], function: Callable) -> Optional[str]:
    """The argument of a function that is meant by an option's name, such as "--slide-mpp" of the program; None: it has none."""
    names = inspect.signature(function).parameters
    if option is None or option in names:
        return option
    name = option.removeprefix("--").replace("-", "_").lower()
    plural = [f"{name}s"] if option.startswith("--") else []  # what the program takes several times is plural
    return next((each for each in (name, *plural) if each in names), None)


def names_arguments(function: Function) -> Function:
    """For functions that people call: the ``option`` of their errors is one of their arguments, or None. The program has other names,
    and what a function calls has other arguments.

    Switches are True or False, and nothing else is: Python counts True as the number 1, and any number as a switch."""
    kinds = {name: each.annotation for name, each in inspect.signature(function).parameters.items()}
    switches = {name for name, kind in kinds.items() if kind in (bool, "bool")}
    others = {name for name, kind in kinds.items() if not re.search(r"\b(bool|Any|object)\b", str(kind))}

    @functools.wraps(function)
    def called(*args, **kwargs):
        try:
            for name, value in (*zip(kinds, args), *kwargs.items()):
                is_switch = isinstance(value, (bool, np.bool_))
                if name in (others if is_switch else switches) and value is not None:
                    why = f"{name} is {'no switch' if is_switch else 'a switch, True or False'}, and was given {value!r}"
                    raise error_of(TypeError, "E-OPTION-VALUE", why, option=name, value=value)
            return function(*args, **kwargs)
        except GigapixelError as error:
            error.option = argument_of(error.option, function)
            raise

    return called


def without(**arguments: str) -> Callable[[Function], Function]:
    """For functions that earlier versions gave such arguments: what to say in their place."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def checked(*args, **kwargs):
            for name in arguments.keys() & kwargs.keys():
                why = f"{function.__name__}() has no argument {name} any more: {arguments[name]}"
                raise error_of(TypeError, "E-OPTION-UNKNOWN", why, option=name)
            return function(*args, **kwargs)

        return checked

    return decorate


#: what a choice became that is a switch now, as values of its former argument
SLIDING_WINDOW = ("sliding_window", {"whole": False, "patch": True})


def renamed(**names: str | tuple[str, dict]) -> Callable[[Function], Function]:
    """For functions whose arguments had other names, old=new: those go on, with a FutureWarning. With (new, values) the
    former argument had these values, each of which is another one of the new argument."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def named(*args, **kwargs):
            for old in names.keys() & kwargs.keys():
                new, values = names[old] if isinstance(names[old], tuple) else (names[old], None)
                if new in kwargs:
                    why = f"{function.__name__}() has been given {new} and {old}, its former name"
                    raise error_of(TypeError, "E-OPTION-REPEATED", why, "give one of them", option=old)
                value = kwargs.pop(old)
                if values is not None and value not in values:
                    why = f"{old} was one of {', '.join(values)}, not {value}"
                    raise error_of(ValueError, "E-OPTION-VALUE", why, f"give {new}", option=old, value=value)
                warnings.warn(f"The argument {old} of {function.__name__}() is named {new} now", FutureWarning, stacklevel=2)
                kwargs[new] = value if values is None else values[value]
            return function(*args, **kwargs)

        return named

    return decorate


#: what took the place of strategies
NO_STRATEGY = 'tile_size="image" takes images in one piece ("whole"), shared_memory=True from memory that CPU and GPU share ("unified"); without both they go through in tiles ("streamed")'
#: what took the place of a folder of decoded pixels
NO_CACHE = "convert slides that decode slowly into pyramids that do not (itkgigapixel.convert), and train on those"
