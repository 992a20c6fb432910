"""The order in which to read the tutorials."""

_ORDER = (
    "deploy_tflite.py",
    "quantize_onnx.py",
    "generate_text.py",
    "quantize_mxnet.py",
    "raspberry_pi.py",
    "detector.py",
    "keyword_spotter.py",
    "ranges_to_integers.py",
    "quantized_matmul.py",
    "add_an_operator.py",
)


class ReadingOrder:
    """A sort key for the files of the tutorials, in sphinx-gallery's form."""

    def __init__(self, folder: str) -> None:
        """Take the folder of all tutorials."""

    def __call__(self, name: str) -> int:
        """Return the index of a file in this order; a file that is not listed is an error."""
        return _ORDER.index(name)
