import { beamStep, softmax, times, total } from "./arithmetic.js";
import { Figure, cell, digits, hindi, quiet, radios, slider, svg, table, text } from "./base.js";

customElements.define("output-layer-figure", class extends Figure {
  controls({ state }) {
    return quiet(state.map((x, k) => slider(`s${k + 1}`, `Entry ${k + 1} of the state`, -1, 1, "any", x)));
  }
  drag([x], k) {
    this.set({ [`s${k}`]: x });
  }
  draw({ s1, s2, s3 }, { W_o, words }) {
    const logits = times(W_o, [s1, s2, s3]), p = softmax(logits), best = p.indexOf(Math.max(...p));
    const rows = (n) => table("", ["Word", "Logit", "Probability"],
      words.map((word, k) => [hindi(word), cell(logits[k], [-6, 6], 0, n), cell(p[k], [0, 1], k === best ? 4 : 0, n)]));
    const one = Math.min(this.width / 2 - 60, 250), zero = one + 100; // pixels
    return {
      view: svg(this.width, 122, [s1, s2, s3].map((x, k) => {
        const y = 18 + 35 * k, ring = (r) => `<circle class="t0" cx="${zero + one * x}" cy="${y}" r="${r}"/>`;
        return text(0, y + 5, `s${"₁₂₃"[k]} = ${digits(x, 2)}`, "start") +
          `<path class="grid" style="stroke-width:16" d="M${zero - one} ${y}h${2 * one}"/><path class="line l0" style="stroke-width:16" d="M${zero} ${y}h${one * x}"/><g class="handle" data-handle="${k + 1}">${ring(17)}${ring(9)}</g>`;
      }).join("") + text(zero - one, 119, "−1") + text(zero, 119, "0") + text(zero + one, 119, "1"), ` data-plane="${[(10 - zero) / one, 0, one]}"`) + rows(2),
      more: rows(4),
      says: `Likeliest: ${hindi(words[best])}, ${digits(p[best], 2)}. If it is the right word, the loss is ${digits(-Math.log(p[best]), 2)} nats.`,
    };
  }
});

/* Branches as thick as their probability; those in the beam are coloured. */
function tree(width, begin, every, kept) {
  const rows = (word) => every.flatMap(([words], k) => (words[0] === word ? [k] : [])), y = (k) => 14 + 26 * k;
  const middle = (word) => y(total(rows(word)) / rows(word).length), start = y((every.length - 1) / 2), X = [0, width * 0.37, width - 80];
  const branch = (step, a, b, words, p) => {
    const [from, to, tone] = [X[step] + 55, X[step + 1] - 5, kept(words) ? 1 : 0], half = (from + to) / 2;
    return `<path class="line l${tone}" style="stroke-width:${1 + 9 * p}" d="M${from} ${a}C${half} ${a} ${half} ${b} ${to} ${b}"/>` +
      text(to + 5, b + 5, `${words.at(-1)} ${digits(p, 2)}`, "start", tone ? "best" : "");
  };
  return svg(width, y(every.length), text(0, start + 5, "START", "start") + begin.map(([word, p]) => branch(0, start, middle(word), [word], p)).join("") +
    every.map(([words, p], k) => (words.length < 2 ? "" : branch(1, middle(words[0]), y(k), words, p))).join(""));
}

customElements.define("beam-figure", class extends Figure {
  controls({ first, second }) {
    return radios("width", "Width of the beam", { 1: "1, greedy", 2: "2", 3: "3" }) +
      slider("a", "First word: probability of A", 0.05, 0.85, 0.05, first.A) + slider("stop", "After B: probability of STOP", 0.1, 0.95, 0.05, second.B.STOP);
  }
  draw({ width, a, stop }, { first, second }) {
    const rest = (1 - stop) / 2, begin = { A: a, B: 1 - first.STOP - a, STOP: first.STOP };
    const after = { A: second.A, B: { A: rest, B: rest, STOP: stop } };
    const kept = beamStep([{ words: [], score: 0 }], () => begin, +width);
    const ends = beamStep(kept, ([word]) => after[word], +width), best = ends.find((one) => one.done) ?? ends[0];
    const name = (words) => words.join(" "), held = new Set(kept.map((one) => name(one.words))), last = ends.map((one) => name(one.words));
    const every = Object.keys(begin).flatMap((word) => word === "STOP" ? [[[word], begin[word]]]
      : Object.entries(after[word]).map(([next, q]) => [[word, next], begin[word] * q]));
    return {
      view: tree(this.width, Object.entries(begin), every, (words) => (words.length > 1 || words[0] === "STOP" ? last.includes(name(words)) : held.has(words[0]))),
      more: table("Every continuation over two steps", ["Words", "Product", "In the beam"], every.map(([words, p]) => [
          name(words), cell(p, [0, 1], last.includes(name(words)) ? 1 : 0),
          `<td class="${name(words) === name(best.words) ? "best" : ""}">${last.includes(name(words)) ? "kept" : held.has(words[0]) || words.length < 2 ? "dropped" : "never tried"}</td>`])),
      says: `After one word, a beam of ${width} keeps ${[...held].join(", ")}. It ends with ${name(best.words)}, probability ${digits(Math.exp(best.score))}.`,
    };
  }
});
