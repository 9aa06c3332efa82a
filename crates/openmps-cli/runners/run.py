"""Runs the launch in this folder with PyTorch and compares what it writes with what is expected.

Usage: python run.py [--library]. Status 0: equal, 1: different. See README.md for the files.
"""

import ctypes
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def read_case():
    """The lines of case.txt by their first word, each as a list of words."""
    lines = (HERE / "case.txt").read_text().splitlines()
    if lines[0] != "openmps case 1":
        sys.exit(f"case.txt: expected 'openmps case 1', found {lines[0]!r}")
    case = {}
    for line in lines[1:]:
        word, *rest = line.split(" ", 1)
        case.setdefault(word, []).append(rest[0].split(" ") if rest else [])
    return case


CASE = read_case()
if "source" in CASE:
    version, math = CASE["source"][0]
    os.environ["PYTORCH_MPS_METAL_VERSION"] = version
    if math == "fast":
        os.environ["PYTORCH_MPS_FAST_MATH"] = "1"
    else:
        os.environ.pop("PYTORCH_MPS_FAST_MATH", None)

import torch  # noqa: E402 (after the variables that it reads)


class Region:
    """Memory of the device that stands for a region of the program's memory, at the same distance from a multiple of 256."""

    def __init__(self, number, address, state):
        self.old = int(address)
        self.number = number
        before = bytearray((HERE / f"region{number}.before").read_bytes())
        phase = self.old % 256
        self.bytes = before
        self.tensor = torch.zeros(phase + len(before), dtype=torch.uint8, device="mps")[phase:]
        self.is_written = state == "written"

    def new_address(self, target):
        return self.tensor.data_ptr() + target

    def fill(self):
        if self.bytes:
            self.tensor.copy_(torch.frombuffer(self.bytes, dtype=torch.uint8))


def move_addresses(regions, inline):
    """Writes the new addresses of regions where old ones stand, and says how to undo it."""
    undo = []
    for kind, holder, offset, region, target in CASE.get("address", []):
        holder, offset, region, target = int(holder), int(offset), regions[int(region)], int(target)
        held = regions[holder].bytes if kind == "region" else inline[holder]
        old, new = (address.to_bytes(8, "little") for address in (region.old + target, region.new_address(target)))
        if held[offset : offset + 8] == old:
            held[offset : offset + 8] = new
            if kind == "region":
                undo.append((holder, offset, new, old))
    return undo


def number_list(data):
    """Bytes as a list of integers and the cast that makes bytes of it again."""
    width, cast = next((width, cast) for width, cast in ((8, ""), (4, "int32"), (2, "int16"), (1, "uint8")) if len(data) % width == 0)
    parts = [data[place : place + width] for place in range(0, len(data), width)]
    return [int.from_bytes(part, "little", signed=True) for part in parts], cast


def arguments(regions, inline):
    """The kernel's arguments by buffer index, and their casts."""
    values, casts = {}, {}
    for index, kind, *rest in CASE.get("buffer", []):
        index = int(index)
        if kind == "region":
            region, offset, size = map(int, rest)
            values[index] = regions[region].tensor[offset : offset + size]
        elif kind == "bytes":
            values[index], casts[index] = number_list(inline[index])
        else:
            values[index] = torch.empty(0, device="mps")
    absent = torch.empty(0, device="mps")
    return [values.get(index, absent) for index in range(max(values, default=-1) + 1)], casts


def load(name):
    if "source" in CASE and "--library" not in sys.argv[1:]:
        library = torch.mps.compile_shader((HERE / "kernel.metal").read_text())
    else:
        library = torch.mps.load_metallib((HERE / "kernel.metallib").read_bytes())
    return getattr(library, name)


def compare(regions, undo):
    """Whether every written region holds what is expected."""
    equal = True
    for region in regions:
        if not region.is_written:
            continue
        expected = (HERE / f"region{region.number}.after").read_bytes()
        host = region.tensor.cpu()
        found = bytearray(ctypes.string_at(host.data_ptr(), host.numel()))
        for holder, offset, new, old in undo:
            if holder == region.number and found[offset : offset + 8] == new:
                found[offset : offset + 8] = old
        if found != expected:
            equal = False
            place = next(place for place, pair in enumerate(zip(found, expected)) if pair[0] != pair[1])
            count = sum(a != b for a, b in zip(found, expected))
            print(f"region {region.number}: {count} of {len(expected)} bytes differ, first byte {place}: "
                  f"expected 0x{expected[place]:02x}, got 0x{found[place]:02x}")
    return equal


def main():
    unsupported = [word for word in ("texture", "sampler", "threadgroup") if word in CASE]
    if unsupported:
        sys.exit(f"PyTorch cannot bind a {unsupported[0]}: use the runner in Rust")
    name = " ".join(CASE["kernel"][0])
    regions = [Region(int(number), address, state) for number, address, state in CASE.get("region", [])]
    inline = {int(index): bytearray.fromhex(rest[0] if rest else "") for index, kind, *rest in CASE.get("buffer", []) if kind == "bytes"}
    undo = move_addresses(regions, inline)
    for region in regions:
        region.fill()
    values, casts = arguments(regions, inline)
    threads, group = ([int(size) for size in CASE[word][0]] for word in ("threads", "group"))
    error = ""
    try:
        load(name)(*values, threads=threads, group_size=group, arg_casts=casts)
        torch.mps.synchronize()
    except torch.AcceleratorError as raised:
        error = str(raised)
    expected_error = " ".join(CASE.get("error", [[]])[0])
    if error and not expected_error:
        sys.exit(f"{name} failed: {error}")
    if expected_error and not error:
        sys.exit(f"{name} did not fail, expected: {expected_error}")
    if not compare(regions, undo):
        sys.exit(1)
    print(f"{name}: equal bit for bit")


if __name__ == "__main__":
    main()
