/* The arithmetic of the moving figures, on plain arrays. tests/book/test_figures.py checks it against solutions/. */
export function dot(a, b) {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
  return sum;
}
export const times = (W, x) => W.map((row) => dot(row, x));
export const add = (...vectors) => vectors[0].map((_, k) => vectors.reduce((sum, x) => sum + x[k], 0));
export const tanh = (x) => x.map(Math.tanh);

/* The terms of each annotation's score, which is their sum. */
export const terms = {
  additive: (s, H, p) => H.map((h) => tanh(add(times(p.W_query, s), times(p.W_key, h))).map((x, k) => p.v[k] * x)),
  linear: (s, H, p) => H.map((h) => add(times(p.W_query, s), times(p.W_key, h)).map((x, k) => p.v[k] * x)),
  multiplicative: (s, H, p) => H.map((h) => times(p.W, h).map((x, k) => s[k] * x)),
  dot: (s, H) => H.map((h) => h.map((x, k) => s[k] * x)),
};
export const total = (x) => x.reduce((sum, y) => sum + y, 0);

export function softmax(scores, mask = scores.map(() => true), temperature = 1) {
  const highest = Math.max(...scores.filter((_, j) => mask[j]));
  const powers = scores.map((e, j) => (mask[j] ? Math.exp((e - highest) / temperature) : 0));
  const sum = total(powers);
  return powers.map((power) => (sum ? power / sum : 0));
}
export const entropy = (weights) => -total(weights.map((w) => (w ? w * Math.log(w) : 0)));
export const mix = (weights, H) => H[0].map((_, k) => total(weights.map((w, j) => w * H[j][k])));
/* Where a decoder with the state s looks: its scores, weights and context. */
export function look(s, p) {
  const e = terms.additive(s, p.keys, p).map(total), weights = softmax(e);
  return { e, weights, c: mix(weights, p.keys) };
}
export const pulls = (weights, H) => {
  const c = mix(weights, H);
  return H.map((h, j) => h.map((x, k) => weights[j] * (x - c[k])));
};

/* The best `width` continuations of hypotheses [{words, score, done}], each continued by {word: probability}. */
export const beamStep = (hypotheses, after, width) =>
  hypotheses
    .flatMap((one) =>
      one.done
        ? [one]
        : Object.entries(after(one.words)).map(([word, p]) => ({
            words: [...one.words, word],
            score: one.score + Math.log(p),
            done: word === "STOP",
          })),
    )
    .sort((a, b) => b.score - a.score)
    .slice(0, width);
