import { terms, total } from "./arithmetic.js";
import { Figure, WIDE, chart, digits, list, plane, radios, slider, table } from "./base.js";

const KINDS = { additive: "Additive", linear: "Additive, without the tanh", multiplicative: "Multiplicative", dot: "Dot product" };

customElements.define("scoring-figure", class extends Figure {
  controls({ s }) {
    return radios("kind", "Score", KINDS) + s.map((x, k) => slider(`s${k + 1}`, `State, entry ${k + 1}`, -2, 2, 0.1, x)).join("");
  }
  drag([x, y]) {
    this.set({ s1: x, s2: y });
  }
  draw({ kind, s1, s2 }, data) {
    const { keys, names } = data, score = (s, j) => total(terms[kind](s, keys, data)[j]);
    const parts = terms[kind]([s1, s2], keys, data), scores = parts.map(total), best = scores.indexOf(Math.max(...scores));
    const reached = keys.flatMap((_, j) => [-2, 2].flatMap((x) => [-2, 0, 2].map((y) => score([x, y], j))));
    const wide = this.width > WIDE, half = wide ? this.width / 2 - 10 : this.width;
    const points = keys.map((at, j) => ({ at, name: names[j], tone: j + 1 }));
    return {
      view: `<p>The annotations, and the state <i>s</i>. Drag it.</p>${plane(wide ? 320 : Math.min(half, 250), [-2.2, 2.6, -2.2, 2.2], {
        points: [...points, { at: [s1, s2], name: "s", tone: 0, handle: true }] })}`,
      more: `<div class="beside"><div><p>The scores, while entry 1 moves.</p>${chart(half, { x: [-2, 2], y: [Math.min(...reached), Math.max(...reached)],
          at: s1, label: "entry 1 of the state", lines: keys.map((_, j) => ({ f: (x) => score([x, s2], j), name: names[j], tone: j + 1 })) })}</div><div>` +
        table("Each score is the sum of its terms", ["Position", ...parts[0].map((_, k) => `Term ${k + 1}`), "Score"],
          parts.map((row, j) => [`<b class="dot t${j + 1}"></b>${names[j]}`, ...row.map((x) => `<td>${digits(x)}</td>`),
            `<td${j === best ? ' class="best"' : ""}>${digits(scores[j])}</td>`])) + "</div></div>",
      says: `${KINDS[kind]}, s = ${list([s1, s2], 1)}. Highest is ${names[best]}: ${scores.map((e, j) => `${names[j]} ${digits(e, 2)}`).join(", ")}.`,
    };
  }
});
