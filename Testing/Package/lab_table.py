# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Results of days of a laboratory (lab_day.py), which Utilities/test-matrix runs on several systems.

    python lab_table.py add CELL.json STATUS RESULT.json     keeps the result of a process that ended with that status
    python lab_table.py print FOLDER                         prints the cells of a folder as a table, and writes them to table.json

Printing fails where a cell failed or where there is none.
"""

import json
import pathlib
import sys


def add(cell, status, result):
    """A process may end before it writes a result, or fail after that."""
    path = pathlib.Path(result)
    about = json.loads(path.read_text()) if path.exists() else {"passed": False, "steps": {"installation": "failed"}}
    if status != "0":
        about["passed"] = False
        about["status"] = int(status)
    pathlib.Path(cell).write_text(json.dumps(about, indent=1))


def row(name: str, about: dict) -> str:
    steps = about["steps"]
    packages = about.get("packages", {})
    told = [f"{list(steps.values()).count('ok')} ok"]
    told += [f"{list(steps.values()).count('needs torch')} ask for PyTorch"] if "needs torch" in steps.values() else []
    told += [f"**{step}: {value}**" for step, value in steps.items() if value not in ("ok", "needs torch")]
    told += [] if about["passed"] else [f"**failed**, status {about.get('status', 0)}"]
    versions = [f"{name} {packages[name]}" for name in ("torch", "tiatoolbox") if name in packages]
    fields = [about.get("system", name), about.get("python", ""), ", ".join(versions) or "none", "; ".join(told), f"{about.get('seconds', 0)} s"]
    return "| " + " | ".join(text.replace("|", "/").replace("\n", " ") for text in fields) + " |"


def print_table(folder):
    paths = sorted(path for path in pathlib.Path(folder).glob("*.json") if path.name != "table.json")
    cells = {path.stem: json.loads(path.read_text()) for path in paths}
    print("| system | Python | PyTorch | steps | time |", "| --- | --- | --- | --- | --- |", sep="\n")
    print(*(row(name, about) for name, about in cells.items()), sep="\n")
    (pathlib.Path(folder) / "table.json").write_text(json.dumps(cells, indent=1))
    sys.exit(not cells or not all(about["passed"] for about in cells.values()))


if __name__ == "__main__":
    {"add": add, "print": print_table}[sys.argv[1]](*sys.argv[2:])
