import { add, mix, softmax, tanh, terms, times, total } from "./arithmetic.js";
import { Figure, cell, digits, slider, table } from "./base.js";

export function steps(query, embedded, p) {
  const look = (asks) => {
    const e = terms.additive(asks, p.keys, p).map(total), weights = softmax(e);
    return { e, weights, context: mix(weights, p.keys) };
  };
  const word = times(p.W_y, embedded), old = times(p.W_s, query);
  const first = look(query), brought = times(p.W_c, first.context), luong = tanh(add(word, old));
  return { word, old, bahdanau: { ...first, brought, state: tanh(add(word, old, brought)) }, luong: { ...look(luong), state: luong } };
}

/* One control, the previous word, and its effect: which decoder's weights it moves, and at which step. */
customElements.define("decoder-fusion-figure", class extends Figure {
  controls() {
    return slider("word", "Change both entries of the previous word by", -1.5, 1.5, 0.05, 0);
  }
  draw({ word: shift }, data) {
    const embedded = data.embedded.map((x) => x + shift), { word, old, bahdanau: a, luong: b } = steps(data.query, embedded, data);
    const { bahdanau: next } = steps(a.state, embedded, data);
    const row = (name, x, tone, span = [-2.5, 2.5]) => [name, ...x.map((y) => cell(y, span, tone))];
    const entries = ["Part", "Entry 1", "Entry 2"], all = [row("The word", word, 3), row("The old state", old, 2)];
    const look = (x) => [row("Scores", x.e, 4), row("Weights", x.weights, 4, [-1, 1]), row("Context", x.context, 1)];
    return {
      view: table("Weights of the two annotations", ["Order and step", "First", "Second"], [
        row("Luong, this step", b.weights, 2, [0, 1]), row("Bahdanau, this step", a.weights, 1, [0, 1]),
        row("Bahdanau, next step", next.weights, 1, [0, 1])]),
      more: `<div class="beside">${table("Bahdanau: look, then update", entries, [...look(a), ...all, row("From the context", a.brought, 1),
        row("Sum", add(word, old, a.brought), 0), row("New state, its tanh", a.state, 0)])}
        ${table("Luong: update, then look", entries, [...all, row("Sum", add(word, old), 0), row("New state, its tanh", b.state, 0),
          ...look(b)])}</div>`,
      says: `Weight of the first annotation in this step: Luong ${digits(b.weights[0])}, Bahdanau ${digits(a.weights[0])}; in Bahdanau's next step ${digits(next.weights[0])}.`,
    };
  }
});
