"""The trained models that the website shows and that prove the releases, with one byte for each parameter.

Chapters: book/capstone.md and book/spelling.md. ``python -m benchmarks.trainings`` makes the file of the capstone, and
``python -m benchmarks.comparisons --export`` that of spelling.
"""

from pathlib import Path

import numpy as np
import torch

from solutions.in_torch import capstone, spelling

TRAINED = {topic: Path(__file__).parent / "in_torch" / f"{topic}.npz" for topic in ("capstone", "spelling")}


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


def load_trained(topic, file=None):
    """Return the trained model of "capstone" or "spelling" from its quantised parameters, or from those in ``file``."""
    model = {"capstone": capstone, "spelling": spelling}[topic].build_model()
    with np.load(file or TRAINED[topic]) as arrays, torch.no_grad():
        for name, parameter in model.named_parameters():
            scale = arrays[f"{name}.scale"].reshape(-1, *[1] * (parameter.dim() - 1))
            parameter.copy_(torch.from_numpy(arrays[name] * scale))
    return model
