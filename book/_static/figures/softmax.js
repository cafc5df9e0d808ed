import { entropy, softmax } from "./arithmetic.js";
import { Figure, WIDE, apart, box, cell, digits, quiet, slider, svg, table, text } from "./base.js";

const ADDED = [0, 1, 3, 10, 100, 1000];
const [LOW, HIGH] = [-1.5, 3]; // the scores that are drawn
const HEAD = 50; // pixels above the highest bar, for the name of its panel and for its number
const clip = (x) => Math.min(Math.max(x, LOW), HIGH);

customElements.define("softmax-figure", class extends Figure {
  controls({ words, scores, real }) {
    return quiet(words.map((word, j) => (real[j] ? slider(`score${j + 1}`, `Score of <i>${word}</i>`, LOW, HIGH, "any", scores[j]) : ""))) +
      slider("temperature", "Temperature", -1, 1, 0.05, 0) + slider("added", `Add to <i>${words[0]}</i>`, 0, 5, 1, 0) + box("masked", "Mask the padding", true);
  }
  format(name, value) {
    return name === "added" ? digits(ADDED[value], 0) : digits(name === "temperature" ? 10 ** value : value, 2);
  }
  drag([, y], bar) {
    this.set({ [`score${bar}`]: clip(y) });
  }
  draw({ temperature, added, masked, ...moved }, { words, scores, real }) {
    const tau = 10 ** temperature, mask = masked ? real : real.map(() => true), tone = (j) => (real[j] ? j + 1 : 0);
    const e = scores.map((x, j) => (moved[`score${j + 1}`] ?? x) + (j ? 0 : ADDED[added])), weights = softmax(e, mask, tau);
    const highest = Math.max(...e.filter((_, j) => mask[j])), powers = e.map((x, j) => (mask[j] ? Math.exp((x - highest) / tau) : 0));
    const lost = Math.exp(highest / tau) === Infinity && `exp(${digits(highest / tau, 0)})`;
    /* An exponential of 1 is as long as all weights together. */
    const { width } = this, wide = width > WIDE + 40, unit = wide ? 42 : 28, one = HIGH * unit, base = HEAD + one, end = base - LOW * unit + 26;
    const first = [0, wide ? width * 0.36 : width, base], second = wide ? [width * 0.44, width * 0.29, base] : [0, width, end + base], right = width * 0.78, last = end + base + 62;
    const rect = (x, y, width, height, j) => `<rect class="t${tone(j)}${mask[j] ? "" : " out"}" x="${x}" y="${y}" width="${width}" height="${height}"/>`;
    const own = (j, x, y, words, anchor, more = "") => text(x, y, words, anchor, `own t${tone(j)} ${more}`);
    const bars = ([left, width, base], values, free) => `<path class="grid" d="M${left} ${base}h${width}"/>` + values.map((value, j) => {
      const step = width / words.length, x = left + step * (j + 0.5), w = step / 2, high = (free ? unit * clip(value) : one * value), y = base - high;
      const ring = (r) => `<circle class="t${tone(j)}" cx="${x}" cy="${y}" r="${r}"/>`;
      return rect(x - w / 2, Math.min(y, base), w, Math.max(Math.abs(high), 1), j) + own(j, x, high < 0 ? y + 26 : y - 16, digits(value, 2)) +
        own(j, x, base + (high < 0 ? -8 : 20), words[j], "middle", mask[j] ? "name" : "name struck") + (!free ? ""
          : value > HIGH ? `<path class="torn" d="M${x - 24} ${y + 30}l48-12m0 9l-48 12"/>`
          : real[j] && !(j === 0 && ADDED[added]) ? `<g class="handle t${tone(j)}" data-handle="${j + 1}">${ring(22)}${ring(9)}<path d="M${x - 4} ${y}h8"/></g>` : "");
    }).join("");
    let sum = 0;
    const named = [], shares = weights.map((w, j) => {
      const from = sum;
      sum += w;
      if (mask[j]) named.push([base - one * (1 - from - w / 2) + 5, j]);
      return wide ? rect(right, base - one * (1 - from), 36, one * w, j) : rect(width * from, last, width * w, 28, j);
    }).join("");
    const titles = ["scores", `exp(${tau === 1 ? "score − highest" : "(score − highest) / τ"})`, "weights, together 1"];
    return {
      view: svg(width, wide ? end : last + 60, bars(first, e, true) + bars(second, powers) + shares + (wide
        ? apart(named).map(([y, j]) => own(j, right + 44, y, `${digits(weights[j], 2)} ${words[j]}`, "start")).join("") +
          [[first[1], "exp"], [width * 0.705, "÷ sum"]].map(([x, name]) => text(x + 26, base - one / 2 - 8, name, "middle", "label") + `<path class="flow" d="M${x + 10} ${base - one / 2}h34m-6-5l6 5-6 5"/>`).join("")
        : named.map(([, j]) => own(j, (width / words.length) * (j + 0.5), last + 48, `${digits(weights[j], 2)} ${words[j]}`)).join("")) +
        titles.map((name, k) => text(...(wide ? [[0, second[0], right][k], 14] : [0, [14, end + 14, last - 10][k]]), name, "start", "label")).join("") +
        (lost ? ["not subtracted:", `${lost} = ∞`].map((words, k) => text(second[0] + second[1] * 0.28, second[2] - one + 20 * k, words, "start", "best")).join("") : ""),
        ` data-plane="0,${(base - 10) / unit},${unit}"`),
      more: table("From scores to weights", ["Word", "Score", "(score − highest) / τ", "exp", "Weight"], words.map((word, j) => [
        word, `<td>${digits(e[j], 3)}</td>`, ...(mask[j] ? [(e[j] - highest) / tau, powers[j]].map((x) => `<td>${digits(x)}</td>`)
          : ["<td>left out</td>", "<td>0</td>"]), cell(weights[j], [0, 1], tone(j))])),
      says: lost ? `${lost} overflows, and ∞/∞ is not a number, unless the highest score is subtracted first.`
        : `Weights: ${words.map((word, j) => `${word} ${digits(weights[j], 2)}`).join(", ")}; entropy ${digits(entropy(weights), 2)} nats.`,
    };
  }
});
