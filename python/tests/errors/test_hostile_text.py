"""Shader text of any kind: `SyntaxError` for what is wrong, `RuntimeError` for what meets a limit, and the next text compiles."""

import pytest
import snippets
import torch

_KERNEL = "kernel void f(device float* x) { x[0] = 1; }\n"

_WRONG = {
    "unbalanced": "kernel void f(device float* x) { x[0] = 1;",
    "binary": bytes(range(128)).decode() * 20,
    "invalid characters": "kernel void f(device float* x) { x[0] = \u201c1\u201d; }",
    "brackets": "{" * 100_000,
    "parentheses": "constant int y = " + "(" * 100_000,
    "endless templates": "template <int N> struct A { static constexpr int v = A<N + 1>::v; }; static_assert(A<0>::v);" + _KERNEL,
    "endless constant": "constexpr int g() { for (;;) {} return 1; } static_assert(g());" + _KERNEL,
    # PyTorch itself pastes files that exist; the compiler sees only what it leaves.
    "file": "#include_next </etc/passwd>\n#import </dev/zero>\n" + _KERNEL,
    "gigantic array": "kernel void f(device char* x) { threadgroup char t[1ul << 40]; x[0] = t[x[1]]; }",
    "host function": 'extern "C" int system(const char*); kernel void f(device int* x) { x[0] = system(0); }',
    "inline assembly": 'kernel void f(device int* x) { asm("syscall"); }',
    "double": "kernel void f(device double* x) { x[0] = 1; }",
    "goto": "kernel void f(device int* x) { again: if (x[0]++ < 4) goto again; }",
}


@pytest.mark.parametrize("text", _WRONG.values(), ids=_WRONG)
def test_wrong_text_is_a_syntax_error(text):
    with pytest.raises(SyntaxError, match="program_source:"):
        torch.mps.compile_shader(text)
    x = torch.zeros(1, device="mps")
    torch.mps.compile_shader(_KERNEL).f(x)
    assert x.item() == 1


def test_text_without_kernels_is_a_library_without_kernels():
    for text in ("", "\n\n", "// nothing", "\0"):
        assert [name for name in dir(torch.mps.compile_shader(text)) if not name.startswith("_")] == []


def test_invalid_utf8_is_refused():
    with pytest.raises((TypeError, UnicodeError)):
        torch.mps.compile_shader("\udc80")


def test_limits_are_errors_that_name_their_setting():
    assert (
        snippets.output(
            """
            import torch

            macros = "#define M0 1,\\n" + "".join(f"#define M{i} M{i - 1} M{i - 1}\\n" for i in range(1, 41))
            kernel = "kernel void f(device float* x) { x[0] = 1; }"
            for text in (macros + "constant int t[] = {M40};", "constant int y = " + "!" * 3_000_000 + "1;"):
                try:
                    torch.mps.compile_shader(text)
                except RuntimeError as error:
                    words = ("OPENMPS_COMPILER_TIME_LIMIT", "OPENMPS_COMPILER_MEMORY_LIMIT", "SIGSEGV")
                    print(type(error).__name__, any(word in str(error) for word in words))
                x = torch.zeros(1, device="mps")
                torch.mps.compile_shader(kernel).f(x)
                print(x.item())
            """,
            OPENMPS_COMPILER_TIME_LIMIT="10",
            OPENMPS_COMPILER_MEMORY_LIMIT=str(2 << 30),
        )
        == "RuntimeError True\n1.0\nRuntimeError True\n1.0"
    )
