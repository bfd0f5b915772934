# SPDX-License-Identifier: Apache-2.0
"""Check what no compiler checks.

- folders include only what the table in docs/architecture.md allows;
- no abort, exit or assert in the libraries (the command may exit);
- every line of a .def list has its files and tests, and every file its line; lists are sorted where they
  say so;
- files, functions and lines stay below their limits (clang-format holds code at 100 columns, comments may
  use 120); each file has its licence line; a TODO says why.
Run as python tools/check_tree.py: prints one line per finding, exit status 1 if there are any.
"""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_C_COLUMNS = 600, 60, 120
C_SUFFIXES = {".c", ".h"}
# Folders on the include path: a header named without a folder comes from one of these.
BARE_FOLDERS = {"include": "", "ccl": "ccl", "ccl/epu": "ccl", "isa": "isa", "iss": "iss"}
LIBRARIES = ("src/", "iss/", "ccl/")
COMMANDS = ("src/cli/",)
# list, pattern of a line, files of a line ("a|b": one of them), glob of files that must have a line
LISTS = [
    (
        "src/ops/ops.def",
        r"^OP\((\w+)",
        ["src/ops/{0}.c", "tests/ops/{0}.toml", "tests/reference/{0}.py"],
        "tests/ops/*.toml",
    ),
    (
        "src/passes/passes.def",
        r"^PASS\((\w+)",
        ["src/passes/{0}.c", "tests/passes/{0}/*.ir"],
        "tests/passes/*",
    ),
    ("src/plan/mappings.def", r"^MAPPING\((\w+)", ["src/emit/epu/{0}.c"], None),
    ("ccl/kernels.def", r"^KERNEL\((\w+),\s*(\w+)", ["ccl/{1}/{0}.c|ccl/{1}/{0}.h"], "ccl/ref/*.c"),
    ("isa/isa.def", r"^INSN\((\w+)", ["iss/insns/{0}.h"], None),
]


# list, pattern of a line, a file that must name it, and how
MENTIONS = [
    ("ccl/kernels.def", r"^KERNEL\((\w+),\s*ref\b", "tests/unit/test_kernels.c", "ccl_{0}("),
]


def tracked_files() -> list[str]:
    """Files that git knows or would add."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return sorted(name for name in listed if (ROOT / name).is_file())


def read(name: str) -> str:
    """Text of a file of the tree."""
    return (ROOT / name).read_text("utf-8")


def without_comments(text: str) -> str:
    """C text with comments and string contents blanked, line structure kept."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


# ---- who includes whom ----


def allowed_includes() -> dict[str, set[str]]:
    """Read the table of docs/architecture.md: folder -> names it may include."""
    table = {}
    row = re.compile(r"^\| `([\w/]+)/` \|[^|]*\|([^|]*)\|$", re.MULTILINE)
    for folder, names in row.findall(read("docs/architecture.md")):
        table[folder] = {name.strip() for name in re.split("[,;:]", names)}
    return table


def owner_of(header: str, including: str) -> str | None:
    """Return who provides a header: a folder, a public header's own name, or None if it is free to all."""
    if (ROOT / Path(including).parent / header).exists():
        return Path(including).parent.as_posix()
    first = header.partition("/")[0]
    if "/" in header and (ROOT / "src" / first).is_dir():
        return first
    for folder, owner in BARE_FOLDERS.items():
        if (ROOT / folder / header).exists():
            return owner or header
    return None


def may_include(folder: str, allowed: set[str], owner: str, header: str) -> bool:
    """Return whether the table lets files of folder include a header of owner."""
    if owner == "isa" and folder != "ccl":
        return True  # lists of hardware and instructions are data for everyone but the kernels
    if {owner, header} & allowed or "all of src" in allowed:
        return True
    if (ROOT / "include" / owner).exists() and "include/ only" in allowed:
        return True
    if owner == "ccl.h" and (folder == "ccl" or "ccl" in allowed):
        return True
    return any(name.endswith("/") and header.startswith(name) for name in allowed)


def check_includes(files: list[str]) -> Iterator[str]:
    """Includes against the table."""
    table = allowed_includes()
    if len(table) < 8:
        yield "docs/architecture.md: the table of folders cannot be read"
    for name in files:
        folder = next((f for f in sorted(table, key=len, reverse=True) if name.startswith(f + "/")), None)
        if not folder or Path(name).suffix not in C_SUFFIXES:
            continue
        allowed, own = table[folder], folder.removeprefix("src/")
        for i, line in enumerate(read(name).splitlines(), 1):
            found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            owner = owner_of(found[1], name) if found else None
            if not found or owner is None or owner.startswith(folder) or owner in {own, "cgc.h"}:
                continue
            if may_include(folder, allowed, owner, found[1]):
                continue
            yield f"{name}:{i}: {folder}/ may not include {found[1]} (docs/architecture.md)"


