# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Checks by mypy that the Python of the pages and of Examples fits the types of the package: check_types.py FOLDER

FOLDER has the package, as pages.py has copied it, with the types of all options. A call of each function with an argument
that it has not has to be found; else its types are lost, for instance in a decorator.
"""

import ast
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("Documentation/tutorials/*.md")), *sorted(ROOT.glob("Documentation/how-to/*.md"))]


def write_blocks(folder):
    """A file for each page that has Python."""
    for page in PAGES:
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
        if blocks:
            file = folder / f"{page.parent.name}_{page.stem}.py".replace("-", "_")
            # A page may begin with what another one has made.
            file.write_text("import itkgigapixel as gp\n" + "\n".join(blocks))
            yield file


def run_mypy(package, folder, files):
    options = ["--ignore-missing-imports", "--follow-imports=silent", "--disable-error-code=name-defined"]
    command = [sys.executable, "-m", "mypy", "--cache-dir", folder / "cache", *options, *files]
    return subprocess.run(command, env={"MYPYPATH": str(package)}, capture_output=True, text=True)


def main(package):
    names = ast.literal_eval(re.search(r"^__all__ = (\[.*?\])$", (package / "itkgigapixel/__init__.py").read_text(), re.M | re.S)[1])
    called = [name for name in names if name[0].islower()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        finished = run_mypy(package, folder, [*write_blocks(folder), *sorted(ROOT.glob("Examples/Python/*.py"))])
        if finished.returncode != 0:
            sys.exit(finished.stdout.replace(f"{folder}/", "") + finished.stderr)
        wrong = folder / "wrong.py"
        wrong.write_text("import itkgigapixel as gp\n" + "".join(f"gp.{each}(nothing=1)\n" for each in called))
        found = re.findall(r'argument "nothing" for "(\w+)"', run_mypy(package, folder, [wrong]).stdout)
        if found != called:
            sys.exit(f"The types of these functions are lost: {sorted(set(called) - set(found))}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
