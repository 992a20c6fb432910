"""`tvm-qnn generate`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tvm_qnn.cli.commands.options import Parsed, number_option, progress

if TYPE_CHECKING:
    from tvm_qnn.text.words import Words


def _ids(text: str) -> tuple[int, ...]:
    """Read numbers of tokens."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise ValueError
    return tuple(map(int, parts))


_IDS = Parsed("ids", _ids, "is not of the form 1,2,3")


@click.command()
@click.argument("model", type=click.Path(exists=True, path_type=Path))
@click.option("--prompt", metavar="TEXT", help="The beginning of the text.")
@click.option("--prompt-ids", type=_IDS, metavar="ID[,…]", help="The same as numbers of tokens.")
@number_option("--max-new-tokens", default=20, help_text="How many tokens to write at most.")
@click.option(
    "--temperature",
    default=0.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="0 for the likeliest token each time; above 0, tokens are drawn by their probabilities.",
)
@click.option("--top-k", type=click.IntRange(min=1), help="Draw among this many tokens only.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of random numbers.")
@click.option(
    "--stop",
    type=click.IntRange(min=0),
    multiple=True,
    metavar="ID",
    help="A token that ends the text; may be repeated.",
)
@click.option(
    "--max-length",
    type=click.IntRange(min=1),
    help="Tokens of the longest text; 512 by default, or as many as the model has positions for.",
)
@click.option("--threads", type=click.IntRange(min=1), help="How many threads to use.")
def generate(
    model: Path,
    prompt: str | None,
    prompt_ids: tuple[int, ...] | None,
    max_new_tokens: int,
    temperature: float,
    top_k: int | None,
    seed: int | None,
    stop: tuple[int, ...],
    max_length: int | None,
    threads: int | None,
) -> None:
    """Let MODEL, a language model, continue a text.

    MODEL is an ONNX file, or a folder that `Decoder.export` wrote. --prompt needs tokenizer.json
    beside MODEL and the package tokenizers, unless the model's tokens are bytes. The command prints
    the new text, or with --prompt-ids the numbers of the new tokens.
    """
    from tvm_qnn.io.progress import timed
    from tvm_qnn.text.decoder import decoder
    from tvm_qnn.text.words import words_of

    if (prompt is None) == (prompt_ids is None):
        raise click.UsageError("give either --prompt or --prompt-ids")
    with timed(progress(), f"Prepare {model.name}"):
        found = decoder(model, max_length=max_length, num_threads=threads)
    words = None if prompt is None else words_of(model, found.vocabulary)
    ids = words.encode(prompt) if words and prompt is not None else prompt_ids or ()
    tokens = found.stream(ids, max_new_tokens, temperature, top_k, seed, stop=stop)
    for piece in _numbers(tokens) if words is None else _pieces(tokens, words):
        click.echo(piece, nl=False)
    click.echo()


def _numbers(tokens: Iterator[int]) -> Iterator[str]:
    """Yield the numbers, with commas between them."""
    for place, token in enumerate(tokens):
        yield f",{token}" if place else str(token)


def _pieces(tokens: Iterator[int], words: Words) -> Iterator[str]:
    """Yield the text of tokens, each character once it is complete."""
    ids: list[int] = []
    shown = text = ""
    for token in tokens:
        ids.append(token)
        text = words.decode(ids)
        if not text.endswith("\ufffd"):
            yield text[len(shown) :]
            shown = text
    yield text[len(shown) :]
