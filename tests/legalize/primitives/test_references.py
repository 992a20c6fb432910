import legalize.primitives  # noqa: F401 (gives operators their rules)
from legalize.primitives.references import REFERRED


def test_only_these_operators_are_their_references() -> None:
    # A new operator whose reference branches on values would be among them, and needs a rule.
    names = """
        decode_boxes dynamic_encoding dynamic_quantize fused_multiply_add quantize quantized_add
        quantized_concat quantized_lookup quantized_mean quantized_multiply quantized_pad
        quantized_prelu quantized_relu quantized_resize2d quantized_squared_difference
        quantized_subtract quantized_svdf quantized_svdf_state requantize
    """
    assert set(names.split()) == REFERRED
