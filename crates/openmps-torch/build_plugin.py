"""Builds libopenmps_torch.so against the installed torch.

Usage: build_plugin.py --runtime _openmps.abi3.so --output libopenmps_torch.so [--build FOLDER]
                       [--jobs N]

Only changed files are compiled: an object is new when it is younger than its source, every header
it included (compiler's .d file) and the compiler's arguments.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib
import shlex
import subprocess
import sys

# The build must not need what it builds.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

import torch  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE / "csrc"
TORCH = pathlib.Path(torch.__file__).resolve().parent

COMPILE = [
    "g++", "-std=c++20", "-O2", "-g0", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra",
    "-Wno-unused-parameter", "-Wno-unknown-pragmas",
    f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
    # Warnings show where they come from; that should not be a folder of the build machine.
    f"-fmacro-prefix-map={SOURCES}=csrc",
    f"-I{SOURCES}", "-isystem", str(TORCH / "include"),
    "-isystem", str(TORCH / "include/torch/csrc/api/include"),
]  # fmt: skip


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")
    if done.stderr:
        print(done.stderr, file=sys.stderr)


def included_files(depend_file: pathlib.Path) -> list[pathlib.Path]:
    text = depend_file.read_text().replace("\\\n", " ")
    return [pathlib.Path(word) for word in text.split(":", 1)[1].split()]


def is_current(target: pathlib.Path, depend_file: pathlib.Path, stamp: pathlib.Path) -> bool:
    if not target.exists() or not depend_file.exists():
        return False
    made = target.stat().st_mtime
    inputs = [*included_files(depend_file), stamp]
    return all(path.exists() and path.stat().st_mtime <= made for path in inputs)


def compile_all(build: pathlib.Path, jobs: int) -> list[pathlib.Path]:
    stamp = build / "arguments"
    arguments = shlex.join(COMPILE) + torch.__version__
    if not stamp.exists() or stamp.read_text() != arguments:
        stamp.write_text(arguments)
    commands, objects = [], []
    sources = sorted([*SOURCES.glob("*.cpp"), *build.glob("autogen_*.cpp")])
    for source in sources:
        target = build / f"{source.stem}.o"
        depend_file = target.with_suffix(".d")
        objects.append(target)
        if not is_current(target, depend_file, stamp):
            commands.append(
                [*COMPILE, f"-I{build}", "-MD", "-MF", str(depend_file), "-c", str(source), "-o",
                 str(target)]
            )  # fmt: skip
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, commands))
    return objects


def link(objects: list[pathlib.Path], runtime: pathlib.Path, output: pathlib.Path) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    fresh = output.with_suffix(".fresh")
    run(
        ["g++", "-shared", "-o", str(fresh), *map(str, objects),
         f"-L{TORCH / 'lib'}", "-ltorch_cpu", "-lc10",
         f"-L{runtime.parent}", f"-l:{runtime.name}",
         # The runtime is the Python extension beside or above this library; torch is loaded.
         "-Wl,-rpath,$ORIGIN:$ORIGIN/..", "-Wl,--no-undefined", "-Wl,--gc-sections",
         "-Wl,--allow-shlib-undefined"]
    )  # fmt: skip
    # By rename: processes that start meanwhile see the old library or the new one, never half of it.
    fresh.replace(output)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runtime", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent.parent / "build/torch")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    build.mkdir(parents=True, exist_ok=True)
    run([sys.executable, str(HERE / "gen_ops.py"), str(build)])
    objects = compile_all(build, arguments.jobs)
    newest = max(path.stat().st_mtime for path in [*objects, arguments.runtime])
    if not arguments.output.exists() or arguments.output.stat().st_mtime < newest:
        link(objects, arguments.runtime.resolve(), arguments.output)


if __name__ == "__main__":
    main()
