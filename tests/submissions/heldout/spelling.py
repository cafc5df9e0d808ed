"""Answers written from the released notebook alone, before any was graded."""

import math

import numpy as np
import torch

# Edit distance


def edit_distance__wrong_substitution_costs_two(written, wanted):
    """The student let a substitution cost 2, a deletion and an insertion, so only insertions and deletions count."""
    n, m = len(written), len(wanted)
    D = np.zeros((n + 1, m + 1), dtype=int)
    D[:, 0] = np.arange(n + 1)
    D[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if written[i - 1] == wanted[j - 1] else 2
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + cost)
    return int(D[n, m])


def edit_distance__wrong_border_of_zeros(written, wanted):
    """The student left the first row and the first column of the table at 0, so edits at the front cost nothing."""
    n, m = len(written), len(wanted)
    D = np.zeros((n + 1, m + 1), dtype=int)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = int(written[i - 1] != wanted[j - 1])
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + cost)
    return int(D[n, m])


def edit_distance__wrong_first_row_of_zeros(written, wanted):
    """The student filled the first column but forgot the first row, so missing phonemes at the front cost nothing."""
    n, m = len(written), len(wanted)
    D = np.zeros((n + 1, m + 1), dtype=int)
    for i in range(n + 1):
        D[i, 0] = i
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = int(written[i - 1] != wanted[j - 1])
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + cost)
    return int(D[-1, -1])


def edit_distance__wrong_table_too_small(written, wanted):
    """The student made the table one row and one column too small, so the first number of each is never compared."""
    n, m = len(written), len(wanted)
    D = np.zeros((n, m), dtype=int)
    D[:, 0] = np.arange(n)
    D[0, :] = np.arange(m)
    for i in range(1, n):
        for j in range(1, m):
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + int(written[i] != wanted[j]))
    return int(D[-1, -1])


