import math
import numpy as np
import torch

def _sm(x): e = [math.exp(a) for a in x]; return [a / sum(e) for a in e]
_E, _A, _J, _M = [.5, -.3, 1.2, .1], [.48, .3, .16, .06], [.1, .5, .15, .25], [.8, -.5, 1.3]

def weights_by_hand_twin__right_cut():
    "Cut off after four decimals, as a tuple."
    return tuple(math.floor(w * 1e4) / 1e4 for w in _sm(_E))

def score_differences__right_one_by_one():
    "Subtracts logarithms, in an array."
    return np.log(_A[0]) - np.log(_A[1:])


# ---- masked_softmax
def _ms(s, m):
    x = np.where(m, s, -np.inf); t = x.max(1, keepdims=True); e = np.exp(x - np.where(np.isfinite(t), t, 0))
    z = e.sum(1, keepdims=True); return e / np.where(z == 0, 1, z)
def masked_softmax__wrong_subtle_multiplied(scores, source_mask=None):
    "Takes a masked score that is exactly 0 for a pad's, so that a real word with score 0 has no weight."
    if source_mask is None: return _ms(scores, True)
    x = np.where(source_mask, scores, 0); return _ms(x, x != 0)
def masked_softmax__right_selection(scores, source_mask=None):
    "Selects the real words of each row with its mask and fills a new array, passing over empty rows."
    out = np.zeros_like(scores)
    for b, s in enumerate(scores):
        m = slice(None) if source_mask is None else source_mask[b]
        if s[m].size: e = np.exp(s[m] - s[m].max()); out[b, m] = e / e.sum()
    return out
def masked_softmax__right_torch(scores, source_mask=None):
    "Uses torch.softmax with minus infinity and turns the nan of empty rows into 0."
    s = torch.from_numpy(np.array(scores))
    if source_mask is not None: s = s.masked_fill(~torch.from_numpy(np.array(source_mask)), -math.inf)
    return torch.softmax(s, 1).nan_to_num(0.).numpy()
def masked_softmax__right_lists(scores, source_mask=None):
    "Plain lists, with 0 as a whole number at pads."
    out = []
    for b, s in enumerate(scores.tolist()):
        r = [source_mask is None or bool(source_mask[b][j]) for j in range(len(s))]; t = max((x for x, k in zip(s, r) if k), default=0)
        z = math.fsum(math.exp(x - t) for x, k in zip(s, r) if k); out.append([math.exp(x - t) / z if k else 0 for x, k in zip(s, r)])
    return out
def masked_softmax__right_helper(scores, source_mask=None):
    "Minus infinity at pads, a finite number to subtract, and 1 for an empty sum; writes into scores."
    if source_mask is None: source_mask = True
    else: scores[~source_mask] = 0
    return _ms(scores, source_mask)

# ---- entropy
def _p(s, t): return torch.softmax(s / t[:, None], -1)
def entropy__wrong_multiplied(scores, temperature):
    "Multiplies the scores by the temperature."
    return torch.distributions.Categorical(logits=scores * temperature[:, None]).entropy()
def entropy__wrong_log2(scores, temperature):
    "Takes logarithms to base 2."
    p = _p(scores, temperature); return -(p * torch.where(p > 0, p, 1.).log2()).sum(-1)
def entropy__wrong_detached_temperature(scores, temperature):
    "Takes the temperature as a constant, so it gets no gradient."
    p = _p(scores, temperature.detach()); return -(p * torch.where(p > 0, p, 1.).log()).sum(-1)
def entropy__wrong_subtle_epsilon(scores, temperature):
    "Adds 1e-8 inside the logarithm, which shifts each term by as much."
    p = _p(scores, temperature); return -(p * (p + 1e-8).log()).sum(-1)
def entropy__wrong_subtle_cool(scores, temperature):
    "Keeps temperatures from falling below 0.1, for safety, although 0.02 is legal."
    p = _p(scores, temperature.clamp_min(.1)); return -(p * torch.where(p > 0, p, 1.).log()).sum(-1)
def entropy__right_log_softmax(scores, temperature):
    "Uses log_softmax, where no logarithm of 0 arises."
    l = torch.log_softmax(scores / temperature.unsqueeze(1), 1); return -(l.exp() * l).sum(1)
def entropy__right_selection(scores, temperature):
    "Loops over sentences and takes the logarithm of the selected weights above 0."
    out = []
    for s, t in zip(scores, temperature):
        p = torch.softmax(s / t, 0); p = p[p > 0]; out.append(-torch.dot(p, torch.log(p)))
    return torch.stack(out)
def entropy__right_logsumexp(scores, temperature):
    "Logarithm of the sum less the mean score, with the highest score as zero."
    x = (scores - scores.amax(1, keepdim=True).detach()) / temperature.reshape(-1, 1)
    return torch.logsumexp(x, 1) - (torch.softmax(x, 1) * x).sum(1)

def broken_maps__right_strings_joined():
    "Builds the dict from two sequences, with numpy integers."
    return dict(zip('ABCDE', np.array([4, 1, 6, 3, 2])))
