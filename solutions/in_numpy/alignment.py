"""Which letter makes which sound: IBM Model 1, and a hundred words aligned by hand.

Chapter: book/spelling.md. Source: Brown et al. (1993), The mathematics of statistical machine translation.
"""

import numpy as np

from solutions.in_numpy.spelling import LETTERS, PHONEMES, POSSIBLE, STOP, SURE, as_arrays

# A hundred words drawn from the test part. Each group of letters is followed by the phonemes that it stands for: none, if it is
# silent. A single letter is surely linked to its phonemes; within a larger group, such as "ck:K", each link is possible.
HAND_ALIGNED = """
ai:EY k:K m:M a:AH n:N
a:AH l:L a:AE m:M c:K o:OW
a:AH ll:L ow:AW
a:AO ll:L t:T o:AH n:N
a:AH l:L u:AH m:M n:N i:AY
a:AA r:R ch:K i:AH v:V i:IH s:S t:T s:S
b:B e:EH ck:K ie:IY
b:B er:ER l:L e:
b:B e:IH s:S t:T r:R o:OW d:D e:
b:B i:AY o:OW h:HH a:AE z:Z ar:ER d:D
b:B i:IH z:Z
b:B o:AA gg:G a:AH n:N
b:B o:AO r:R j:Y a:AH
b:B u:AH l:L k:K l:L ey:IY
b:B ur:ER ch:CH er:ER
b:B u:UH rr:R u:AH ss:S
c:K a:AH c:K a:EY o:OW
c:K a:AE sh:SH l:L e:AH ss:S
c:K a:AE s:S i:IY o:OW
c:K a:AA s:S t:T a:AA l:L d:D o:OW
c:K au:AO c:K u:AH s:S
c:CH er:ER u:UW ll:L o:OW
ch:CH a:AE l:L s:S t:T y:IY
ch:CH a:EH r:R i:IH t:T a:AH b:B l:L y:IY
c:K o:OW d:D e:
c:K o:OW m:M a:AA r:R c:K o:OW
c:K o:AH n:N s:S i:IH s:S t:T e:AH n:N c:S e:
c:K o:AO r:R t:T e:EH z:Z e:
c:K ou:AW n:N t:T er:ER s:Z
c:K u:AH t:T ou:AW t:T s:S
d:D e:IH p:P i:IH c:K ti:SH o:AH n:N
d:D o:OW n:N i:IH s:S
d:D oo:AO r:R s:S i:IH ll:L
d:D ou:OW l:L t:T o:AH n:N
e:IH d:D s:S a:AO ll:L
e:EH n:N d:D o:AO s:S c:K o:AA p:P y:IY
f:F a:AA l:L d:D o:OW
f:F i:IH ck:K e: s:S
f:F r:R ay:EY n:N
f:F r:R ee:IY h:HH o:OW l:L d:D
g:G a:AE rr:R i:AH s:S o:AH n:N e: d:D
g:G r:R o:AA v:V e:AH l:L
h:HH ea:EH v:V e:AH n:N l:L y:IY
h:HH e:EH l:L m:M s:Z m:M a:AE n:N
h:HH u:AH ff:F s:S t:T e:IH t:T l:AH,L er:ER
i:AY s:S o:AH c:S y:AY a:AH n:N a:EY t:T e:
j:JH o:OW n:N e: s:Z
j:JH u:AH dg:JH e: d:D
k:K ei:IH r:R e:EH t:T s:S u:UW
k:K i:IH s:Z m:M e:IH t:T s:S
k: n:N oo:UW p:P
k:K ue:UH ck:K er:ER
l:L a:AA d:D u:W e:EH
l:L a:AH f:F oe:OW
l:L a:AE n:N d:D g:G r:R a:EY v:V e:
l:L e:EH l:L a:AH h:
l:L i:IH s:S ie:IY c:T,S k:K i:IY
l:L u:UW j:Y a:AA n:N
l:L y:AY s:S a:AA g: h: t:T
m:M a:AE g:G a:AH z:Z i:IY n:N e: s:Z
m:M a:AA r:R z:Z o:OW l:L f:F
m:M a:AH z:Z ur:ER k:K a:AH s:Z
mc:M,AE,K i:IH n:N t:T y:AY r:R e:
m:M e:EH ll:L i:IH ng:NG er:ER
m:M i:IH s:S c:K a:AE l:L c:K u:Y,AH l:L a:EY t:T e: s:S
m:M i:IH s:S c:K a:AE l:L c:K u:Y,AH l:L a:EY ti:SH o:AH n:N
n:N aa:AA s:Z
n:N a:EH r:R i:IY t:T a:AH
n:N e:IY o:AA n:N
o:OW d:D o:AH m:M
oe:OW tt:T i:IH ng:NG
o:AO r:R d:D er:ER s:Z
p:P a:AE s:S t:T e:EH l:L s:Z
p:P e:EH p:P e:EH n:N a:AH d:D o:AO r:R e:EH s:Z
p:P ow:AW er:ER e: d:D
r:R e:EH ch:K t:T
r:R e:IH c:K o:AA mm:M i:IH t:T
r:R e:IY c:K ur:ER s:S i:IH v:V e:
r:R e:EH h: n:N
r:R e:IY l:L au:AO n:N ch:CH e: d:T
r:R e:IH l:L e:EH n:N t:T l:L e:AH ss:S l:L y:IY
r:R e:IY p:P a:EY t:T r:R i:IY a:EY t:T e:IH d:D
r:R e:IH s:Z er:ER v:V e: s:Z
r:R oo:UW f:F er:ER s:Z
s:S a:EY g:G a:AH n:N
s:S c:K r:R u:UW t:T i:AH n:N i:AY z:Z i:IH ng:NG
s:S ei:AY l:L
s:S ei:AY n:N f:F e:EH l:L d:D
s:S ie:IY w:W er:ER t:T
s:S o:OW b:B i:IH n:N
s:S o:OW v:V i:IY e:AH t:T
s:S p:P oo:UW n:N er:ER
s:S t:T r:R e:EH ng:NG,K th:TH s:S
t:T o:OW k:K a:AA r:R
t:T o:AA n:N g:JH e:
t:T ow:OW b:B oa:OW t:T
ur:Y,ER u:AH g:G u:W ay:EY
v:V e:EH s:S ey:IY
v:V i:AY c:S e:AH s:Z
z:Z i:IH n:NG c:K
"""


