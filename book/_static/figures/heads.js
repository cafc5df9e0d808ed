import { Figure, cell, digits, table } from "./base.js";

/* Self-attention with two heads: choose a word, and see where each head looks. */
customElements.define("heads-figure", class extends Figure {
  controls({ words }) {
    return `<fieldset class="chips"><legend>Choose the word that looks</legend>${words.map((word, i) =>
      `<label><input type="radio" name="word" value="${i}"${i === words.length - 1 ? " checked" : ""}>${word}</label>`).join("")}</fieldset>`;
  }
  draw({ word }, { words, heads }) {
    const i = Number(word), x = (j) => ((j + 0.5) / words.length) * this.width;
    const lines = ([, rows], h) => rows[i].map((w, j) => `<path class="line l${h + 1}" style="stroke-width:${1 + 11 * w};opacity:${0.1 + 0.9 * w}"
      d="M${x(i)} 0C${x(i)} 60 ${x(j)} 50 ${x(j)} 110"/>`).join("");
    const chips = ([name, rows], h) => `<svg aria-hidden="true" viewBox="0 0 ${this.width} 110" width="${this.width}" height="110">${lines([name, rows], h)}</svg>
      <div class="chips" aria-hidden="true">${words.map((one, j) => `<b class="s${h + 1}" style="--w:${Math.round(100 * rows[i][j])}%">${one}</b>`).join("")}</div>
      <p class="note">${name}</p>`;
    const most = (rows) => {
      const top = Math.max(...rows[i]), best = words.filter((_, j) => rows[i][j] > top - 0.01);
      return best.length === words.length ? "all words alike" : `<i>${best.join(", ")}</i> (${digits(top, 2)}${best.length > 1 ? " each" : ""})`;
    };
    return {
      view: heads.map(chips).join(""),
      more: table(`Where <i>${words[i]}</i> looks`, ["Word", ...heads.map(([name]) => name.split(":")[0])],
        words.map((one, j) => [one, ...heads.map(([, rows], h) => cell(rows[i][j], [0, 1], h + 1))])),
      says: `From <i>${words[i]}</i>, ${heads.map(([name, rows]) => `${name.split(":")[0].toLowerCase()} looks most at ${most(rows)}`).join("; ")}.`,
    };
  }
});