def edit_distance__wrong_last_left_out(written, wanted):
    """The student filled the whole table but returned the cell before the last, without the last number of each."""
    n, m = len(written), len(wanted)
    D = [[i + j if i * j == 0 else 0 for j in range(m + 1)] for i in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if written[i - 1] == wanted[j - 1] else 1
            D[i][j] = min(D[i - 1][j] + 1, D[i][j - 1] + 1, D[i - 1][j - 1] + cost)
    return D[n - 1][m - 1]


def edit_distance__wrong_place_by_place(written, wanted):
    """The student compared place by place and added the difference of the lengths, so one deletion shifts all the rest."""
    differing = sum(1 for a, b in zip(written, wanted) if a != b)
    return differing + abs(len(written) - len(wanted))


def edit_distance__wrong_order_ignored(written, wanted):
    """The student counted how often each number occurs in the two and ignored their order."""
    from collections import Counter

    a, b = Counter(list(map(int, written))), Counter(list(map(int, wanted)))
    return max(sum((a - b).values()), sum((b - a).values()))


def edit_distance__wrong_longest_minus_common(written, wanted):
    """The student subtracted the longest common subsequence from the longer length, as if all the rest could be substituted in place."""
    n, m = len(written), len(wanted)
    L = np.zeros((n + 1, m + 1), dtype=int)
    for i in range(n):
        for j in range(m):
            L[i + 1, j + 1] = L[i, j] + 1 if written[i] == wanted[j] else max(L[i, j + 1], L[i + 1, j])
    return int(max(n, m) - L[n, m])


def edit_distance__wrong_swap_is_one_edit(written, wanted):
    """The student let two neighbours that change places count as a single edit."""
    n, m = len(written), len(wanted)
    D = np.zeros((n + 1, m + 1), dtype=int)
    D[:, 0] = np.arange(n + 1)
    D[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = int(written[i - 1] != wanted[j - 1])
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + cost)
            if i > 1 and j > 1 and written[i - 1] == wanted[j - 2] and written[i - 2] == wanted[j - 1]:
                D[i, j] = min(D[i, j], D[i - 2, j - 2] + 1)
    return int(D[n, m])


def edit_distance__wrong_divided_by_length(written, wanted):
    """The student divided the edits by the number of wanted phonemes and returned an error rate."""
    n, m = len(written), len(wanted)
    D = np.zeros((n + 1, m + 1))
    D[:, 0] = np.arange(n + 1)
    D[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + (written[i - 1] != wanted[j - 1]))
    return float(D[n, m] / m)


def edit_distance__wrong_no_insertion(written, wanted):
    """The student wrote the same neighbour of the table twice, so inside the table nothing can be inserted."""
    n, m = len(written), len(wanted)
    D = np.zeros((n + 1, m + 1), dtype=int)
    D[:, 0] = np.arange(n + 1)
    D[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = int(written[i - 1] != wanted[j - 1])
            D[i, j] = min(D[i - 1, j] + 1, D[i - 1, j] + 1, D[i - 1, j - 1] + cost)
    return int(D[n, m])


def edit_distance__wrong_indicator_inverted(written, wanted):
    """The student added 1 on the diagonal where the two numbers are equal, and 0 where they differ."""
    n, m = len(written), len(wanted)
    D = np.zeros((n + 1, m + 1), dtype=int)
    D[:, 0] = np.arange(n + 1)
    D[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = int(written[i - 1] == wanted[j - 1])
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + cost)
    return int(D[n, m])


def edit_distance__wrong_diagonal_plus_neighbours_free(written, wanted):
    """The student forgot the 1 of an insertion and of a deletion: only substitutions cost."""
    n, m = len(written), len(wanted)
    D = np.zeros((n + 1, m + 1), dtype=int)
    D[:, 0] = np.arange(n + 1)
    D[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = int(written[i - 1] != wanted[j - 1])
            D[i, j] = min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1] + cost)
    return int(D[n, m])


def edit_distance__wrong_digits_compared(written, wanted):
    """The student joined the numbers to strings and counted edits of digits, so 25 for 8 costs two."""
    a, b = "".join(str(int(x)) for x in written), "".join(str(int(x)) for x in wanted)
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        new = [i]
        for j, y in enumerate(b, 1):
            new.append(min(row[j] + 1, new[-1] + 1, row[j - 1] + (x != y)))
        row = new
    return row[-1]


def edit_distance__wrong_greedy(written, wanted):
    """The student went through both at once and decided by the next number only, which does not always find the fewest edits."""
    i = j = edits = 0
    while i < len(written) and j < len(wanted):
        if written[i] == wanted[j]:
            i, j = i + 1, j + 1
        else:
            edits += 1
            if i + 1 < len(written) and written[i + 1] == wanted[j]:
                i += 1
            elif j + 1 < len(wanted) and written[i] == wanted[j + 1]:
                j += 1
            else:
                i, j = i + 1, j + 1
    return edits + len(written) - i + len(wanted) - j


def edit_distance__wrong_matching_blocks(written, wanted):
    """The student counted the changes of Python's difflib, which looks for long equal stretches and not for the fewest edits."""
    import difflib

    a, b = [int(x) for x in written], [int(x) for x in wanted]
    codes = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in codes if tag != "equal")


def edit_distance__wrong_repeats_merged(written, wanted):
    """The student merged equal neighbours into one before comparing, so a doubled phoneme costs nothing."""
    a = [int(x) for k, x in enumerate(written) if k == 0 or x != written[k - 1]]
    b = [int(x) for k, x in enumerate(wanted) if k == 0 or x != wanted[k - 1]]
    D = np.add.outer(np.arange(len(a) + 1), np.arange(len(b) + 1))
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + int(a[i - 1] != b[j - 1]))
    return int(D[-1, -1])


def edit_distance__wrong_lowest_of_last_row(written, wanted):
    """The student returned the lowest number of the last row, the distance to the best beginning of what is wanted."""
    n, m = len(written), len(wanted)
    D = np.zeros((n + 1, m + 1), dtype=int)
    D[:, 0] = np.arange(n + 1)
    D[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = int(written[i - 1] != wanted[j - 1])
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + cost)
    return int(D[n].min())


def edit_distance__wrong_no_minimum_where_they_differ(written, wanted):
    """The student always substituted where two numbers differ and inserted or deleted at the border of the table only."""
    n, m = len(written), len(wanted)
    D = np.zeros((n + 1, m + 1), dtype=int)
    D[:, 0] = np.arange(n + 1)
    D[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if written[i - 1] == wanted[j - 1]:
                D[i, j] = D[i - 1, j - 1]
            else:
                D[i, j] = D[i - 1, j - 1] + 1
    return int(D[n, m])


def edit_distance__right_two_rows(written, wanted):
    """Style: plain lists, and only the row before the one that is being filled."""
    before = list(range(len(wanted) + 1))
    for i, a in enumerate(written, 1):
        row = [i]
        for j, b in enumerate(wanted, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (0 if a == b else 1)))
        before = row
    return before[-1]


