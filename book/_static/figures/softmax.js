import { entropy, softmax } from "./arithmetic.js";
import { Figure, box, cell, digits, slider, table } from "./base.js";

const ADDED = [0, 1, 3, 10, 100, 1000];

customElements.define("softmax-figure", class extends Figure {
  controls({ words }) {
    return slider("temperature", "Temperature", -1, 1, 0.05, 0) + slider("added", `Added to <i>${words[0]}</i>`, 0, 5, 1, 0) +
      box("masked", "Mask the padding", true);
  }
  format(name, value) {
    return name === "added" ? digits(ADDED[value], 0) : digits(10 ** value, 2);
  }
  draw({ temperature, added, masked }, { words, scores, real }) {
    const tau = 10 ** temperature, mask = masked ? real : real.map(() => true);
    const e = scores.map((x, j) => x + (j ? 0 : ADDED[added])), weights = softmax(e, mask, tau);
    const highest = Math.max(...e.filter((_, j) => mask[j])), naive = e.map((x) => Math.exp(x / tau));
    const lost = naive.some((x, j) => mask[j] && x === Infinity);
    return {
      view: table("From scores to weights", ["Word", "Score", "less the highest, over τ", "exp of that", "Weight"], words.map((word, j) => [
        word, `<td>${digits(e[j], 3)}</td>`, ...(mask[j] ? [(e[j] - highest) / tau, Math.exp((e[j] - highest) / tau)].map((x) => `<td>${digits(x)}</td>`)
          : ["<td>left out</td>", "<td>0</td>"]), cell(weights[j], [0, 1], j + 1)])),
      says: `Weights: ${words.map((word, j) => `${word} ${digits(weights[j], 2)}`).join(", ")}; entropy ${digits(entropy(weights), 2)} nats.` +
        (lost ? ` Without taking the highest off first, exp(${digits(e[naive.indexOf(Infinity)] / tau, 0)}) would overflow, and infinity over infinity is no number.` : ""),
    };
  }
});
