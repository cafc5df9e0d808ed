"""The trained models that the website shows and that prove the releases, with one byte for each parameter.

Chapters: book/capstone.md, book/from_bahdanau_to_transformers.md and book/spelling.md. ``python -m benchmarks.trainings`` makes
the files of the small language, ``python -m benchmarks.wycliffe`` that of the verses, and
``python -m benchmarks.comparisons --export`` that of spelling.
"""

from pathlib import Path

import numpy as np
import torch

from solutions.in_torch import capstone, from_bahdanau_to_transformers, spelling

BUILDERS = {
    "capstone": capstone.build_model,
    "own": capstone.build_own,
    "blocks": from_bahdanau_to_transformers.build_blocks,
    "wycliffe": capstone.build_wycliffe,
    "spelling": spelling.build_model,
}
TRAINED = {name: Path(__file__).parent / "in_torch" / f"{name}.npz" for name in BUILDERS}


def quantize(model):
    """Return the parameters in one byte each: int8 arrays, and for each array the float32 ``scale`` of its rows.

    An entry of row k stands for entry * scale[k]; the largest of a row is 127 or -127.
    """
    arrays = {}
    for name, parameter in model.named_parameters():
        rows = parameter.detach().numpy().reshape(len(parameter), -1)
        scale = np.maximum(np.abs(rows).max(axis=1), 1e-12).astype(np.float32) / 127
        arrays[name] = np.round(rows / scale[:, None]).astype(np.int8).reshape(parameter.shape)
        arrays[f"{name}.scale"] = scale
    return arrays


def load_trained(name, file=None):
    """Return the trained model ``name``, one of ``BUILDERS``, from its quantised parameters, or from those in ``file``."""
    model = BUILDERS[name]()
    with np.load(file or TRAINED[name]) as arrays, torch.no_grad():
        for key, parameter in model.named_parameters():
            scale = arrays[f"{key}.scale"].reshape(-1, *[1] * (parameter.dim() - 1))
            parameter.copy_(torch.from_numpy(arrays[key] * scale))
    return model
