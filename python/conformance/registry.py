"""Downloads pinned files of package registries, through what is set up on this machine for pip and cargo.

A table names them: registry (`pypi` or `crates`), package, version, file, SHA-256. A file of another platform is as good as
any: nothing is installed and nothing of a package is run. What does not match its hash is not kept.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

TIMEOUT_SECONDS = 180


@dataclasses.dataclass(frozen=True)
class Pin:
    """A file of a registry."""

    registry: str
    package: str
    version: str
    file: str
    sha256: str


def read_table(path):
    """The pins of a table; lines that start with `#` are comments."""
    lines = (line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#"))
    return [Pin(*fields) for fields in lines]


def fetch(pin, folder):
    """The path of the pinned file in `folder`, downloaded if it is not there."""
    path = folder / pin.file
    if path.exists() and matches(path.read_bytes(), pin):
        return path
    content = {"pypi": from_pypi, "crates": from_crates}[pin.registry](pin)
    if not matches(content, pin):
        raise SystemExit(f"{pin.file}: its SHA-256 is not the one in the table, {pin.sha256}")
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{pin.file}.{os.getpid()}"
    temporary.write_bytes(content)
    temporary.rename(path)
    return path


def matches(content, pin):
    """Whether `content` is what the table pins."""
    return hashlib.sha256(content).hexdigest() == pin.sha256


def from_pypi(pin):
    """Reads the file's address from the index that pip uses."""
    page = f"{index_url().rstrip('/')}/{pin.package}/"
    request = urllib.request.Request(page, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
        files = json.load(answer)["files"]
    addresses = [file["url"] for file in files if file["filename"] == pin.file]
    if not addresses:
        raise SystemExit(f"{pin.package}: the index has no file {pin.file}")
    with urllib.request.urlopen(urllib.parse.urljoin(page, addresses[0]), timeout=TIMEOUT_SECONDS) as answer:
        return answer.read()


def index_url():
    """pip's index: what its configuration says, else its own default."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    from pip._internal.models.index import PyPI

    return os.environ.get("PIP_INDEX_URL") or asked.stdout.strip() or PyPI.simple_url


def from_crates(pin):
    """Lets cargo download the crate into a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        command = ["cargo", "info", f"{pin.package}@{pin.version}"]
        environment = {**os.environ, "CARGO_HOME": home, "PATH": os.environ["PATH"]}
        # Outside any workspace, which `cargo info` would read.
        subprocess.run(command, cwd=home, env=environment, check=True, capture_output=True)
        found = list(pathlib.Path(home).glob(f"registry/cache/*/{pin.file}"))
        if not found:
            raise SystemExit(f"{pin.package}: cargo did not leave {pin.file}")
        return found[0].read_bytes()