def edit_distance__right_memo(written, wanted):
    """Style: recursion from the end, with a memo of functools."""
    from functools import lru_cache

    @lru_cache(maxsize=None)
    def distance(i, j):
        if i == 0 or j == 0:
            return i + j
        if written[i - 1] == wanted[j - 1]:
            return distance(i - 1, j - 1)
        return 1 + min(distance(i - 1, j), distance(i, j - 1), distance(i - 1, j - 1))

    return distance(len(written), len(wanted))


def edit_distance__right_numpy_number(written, wanted):
    """Style: the whole row at once, the insertions by a running minimum; returned as numpy's int64."""
    places = np.arange(len(wanted) + 1)
    wanted = np.asarray(wanted)
    row = places.copy()
    for i in range(len(written)):
        cost = (wanted != written[i]).astype(np.int64)
        best = row + 1
        best[1:] = np.minimum(best[1:], row[:-1] + cost)
        row = np.minimum.accumulate(best - places) + places
    return row[-1]


def edit_distance__right_shortest_path(written, wanted):
    """Style: cheapest way through the grid of all (i, j), with a heap."""
    import heapq

    n, m = len(written), len(wanted)
    heap, done = [(0, 0, 0)], set()
    while heap:
        cost, i, j = heapq.heappop(heap)
        if (i, j) == (n, m):
            return cost
        if (i, j) in done:
            continue
        done.add((i, j))
        if i < n:
            heapq.heappush(heap, (cost + 1, i + 1, j))
        if j < m:
            heapq.heappush(heap, (cost + 1, i, j + 1))
        if i < n and j < m:
            heapq.heappush(heap, (cost + int(written[i] != wanted[j]), i + 1, j + 1))
    return None


def edit_distance__right_from_the_end(written, wanted):
    """Style: a table in a dict, of what remains to be done from each pair of places, filled backwards."""
    n, m = len(written), len(wanted)
    rest = {(n, j): m - j for j in range(m + 1)}
    rest.update({(i, m): n - i for i in range(n + 1)})
    for i in reversed(range(n)):
        for j in reversed(range(m)):
            rest[i, j] = min(
                1 + rest[i + 1, j], 1 + rest[i, j + 1], rest[i + 1, j + 1] + (1 - int(written[i] == wanted[j]))
            )
    return rest[0, 0]


# The alignment error rate


def alignment_error_rate__wrong_minus_one_is_last(links, hand):
    """The student used -1 as an index, so a phoneme without a link counts as linked to the last letter."""
    of_links = hand[np.arange(len(links)), links]
    sure, possible = (of_links == 2).sum(), (of_links >= 1).sum()
    return float(1 - (sure + possible) / (len(links) + (hand == 2).sum()))


def alignment_error_rate__wrong_hits_of_minus_one(links, hand):
    """The student left the missing links out of |A|, but looked them up in the last column when counting the hits."""
    of_links = hand[np.arange(len(links)), links]
    hits = (of_links == 2).sum() + (of_links >= 1).sum()
    return float(1 - hits / ((links >= 0).sum() + (hand == 2).sum()))


def alignment_error_rate__wrong_all_phonemes_counted(links, hand):
    """The student took the number of phonemes for |A|, those without a link among them."""
    hits = 0
    for i, j in enumerate(links):
        if j >= 0:
            hits += int(hand[i, j] == 2) + int(hand[i, j] > 0)
    return float(1 - hits / (len(links) + np.sum(hand == 2)))


def alignment_error_rate__wrong_sure_not_possible(links, hand):
    """The student counted as possible only the links with a 1, so a sure link counts once and not twice."""
    rows = np.flatnonzero(links >= 0)
    of_links = hand[rows, links[rows]]
    return float(1 - ((of_links == 2).sum() + (of_links == 1).sum()) / (len(rows) + (hand == 2).sum()))


def alignment_error_rate__wrong_not_from_one(links, hand):
    """The student forgot to subtract from 1 and returned how well the links agree."""
    rows = np.flatnonzero(links >= 0)
    of_links = hand[rows, links[rows]]
    return float(((of_links == 2).sum() + (of_links > 0).sum()) / (len(rows) + (hand == 2).sum()))


