import { add, mix, softmax, tanh, terms, times, total } from "./arithmetic.js";
import { Figure, cell, digits, list, slider, table } from "./base.js";

export function steps(query, embedded, p) {
  const look = (asks) => {
    const e = terms.additive(asks, p.keys, p).map(total), weights = softmax(e);
    return { e, weights, context: mix(weights, p.keys) };
  };
  const word = times(p.W_y, embedded), old = times(p.W_s, query);
  const first = look(query), brought = times(p.W_c, first.context), luong = tanh(add(word, old));
  return { word, old, bahdanau: { ...first, brought, state: tanh(add(word, old, brought)) }, luong: { ...look(luong), state: luong } };
}

customElements.define("decoder-fusion-figure", class extends Figure {
  controls({ query, embedded }) {
    return query.map((x, k) => slider(`s${k + 1}`, `Old state, entry ${k + 1}`, -1, 1, 0.05, x)).join("") +
      embedded.map((x, k) => slider(`y${k + 1}`, `Word before, entry ${k + 1}`, -1, 1, 0.05, x)).join("");
  }
  draw({ s1, s2, y1, y2 }, data) {
    const { word, old, bahdanau: a, luong: b } = steps([s1, s2], [y1, y2], data);
    const row = (name, x, tone, span = [-2.5, 2.5]) => [name, ...x.map((y) => cell(y, span, tone))];
    const entries = ["Part", "Entry 1", "Entry 2"], all = [row("The word", word, 3), row("The old state", old, 2)];
    const look = (x) => [row("Scores", x.e, 4), row("Weights", x.weights, 4, [-1, 1]), row("Context", x.context, 1)];
    return {
      view: `<div class="beside">${table("Bahdanau: look first, then step", entries, [...look(a), ...all, row("From the context", a.brought, 1),
        row("Sum", add(word, old, a.brought), 0), row("New state, its tanh", a.state, 0)])}
        ${table("Luong: step first, then look", entries, [...all, row("Sum", add(word, old), 0), row("New state, its tanh", b.state, 0),
          ...look(b)])}</div>`,
      says: `New state: Bahdanau ${list(a.state)}, Luong ${list(b.state)}. Weight of the first annotation: ${digits(a.weights[0])} and ${digits(b.weights[0])}.`,
    };
  }
});
