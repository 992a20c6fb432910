"""Advice for the options and commands of TVM's former command tvmc."""

import click

_OPTIONS = {
    "--cross-compiler": "write --cc",
    "--dump-code": "see what a model computes with tvm-qnn inspect MODEL",
    "--executor": "leave it out, there is one executor",
    "--input-shapes": "write --shape NAME=1,3,224,224 for each input",
    "--inputs": "write --input FILE.npz",
    "--model-format": "leave it out, the file's name tells",
    "--outputs": "write --output FILE.npz",
    "--pass-config": "leave it out, the passes are chosen by the target",
    "--print-time": "time a model with tvm-qnn bench MODEL",
    "--print-top": "write --top",
    "--profile": "time each operator with tvm-qnn profile MODEL",
    "--repeat": "time a model with tvm-qnn bench MODEL",
    "--runtime": "leave it out, there is one runtime",
    "--tuning-records": "leave it out, kernels need no tuning",
}

_COMMANDS = {
    "micro": "write C files with tvm-qnn compile MODEL --target cortex-m4 -o FOLDER",
    "tune": "kernels need no tuning, so compile the model",
}


def hint(error: click.UsageError) -> str:
    """Return advice as a sentence if an error is about one of tvmc's words; otherwise nothing."""
    word, known = "", _OPTIONS
    if isinstance(error, click.NoSuchOption):
        word = error.option_name
    elif error.message.startswith("No such command '"):
        word, known = error.message.split("'")[1], _COMMANDS
    return f" Where tvmc has {word}: {known[word]}." if word in known else ""