def alignment_error_rate__wrong_possible_below(links, hand):
    """The student added the number of possible links below the fraction bar, not that of the sure ones."""
    rows = np.flatnonzero(links >= 0)
    of_links = hand[rows, links[rows]]
    return float(1 - ((of_links == 2).sum() + (of_links > 0).sum()) / (len(rows) + (hand > 0).sum()))


def alignment_error_rate__wrong_sure_only(links, hand):
    """The student counted the sure hits twice and the possible ones not at all."""
    A = {(i, int(j)) for i, j in enumerate(links) if j >= 0}
    S = {(int(i), int(j)) for i, j in zip(*np.where(hand == 2))}
    return 1 - 2 * len(A & S) / (len(A) + len(S))


def alignment_error_rate__wrong_possible_only(links, hand):
    """The student counted the possible hits twice, as if each of them were sure."""
    A = {(i, int(j)) for i, j in enumerate(links) if j >= 0}
    S = {(int(i), int(j)) for i, j in zip(*np.where(hand == 2))}
    P = {(int(i), int(j)) for i, j in zip(*np.where(hand >= 1))}
    return 1 - 2 * len(A & P) / (len(A) + len(S))


def alignment_error_rate__wrong_first_letter_unlinked(links, hand):
    """The student tested for links above 0, so a link to the first letter counts as none."""
    rows = np.flatnonzero(links > 0)
    of_links = hand[rows, links[rows]]
    return float(1 - ((of_links == 2).sum() + (of_links > 0).sum()) / (len(rows) + (hand == 2).sum()))


def alignment_error_rate__wrong_counted_from_one(links, hand):
    """The student took the positions for ones counted from 1 and looked one letter too far to the left."""
    sure = possible = made = 0
    for i, j in enumerate(links):
        if j == -1:
            continue
        made += 1
        sure += hand[i, j - 1] == 2
        possible += hand[i, j - 1] >= 1
    return float(1 - (sure + possible) / (made + (hand == 2).sum()))


def alignment_error_rate__wrong_sure_of_linked_rows(links, hand):
    """The student dropped the phonemes without a link altogether, and with them their sure links in |S|."""
    keep = links >= 0
    links, hand = links[keep], hand[keep]
    of_links = hand[np.arange(len(links)), links]
    return float(1 - ((of_links == 2).sum() + (of_links > 0).sum()) / (len(links) + (hand == 2).sum()))


def alignment_error_rate__wrong_one_sure_per_phoneme(links, hand):
    """The student counted the phonemes that have a sure link, though one may have several of them."""
    rows = np.flatnonzero(links >= 0)
    of_links = hand[rows, links[rows]]
    sure = (hand == 2).any(axis=1).sum()
    return float(1 - ((of_links == 2).sum() + (of_links > 0).sum()) / (len(rows) + sure))


def alignment_error_rate__wrong_sum_of_twos(links, hand):
    """The student summed the entries 2 for |S|, so each sure link counts double below the fraction bar."""
    rows = np.flatnonzero(links >= 0)
    hits = hand[rows, links[rows]].sum()
    return float(1 - hits / (len(rows) + hand[hand == 2].sum()))


def alignment_error_rate__wrong_union_below(links, hand):
    """The student divided by the size of the union of A and S, not by the sum of their sizes."""
    A = {(i, int(j)) for i, j in enumerate(links) if j >= 0}
    S = {(int(i), int(j)) for i, j in zip(*np.where(hand == 2))}
    P = {(int(i), int(j)) for i, j in zip(*np.where(hand >= 1))}
    return 1 - (len(A & S) + len(A & P)) / len(A | S)


def alignment_error_rate__wrong_mean_of_precision_and_recall(links, hand):
    """The student took 1 minus the mean of precision and recall, which divide by |A| and by |S| separately."""
    A = {(i, int(j)) for i, j in enumerate(links) if j >= 0}
    S = {(int(i), int(j)) for i, j in zip(*np.where(hand == 2))}
    P = {(int(i), int(j)) for i, j in zip(*np.where(hand >= 1))}
    recall = len(A & S) / len(S) if S else 1.0
    return 1 - (len(A & P) / len(A) + recall) / 2


