"""Collects the public Metal sources that `./dev conformance msl` compiles.

``python -m conformance.msl [PACKAGE...]`` downloads the packages of ``msl_packages.txt`` (all, or those named), takes their
units (see ``msl_units``) and PyTorch's own headers out of the installed wheel, and writes them below ``msl/units`` of the cache
folder (see ``wheels``). It prints the path of a list, one unit a line, fields separated by tabs: file, versions of the
language, class, reason. The class is what ``msl_exceptions.txt`` says about a unit that does not compile, or empty.
"""

import fnmatch
import importlib.util
import pathlib
import re
import shutil
import sys

from conformance import msl_units, registry, wheels

FOLDER = pathlib.Path(__file__).parent
TORCH = "torch-2.15.0"
# Headers of other packages that sources include.
SHARED = ("mlx-metal", "mlx/backend/metal/kernels/")
# Kernels that torch compiles behind the prelude of one of its libraries; as headers they do not include what they use.
PRELUDE = (
    "#include <metal_stdlib>\n#include <c10/metal/utils.h>\n#include <c10/metal/reduction_utils.h>\n"
    "#include <c10/metal/error.h>\nusing namespace metal;\n"
)
WITH_PRELUDE = ("DecodeAttention", "Gemv", "MppAttention", "PrefillAttention", "SortMerge", "SortRadix", "SortTopK")
# Kernels that come behind another header in their library.
BEHIND = {"Gemv": "LinearAlgebra", "SortRadix": "SortMerge", "SortTopK": "SortMerge"}


def exceptions():
    """Triples of a pattern for `package/name`, a class and a reason."""
    lines = (FOLDER / "msl_exceptions.txt").read_text().splitlines()
    return [line.split(None, 2) for line in lines if line.strip() and not line.startswith("#")]


def torch_units():
    """Each header of `c10/metal` and `ATen/native/mps/kernels` of the installed wheel, with its includes pasted in."""
    root = pathlib.Path(importlib.util.find_spec("torch").origin).parent
    spec = importlib.util.spec_from_file_location("embed", root / "utils" / "_cpp_embed_headers.py")
    embed = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(embed)
    include = root / "include"
    for folder in ("c10/metal", "ATen/native/mps/kernels"):
        for path in sorted((include / folder).glob("*.h")):
            lines = PRELUDE if path.stem in WITH_PRELUDE else ""
            for name in (BEHIND.get(path.stem), path.stem):
                lines += f"#include <{folder}/{name}.h>\n" if name else ""
            yield f"{folder}/{path.name}", embed._embed_headers(lines.splitlines(True), [include], set())


def package_units(pin, shared):
    """The units of one package: pairs of name and text."""
    texts = msl_units.read_package(registry.fetch(pin, wheels.cache_folder() / "packages"))
    found = msl_units.units(texts, shared)
    return [(name, text) for name, text in found if text is not None]


def shared_headers(pins):
    """The headers that several packages include without shipping them."""
    package, folder = SHARED
    pin = next(pin for pin in pins if pin.package == package)
    texts = msl_units.read_package(registry.fetch(pin, wheels.cache_folder() / "packages"))
    return {name: text for name, text in texts.items() if folder in name and name.endswith(".h")}


def main(wanted):
    """Writes the units and the list."""
    pins = registry.read_table(FOLDER / "msl_packages.txt")
    folder = wheels.cache_folder() / "msl"
    shutil.rmtree(folder / "units", ignore_errors=True)
    shared = shared_headers(pins)
    known = exceptions()
    seen, lines = set(), []

    def add(package, name, text, versions):
        identity = f"{package}/{name}"
        if msl_units.digest(text) in seen:
            return
        seen.add(msl_units.digest(text))
        path = folder / "units" / package / (re.sub(r"[^\w.+-]", "_", name.removesuffix(".metal")) + ".metal")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        _, kind, reason = next((line for line in known if fnmatch.fnmatch(identity, line[0])), ("", "", ""))
        lines.append("\t".join((str(path), versions, kind, reason)))

    if not wanted or "torch" in wanted:
        for name, text in torch_units():
            add(TORCH, name, text, "3.2 4.0")
    for pin in pins:
        if wanted and pin.package not in wanted:
            continue
        for name, text in package_units(pin, shared):
            add(f"{pin.package}-{pin.version}", name.partition("/")[2] or name, text, "3.2")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "list.tsv").write_text("\n".join(lines) + "\n")
    print(folder / "list.tsv")


if __name__ == "__main__":
    main(sys.argv[1:])
