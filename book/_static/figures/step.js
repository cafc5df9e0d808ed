import { add, look, softmax, tanh, times } from "./arithmetic.js";
import { Figure, cell, digits, hindi, radios, svg, table } from "./base.js";

/* All steps of Bahdanau's decoder: {e, weights, c, s, p} for each. */
export function decode(p) {
  let s = p.state;
  return p.target.map((_, i) => {
    const seen = look(s, p), { c } = seen;
    s = tanh(add(p.W_y.map((row) => row[i]), times(p.W_s, s), times(p.W_c, c)));
    return { ...seen, s, p: softmax(add(times(p.W_state, s), times(p.W_context, c))) };
  });
}

customElements.define("step-figure", class extends Figure {
  controls({ target, said }) {
    return radios("word", "Choose a word of the Hindi translation", target.map((word, i) => `${hindi(word)}<small>${said[i]}</small>`), "chips");
  }
  draw({ word }, data) {
    const { source, target } = data, all = decode(data), i = Number(word), now = all[i];
    const x = (k, of) => ((k + 0.5) / of) * this.width, high = this.width > 800 ? 170 : 100;
    const line = ({ weights }, k) => weights.map((w, j) => `<path class="line l${j + 1}${k === i ? "" : " faint"}" style="stroke-width:${2 + 13 * w}"
      d="M${x(k, target.length)} 0C${x(k, target.length)} ${high / 2} ${x(j, source.length)} ${high / 2} ${x(j, source.length)} ${high}"/>`).join("");
    const station = (title, rows) => table(title, [], rows), vector = (v, tone) => v.map((y, k) => [k ? "second" : "first", cell(y, [-1, 1], tone, 3)]);
    const most = source[now.weights.indexOf(Math.max(...now.weights))];
    return {
      view: `${svg(this.width, high, all.map((one, k) => (k === i ? "" : line(one, k))).join("") + line(now, i))}
        <div class="chips" aria-hidden="true">${source.map((name, j) => `<b class="s${j + 1}" style="--w:${100 * now.weights[j]}%">${name}</b>`).join("")}</div><p class="note">Lines and shades: the weights, how much each source word is looked at.</p>`,
      more: `<div class="stations">${station("<i>e</i> scores", source.map((name, j) => [name, cell(now.e[j], data.span, j + 1, 3)]))}
        ${station("<i>α</i> weights", source.map((name, j) => [name, cell(now.weights[j], [0, 1], j + 1, 3)]))}
        ${station("<i>c</i> context", vector(now.c, 0))}${station("<i>s</i> new state", vector(now.s, 0))}
        ${station("<i>p</i> next word", target.map((name, k) => [hindi(name), cell(now.p[k], [0, 1], k === i ? 4 : 0, 3)]))}</div>`,
      says: `To ${target[i] === "STOP" ? "end the sentence" : `write ${hindi(target[i])}`}, the model looks at ${source.map((name, j) => `<i>${name}</i> ${digits(now.weights[j], 2)}`).join(", ")}: most at <i>${most}</i>.`,
    };
  }
  connectedCallback() {
    super.connectedCallback();
    this.live.addEventListener("pointerover", ({ target, pointerType }) => {
      const input = pointerType === "mouse" && target.closest("label")?.querySelector("[name=word]");
      if (input && !input.checked) {
        input.checked = true;
        this.changed();
      }
    });
  }
});
