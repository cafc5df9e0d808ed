import { entropy, softmax } from "./arithmetic.js";
import { Figure, WIDE, box, cell, digits, slider, svg, table, text } from "./base.js";

const ADDED = [0, 1, 3, 10, 100, 1000];
const TOP = 3, TALL = 176, UNIT = TALL / (2 * TOP), ZERO = 10 + TALL / 2; // the highest score that is drawn, and pixels
const clip = (x) => Math.min(Math.max(x, -TOP), TOP);

customElements.define("softmax-figure", class extends Figure {
  controls({ words, scores, real }) {
    return words.map((word, j) => real[j] ? slider(`score${j + 1}`, `<span class="visually-hidden">Score of</span> <i>${word}</i>`, -TOP, TOP, "any", scores[j]) : "").join("") +
      slider("temperature", "Temperature", -1, 1, 0.05, 0) + slider("added", `Add to the score of <i>${words[0]}</i>`, 0, 5, 1, 0) +
      box("masked", "Mask the padding", true);
  }
  format(name, value) {
    return name === "added" ? digits(ADDED[value], 0) : digits(name === "temperature" ? 10 ** value : value, 2);
  }
  drag([, y], bar) {
    this.set({ [`score${bar}`]: clip(y) });
  }
  draw({ temperature, added, masked, ...moved }, { words, scores, real }) {
    const tau = 10 ** temperature, mask = masked ? real : real.map(() => true);
    const e = scores.map((x, j) => (moved[`score${j + 1}`] ?? x) + (j ? 0 : ADDED[added])), weights = softmax(e, mask, tau);
    const highest = Math.max(...e.filter((_, j) => mask[j])), powers = e.map((x, j) => (mask[j] ? Math.exp((x - highest) / tau) : 0));
    const naive = e.map((x) => Math.exp(x / tau)), lost = naive.some((x, j) => mask[j] && x === Infinity);
    const tone = (j) => (real[j] ? j + 1 : 0), wide = this.width > WIDE, panel = wide ? this.width * 0.4 : this.width, step = panel / words.length;
    const rect = (x, y, width, height, j) => `<rect class="t${tone(j)}" x="${x}" y="${y}" width="${width}" height="${Math.max(height, 0.5)}"/>`;
    const bars = e.map((score, j) => {
      const x = step * (j + 0.5), y = ZERO - UNIT * clip(score), free = real[j] && !(j === 0 && ADDED[added]);
      const ring = (r) => `<circle class="t${tone(j)}" cx="${x}" cy="${y}" r="${r}"/>`;
      return `<g class="${mask[j] ? "" : "faint"}">${rect(x - step * 0.28, Math.min(y, ZERO), step * 0.56, Math.abs(y - ZERO), j)}</g>` +
        text(x, score < 0 ? y + 24 : y - 14, digits(score, 2)) + text(x, TALL + 52, words[j], "middle", mask[j] ? "name" : "name struck") +
        (free ? `<g class="handle" data-handle="${j + 1}">${ring(22)}${ring(8)}</g>` : "");
    }).join("");
    const shares = (draw) => weights.reduce(([all, from], w, j) => [all + draw(w, from, j), from + w], ["", 0])[0];
    const left = this.width * 0.5, third = (this.width * 0.28) / words.length, right = this.width * 0.86;
    const exponentials = powers.map((power, j) => rect(left + third * (j + 0.2), 10 + TALL * (1 - power), third * 0.6, TALL * power, j) +
      text(left + third * (j + 0.5), TALL + 30, digits(power, 2))).join("");
    const stack = shares((w, from, j) => rect(right, 10 + TALL * from, 40, TALL * w, j) +
      (w >= 0.07 ? text(right + 20, 14 + TALL * (from + w / 2), digits(w, 2), "middle", "inside") : ""));
    const row = shares((w, from, j) => rect(this.width * from, 0, this.width * w, 36, j) +
      (w >= 0.12 ? text(this.width * (from + w / 2), 23, digits(w, 2), "middle", "inside") : ""));
    const zero = `<path class="grid" d="M0 ${ZERO}H${panel}"/>`, plane = ` data-plane="0,${TOP},${UNIT}"`;
    return {
      view: wide
        ? svg(this.width, TALL + 84, `${zero}${bars}${exponentials}${stack}<path class="grid" d="M${left} ${TALL + 10}H${left + third * words.length}"/>` +
            [[0, "scores"], [left, "exponentials"], [right, "weights"]].map(([x, name]) => text(x, TALL + 74, name, "start", "label")).join("") +
            [[panel, left, "exp"], [left + third * words.length, right, "÷ sum"]].map(([a, b, name]) => text((a + b) / 2, ZERO - 8, name, "middle", "label") +
              `<path class="cursor" d="M${a + 8} ${ZERO}H${b - 8}"/>`).join(""), plane)
        : svg(this.width, TALL + 60, zero + bars, plane) + `<p class="note">The weights, shares of one whole:</p>` + svg(this.width, 36, row),
      more: table("From scores to weights", ["Word", "Score", "(score − highest) / τ", "exp", "Weight"], words.map((word, j) => [
        word, `<td>${digits(e[j], 3)}</td>`, ...(mask[j] ? [(e[j] - highest) / tau, powers[j]].map((x) => `<td>${digits(x)}</td>`)
          : ["<td>left out</td>", "<td>0</td>"]), cell(weights[j], [0, 1], tone(j))])),
      says: `Weights: ${words.map((word, j) => `${word} ${digits(weights[j], 2)}`).join(", ")}; entropy ${digits(entropy(weights), 2)} nats.` +
        (lost ? ` Unless the highest score is subtracted first, exp(${digits(e[naive.indexOf(Infinity)] / tau, 0)}) overflows, and infinity divided by infinity is not a number.` : ""),
    };
  }
});
