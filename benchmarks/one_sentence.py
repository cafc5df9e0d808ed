"""Train the landing page's model, which translates one sentence with parameters of one decimal, and print it as shown there.

    python benchmarks/one_sentence.py

The encoder is left out: three annotations and the initial state are given. The decoder is trained to write a given word at
each step, and to attend to a given source word; for STOP it may attend anywhere. Rounding after training would change the
model, so it is trained with rounded parameters: each step computes with what will be printed, and the gradient bypasses the
rounding. Training takes a few seconds, and gives the same parameters each time.
"""

import argparse

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from solutions.in_torch.context import AdditiveAttention
from solutions.in_torch.decoder_fusion import DecoderStep, run_steps

KEYS = [[0.5, -1.0], [-0.5, 0.5], [1.0, 1.0]]  # annotations of reason, with, logic
STATE = [0.4, 0.2]
LOOKS = [2, 1, 1, 0]  # while तर्क, के, साथ and कारण are written
WORDS = 5  # these four, and STOP; among the words read, START takes the place of STOP
STEPS, RATE = 600, 0.05
LABEL_SMOOTHING = 0.2  # share of each target that is spread evenly, so that no parameter has to grow large


class Model(nn.Module):
    """The decoder of the landing page: words as one-hot vectors, two hidden units in the score, small enough to compute by hand."""

    def __init__(self):
        super().__init__()
        size = len(STATE)
        self.step = DecoderStep(AdditiveAttention(size, size, 2), WORDS, size, size)
        self.W_state = nn.Linear(size, WORDS, bias=False)
        self.W_context = nn.Linear(size, WORDS, bias=False)

    def forward(self):
        """Return the logits (5, 5) and the weights (5, 3) of all steps."""
        keys, state = torch.tensor([KEYS]).double(), torch.tensor([STATE]).double()
        states, weights = run_steps(self.step, state, torch.eye(WORDS).double()[None], keys)
        return (self.W_state(states) + self.W_context(weights @ keys))[0], weights[0]


def round_parameters(model):
    """Return a model's parameters rounded to one decimal, with gradients as if they were not rounded."""
    return {name: p + (torch.round(p, decimals=1) - p).detach() for name, p in model.named_parameters()}


def train(seed=0):
    """Train a model and return it with rounded parameters."""
    torch.manual_seed(seed)
    model = Model().double()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / STEPS)
    for _ in range(STEPS):
        logits, weights = torch.func.functional_call(model, round_parameters(model))
        loss = cross_entropy(logits, torch.arange(WORDS), label_smoothing=LABEL_SMOOTHING)
        loss = loss + cross_entropy(weights[: len(LOOKS)].log(), torch.tensor(LOOKS), label_smoothing=LABEL_SMOOTHING)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.load_state_dict(round_parameters(model))
    return model


def printed_parameters(model):
    """Return the model's parameters under their names on the landing page, as lists with one decimal."""
    step, score = model.step, model.step.attention.score
    parts = {
        "W_query": score.W_query.weight,
        "W_key": score.W_key.weight,
        "v": score.v.weight[0],
        "W_y": step.cell.weight_ih[:, :WORDS],
        "W_s": step.cell.weight_hh,
        "W_c": step.cell.weight_ih[:, WORDS:],
        "W_state": model.W_state.weight,
        "W_context": model.W_context.weight,
    }
    numbers = {name: (p.detach() + 0.0).tolist() for name, p in parts.items()}
    return {"keys": KEYS, "state": STATE} | numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of the numbers that the training begins with")
    model = train(parser.parse_args().seed)
    for name, numbers in printed_parameters(model).items():
        print(f'    "{name}": {numbers},')
    logits, weights = model()
    words = torch.softmax(logits, dim=1).diagonal()
    print("probability of each right word:", [round(p, 2) for p in words.tolist()])
    print("weights while it is written:   ", [[round(w, 2) for w in row] for row in weights.tolist()])


if __name__ == "__main__":
    main()
