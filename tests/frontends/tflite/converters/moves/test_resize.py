from tests.differential.moves import resize
from tests.support.steps import compiled
from tests.support.tflite import one, refused, x

test_resizing_equals_litert = compiled(resize, count=6)


test_a_size_that_does_not_fit = refused(
    (
        r"must be height and width, .* each way, got \(7,\)",
        one("RESIZE_BILINEAR", x(1, 4, 5, 3), [7]),
    )
)
