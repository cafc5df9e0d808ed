import { terms, total } from "./arithmetic.js";
import { Figure, WIDE, digits, list, plane, radios, slider, table } from "./base.js";

const KINDS = { additive: "Additive", linear: "Additive, without the tanh", multiplicative: "Multiplicative", dot: "Dot product" };

customElements.define("scoring-figure", class extends Figure {
  kept = {};
  controls({ s }) {
    return radios("kind", "Score", KINDS) + s.map((x, k) => slider(`s${k + 1}`, `State, entry ${k + 1}`, -2, 2, 0.1, x)).join("");
  }
  drag([x, y]) {
    this.set({ s1: x, s2: y });
  }
  draw({ kind, s1, s2 }, data) {
    const { keys, names } = data;
    const parts = terms[kind]([s1, s2], keys, data), scores = parts.map(total), best = scores.indexOf(Math.max(...scores));
    const winner = (s) => terms[kind](s, keys, data).map(total).reduce((top, e, j, all) => (e > all[top] ? j : top), 0) + 1;
    const points = keys.map((at, j) => ({ at, name: names[j], tone: j + 1 }));
    return {
      view: `<p>Each place has the colour of the annotation that scores highest for a state there. Drag the state <i>s</i>.</p>${plane(this.width > WIDE ? 400 : Math.min(this.width, 280), [-2.2, 2.6, -2.2, 2.2], {
        regions: { tone: winner, kept: (this.kept[kind] ??= {}) }, points: [...points, { at: [s1, s2], name: "s", tone: 0, handle: true }] })}`,
      more: table("Each score is the sum of its terms", ["Position", ...parts[0].map((_, k) => `Term ${k + 1}`), "Score"],
        parts.map((row, j) => [`<b class="dot t${j + 1}"></b>${names[j]}`, ...row.map((x) => `<td>${digits(x)}</td>`),
          `<td${j === best ? ' class="best"' : ""}>${digits(scores[j])}</td>`])),
      says: `${KINDS[kind]}, s = ${list([s1, s2], 1)}. Highest is ${names[best]}: ${scores.map((e, j) => `${names[j]} ${digits(e, 2)}`).join(", ")}.`,
    };
  }
});
