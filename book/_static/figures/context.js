import { mix, pulls, softmax, total } from "./arithmetic.js";
import { Figure, WIDE, cell, digits, list, plane, slider, table } from "./base.js";

const pair = (x, n) => `<span class="pair">${list(x, n)}</span>`;

customElements.define("context-figure", class extends Figure {
  controls({ weights }) {
    return weights.map((w, j) => slider(`e${j + 1}`, `Score ${j + 1}`, -6, 6, "any", Math.log(w / weights.at(-1)))).join("");
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
      view: `<p>The context lies in the triangle of the annotations. An arrow shows where a higher score pulls it. Drag the point.</p>` +
        plane(this.width > WIDE ? 460 : Math.min(this.width, 290), [...room, Math.min(...edges[1]) - 0.6, Math.max(...edges[1]) + 0.9], {
          area: keys, arrows: pull.map(([x, y], j) => ({ from: c, to: [c[0] + x, c[1] + y], tone: j + 1 })),
          points: [...keys.map((at, j) => ({ at, name: names[j], tone: j + 1 })), { at: c, name: "c", tone: 0, handle: true }] }),
      more: table("What each annotation contributes", ["Annotation", "Weight", "Weight times annotation", "Pull"], keys.map((h, j) => [
          `<b class="dot t${j + 1}"></b>${names[j]} = ${pair(h, 0)}`, cell(weights[j], [0, 1], j + 1),
          ...[h.map((x) => weights[j] * x), pull[j]].map((x) => `<td>${pair(x, 2)}</td>`)])),
      says: `Weights ${list(weights)}. Context ${list(c)}.`,
    };
  }
});
