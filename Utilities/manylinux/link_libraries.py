# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Writes the system's libraries as they were in older systems, to link with: what is linked then runs on those as well.

    python3 Utilities/manylinux/link_libraries.py FOLDER GLIBC=2.28 GLIBCXX=3.4.24 CXXABI=1.3.11 GCC=7.0.0

The libraries have names without code. A name has its newest version within the limits. A name that is newer is taken from
a static library, or is missing, so that what wants it fails to link. The compiler takes them with -BFOLDER.
"""

import itertools
import operator
import pathlib
import re
import subprocess
import sys
import tempfile

#: The libraries, and beside each what a linker that is asked for it takes as well. It looks in this folder first.
LIBRARIES = {
    "libc.so.6": "AS_NEEDED(libpthread.so.0 libdl.so.2 librt.so.1 /lib64/ld-linux-x86-64.so.2) libnewer_glibc.a libc_nonshared.a",
    "libm.so.6": "",
    "libstdc++.so.6": "libstdc++.a",
    "libgcc_s.so.1": "-lgcc",
}
#: Names in libc.so.6 of later systems that were in libraries of their own until glibc 2.34 (pthread_sigmask: 2.32).
MOVED = {"libpthread.so.0": "(__)?pthread_|sem_", "libdl.so.2": "dl", "librt.so.1": "aio_|lio_|mq_|shm_|timer_"}
SECTIONS = {"OBJECT": (".data", "object"), "TLS": ('.section .tbss,"awT",@nobits', "tls_object")}


class Symbol:
    """A line of readelf's table of symbols."""

    def __init__(self, fields):
        self.value, self.size, self.kind, self.binding = int(fields[1], 16), int(fields[2], 0), fields[3], fields[4]
        self.name, self.default, self.version = re.fullmatch("([^@]+)@(@?)(.+)", fields[7]).groups()
        self.tag, _, number = self.version.partition("_")
        # CXXABI_TM_1 and CXXABI_FLOAT128 are as old as 1.3; GLIBC_PRIVATE is nobody's.
        self.number = [int(each) for each in number.split(".")] if re.fullmatch("[0-9.]+", number) else [0]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def find(name):
    return output("gcc", f"-print-file-name={name}")


def symbols(library, limits):
    lines = [line.split() for line in output("readelf", "-W", "--dyn-syms", library).splitlines()]
    found = [Symbol(fields) for fields in lines if len(fields) == 8 and "@" in fields[7] and fields[6] not in ("UND", "ABS")]
    linkable = {each.name for each in found if each.default}
    found = [each for each in found if each.name in linkable and each.number <= limits.get(each.tag, each.number)]
    newest = {each.name: each for each in sorted(found, key=operator.attrgetter("number"))}
    return [each for each in newest.values() if each.version != "GLIBC_PRIVATE"]


def divide(soname, symbols):
    """The libraries that these symbols were in: those with a later version have moved."""
    libraries = {soname: []} | ({name: [] for name in MOVED} if soname == "libc.so.6" else {})
    for each in symbols:
        names = [] if each.default or soname != "libc.so.6" else [name for name, begin in MOVED.items() if re.match(begin, each.name)]
        libraries[names[0] if names else soname].append(each)
    return libraries


def write(library, symbols):
    """A program that is not relocatable has copies of data, at one place under all names that it has: they are kept together."""
    lines, nodes = [], []
    place = operator.attrgetter("kind", "value")
    for (kind, _), group in itertools.groupby(sorted(symbols, key=place), place):
        section, elf_type = SECTIONS.get(kind, (".text", "function"))
        size = 1
        lines += [section, ".balign 32"]
        for each in group:
            size = max(size, each.size)
            lines += [f".{'weak' if each.binding == 'WEAK' else 'globl'} {each.name}", f".size {each.name},{each.size}"]
            lines += [f".type {each.name},@{'gnu_unique_object' if each.binding == 'UNIQUE' else elf_type}", f"{each.name}:"]
        lines.append(f".zero {size if kind in SECTIONS else 1}")
    version = operator.attrgetter("version")
    for name, group in itertools.groupby(sorted(symbols, key=version), version):
        nodes.append(f"{name} {{ {' '.join(each.name + ';' for each in group)} }};")
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder, "source.s"), pathlib.Path(folder, "versions")
        source.write_text("\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""]))
        script.write_text("\n".join(nodes))
        output("gcc", "-shared", "-nostdlib", f"-Wl,-soname,{library.name},--version-script,{script}", source, "-o", library)


def main(folder, *arguments):
    folder = pathlib.Path(folder).absolute()
    limits = {tag: [int(each) for each in number.split(".")] for tag, number in (each.split("=") for each in arguments)}
    for soname, besides in LIBRARIES.items():
        for name, part in divide(soname, symbols(find(soname), limits)).items():
            write(folder / name, part)
        (folder / f"{soname.partition('.so')[0]}.so").write_text(f"GROUP({soname} {besides})\n")


main(*sys.argv[1:])
