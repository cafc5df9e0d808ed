"""What does a decoder step of additive attention cost, written in four ways?

Ways: (1) the keys projected again at every step; (2) the form that "Dive into Deep Learning" publishes, which projects
them inside forward and keeps an axis for several queries; (3) our module, with the keys projected once per sentence;
(4) for inference only, tanh(q + k) = 1 - 2 / (1 + exp(2q) exp(2k)) with exp(2k) computed once per sentence.

All ways run in turn, round by round, in one process on one thread. Time is the process's CPU time. Memory is the bytes
that autograd keeps for the backward pass, with each storage counted once and without parameters and inputs, as seen by
torch.autograd.graph.saved_tensors_hooks; it does not include what a step allocates and frees again.
"""

import argparse
import statistics
import time

import torch
from torch import nn

from solutions.in_torch.context import AdditiveAttention

BATCH, SOURCE_LEN, QUERY_SIZE, KEY_SIZE, ATTENTION_SIZE = 64, 50, 256, 512, 256
MAX_PROJECTION = (
    20.0  # keeps exp(2q) exp(2k) far from overflow; where a projection is larger, way (4) is no longer exact
)
TITLES = {
    "keys at every step": "(1)",
    "d2l form": "(2)",
    "projected keys": "(3)",
    "exponential form": "(4)",
}


class SeveralQueries(nn.Module):
    """The published form: queries and keys each get an axis for the other, and W_k acts in every call."""

    def __init__(self, query_size, key_size, attention_size):
        super().__init__()
        self.W_q = nn.Linear(query_size, attention_size, bias=False)
        self.W_k = nn.Linear(key_size, attention_size, bias=False)
        self.w_v = nn.Linear(attention_size, 1, bias=False)

    def forward(self, queries, keys, lengths):
        hidden = torch.tanh(self.W_q(queries).unsqueeze(2) + self.W_k(keys).unsqueeze(1))  # (batch, 1, source_len, a)
        scores = self.w_v(hidden).squeeze(-1)  # (batch, 1, source_len)
        beyond = torch.arange(scores.shape[-1]) >= lengths[:, None, None]
        weights = torch.softmax(scores.masked_fill(beyond, -1e6), dim=-1)
        return torch.bmm(weights, keys)


