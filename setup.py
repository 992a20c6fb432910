"""Packaging of tvm-qnn: what is installed, and which versions it needs and why.

`tools/runtime_wheel.py` makes the distribution for devices, with what stands here.
"""

import os
import re
import runpy
from pathlib import Path

LITERT = "ai-edge-litert==2.3.0"  # exact: LiteRT has changed how FULLY_CONNECTED rounds before

INSTALL = [
    # Operators are registered from Python on the stock wheel, and that uses interfaces which
    # TVM changes between releases.
    "apache-tvm==0.27.0.post1",
    # apache-tvm itself only asks for >=0.1.14.post0, but with 0.1.15 tvm.ir.save_json and
    # Schedule.tensorize of that apache-tvm end in a segmentation fault.
    "apache-tvm-ffi>=0.1.14.post0,<0.1.15",
    "numpy>=1.23.5,<3",  # the lower bound lets the `mxnet` extra, which needs 1.23.5, resolve
    "tflite>=2.18,<3",  # the TFLite schema as Python classes; 2.18 has every operator we read
    "flatbuffers>=24.3,<27",  # writes TFLite files (the tflite package only reads)
    "click>=8.1,<9",  # the command line
    "rich>=13.7,<16",  # its tables and progress display
    "tomli>=2,<3; python_version < '3.11'",  # reads TOML, as tomllib does from 3.11 on
]

PILLOW = "pillow>=10.1,<14"  # 10.1 has a font of any size

DEMO = [
    LITERT,  # every answer is checked against it, and timed against it
    PILLOW,  # reads the user's picture, and draws on it
    "matplotlib>=3.8,<4",  # draws the digits with prediction and truth
]

ONNX = [
    "onnx>=1.16,<2",
]

TEXT = [
    *ONNX,
    "tokenizers>=0.20,<1",  # text as the tokens of a language model
]

EVALUATE = [
    *DEMO,
    "pycocotools>=2.0.7,<3",  # COCO's figures of detectors
]

SERVE = [
    "mlserver>=1.7.1,<1.8",  # parts of it are used that its documentation does not promise
    "fastapi>=0.88,!=0.89.0,<0.116",  # as MLServer has it: one of its errors is answered anew
    PILLOW,  # reads the pictures of requests
]

# Of torch and its companions each release knows those of its own time.
TORCH = [
    "torch>=2.13,<2.14",
    "torchao>=0.18,<0.19",  # prepare_pt2e and convert_pt2e
    "executorch>=1.5,<1.6",  # the quantizer for XNNPACK, and the delegate, which is the oracle
]

TEST = [
    *EVALUATE,
    *ONNX,
    "onnxruntime>=1.20,<2",  # the oracle of ONNX models
    "scikit-learn>=1.5,<2",  # held-out digits for the trained model, and its training script
    # Ranges, not open ends: a new release of a checker must not break a build that was green.
    # ruff and mypy add checks in minor releases, so theirs are narrow.
    "hypothesis>=6.100,<7",
    "import-linter>=2.15,<3",
    "mypy>=2.4,<2.5",
    "pytest>=9,<10",
    "pytest-xdist>=3.6,<4",
    "apache-tvm[rpc]",  # its RPC server and tracker, which the tests run
    "ruff>=0.17.5,<0.18",
    "setuptools>=77",  # as in pyproject.toml: a test builds the wheel that it installs
]

BENCH = [
    *DEMO,
    *ONNX,
    # The peers that tvm-qnn is timed against. Ranges of known releases: what a peer's new one
    # computes, and how it is called, is to be looked at before its figures are quoted.
    "openvino>=2026.2,<2027; platform_machine == 'x86_64' or sys_platform == 'darwin'",
    "onnxruntime>=1.20,<2",
    # Converts models for ONNX Runtime, and needs TensorFlow to read them.
    "tf2onnx>=1.17,<2",
    "tensorflow-cpu>=2.18,<3; sys_platform == 'linux' and platform_machine == 'x86_64'",
]

