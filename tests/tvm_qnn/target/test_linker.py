import sys
from pathlib import Path

import pytest

from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tvm_qnn.target.linker import find_linker, shared_library_linker


def program(path: Path, body: str = "") -> Path:
    path.write_text(f"#!{sys.executable}\n{body}")
    path.chmod(0o755)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder on the path, empty; and no ziglang."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    return tmp_path


def test_the_first_compiler_on_the_path_links_or_the_named_one(folder: Path) -> None:
    for name in ("clang", "gcc", "cc"):
        compiler = program(folder / name)
        assert find_linker() == [str(compiler)]
    program(folder / "cc")
    cross = program(folder / "aarch64-linux-gnu-gcc")
    assert find_linker("aarch64-linux-gnu-gcc") == [str(cross)]
    assert find_linker(str(cross)) == [str(cross)]
    fails("no linker 'arm-cc' on the path", find_linker, "arm-cc")


def test_zig_links_without_a_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "ziglang" or None)
    assert find_linker() == [sys.executable, "-m", "ziglang", "cc"]
    compiler = program(folder / "cc")
    assert find_linker() == [str(compiler)]


@pytest.mark.parametrize("here", ["arm64-darwin", "x86_64-darwin"])
def test_macos_is_told_that_tvm_has_the_functions_that_code_calls(
    folder: Path, monkeypatch: pytest.MonkeyPatch, here: str
) -> None:
    monkeypatch.setattr("tvm_qnn.target.linker.this_platform", lambda: here)
    clang = program(folder / "clang")
    line = [str(clang), "-undefined", "dynamic_lookup"]
    assert find_linker() == line
    assert find_linker("clang", here.replace("-", "-apple-") + "23.1.0") == line
    assert find_linker("clang", "x86_64-linux-gnu")[1:] == [
        "--target=x86_64-linux-gnu",
        "-nostdlib",
    ]


def test_windows_links_with_clang_and_tvm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tvm_qnn.target.linker.this_platform", lambda: "amd64-win32")
    monkeypatch.setattr("tvm_ffi.libinfo.find_windows_implib", lambda: r"C:\tvm_ffi.lib")
    program(folder / "gcc")
    fails("clang is not on the path: install LLVM and the build tools", find_linker)
    clang = program(folder / "clang")
    assert find_linker() == [str(clang), r"C:\tvm_ffi.lib"]
    assert find_linker("clang", "x86_64-pc-windows-msvc") == [str(clang), r"C:\tvm_ffi.lib"]


def test_without_any_the_error_says_what_to_install(folder: Path) -> None:
    fails(r"needs a linker.*apt install gcc.*pip install ziglang", find_linker)
    fails(
        "no linker for riscv64-linux-gnu is known here: name one",
        find_linker,
        platform="riscv64-linux-gnu",
    )


PLATFORM = {"aarch64": "aarch64-linux-gnu", "arm": "armv7l-unknown-linux-gnueabihf"}
TRIPLE = {"aarch64": "aarch64-linux-gnu", "arm": "arm-linux-gnueabihf"}


@pytest.fixture(params=["aarch64", "arm"])
def architecture(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """An architecture that is not this machine's, which counts as x86-64."""
    monkeypatch.setattr("tvm_qnn.target.linker.this_platform", lambda: "x86_64-linux")
    return str(request.param)


def test_another_platform_takes_a_cross_linker(folder: Path, architecture: str) -> None:
    platform, triple = PLATFORM[architecture], TRIPLE[architecture]
    program(folder / "cc")
    clang = program(folder / "clang")
    fails(f"needs a cross linker, .*apt install gcc-{triple}", find_linker, platform=platform)
    linker = program(folder / f"{triple}-ld")
    assert find_linker(platform=platform) == [str(linker)]
    assert find_linker("clang", platform) == [str(clang), f"--target={triple}", "-nostdlib"]
    program(folder / "ld.lld")
    options = [f"--target={triple}", "-fuse-ld=lld", "-nostdlib"]
    assert find_linker(platform=platform) == [str(clang), *options]
    compiler = program(folder / f"{triple}-gcc")
    assert find_linker(platform=platform) == [str(compiler)]


def test_compilers_for_any_platform_are_told_which(folder: Path, architecture: str) -> None:
    platform, triple = PLATFORM[architecture], TRIPLE[architecture]
    names = ("clang", "clang-19", "zig", "clang-format", "my-cc")
    paths = {name: str(program(folder / name)) for name in names}
    options = {
        "clang": [f"--target={triple}", "-nostdlib"],
        "clang-19": [f"--target={triple}", "-nostdlib"],
        "zig": ["cc", "-target", triple, "-nostdlib"],
    }
    for name, path in paths.items():
        assert find_linker(name, platform) == [path, *options.get(name, [])]
        assert find_linker(path) == [path, *(["cc"] if name == "zig" else [])]


def test_zig_links_for_another_platform(
    folder: Path, architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "ziglang" or None)
    words = find_linker(platform=PLATFORM[architecture])
    options = ["-target", TRIPLE[architecture], "-nostdlib"]
    assert words == [sys.executable, "-m", "ziglang", "cc", *options]


def test_the_command_gets_objects_and_output(folder: Path) -> None:
    body = "import sys\nopen(sys.argv[sys.argv.index('-o') + 1], 'w').write(' '.join(sys.argv[1:]))"
    compiler = program(folder / "cc", body)
    output = folder / "library.so"
    shared_library_linker([str(compiler)])(str(output), ["a.o", "b.o"], ["-lm"])
    words = output.read_text().split()
    assert words[words.index("-o") + 1 :] == [str(output), "a.o", "b.o", "-lm"]
    assert "-shared" in words


def test_a_linker_that_fails_is_an_error(folder: Path) -> None:
    compiler = program(folder / "cc", "import sys\nsys.exit('cannot find a.o')")
    with pytest.raises(QnnError, match=r"linking with .*cc failed: cannot find a\.o"):
        shared_library_linker([str(compiler)])(str(folder / "library.so"), ["a.o"])
    broken = folder / "cc"
    broken.write_text("no program")
    broken.chmod(0o755)
    fails("cannot start", shared_library_linker([str(broken)]), str(folder / "library.so"), ["a.o"])