# ---- words ----


def check_words(files: list[str]) -> Iterator[str]:
    """Find calls that would end the user's process, and unexplained TODOs."""
    call = re.compile(r"\b(abort|_?exit|quick_exit|assert)\s*\(|#\s*include\s*<assert\.h>")
    for name in files:
        if Path(name).suffix in C_SUFFIXES and name.startswith(LIBRARIES) and not name.startswith(COMMANDS):
            for i, line in enumerate(without_comments(read(name)).splitlines(), 1):
                if found := call.search(line):
                    yield f"{name}:{i}: {found[0].strip('( ')} in a library: return diag(...) instead"
        if Path(name).suffix in C_SUFFIXES | {".py", ".def"} and "check_tree" not in name:
            for i, line in enumerate(read(name).splitlines(), 1):
                if re.search(r"\b(TODO|FIXME|XXX)\b(?!: \S.{9})", line):
                    yield f"{name}:{i}: a TODO without its reason"


# ---- lists ----


def check_order(path: str, text: str, entries: list[tuple[str, ...]]) -> Iterator[str]:
    """Check that a list is sorted where it says so and says nothing twice."""
    names = [entry[0] for entry in entries]
    heading = text[:200]
    if "sorted by" in heading and names != sorted(names):
        first = next(a for a, b in zip(names, sorted(names), strict=True) if a != b)
        yield f"{path}: not sorted at '{first}'"
    if len(set(entries)) != len(entries):
        yield f"{path}: a line stands twice"


def check_mentions(path: str, pattern: str, place: str, wanted: str) -> Iterator[str]:
    """Check that a file names every line of a list."""
    for name in re.findall(pattern, read(path), re.MULTILINE):
        if wanted.format(name) not in read(place):
            yield f"{path}: '{name}' has no case in {place}"


def check_lists(files: list[str]) -> Iterator[str]:
    """Check that every line has its files, every file its line."""
    known = set(files)
    for path, pattern, templates, glob in LISTS:
        text = read(path)
        entries = [found.groups() for line in text.splitlines() if (found := re.match(pattern, line))]
        if not entries:
            yield f"{path}: no lines"
        for entry in entries:
            for template in templates:
                wanted = template.format(*entry)
                if not any(fnmatch.filter(known, choice) for choice in wanted.split("|")):
                    yield f"{path}: '{entry[0]}' has no {wanted}"
        yield from check_order(path, text, entries)
        names = [entry[0] for entry in entries]
        for file in sorted(ROOT.glob(glob)) if glob else []:
            if file.stem not in names:
                yield f"{path}: no line for {file.relative_to(ROOT)}"
    for path, pattern, place, wanted in MENTIONS:
        yield from check_mentions(path, pattern, place, wanted)


# ---- sizes and form ----


def long_functions(name: str, text: str) -> Iterator[str]:
    """C functions longer than the limit; `lint: long, <reason>` in the comment above excuses one."""
    lines = text.splitlines()
    start = None
    for i, line in enumerate(lines):
        if line == "{":
            start = i
        elif line == "}" and start is not None:
            excused = any("lint: long, " in above for above in lines[max(0, start - 6) : start])
            if i - start - 1 > MAX_FUNCTION_LINES and not excused:
                yield f"{name}:{start + 1}: function of {i - start - 1} lines, limit {MAX_FUNCTION_LINES}"
            start = None


def check_form(files: list[str]) -> Iterator[str]:
    """Licence lines and sizes."""
    for name in files:
        suffix = Path(name).suffix
        if suffix not in C_SUFFIXES | {".py", ".def", ".cmake"}:
            continue
        text = read(name)
        if "SPDX-License-Identifier: Apache-2.0" not in text[:200]:
            yield f"{name}:1: no SPDX line"
        count = text.count("\n")
        if count > MAX_FILE_LINES:
            yield f"{name}: {count} lines, limit {MAX_FILE_LINES}"
        if suffix in C_SUFFIXES:
            yield from long_functions(name, text)
            for i, line in enumerate(text.splitlines(), 1):
                if len(line) > MAX_C_COLUMNS:
                    yield f"{name}:{i}: {len(line)} columns, limit {MAX_C_COLUMNS}"


def main() -> int:
    """Run all checks."""
    files = tracked_files()
    findings = [*check_includes(files), *check_words(files), *check_lists(files), *check_form(files)]
    print("\n".join(findings) if findings else "tree: ok")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