HERE = Path(__file__).parent
VERSION = runpy.run_path(str(HERE / "tvm_qnn" / "version.py"))["__version__"]

# Where the project is published; the release workflow knows.
HOME = os.environ.get("TVM_QNN_HOME", "").rstrip("/")


def page(path: str) -> str:
    """Return a page as an index shows it: what it links beside itself is at home, or plain text."""
    text = (HERE / path).read_text(encoding="utf-8")
    target = rf"[\1]({HOME}/blob/v{VERSION}/\2)" if HOME else r"\1"
    return re.sub(r"\[([^]]+)\]\((?!https?:|#)([^)]+)\)", target, text)


ABOUT = {
    "version": VERSION,
    "author": "the tvm-qnn developers",
    "license_expression": "Apache-2.0",
    "python_requires": ">=3.10,<3.15",
    "long_description_content_type": "text/markdown",
    "project_urls": {
        "Source": HOME,
        "Documentation": f"{HOME}/tree/v{VERSION}/docs",
        "Changelog": f"{HOME}/blob/v{VERSION}/CHANGELOG.md",
        "Issues": f"{HOME}/issues",
    }
    if HOME
    else {},
    "keywords": ["quantization", "int8", "tflite", "onnx", "mxnet", "pytorch", "tvm", "compiler"],
    "classifiers": [
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3 :: Only",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)),
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Software Development :: Compilers",
        "Typing :: Typed",
    ],
}

if __name__ == "__main__":
    # Here, as others read what stands above, in processes that may have loaded distutils.
    from setuptools import find_packages, setup

    setup(
        name="tvm-qnn",
        description="Pre-quantized models compiled by TVM to integer code, bit for bit",
        long_description=page("README.md"),
        license_files=["LICENSE"],
        **ABOUT,
        packages=find_packages(
            include=[
                name + suffix
                for name in ("qnn_ops", "legalize", "frontends", "tvm_qnn")
                for suffix in ("", ".*")
            ]
        ),
        package_data={
            "": ["py.typed"],
            "tvm_qnn": [
                *("**/*.tflite", "**/*.onnx", "**/*.npz", "**/*.csv"),
                *("inspect/page.*", "io/page.html"),
                *("footprint/board/**", "standalone/templates/**"),
            ],
        },
        install_requires=INSTALL,
        extras_require={
            "demo": DEMO,
            "evaluate": EVALUATE,
            "ray": [*EVALUATE, "ray[data]>=2.60,<2.64"],  # evaluates on many machines
            # For an environment of its own: MLServer takes no protobuf of today.
            "serve": SERVE,
            "test-serve": [
                *SERVE,
                "tritonclient[grpc]>=2.42,<3",  # a real client
                "hypothesis>=6.100,<7",
                "pytest>=9,<10",
            ],
            "onnx": ONNX,
            "text": TEXT,
            "torch": TORCH,
            "test": TEST,
            "bench": BENCH,
            # Only for an environment of its own, on Python 3.10 or 3.11: MXNet is retired and does
            # not import on a numpy newer than 1.23.
            "mxnet": ["mxnet==1.9.1", "numpy==1.23.5"],
            "docs": [
                *DEMO,
                *ONNX,
                "onnxruntime>=1.20,<2",  # against which a tutorial holds a model
                "sphinx>=8,<10",
                "sphinx-click>=6,<7",  # the commands' reference
                "sphinx-gallery>=0.19,<1",  # renders the tutorials
                "myst-parser>=4,<6",  # pages in Markdown
                "furo>=2024.8.6",  # the theme
                "cloudpickle>=3,<4",  # TVM's RPC server, which a tutorial starts, needs it
            ],
        },
        entry_points={
            "console_scripts": ["tvm-qnn = tvm_qnn.cli:main"],
            "torch_dynamo_backends": ["tvm_qnn = tvm_qnn.dynamo:backend"],
        },
    )
