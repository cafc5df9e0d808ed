import { mix, pulls, softmax, terms, total } from "./arithmetic.js";
import { Figure, WIDE, cell, digits, list, quiet, radios, slider, svg, table, text } from "./base.js";

/* The regions of one tone each, in stripes of 2 pixels; every border is found to the pixel. */
function stripes(width, height, tone) {
  const paths = {};
  for (let y = 10; y < height - 10; y += 2) {
    for (let from = 10, x = 10, here = tone(x, y + 1); x < width - 10; ) {
      let low = x, high = (x = Math.min(x + 8, width - 10));
      const next = x < width - 10 ? tone(x, y + 1) : 0;
      if (next === here) continue;
      for (let middle; next && high - low > 1; ) tone((middle = (low + high) >> 1), y + 1) === here ? (low = middle) : (high = middle);
      paths[here] = `${paths[here] ?? ""}M${from} ${y}H${high}v2H${from}z`;
      [from, here] = [high, next];
    }
  }
  return Object.entries(paths).map(([tone, path]) => `<path class="t${tone} region" d="${path}"/>`).join("");
}

/* Points {at, name, tone, handle}, arrows {from, to, tone}, a polygon, and regions {tone: place => tone, kept: {} across draws}. */
function plane(width, [x0, x1, y0, y1], { points, arrows = [], area = [[0, 0]], regions }) {
  const scale = (width - 20) / (x1 - x0), height = Math.round((y1 - y0) * scale + 20);
  const at = ([x, y]) => [10 + (x - x0) * scale, height - 10 - (y - y0) * scale];
  const line = (points) => points.map((p) => at(p).join(" ")).join("L");
  const tone = (a, b) => regions.tone([x0 + (a - 10) / scale, y0 + (height - 10 - b) / scale]);
  return svg(width, height,
    (regions ? (regions.kept[width] ??= stripes(width, height, tone)) : "") + `<path class="grid" d="M${line([[x0, 0], [x1, 0]])}M${line([[0, y0], [0, y1]])}"/><path class="area" d="M${line(area)}Z"/>` +
    arrows.map(({ from, to, tone }) => {
      const [[a, b], [c, d]] = [at(from), at(to)], turn = (Math.atan2(d - b, c - a) * 180) / Math.PI;
      return `<path class="line l${tone}" d="M${a} ${b}L${c} ${d}"/><path class="t${tone}" d="M0 0l-9-4v8z" transform="translate(${c} ${d})rotate(${turn})"/>`;
    }).join("") +
    points.map(({ at: p, name, tone, handle }) => {
      const [a, b] = at(p);
      const dot = (r) => `<circle class="t${tone}" cx="${a}" cy="${b}" r="${r}"/>`, left = a > width - 30 || a < 50 || handle;
      return text(a + (left ? -11 : 10), b + (b < 20 ? 16 : -8), name, left ? "end" : "start") + (handle ? `<g class="handle">${dot(22)}${dot(9)}</g>` : dot(5));
    }).join(""), ` data-plane="${[x0, y1, scale]}"`);
}

const KINDS = { additive: "Additive", linear: "Additive, without the tanh", multiplicative: "Multiplicative", dot: "Dot product" };

customElements.define("scoring-figure", class extends Figure {
  kept = {};
  controls({ s }) {
    return radios("kind", "Score", KINDS) + quiet(s.map((x, k) => slider(`s${k + 1}`, `State, entry ${k + 1}`, -2, 2, 0.1, x)));
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
      view: `<div class="plot">${plane(this.width > WIDE ? 380 : Math.min(this.width, 280), [-2.2, 2.6, -2.2, 2.2], {
        regions: { tone: winner, kept: (this.kept[kind] ??= {}) }, points: [...points, { at: [s1, s2], name: "s", tone: 0, handle: true }] })}
        ${table("Scores of the state", [], scores.map((e, j) => [names[j], cell(e, [-4, 4], j + 1, 2)]))}</div>`,
      more: table("Each score is the sum of its terms", ["Position", ...parts[0].map((_, k) => `Term ${k + 1}`), "Score"],
        parts.map((row, j) => [`<b class="dot t${j + 1}"></b>${names[j]}`, ...row.map((x) => `<td>${digits(x)}</td>`),
          `<td${j === best ? ' class="best"' : ""}>${digits(scores[j])}</td>`])),
      says: `${KINDS[kind]}, s = ${list([s1, s2], 1)}. Highest is ${names[best]}: ${scores.map((e, j) => `${names[j]} ${digits(e, 2)}`).join(", ")}.`,
    };
  }
});

const pair = (x, n) => `<span class="pair">${list(x, n)}</span>`;

customElements.define("context-figure", class extends Figure {
  controls({ weights }) {
    return quiet(weights.map((w, j) => slider(`e${j + 1}`, `Score ${j + 1}`, -6, 6, "any", Math.log(w / weights.at(-1)))));
  }
  /* The weights that place the context at [x, y] are ratios of triangle areas; near an edge, it is kept inside. */
  drag([x, y]) {
    const [[a, b], [c, d], [e, f]] = this.data.keys, all = (d - f) * (a - e) + (e - c) * (b - f);
    const w = [((d - f) * (x - e) + (e - c) * (y - f)) / all, ((f - b) * (x - e) + (a - e) * (y - f)) / all];
    const kept = [...w, 1 - w[0] - w[1]].map((u) => Math.log(Math.max(u, 0.002))), middle = total(kept) / 3;
    this.set(Object.fromEntries(kept.map((u, j) => [`e${j + 1}`, u - middle])));
  }
  draw({ e1, e2, e3 }, { keys, names }) {
    const weights = softmax([e1, e2, e3]), c = mix(weights, keys), pull = pulls(weights, keys);
    const edges = [0, 1].map((k) => keys.map((h) => h[k])), room = [Math.min(...edges[0]) - 0.6, Math.max(...edges[0]) + 0.9];
    return {
      view: `<div class="plot">${plane(this.width > WIDE ? 380 : Math.min(this.width, 290), [...room, Math.min(...edges[1]) - 0.6, Math.max(...edges[1]) + 0.9], {
          area: keys, arrows: pull.map(([x, y], j) => ({ from: c, to: [c[0] + x, c[1] + y], tone: j + 1 })),
          points: [...keys.map((at, j) => ({ at, name: names[j], tone: j + 1 })), { at: c, name: "c", tone: 0, handle: true }] })}
        ${table("Weights", [], weights.map((w, j) => [names[j], cell(w, [0, 1], j + 1, 2)]))}</div>`,
      more: table("What each annotation contributes", ["Annotation", "Weight", "Weight times annotation", "Pull"], keys.map((h, j) => [
          `<b class="dot t${j + 1}"></b>${names[j]} = ${pair(h, 0)}`, cell(weights[j], [0, 1], j + 1),
          ...[h.map((x) => weights[j] * x), pull[j]].map((x) => `<td>${pair(x, 2)}</td>`)])),
      says: `Weights ${list(weights, 2)}. Context ${list(c, 2)}.`,
    };
  }
});
