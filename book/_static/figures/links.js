import { Figure, cell, digits, radios, svg, table } from "./base.js";

const TONES = [4, 0]; // blue, orange and green are words

/* Lines from a chosen word to one row of words, as thick as its row of each matrix says. */
class Links extends Figure {
  controls({ words, matrices, legend }) {
    return `<p>${matrices.map(([name, what], k) => `<b class="dot t${TONES[k]}"></b>${name}${what}`).join("<br>")}</p>` + radios("word", legend, words, "chips", words.length - 1);
  }
  draw({ word }, { words, matrices, title, note }) {
    const i = Number(word), said = title.replace("{word}", `<i>${words[i]}</i>`);
    const x = (j, k) => ((j + 0.5) / words.length) * this.width + 14 * k - 7; // the lines of two matrices are side by side
    const lines = ([, , rows], k) => rows[i].map((w, j) => `<path class="line l${TONES[k]}" style="stroke-width:${12 * w}"
      d="M${x(i, k)} 0C${x(i, k)} 70 ${x(j, k)} 70 ${x(j, k)} 140"/>`).join("");
    return {
      view: `${svg(this.width, 140, matrices.map(lines).join(""))}
        <div class="chips" aria-hidden="true">${words.map((one) => `<b>${one}</b>`).join("")}</div><p class="note">${note}</p>`,
      more: table(said, ["Word", ...matrices.map(([name]) => name)],
        words.map((one, j) => [one, ...matrices.map(([, , rows], k) => cell(rows[i][j], [0, 1], TONES[k]))])),
      says: `${said}: ${matrices.map(([name, , rows]) => `${name.toLowerCase()} ${this.sum(rows[i], words)}`).join("; ")}.`,
    };
  }
}

customElements.define("heads-figure", class extends Links {
  sum(row, words) {
    const top = Math.max(...row), best = words.filter((_, j) => row[j] > top - 0.01);
    return best.length === words.length ? "at all words alike" : `most at <i>${best.join(", ")}</i> (${digits(top, 2)}${best.length > 1 ? " each" : ""})`;
  }
});

customElements.define("reach-figure", class extends Links {
  sum(row, words) {
    const changed = words.filter((_, j) => row[j] > 0);
    return changed.length === words.length ? "every annotation" : `<i>${changed.join(", ")}</i>`;
  }
});
