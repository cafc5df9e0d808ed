"""The torch references compute on the device that holds their inputs, so they run on a GPU where there is one.

The device "meta", which has shapes and no values, stands in for a GPU: it refuses to mix with tensors on the CPU, too.
"""

import numpy as np
import pytest
import torch

from autograder.exercises.loading import reference_of
from solutions import answer_key
from solutions.in_torch import capstone
from tests.autograder.samples import topic_exercises

DEVICE = "cuda" if torch.cuda.is_available() else "meta"
EXERCISES = [e for topic in answer_key.topics() for e in topic_exercises(topic) if e.in_torch and e.kind == "code"]
CALLED = [e for e in EXERCISES if e.hidden]


@pytest.mark.parametrize("exercise", CALLED, ids=lambda exercise: exercise.name)
def test_a_reference_computes_where_its_inputs_are(exercise):
    # a loop over as many steps as a tensor says must read it, and "meta" has no values
    inputs = next(case.inputs for case in exercise.hidden if "limits" not in case.inputs)
    moved = {
        name: torch.from_numpy(np.array(item)).to(DEVICE) if isinstance(item, np.ndarray) else item
        for name, item in inputs.items()
    }
    result = reference_of(exercise)(**moved)
    tensors = result if isinstance(result, (tuple, list)) else [result]
    assert {tensor.device.type for tensor in tensors if isinstance(tensor, torch.Tensor)} <= {DEVICE}


class OnAGpu(torch.Tensor):
    """A tensor that numpy cannot read before it was copied to the CPU, as on a GPU."""

    def numpy(self, *args, **kwargs):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def cpu(self, *args, **kwargs):
        return self.as_subclass(torch.Tensor)


def test_weights_of_a_model_on_a_gpu_can_be_saved(tmp_path):
    class Model:
        def named_parameters(self):
            yield "weight", torch.ones(2, 3).as_subclass(OnAGpu)

    capstone.save_weights(Model(), tmp_path / "w.npz")
    with np.load(tmp_path / "w.npz") as arrays:
        np.testing.assert_array_equal(arrays["weight"], np.ones((2, 3), np.float32))
