import { Figure, cell, digits, table } from "./base.js";

/* Lines from a chosen word to all words, as thick as its row of a matrix says, for each of several matrices. */
class Links extends Figure {
  controls({ words, legend }) {
    return `<fieldset class="chips"><legend>${legend}</legend>${words.map((word, i) =>
      `<label><input type="radio" name="word" value="${i}"${i === words.length - 1 ? " checked" : ""}>${word}</label>`).join("")}</fieldset>`;
  }
  draw({ word }, { words, matrices, title }) {
    const i = Number(word), x = (j) => ((j + 0.5) / words.length) * this.width;
    const lines = (rows, k) => rows[i].map((w, j) => `<path class="line l${k + 1}" style="stroke-width:${1 + 11 * w};opacity:${0.1 + 0.9 * w}"
      d="M${x(i)} 0C${x(i)} 60 ${x(j)} 50 ${x(j)} 110"/>`).join("");
    const chips = ([name, rows], k) => `<svg aria-hidden="true" viewBox="0 0 ${this.width} 110" width="${this.width}" height="110">${lines(rows, k)}</svg>
      <div class="chips" aria-hidden="true">${words.map((one, j) => `<b class="s${k + 1}" style="--w:${Math.round(100 * rows[i][j])}%">${one}</b>`).join("")}</div>
      <p class="note">${name}</p>`;
    return {
      view: matrices.map(chips).join(""),
      more: table(title.replace("{word}", `<i>${words[i]}</i>`), ["Word", ...matrices.map(([name]) => name.split(":")[0])],
        words.map((one, j) => [one, ...matrices.map(([, rows], k) => cell(rows[i][j], [0, 1], k + 1))])),
      says: `${title.replace("{word}", `<i>${words[i]}</i>`)}: ${matrices.map(([name, rows]) => `${name.split(":")[0].toLowerCase()} ${this.sum(rows[i], words)}`).join("; ")}.`,
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
