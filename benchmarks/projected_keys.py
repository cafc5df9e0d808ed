"""How much does it save to project the keys once per sentence, instead of at every decoder step?

Runs both ways in turn, in one process on one thread, and prints the ratio of the fastest rounds: machines are shared.
"""

import argparse
import time

import torch

from solutions.in_torch.scoring import AdditiveScore


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="rounds of each way (default: 20)")
    parser.add_argument("--steps", type=int, default=20, help="decoder steps in a round (default: 20)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    score = AdditiveScore(query_size=256, key_size=512, attention_size=256)
    queries, keys = torch.randn(options.steps, 64, 256), torch.randn(64, 50, 512)  # (steps, batch, n), (batch, T_x, m)

    def at_every_step():
        for query in queries:
            score(query, score.project_keys(keys))

    def once_per_sentence():
        projected_keys = score.project_keys(keys)
        for query in queries:
            score(query, projected_keys)

    times = {at_every_step: [], once_per_sentence: []}
    with torch.no_grad():
        for _ in range(options.rounds):
            for way, taken in times.items():
                began = time.process_time()
                way()
                taken.append(time.process_time() - began)
    fastest = {way: min(taken) for way, taken in times.items()}
    print(f"batch 64, T_x 50, n = a = 256, m = 512, {options.steps} steps, one thread, no gradient")
    for way, seconds in fastest.items():
        ratio = fastest[at_every_step] / seconds
        print(f"{way.__name__:18} {1000 * seconds / options.steps:7.2f} ms CPU a step   {ratio:5.2f} times as fast")


if __name__ == "__main__":
    main()