def hand_aligned():
    """Return the words aligned by hand, with their links as an array that fits those of ``as_arrays(words)``.

    Returns
    -------
    list of str
    (batch, target_len, source_len) int
        2 where phoneme i surely comes from letter j, 1 where this is possible, 0 elsewhere.
    """
    groups = [[group.split(":") for group in line.split()] for line in HAND_ALIGNED.strip().splitlines()]
    words = ["".join(letters for letters, _ in word) for word in groups]
    arrays = as_arrays(words)
    hand = np.zeros((*arrays["target"].shape, arrays["source"].shape[1]), dtype=int)
    for row, word in enumerate(groups):
        i = j = 0
        for letters, phonemes in word:
            count = len(phonemes.split(",")) if phonemes else 0
            hand[row, i : i + count, j : j + len(letters)] = SURE if len(letters) == 1 else POSSIBLE
            i, j = i + count, j + len(letters)
    return words, hand


def train_alignment_model(source, target, tension=0.0, iterations=8):
    """Estimate with EM how likely each letter stands for each phoneme.

    Expectation: the share of letter j in phoneme i of a word is share[i, j] = t[letter j, phoneme i] near[i, j], divided by its
    sum over j.
    Maximisation: t[letter, phoneme] is the sum of the shares of that letter in that phoneme, divided by its sum over phonemes.

    Parameters
    ----------
    source : (batch, source_len) int
        Letters, padded with 0.
    target : (batch, target_len) int
        Phonemes, then STOP, padded with 0.
    tension : float
        How much letters at the same share of the way through the word are preferred: near[i, j] = exp(-tension * distance). At
        0 the model is IBM Model 1, which does not know where a letter stands.
    iterations : int

    Returns
    -------
    (letters, phonemes)
        t, the probability of each phoneme given a letter.

    Source: Brown et al. (1993), Model 1, without its empty word; Dyer et al. (2013) for the preference.
    """
    words, positions, columns = np.nonzero((target > STOP)[:, :, None] & (source > 0)[:, None, :])
    near = _nearness(source, target, tension)[words, positions, columns]
    sounds = words * target.shape[1] + positions  # one number for each phoneme of the data
    pairs = source[words, columns] * len(PHONEMES) + target[words, positions]
    table = np.full(len(LETTERS) * len(PHONEMES), 1 / len(PHONEMES))
    for _ in range(iterations):
        shares = table[pairs] * near
        shares /= np.bincount(sounds, weights=shares)[sounds]
        counts = np.bincount(pairs, weights=shares, minlength=table.size).reshape(len(LETTERS), len(PHONEMES))
        table = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)).ravel()
    return table.reshape(len(LETTERS), len(PHONEMES))


def link_likeliest(table, source, target, tension=0.0):
    """Link each phoneme to the letter with the largest share in it, the first of equals; see ``train_alignment_model``.

    Returns
    -------
    (batch, target_len) int
        The position of the letter; -1 for a position without a phoneme.
    """
    shares = table[source[:, None, :], target[:, :, None]] * _nearness(source, target, tension)
    return link_largest(np.where((source > 0)[:, None, :], shares, -1.0), target)


def link_largest(weights, target):
    """Link each phoneme to the letter with the largest of its ``weights`` (batch, target_len, source_len)."""
    return np.where(target > STOP, weights.argmax(axis=-1), -1)


def link_diagonal(source, target):
    """Link each phoneme to the letter at the same share of the way through the word: a baseline that knows no letters."""
    return link_largest(_nearness(source, target, 1.0), target)


def _nearness(source, target, tension):
    """Return exp(-tension * |(i + 1/2) / phonemes - (j + 1/2) / letters|) for each phoneme i and letter j."""
    letters, phonemes = (source > 0).sum(axis=1), (target > STOP).sum(axis=1)
    i, j = np.arange(target.shape[1]) + 0.5, np.arange(source.shape[1]) + 0.5
    distance = np.abs((i / phonemes[:, None])[:, :, None] - (j / letters[:, None])[:, None, :])
    return np.exp(-tension * distance)
