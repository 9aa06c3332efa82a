"""Takes Metal source texts out of downloaded packages: one file a unit, with its includes pasted in.

A unit is what one Metal library is built from: a `.metal` file with entry points, or a string literal in Python, C++, Objective-C or Rust that
holds whole kernels. Strings that a program still fills in (format strings, pieces of a concatenation) are not units; they
are counted. Nothing of a package is run.
"""

import ast
import hashlib
import pathlib
import re
import tarfile
import zipfile

# What a kernel's entry point looks like.
ENTRY = re.compile(r"\bkernel\s+(void|\[\[)|\[\[\s*(kernel|host_name)\b")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|import)[ \t]*([<"])([^>"]+)[>"].*$', re.MULTILINE)
PRAGMA_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once.*$", re.MULTILINE)
# The library's own headers, and what no package brings along.
SYSTEM = re.compile(r"^(metal_\w+|simd/simd\.h|MetalPerformancePrimitives/.*|tensor|TargetConditionals\.h)$")
TEXT_SUFFIXES = (".metal", ".msl", ".h", ".hpp", ".metalh", ".inc", ".py", ".rs", ".cpp", ".cc", ".mm", ".m", ".in")
FILE_BYTES_MAX = 8 << 20
# Other languages with a word `kernel`, and Metal's stages of graphics.
FOREIGN = re.compile(r"\bget_global_id\b|\b__global\b|\b__kernel\b|<<<")
PLACEHOLDER = re.compile(r"@\w+@|\{\{\s*[A-Za-z_]\w*\s*\}\}|\$\{\w+\}")
GRAPHICS = re.compile(r"^\s*(?:vertex|fragment)\s+\w|\[\[\s*(?:vertex|fragment|object|mesh)\b", re.MULTILINE)


def read_package(path):
    """The texts of an archive (wheel, sdist, crate, npm package), by their path in it."""
    texts = {}

    def add(name, read):
        parts = pathlib.PurePosixPath(name).parts
        if name.endswith(TEXT_SUFFIXES) and ".." not in parts:
            texts[name] = read().decode("utf-8", "replace").replace("\r\n", "\n")

    if path.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(path) as archive:
            for item in archive.infolist():
                if item.file_size <= FILE_BYTES_MAX:
                    add(item.filename, lambda item=item: archive.read(item))
    else:
        with tarfile.open(path) as archive:
            for item in archive:
                if item.isfile() and item.size <= FILE_BYTES_MAX:
                    add(item.name, lambda item=item: archive.extractfile(item).read())
    return texts


class Includer:
    """Pastes the package's own headers into a text, each once, as a compiler with include folders would."""

    def __init__(self, texts, shared):
        self.texts = shared | texts
        self.by_suffix = {}
        # A package's own file comes before another's of the same name.
        for name in (*sorted(texts, key=len), *sorted(shared, key=len)):
            parts = name.split("/")
            for start in range(len(parts)):
                self.by_suffix.setdefault("/".join(parts[start:]), name)

    def find(self, quoted_in, wanted):
        """The file that `wanted` names in the folder of `quoted_in`, a folder above it, or anywhere."""
        folder = pathlib.PurePosixPath(quoted_in).parent
        for base in (folder, *folder.parents):
            name = normalise(f"{base}/{wanted}")
            if name in self.texts:
                return name
        wanted = normalise(wanted).lstrip("./")
        # A build may put another folder before it, which the name says with a placeholder.
        return self.by_suffix.get(wanted) or self.by_suffix.get(wanted.partition("/")[2])

    def paste(self, name, text, once=None, inside=()):
        """`text`, which stands in file `name`, with the package's files in place of their includes.

        What the package lacks stays: a compiler that comes across it will say so.
        """
        once = {name} if once is None else once

        def replace(match):
            wanted = match[2]
            found = None if SYSTEM.match(wanted) else self.find(name, wanted)
            if found is None or found in inside:
                return match[0] if found is None else ""
            if found in once:
                return ""
            pasted = self.texts[found]
            if PRAGMA_ONCE.search(pasted):
                once.add(found)
            return self.paste(found, pasted, once, (*inside, found))

        return INCLUDE.sub(replace, PRAGMA_ONCE.sub("", text))


def normalise(path):
    """`a/./b/../c` as `a/c`."""
    parts = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def python_strings(text):
    """String constants of Python source, but for parts of f-strings and what `.format`, `%` and `.replace` fill in."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    filled = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            filled.update(id(value) for value in node.values)
        elif isinstance(node, ast.BinOp):
            filled.update((id(node.left), id(node.right)))
        elif isinstance(node, ast.Attribute):
            filled.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, id(node) in filled


C_STRING = re.compile(r'R"(?P<d>[^()\s"\\]{0,16})\((?P<raw>.*?)\)(?P=d)"|@?"(?P<s>(?:[^"\\\n]|\\.)*)"', re.DOTALL)
RUST_STRING = re.compile(r'r(?P<d>#*)"(?P<raw>.*?)"(?P=d)|"(?P<s>(?:[^"\\]|\\.)*)"', re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "", '"': '"', "\\": "\\", "'": "'", "0": "\0"}


def unescape(text):
    text = re.sub(r"\\\r?\n\s*", "", text)
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[0]), text)


def literals(text, pattern):
    """String literals of C++, Objective-C or Rust; neighbours are one, as in C."""
    run, end = [], None
    for match in pattern.finditer(text):
        value = match["raw"] if match["raw"] is not None else unescape(match["s"])
        between = text[end : match.start()] if end is not None else ""
        if end is not None and re.fullmatch(r"(\s|//[^\n]*\n|\\\n)*", between):
            run.append(value)
        else:
            yield "".join(run)
            run = [value]
        end = match.end()
    yield "".join(run)


def is_whole(text):
    """Whether brackets are balanced and nothing is left to fill in."""
    bare = re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", " ", text, flags=re.DOTALL)
    if any(bare.count(a) != bare.count(b) for a, b in ("{}", "()", "[]")):
        return False
    return not re.search(r"\{\{|\$\{?\w|%[sd]\b|@\w+@|\{\s*\w*\s*\}\s*(?:void|\w+\[\[)|<%", bare)


def is_filled_in(text):
    """Whether a file is a template of Jinja or of Python's `str.format`, which doubles the braces of code."""
    return bool(PLACEHOLDER.search(text)) or text.count("{{") * 3 > text.count("{") > 0


def strings(name, text):
    """Pairs of a string with Metal kernels in it and whether a program fills it in."""
    if name.endswith(".py"):
        yield from python_strings(text)
    elif name.endswith((".cpp", ".cc", ".mm", ".m", ".h", ".hpp", ".inc")):
        yield from ((value, False) for value in literals(text, C_STRING))
    elif name.endswith(".rs"):
        yield from ((value, False) for value in literals(text, RUST_STRING))


def units(texts, shared):
    """Yields (name, text) for whole units, and (name, None) for what a program fills in.

    `shared` are the headers of other packages that this one's sources include.
    """
    includer = Includer(texts, shared)
    for name, text in sorted(texts.items()):
        if name.endswith((".metal", ".msl", ".metalh")):
            pasted = includer.paste(name, text)
            if (ENTRY.search(pasted) or GRAPHICS.search(pasted)) and not FOREIGN.search(text):
                yield name, None if is_filled_in(text) else pasted
            continue
        if not ENTRY.search(text):
            continue
        for index, (value, filled) in enumerate(strings(name, text)):
            if not ENTRY.search(value) or value.count("\n") + value.count(";") < 2 or FOREIGN.search(value):
                continue
            is_unit = not filled and is_whole(value)
            yield f"{name}:{index}", includer.paste(name, value) if is_unit else None


def digest(text):
    """A short name for a content."""
    return hashlib.sha256(re.sub(r"\s+", " ", text).encode()).hexdigest()[:16]
