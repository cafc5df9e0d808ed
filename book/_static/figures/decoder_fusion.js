import { add, look, tanh, times } from "./arithmetic.js";
import { Figure, cell, digits, slider, table } from "./base.js";

export function steps(query, embedded, p) {
  const word = times(p.W_y, embedded), old = times(p.W_s, query);
  const first = look(query, p), brought = times(p.W_c, first.c), luong = tanh(add(word, old));
  return { word, old, bahdanau: { ...first, brought, state: tanh(add(word, old, brought)) }, luong: { ...look(luong, p), state: luong } };
}

customElements.define("decoder-fusion-figure", class extends Figure {
  controls() {
    return slider("word", "Change both entries of the previous word by", -1.5, 1.5, 0.05, 0);
  }
  draw({ word: shift }, data) {
    const embedded = data.embedded.map((x) => x + shift), { word, old, bahdanau: a, luong: b } = steps(data.query, embedded, data);
    const { bahdanau: next } = steps(a.state, embedded, data);
    const row = (name, x, tone, span = [-2.5, 2.5], n) => [name, ...x.map((y) => cell(y, span, tone, n))];
    const entries = ["Part", "Entry 1", "Entry 2"], all = [row("The word", word, 3), row("The old state", old, 2)];
    const looks = (x) => [row("Scores", x.e, 4), row("Weights", x.weights, 4, [-1, 1]), row("Context", x.c, 1)];
    return {
      view: table("Weights of the two annotations", ["Order and step", "First", "Second"], [
        row("Luong, this step", b.weights, 4, [0, 1], 2), row("Bahdanau, this step", a.weights, 0, [0, 1], 2),
        row("Bahdanau, next step", next.weights, 0, [0, 1], 2)]),
      more: `<div class="beside">${table("Bahdanau: look, then update", entries, [...looks(a), ...all, row("From the context", a.brought, 1),
        row("Sum", add(word, old, a.brought), 0), row("New state, its tanh", a.state, 0)])}
        ${table("Luong: update, then look", entries, [...all, row("Sum", add(word, old), 0), row("New state, its tanh", b.state, 0),
          ...looks(b)])}</div>`,
      says: `Weight of the first annotation: Luong ${digits(b.weights[0], 2)}, Bahdanau ${digits(a.weights[0], 2)}; in Bahdanau’s next step ${digits(next.weights[0], 2)}.`,
    };
  }
});