class Ways:
    """The four ways with the same parameters. Each maps queries (steps, batch, query_size) to a list of contexts."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.attention = AdditiveAttention(QUERY_SIZE, KEY_SIZE, ATTENTION_SIZE)
        self.published = SeveralQueries(QUERY_SIZE, KEY_SIZE, ATTENTION_SIZE)
        score = self.attention.score
        for ours, theirs in ((score.W_query, "W_q"), (score.W_key, "W_k"), (score.v, "w_v")):
            getattr(self.published, theirs).weight.data.copy_(ours.weight.data)
        self.keys = torch.randn(BATCH, SOURCE_LEN, KEY_SIZE)
        self.lengths = torch.randint(1, SOURCE_LEN + 1, (BATCH,))
        self.mask = torch.arange(SOURCE_LEN) < self.lengths[:, None]
        self.parameters = [*self.attention.parameters(), *self.published.parameters()]

    def at_every_step(self, queries):
        return [self.attention(query, self.keys, self.mask)[0] for query in queries]

    def as_published(self, queries):
        return [self.published(query.unsqueeze(1), self.keys, self.lengths).squeeze(1) for query in queries]

    def projected_once(self, queries):
        projected_keys = self.attention.project_keys(self.keys)
        return [self.attention(query, self.keys, self.mask, projected_keys)[0] for query in queries]

    def by_exponentials(self, queries):
        """Drop sum(v) from score = sum(v) - 2 sum_a v_a / (1 + Q_a K_a): it is the same at every position."""
        score = self.attention.score
        K = score.project_keys(self.keys).clamp_(-MAX_PROJECTION, MAX_PROJECTION).mul_(2).exp_()
        v, hidden = -2 * score.v.weight.squeeze(0), torch.empty_like(K)
        pads = ~self.mask
        contexts = []
        for query in queries:
            Q = score.W_query(query).clamp_(-MAX_PROJECTION, MAX_PROJECTION).mul_(2).exp_()
            torch.mul(K, Q.unsqueeze(1), out=hidden).add_(1).reciprocal_()
            scores = (hidden @ v).masked_fill_(pads, torch.finfo(K.dtype).min)
            weights = torch.softmax(scores, dim=-1).masked_fill_(pads, 0.0)
            contexts.append((weights.unsqueeze(1) @ self.keys).squeeze(1))
        return contexts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each way (default: 9)")
    parser.add_argument("--steps", type=int, default=10, help="decoder steps in a round (default: 10)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ways = Ways(seed=0)
    queries = torch.randn(options.steps, BATCH, QUERY_SIZE)
    functions = (ways.at_every_step, ways.as_published, ways.projected_once, ways.by_exponentials)
    forms = dict(zip(TITLES, functions, strict=True))
    trained = {name: way for name, way in forms.items() if name != "exponential form"}
    print(f"batch {BATCH}, T_x {SOURCE_LEN}, n = a = {QUERY_SIZE}, m = {KEY_SIZE}, {options.steps} steps, one thread")
    _check_agreement(forms, queries)

    def infer(way):
        with torch.no_grad():
            way(queries)

    def learn(way):
        torch.stack(way(queries)).sum().backward()
        for parameter in ways.parameters:
            parameter.grad = None

    print("Speed-up over the d2l form in the fastest round, and in the median one:")
    _print_table("forward", _measure(forms, infer, options.rounds), options.steps)
    _print_table("forward, backward", _measure(trained, learn, options.rounds), options.steps)
    kept = {name: _saved_bytes(way, queries, ways) for name, way in trained.items()}
    print(f"\n{'kept for backward':22}    MiB  of d2l form")
    for name, size in kept.items():
        print(f"{TITLES[name]} {name:18} {size / 2**20:6.1f} {size / kept['d2l form']:6.2f}")


def _check_agreement(forms, queries):
    with torch.no_grad():
        contexts = {name: torch.stack(way(queries)) for name, way in forms.items()}
    for name, context in contexts.items():
        difference = (context - contexts["projected keys"]).abs().max().item()
        if not difference <= 1e-5:
            raise SystemExit(f"{name}: its context differs by {difference:.1e} from ours: nothing was measured.")
    print("All four give the same context, to 1e-5.")


def _measure(forms, run, rounds):
    """Return CPU seconds by form and round; the forms take turns, so that all see the same machine."""
    taken = {name: [] for name in forms}
    for _ in range(rounds + 1):
        for name, way in forms.items():
            began = time.process_time()
            run(way)
            taken[name].append(time.process_time() - began)
    return {name: times[1:] for name, times in taken.items()}  # the first round warms up


def _saved_bytes(way, queries, ways):
    """Return the bytes of all storages that autograd saves in one forward pass, parameters and inputs left out."""
    given = {tensor.untyped_storage().data_ptr() for tensor in (*ways.parameters, ways.keys, queries)}
    kept, alive = {}, []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in given:
            kept[storage.data_ptr()] = storage.nbytes()
            alive.append(tensor)  # so that no address is reused
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        way(queries)
    return sum(kept.values())


def _print_table(title, times, steps):
    """Print milliseconds per step (fastest round), and the speed-up over form (2) in the fastest and the median round.

    No line is longer than 44 characters, which fit on a phone.
    """
    print(f"\n{title:22} CPU ms  speed-up")
    for name, taken in times.items():
        ratio = min(times["d2l form"]) / min(taken)
        middle = statistics.median(theirs / ours for theirs, ours in zip(times["d2l form"], taken, strict=True))
        print(f"{TITLES[name]} {name:18} {1000 * min(taken) / steps:6.2f} {ratio:6.2f} ({middle:.2f})")


if __name__ == "__main__":
    main()