def alignment_error_rate__wrong_rounded(links, hand):
    """The student rounded the rate to two decimals."""
    rows = np.flatnonzero(links >= 0)
    of_links = hand[rows, links[rows]]
    return round(float(1 - ((of_links == 2).sum() + (of_links > 0).sum()) / (len(rows) + (hand == 2).sum())), 2)


def alignment_error_rate__wrong_sure_exchanged(links, hand):
    """The student took 1 for the sure links and 2 for those that are only possible."""
    rows = np.flatnonzero(links >= 0)
    of_links = hand[rows, links[rows]]
    return float(1 - ((of_links == 1).sum() + (of_links > 0).sum()) / (len(rows) + (hand == 1).sum()))


def alignment_error_rate__wrong_share_of_misses(links, hand):
    """The student returned the share of links that are not possible by hand, which is 1 minus the precision alone."""
    rows = np.flatnonzero(links >= 0)
    return float(np.mean(hand[rows, links[rows]] == 0))


def alignment_error_rate__right_sets(links, hand):
    """Style: three sets of pairs, as in the equation."""
    A = {(i, int(j)) for i, j in enumerate(links) if j != -1}
    S = {(int(i), int(j)) for i, j in np.argwhere(hand == 2)}
    P = S | {(int(i), int(j)) for i, j in np.argwhere(hand == 1)}
    return 1 - (len(A & S) + len(A & P)) / (len(A) + len(S))


def alignment_error_rate__right_one_hot(links, hand):
    """Style: a truth table of the links, of the shape of hand, and products of truth tables; returned as numpy's float64."""
    made = links[:, np.newaxis] == np.arange(hand.shape[1])
    sure, possible = hand == 2, hand != 0
    return 1.0 - (np.sum(made & sure) + np.sum(made & possible)) / (made.sum() + sure.sum())


def alignment_error_rate__right_sum_of_entries(links, hand):
    """Style: a sure hit counts twice and a possible one once, which is just what hand holds, so its entries are summed."""
    linked = np.where(links >= 0)[0]
    hits = hand[linked, links[linked]].sum()
    total = linked.size + np.count_nonzero(hand == 2)
    return float((total - hits) / total)


def alignment_error_rate__right_loop(links, hand):
    """Style: plain loops over phonemes and letters, and a fraction that becomes a float at the end."""
    from fractions import Fraction

    above = below = 0
    for link, row in zip(links.tolist(), hand.tolist()):
        for letter, kind in enumerate(row):
            below += (kind == 2) + (letter == link)
            if letter == link:
                above += min(kind, 1) + kind // 2
    return float(1 - Fraction(above, below))


def alignment_error_rate__right_extra_column(links, hand):
    """Style: a column of zeros is appended, so that -1 finds no link there."""
    padded = np.hstack([hand, np.zeros((hand.shape[0], 1), dtype=hand.dtype)])
    found = np.take_along_axis(padded, links.reshape(-1, 1), axis=1)
    hits = (found == 2).sum() + (found > 0).sum()
    return 1 - hits.item() / ((links > -1).sum() + (padded == 2).sum()).item()


def alignment_error_rate__right_torch(links, hand):
    """Style: torch in double precision, gathered where there is a link."""
    links, hand = torch.as_tensor(links), torch.as_tensor(hand)
    real = links >= 0
    kinds = hand.gather(1, links.clamp(min=0).unsqueeze(1)).squeeze(1) * real
    hits = (kinds == 2).sum() + (kinds >= 1).sum()
    return 1 - hits.double().item() / (real.sum() + (hand == 2).sum()).item()


# Two iterations of EM by hand


def em_by_hand__wrong_third_word_forgotten():
    """The student forgot the word *o* in both maximisations."""
    return {
        "n": [0.5, 0.25, 0.25],
        "o": [0.5, 0.25, 0.25],
        "shares": [0.5, 0.5, 0.5, 0.5],
        "again": [0.5, 0.25],
    }


