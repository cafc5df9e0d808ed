/* <score-slider>: three scores as bars while one component of the decoder state moves.
   Every number comes from the JSON inside the element, which the page computes with the reference code:
   {component, fixed, values, start, positions, series: [{label, scores: [[one number per position] per value]}]} */
class ScoreSlider extends HTMLElement {
  connectedCallback() {
    const data = JSON.parse(this.querySelector('script[type="application/json"]').textContent);
    const all = data.series.flatMap((series) => series.scores.flat());
    const low = Math.min(0, ...all);
    const span = Math.max(0, ...all) - low;
    const percent = (score) => (100 * (score - low)) / span;
    const signed = (number, digits) => number.toFixed(digits).replace("-", "\u2212");

    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    root.innerHTML = `
      <style>
        :host { display: block; margin: 1rem 0; padding: 1rem; border: 1px solid var(--pst-color-border, #888);
                border-radius: 6px; color: var(--pst-color-text-base, inherit); }
        @media print { :host { display: none; } }
        label { display: block; margin-bottom: .6rem; }
        input[type=range] { display: block; width: 100%; margin: .4rem 0; accent-color: var(--pst-color-primary, #176a87); }
        input:focus-visible { outline: 3px solid var(--pst-color-primary, #176a87); outline-offset: 2px; }
        table { width: 100%; border-collapse: collapse; }
        caption { text-align: left; padding: .4rem 0; font-weight: 600; }
        th, td { padding: .35rem 0; text-align: left; font-weight: normal; }
        th:first-child { width: 2.5rem; }
        td:last-child, th:last-child { width: 4.5rem; text-align: right; font-variant-numeric: tabular-nums; }
        tr.best th, tr.best td:last-child { font-weight: 700; }
        .track { position: relative; height: 1.3rem; background: var(--pst-color-surface, #eee); }
        .bar { position: absolute; top: 0; bottom: 0; background: var(--pst-color-text-muted, #666); }
        .best .bar { background: var(--pst-color-primary, #176a87); }
        .zero { position: absolute; top: -.35rem; bottom: -.35rem; width: 1px; background: var(--pst-color-text-base, #222); }
        .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
      </style>
      <label>Decoder state, component ${data.component}: <strong></strong> <span>(${data.fixed})</span>
        <input type="range" min="0" max="${data.values.length - 1}" step="1" value="${data.start}">
      </label>
      <label><input type="checkbox"> ${data.series[1].label}</label>
      <table>
        <caption>Scores of the three positions. Highest: <span class="name"></span></caption>
        <thead class="hidden"><tr><th scope="col">Position</th><th scope="col">Bar</th><th scope="col">Score</th></tr></thead>
        <tbody>${data.positions.map((name) => `<tr><th scope="row">${name}</th><td aria-hidden="true"><div class="track">
          <div class="bar"></div><div class="zero" style="left:${percent(0)}%"></div></div></td><td></td></tr>`).join("")}
        </tbody>
      </table>`;

    const slider = root.querySelector("input[type=range]");
    const box = root.querySelector("input[type=checkbox]");
    const draw = () => {
      const scores = data.series[Number(box.checked)].scores[slider.value];
      const value = signed(data.values[slider.value], 1);
      const best = scores.indexOf(Math.max(...scores));
      root.querySelector("strong").textContent = value;
      root.querySelectorAll("tbody tr").forEach((row, j) => {
        row.classList.toggle("best", j === best);
        const bar = row.querySelector(".bar");
        bar.style.left = `${percent(Math.min(0, scores[j]))}%`;
        bar.style.width = `${(100 * Math.abs(scores[j])) / span}%`;
        row.lastElementChild.textContent = signed(scores[j], 4);
      });
      root.querySelector(".name").textContent = data.positions[best];
      const spoken = data.positions.map((name, j) => `${name} ${signed(scores[j], 2)}`).join(", ");
      slider.setAttribute("aria-valuetext", `${value}; scores ${spoken}; highest ${data.positions[best]}`);
    };
    slider.addEventListener("input", draw);
    box.addEventListener("change", draw);
    draw();
  }
}
customElements.define("score-slider", ScoreSlider);
