/* <errata-filter>: shows only the errata of chosen notes and severities. Without scripts, all are shown.
   An entry begins with its number in bold, and ends with its section or before the next entry. */
const ENTRY = /^([A-EX])-\d+ ·/;
const NOTES = { A: "note A", B: "note B", C: "note C", D: "note D", E: "note E", X: "across notes" };
const SEVERITIES = ["wrong", "misleading", "notation", "typo", "no error"];

const isEntry = (element) => element.tagName === "P" && ENTRY.test(element.firstElementChild?.matches("strong") ? element.textContent : "");

function entries() {
  return [...document.querySelectorAll("article p")].filter(isEntry).map((first) => {
    const parts = [first];
    for (let next = first.nextElementSibling; next && !isEntry(next) && !next.matches("section, span[id]"); next = next.nextElementSibling) {
      parts.push(next);
    }
    const severity = SEVERITIES.find((name) => first.textContent.includes(`, ${name})`));
    return { note: ENTRY.exec(first.textContent)[1], severity, parts };
  });
}

const boxes = (name, legend, values) =>
  `<fieldset><legend>${legend}</legend>${Object.entries(values).map(([value, label]) =>
    `<label><input type="checkbox" name="${name}" value="${value}"> ${label}</label>`).join("")}</fieldset>`;

class ErrataFilter extends HTMLElement {
  connectedCallback() {
    this.entries = entries();
    this.innerHTML = `<form>${boxes("note", "Only of", NOTES)}
      ${boxes("severity", "Only what is", Object.fromEntries(SEVERITIES.map((name) => [name, name])))}
      <p><output></output> <button type="reset">Show all</button></p></form>`;
    this.form = this.querySelector("form");
    for (const [name, value] of new URLSearchParams(location.search)) {
      const box = this.form.querySelector(`[name="${CSS.escape(name)}"][value="${CSS.escape(value)}"]`);
      if (box) box.checked = true;
    }
    this.form.addEventListener("change", () => this.show());
    this.form.addEventListener("reset", () => setTimeout(() => this.show()));
    addEventListener("hashchange", () => this.reveal());
    this.show();
    this.reveal();
  }

  show() {
    const chosen = new FormData(this.form), address = new URL(location);
    const fits = (name, value) => !chosen.has(name) || chosen.getAll(name).includes(value);
    let count = 0;
    for (const { note, severity, parts } of this.entries) {
      const shown = fits("note", note) && fits("severity", severity);
      count += shown;
      parts.forEach((part) => (part.hidden = !shown));
    }
    this.querySelector("output").textContent = `${count} of ${this.entries.length} entries.`;
    address.search = new URLSearchParams(chosen);
    history.replaceState(history.state, "", address);
  }

  /* Reset the filter if it hides the entry that a link leads to. */
  reveal() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (!target) return;
    const next = target.matches("p") ? target : target.nextElementSibling;
    if (target.hidden || next?.hidden) {
      this.form.reset();
      setTimeout(() => target.scrollIntoView());
    }
  }
}

customElements.define("errata-filter", ErrataFilter);