def em_by_hand__wrong_shares_over_phonemes():
    """The student let the phonemes of a word share each letter, not the letters each phoneme."""
    data = [("no", ["N", "OW"]), ("on", ["AA", "N"]), ("o", ["OW"])]
    t = {(p, c): 1 / 3 for p in ("N", "OW", "AA") for c in "no"}
    tables, shares = [], None
    for _ in range(2):
        counts = dict.fromkeys(t, 0.0)
        shares = {}
        for word, phonemes in data:
            for c in word:
                for p in phonemes:
                    shares[word, p, c] = t[p, c] / sum(t[q, c] for q in phonemes)
                    counts[p, c] += shares[word, p, c]
        t = {(p, c): counts[p, c] / sum(counts[q, c] for q in ("N", "OW", "AA")) for p, c in t}
        tables.append(t)
    first, second = tables
    return {
        "n": [round(first[p, "n"], 4) for p in ("N", "OW", "AA")],
        "o": [round(first[p, "o"], 4) for p in ("N", "OW", "AA")],
        "shares": [
            round(shares[k], 4) for k in (("no", "N", "n"), ("no", "OW", "o"), ("on", "AA", "o"), ("on", "N", "n"))
        ],
        "again": [round(second["N", "n"], 4), round(second["OW", "o"], 4)],
    }


def em_by_hand__wrong_null_letter():
    """The student added an empty letter to each word, to which phonemes can belong, too."""
    data = [("no_", ["N", "OW"]), ("on_", ["AA", "N"]), ("o_", ["OW"])]
    t = {(p, c): 1 / 3 for p in ("N", "OW", "AA") for c in "no_"}
    tables, shares = [], None
    for _ in range(2):
        counts = dict.fromkeys(t, 0.0)
        shares = {}
        for word, phonemes in data:
            for p in phonemes:
                for c in word:
                    shares[word, p, c] = t[p, c] / sum(t[p, d] for d in word)
                    counts[p, c] += shares[word, p, c]
        t = {(p, c): counts[p, c] / sum(counts[q, c] for q in ("N", "OW", "AA")) for p, c in t}
        tables.append(t)
    first, second = tables
    return {
        "n": [round(first[p, "n"], 4) for p in ("N", "OW", "AA")],
        "o": [round(first[p, "o"], 4) for p in ("N", "OW", "AA")],
        "shares": [
            round(shares[k], 4) for k in (("no_", "N", "n"), ("no_", "OW", "o"), ("on_", "AA", "o"), ("on_", "N", "n"))
        ],
        "again": [round(second["N", "n"], 4), round(second["OW", "o"], 4)],
    }


def em_by_hand__wrong_normalised_over_letters():
    """The student divided the counts of a phoneme by their sum over the letters, and got t(letter given phoneme)."""
    n = [1 / 2, 0.5 / 2, 0.5 / 1]
    o = [1 / 2, 1.5 / 2, 0.5 / 1]
    shares = [0.5, 0.75, 0.5, 0.5]
    return {"n": n, "o": o, "shares": shares, "again": [round(1 / 2, 4), round(1.75 / 2, 4)]}


def em_by_hand__wrong_again_not_normalised():
    """The student returned the counts of the second expectation and forgot to divide them by their sums."""
    return {
        "n": [0.5, 0.25, 0.25],
        "o": [0.3333, 0.5, 0.1667],
        "shares": [0.6, 0.6667, 0.4, 0.6],
        "again": [1.2, 1.6667],
    }


def em_by_hand__wrong_first_table_again():
    """The student left out the second maximisation and returned the numbers of the first as `again`."""
    return {
        "n": [0.5, 0.25, 0.25],
        "o": [0.3333, 0.5, 0.1667],
        "shares": [0.6, 0.6667, 0.4, 0.6],
        "again": [0.5, 0.5],
    }


def em_by_hand__wrong_shares_of_other_letter():
    """The student returned the share of the other letter in each of the four phonemes."""
    return {
        "n": [0.5, 0.25, 0.25],
        "o": [0.3333, 0.5, 0.1667],
        "shares": [0.4, 0.3333, 0.6, 0.4],
        "again": [0.5625, 0.5814],
    }


def em_by_hand__wrong_rounded_early():
    """The student rounded the first table to two decimals and went on with these."""
    n = {"N": 0.5, "OW": 0.25, "AA": 0.25}
    o = {"N": 0.33, "OW": 0.5, "AA": 0.17}
    shares = [0.5 / 0.83, 0.5 / 0.75, 0.17 / 0.42, 0.5 / 0.83]
    count_n = [shares[0] + shares[3], 1 - shares[1], 1 - shares[2]]
    count_o = [shares[1] + 1, 2 - shares[0] - shares[3], shares[2]]
    return {
        "n": [n["N"], n["OW"], n["AA"]],
        "o": [o["N"], o["OW"], o["AA"]],
        "shares": [round(x, 4) for x in shares],
        "again": [round(count_n[0] / sum(count_n), 4), round(count_o[0] / sum(count_o), 4)],
    }


