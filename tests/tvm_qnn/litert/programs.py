"""Programs as people write them for LiteRT's interpreter; each takes the module to import from."""

from typing import Any

import numpy as np


def made(module: Any, content: bytes, **options: Any) -> Any:
    """Return an interpreter on the kernels whose integers are the specification."""
    kernels = module.OpResolverType.BUILTIN_REF
    return module.Interpreter(
        model_content=content, experimental_op_resolver_type=kernels, num_threads=1, **options
    )


def classify(module: Any, content: bytes, picture: np.ndarray) -> list[tuple[int, float]]:
    """Print the five best classes of a picture, with their probabilities."""
    interpreter = made(module, content)
    interpreter.allocate_tensors()
    taken, given = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
    _, height, width, _ = taken["shape"]
    interpreter.set_tensor(taken["index"], picture[None, :height, :width].astype(taken["dtype"]))
    interpreter.invoke()
    scores = np.squeeze(interpreter.get_tensor(given["index"]))
    scale, zero_point = given["quantization"]
    best = np.argsort(scores, kind="stable")[-5:][::-1]
    return [(int(each), scale * (int(scores[each]) - zero_point)) for each in best]


def detect(module: Any, content: bytes, picture: np.ndarray) -> list[dict[str, Any]]:
    """List what a detector finds, from its four outputs."""
    interpreter = made(module, content)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], picture[None])
    interpreter.invoke()
    found = [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]
    boxes, classes, scores, count = (np.squeeze(each, 0) for each in found)
    return [
        {"box": boxes[i].tolist(), "class": int(classes[i]), "score": float(scores[i])}
        for i in range(int(count))
        if scores[i] >= 0.1
    ]


def segment(module: Any, content: bytes, picture: np.ndarray) -> np.ndarray:
    """Return the class of each pixel."""
    interpreter = made(module, content)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], picture[None])
    interpreter.invoke()
    scores = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    return np.argmax(scores[0], axis=-1).astype(np.uint8)


def listen(module: Any, content: bytes, frames: list[np.ndarray]) -> list[list[int]]:
    """Hear two recordings, frame by frame; the model keeps what it heard until it is reset."""
    interpreter = made(module, content)
    interpreter.allocate_tensors()
    taken = interpreter.get_input_details()[0]["index"]
    given = interpreter.get_output_details()[0]["index"]
    heard = []
    for _ in range(2):
        for frame in frames:
            interpreter.set_tensor(taken, frame)
            interpreter.invoke()
            heard.append(interpreter.get_tensor(given).ravel().tolist())
        interpreter.reset_all_variables()
    return heard


def find_pose(module: Any, content: bytes, picture: np.ndarray) -> list[tuple[float, ...]]:
    """Return position and score of each key point."""
    interpreter = made(module, content)
    interpreter.allocate_tensors()
    taken = interpreter.get_input_details()[0]
    interpreter.set_tensor(taken["index"], np.expand_dims(picture, 0).astype(taken["dtype"]))
    interpreter.invoke()
    points = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    return [tuple(each) for each in points.reshape(-1, points.shape[-1]).tolist()]


def read_text(module: Any, content: bytes, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Run a model of texts: its inputs are found by their names."""
    interpreter = made(module, content)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], arrays[detail["name"]])
    interpreter.invoke()
    results = interpreter.get_output_details()
    return [interpreter.get_tensor(detail["index"]) for detail in results]


def compare_embeddings(module: Any, content: bytes, pictures: list[np.ndarray]) -> np.ndarray:
    """Return the cosines between the embeddings of pictures."""
    interpreter = made(module, content)
    interpreter.allocate_tensors()
    given = interpreter.get_output_details()[0]
    scale, zero_point = given["quantization"]
    vectors = []
    for picture in pictures:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], picture[None])
        interpreter.invoke()
        whole = interpreter.get_tensor(given["index"]).astype(np.float32)
        vectors.append(scale * (whole.ravel() - zero_point))
    matrix = np.stack(vectors)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix @ matrix.T


def generate(module: Any, content: bytes, prompt: np.ndarray, steps: int) -> list[list[int]]:
    """Run one signature on a prompt, then another one on each result."""
    interpreter = made(module, content)
    assert set(interpreter.get_signature_list()) == {"prefill", "decode"}
    prefill = interpreter.get_signature_runner("prefill")
    decode = interpreter.get_signature_runner("decode")
    (name,) = decode.get_output_details()
    token = prefill(x=prompt)["h"][-1:]
    told = []
    for _ in range(steps):
        token = decode(x=token)[name]
        told.append(token.ravel().tolist())
    return told


def run_batches(module: Any, content: bytes, pictures: np.ndarray) -> list[np.ndarray]:
    """Resize a model to the pictures of each batch; the last batch has fewer."""
    interpreter = made(module, content)
    taken = interpreter.get_input_details()[0]["index"]
    given = interpreter.get_output_details()[0]["index"]
    classes = []
    for start in range(0, len(pictures), 3):
        batch = pictures[start : start + 3]
        interpreter.resize_tensor_input(taken, batch.shape)
        interpreter.resize_tensor_input(given, (len(batch), 10))
        interpreter.allocate_tensors()
        assert tuple(interpreter.get_output_details()[0]["shape"]) == (len(batch), 10)
        interpreter.set_tensor(taken, batch)
        interpreter.invoke()
        classes.append(interpreter.get_tensor(given))
    return classes


def fill_in_place(module: Any, content: bytes) -> list[list[int]]:
    """Write inputs and read outputs without copies."""
    interpreter = made(module, content)
    interpreter.allocate_tensors()
    taken = interpreter.tensor(interpreter.get_input_details()[0]["index"])
    given = interpreter.tensor(interpreter.get_output_details()[0]["index"])
    seen = []
    for level in (0, 100, 255):
        taken().fill(level)
        interpreter.invoke()
        seen.append(given().ravel().tolist())
    return seen
