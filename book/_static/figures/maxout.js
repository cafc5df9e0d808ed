import { times } from "./arithmetic.js";
import { Figure, apart, box, digits, slider, svg, table, text } from "./base.js";

/* Lines y = f(x) for x from −2 to 2 and y from −3 to 3, with a cursor at x. */
function chart(width, at, lines) {
  const right = width - 70, X = (x) => 44 + ((x + 2) / 4) * (right - 44), Y = (y) => 110 - (y / 3) * 95, steps = [...Array(81).keys()].map((k) => k / 20 - 2);
  return svg(width, 240,
    [-3, 0, 3].map((y) => `<path class="grid" d="M44 ${Y(y)}H${right}"/>` + text(38, Y(y) + 4, digits(y, 1), "end")).join("") +
    `<path class="cursor" d="M${X(at)} 15V205"/>` + [-2, 0, 2].map((x) => text(X(x), 222, digits(x, 0))).join("") + text(X(0), 238, "context c") +
    lines.map(({ f, tone }) => `<path class="line l${tone}" d="M${steps.map((x) => `${X(x)} ${Y(f(x))}`).join("L")}"/>
      <circle class="t${tone}" cx="${X(at)}" cy="${Y(f(at))}" r="4.5"/>`).join("") +
    apart(lines.map(({ f, name }) => [Y(f(2)) + 4, name])).map(([y, name]) => text(right + 4, y, name, "start")).join(""));
}

/* The logit of a word from one pair of a maxout layer, for two states, as the context changes. */
customElements.define("maxout-figure", class extends Figure {
  controls() {
    return slider("context", "Entry <i>c</i> of the context", -2, 2, 0.1, 1) + box("maxout", "Keep the larger of the pair", true);
  }
  draw({ context, maxout }, { states, joined }) {
    const pair = (s, c) => times(joined, [s, c]);
    const logit = (s, c) => (maxout ? Math.max(...pair(s, c)) : pair(s, c)[0]);
    const logits = states.map((s) => logit(s, context)), [higher, lower] = logits[0] > logits[1] ? states : [...states].reverse();
    const more = `the logit is higher if the state is ${digits(higher, 0)} than if it is ${digits(lower, 0)}`;
    return {
      view: chart(this.width, context, states.map((s, k) => ({ f: (c) => logit(s, c), name: `state ${digits(s, 0)}`, tone: [4, 0][k] }))),
      more: table("The logit from one pair", ["State", "First of the pair", "Second", "Logit"], states.map((s, k) => [
        digits(s, 0), ...pair(s, context).map((x) => `<td>${digits(x)}</td>`), `<td>${digits(logits[k])}</td>`])),
      says: `Logits ${digits(logits[0], 1)} and ${digits(logits[1], 1)}: ` + (!maxout ? `whatever the context, ${more}.` :
        logits[0] === logits[1] ? "both states are alike here." : `with this context, ${more}.`),
    };
  }
});