def em_by_hand__wrong_alphabetical():
    """The student listed the phonemes in alphabetical order, AA, N and OW."""
    return {
        "n": [0.25, 0.5, 0.25],
        "o": [0.1667, 0.3333, 0.5],
        "shares": [0.6, 0.6667, 0.4, 0.6],
        "again": [0.5625, 0.5814],
    }


def em_by_hand__wrong_o_of_third_word_halved():
    """The student counted the OW of *o* as one half, as if there, too, two letters shared it."""
    n = np.array([1, 0.5, 0.5]) / 2
    o = np.array([1, 1, 0.5]) / 2.5
    shares = [n[0] / (n[0] + o[0]), o[1] / (n[1] + o[1]), o[2] / (n[2] + o[2]), n[0] / (n[0] + o[0])]
    count_n = [shares[0] + shares[3], 1 - shares[1], 1 - shares[2]]
    count_o = [2 - shares[0] - shares[3], shares[1] + 0.5, shares[2]]
    return {
        "n": n.tolist(),
        "o": o.tolist(),
        "shares": np.round(shares, 4).tolist(),
        "again": [round(count_n[0] / sum(count_n), 4), round(count_o[1] / sum(count_o), 4)],
    }


def em_by_hand__right_literal():
    """Style: the numbers of pencil and paper."""
    return {
        "n": [0.5, 0.25, 0.25],
        "o": [0.3333, 0.5, 0.1667],
        "shares": [0.6, 0.6667, 0.4, 0.6],
        "again": [0.5625, 0.5814],
    }


def em_by_hand__right_arrays():
    """Style: an array t of phonemes by letters, words as index lists, and lists of numpy numbers that are not rounded."""
    words = [([0, 1], [0, 1]), ([1, 0], [2, 0]), ([1], [1])]
    t = np.full((3, 2), 1 / 3)
    tables, shares = [], []
    for _ in range(2):
        counts = np.zeros((3, 2))
        shares = []
        for letters, phonemes in words:
            part = t[np.ix_(phonemes, letters)]
            part = part / part.sum(axis=1, keepdims=True)
            shares.append(part)
            counts[np.ix_(phonemes, letters)] += part
        t = counts / counts.sum(axis=0)
        tables.append(t)
    return {
        "n": list(tables[0][:, 0]),
        "o": list(tables[0][:, 1]),
        "shares": [shares[0][0, 0], shares[0][1, 1], shares[1][0, 0], shares[1][1, 1]],
        "again": [t[0, 0], t[1, 1]],
    }


def em_by_hand__right_fractions_cut_off():
    """Style: exact fractions, cut off after four decimals."""
    from fractions import Fraction as F

    t = {"n": {"N": F(1, 3), "OW": F(1, 3), "AA": F(1, 3)}, "o": {"N": F(1, 3), "OW": F(1, 3), "AA": F(1, 3)}}
    history = []
    for _ in range(2):
        counts = {c: dict.fromkeys(t[c], F(0)) for c in t}
        share = {}
        for word, sounds in {"no": ["N", "OW"], "on": ["AA", "N"], "o": ["OW"]}.items():
            for sound in sounds:
                total = sum(t[c][sound] for c in word)
                for c in word:
                    share[word, sound, c] = t[c][sound] / total
                    counts[c][sound] += share[word, sound, c]
        t = {c: {p: counts[c][p] / sum(counts[c].values()) for p in counts[c]} for c in counts}
        history.append(t)

    def cut(x):
        return math.floor(x * 10000) / 10000

    asked = [("no", "N", "n"), ("no", "OW", "o"), ("on", "AA", "o"), ("on", "N", "n")]
    return {
        "n": [cut(history[0]["n"][p]) for p in ("N", "OW", "AA")],
        "o": [cut(history[0]["o"][p]) for p in ("N", "OW", "AA")],
        "shares": [cut(share[key]) for key in asked],
        "again": [cut(t["n"]["N"]), cut(t["o"]["OW"])],
    }


# Sort twenty errors
