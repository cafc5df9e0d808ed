/* Explain the symbols of a formula in place, in the words of the page on notation, which is fetched on first use.
   Pointing at a symbol or tapping it explains it; the link below a heading explains all symbols of its section. */
(() => {
  const LETTER = ".katex-html .mathnormal", FORMULA = ".math:not(a .math, button .math, summary .math, label .math)";
  const INDICES = /^[bijktuw0-9+−-]*$/;
  const NOTES = /\b[Nn]otes?\s([A-E](?:(?:,| and| to| against notes?)\s[A-E])*)\b/g;  // \s matches a no-break space, too
  const links = [...document.querySelectorAll(".symbols-of a")];
  if (!links.length || !HTMLElement.prototype.showPopover) return;

  /* The subscript and superscript of a letter: KaTeX puts the subscript first, and marks a stack that has one. */
  function scripts(base) {
    const stack = base?.nextElementSibling?.matches(".msupsub") ? base.nextElementSibling.firstElementChild : null;
    const rows = stack ? [...stack.querySelectorAll(":scope > .vlist-r:first-child > .vlist > span")] : [];
    return stack?.matches(".vlist-t2") ? { below: rows[0], above: rows[1] } : { below: undefined, above: rows[0] };
  }

  /* The part of a formula that has scripts of its own and contains only this letter; otherwise the letter itself. */
  function based(letter) {
    for (let part = letter; !part.matches(".katex-html, .msupsub"); part = part.parentElement) {
      if (!part.nextElementSibling?.matches(".msupsub")) continue;
      return part.matches(".mathnormal") || part.querySelectorAll(".mathnormal").length === 1 ? part : letter;
    }
    return letter;
  }

  /* The name of a letter with its subscript, unless that is an index or nested: e_ij is e, W_a is W_a, h_{T_x} is h. */
  function named(letter) {
    const { below } = scripts(based(letter));
    const nested = below?.querySelector(".msupsub");
    const subscript = below && !nested ? below.textContent.replace(/[^\p{L}\d+−-]/gu, "") : "";
    return letter.textContent.trim() + (INDICES.test(subscript) ? "" : `_${subscript}`);
  }

  /* The names that a letter may have, likeliest first: in a subscript, it may be part of its base's name. */
  function names(letter) {
    const stack = letter.closest(".msupsub"), base = stack?.previousElementSibling;
    const isIndex = based(letter) === letter && !letter.nextElementSibling?.matches(".msupsub");
    const whole = base && isIndex && scripts(base).below?.contains(letter)
      ? base.matches(".mathnormal") ? base : base.querySelectorAll(".mathnormal").length === 1 && base.querySelector(".mathnormal") : null;
    return whole ? [named(whole), named(letter)] : [named(letter)];
  }

  const lettersOf = (element) => [...new Set([...element.querySelectorAll(LETTER)]
    .filter((letter) => names(letter).length === 1).map(named))];

  /* Read from the page on notation what each letter means on this page, and in which notes it means something else. */
  function read(page, here) {
    const known = new Map(), notes = new Map(), code = new Map();
    const tables = [...page.querySelectorAll("#sizes table, #symbols-and-code table, #every-letter table")];
    const rows = tables.flatMap((table) => {
      const titles = [...table.querySelectorAll("th")].map((cell) => cell.textContent.trim());
      return [...table.querySelectorAll("tbody tr")].map((row) => Object.fromEntries([...row.cells].map((cell, n) => [titles[n], cell])));
    });
    const linked = (cell) => [...cell.querySelectorAll("a")].some((link) => link.getAttribute("href").split("#")[0] === `${here}.html`);
    const holds = (where) => linked(where) !== where.textContent.trim().startsWith("everywhere");  // all but those linked
    for (const row of rows) {
      const counts = row["what it counts"], stands = row["what it stands for"] ?? row["what it stands for there"];
      const other = row["letters that only this note uses, or uses differently"];
      const cell = row.letter ?? row.symbol ?? other, letters = lettersOf(cell);
      if (other) for (const letter of letters) notes.set(letter, [...(notes.get(letter) ?? []), row.note.textContent.trim()]);
      else if (row.code) code.set(letters.filter((letter) => !/^T_/.test(letter)).join(), row);
      else if (row.page ? linked(row.page) : counts || holds(row.where)) {
        const formulas = [...cell.querySelectorAll(".math")], shapes = [...(row.shape?.querySelectorAll(".math") ?? [])];
        for (const letter of letters) {
          const at = formulas.findIndex((formula) => lettersOf(formula).includes(letter));
          const shape = shapes.length > 1 ? shapes[at] : row.shape;
          if (!known.has(letter)) known.set(letter, { sign: formulas[at], meaning: counts ?? stands, shape });
        }
      }
    }
    for (const [letter, row] of code) if (known.has(letter)) known.get(letter).code = row;
    return { known, notes };
  }

  let fetched;
  const here = location.pathname.split("/").pop().replace(/\.html$/, "");
  const notation = () => (fetched ??= fetch(links[0].href)
    .then((answer) => answer.ok ? answer.text() : Promise.reject(new Error(answer.statusText)))
    .then((text) => read(new DOMParser().parseFromString(text, "text/html"), here))
    .catch((error) => { fetched = undefined; throw error; }));

  const element = (tag, ...children) => {
    const made = document.createElement(tag);
    made.append(...children);
    return made;
  };
  const copy = (cell) => cell.matches("td")
    ? [...(cell.querySelector("p") ?? cell).childNodes].map((child) => document.importNode(child, true))
    : [document.importNode(cell, true)];

  /* The notes that a section mentions in its own text, outside its subsections. */
  function spokenOf(section) {
    const own = [...section.children].filter((child) => !child.matches("section")).map((child) => child.textContent).join(" ");
    return [...own.matchAll(NOTES)].flatMap(([, list]) => list.match(/[A-E]\b/g));
  }

  /* The notes mentioned here in which a letter means something else; for an unknown letter, also in enclosing sections. */
  function elsewhere(letter, section, notes, known) {
    for (let around = section; around; around = known ? null : around.parentElement.closest("section")) {
      const spoken = spokenOf(around), matching = (notes.get(letter) ?? []).filter((note) => spoken.includes(note));
      if (matching.length) return matching;
    }
    return [];
  }

  /* The glossary entry of a letter, or undefined if the page on notation has none for this page. */
  function describe(letter, { known, notes }, section) {
    const symbol = known.get(letter), others = elsewhere(letter, section, notes, Boolean(symbol));
    if (!symbol && !others.length) return undefined;
    const meaning = element("dd"), add = (...parts) => meaning.append(...(meaning.childNodes.length ? ["; "] : []), ...parts);
    if (symbol) {
      add(...copy(symbol.meaning));
      if (symbol.shape?.textContent.trim()) add("shape ", ...copy(symbol.shape));
      if (symbol.code) add("in code ", ...copy(symbol.code.code), ", ", ...copy(symbol.code["shape in code"]));
    }
    if (others.length) add(`in note ${others.join(", ")} a letter of its own`);
    const sign = symbol?.sign ? document.importNode(symbol.sign, true) : letter.replace("_", " ");
    return [element("dt", sign), meaning];
  }

  const note = element("div");
  Object.assign(note, { className: "symbols-note", popover: "auto", tabIndex: -1 });
  note.setAttribute("role", "dialog");
  note.setAttribute("aria-label", "Symbols");
  document.querySelector("article").append(note);
  let owner;

  function show(anchor, list) {
    note.replaceChildren(element("dl", ...list.flat()));
    const more = note.appendChild(element("p", element("a", "All letters")));
    more.firstChild.href = links[0].href;
    note.style.left = note.style.top = "0";
    note.showPopover();
    const { left, top, bottom } = anchor.getBoundingClientRect(), { offsetWidth, offsetHeight } = note;
    const below = bottom + 6 + offsetHeight <= innerHeight || top < offsetHeight + 6;
    note.style.left = `${scrollX + Math.max(8, Math.min(left, document.documentElement.clientWidth - offsetWidth - 8))}px`;
    note.style.top = `${scrollY + (below ? bottom + 6 : top - offsetHeight - 6)}px`;
  }

  async function explain(letter) {
    let symbols;
    try {
      symbols = await notation();
    } catch {
      return; // the formula stays as it is
    }
    const section = letter.closest("section");
    const entry = names(letter).map((name) => describe(name, symbols, section)).find(Boolean);
    if (entry) show(letter, [entry]);
  }

  async function explainAll(link) {
    let symbols;
    try {
      symbols = await notation();
    } catch {
      location.href = link.href;
      return;
    }
    const sections = new Map(); // the section in which each symbol first occurs
    for (const letter of link.closest("section").querySelectorAll(LETTER)) {
      const [name] = names(letter);
      if (!sections.has(name)) sections.set(name, letter.closest("section"));
    }
    const entries = [...sections].map(([name, section]) => describe(name, symbols, section)).filter(Boolean);
    owner = link;
    link.setAttribute("aria-expanded", "true");
    show(link, entries);
    note.focus();
  }

  for (const link of links) {
    link.setAttribute("role", "button");
    link.setAttribute("aria-haspopup", "dialog");
    link.setAttribute("aria-expanded", "false");
    link.addEventListener("click", (event) => { event.preventDefault(); explainAll(link); });
    link.addEventListener("keydown", (event) => {
      if (event.key === " ") { event.preventDefault(); explainAll(link); }
    });
  }
  note.addEventListener("toggle", (event) => {
    if (event.newState === "open" || !owner) return;
    owner.setAttribute("aria-expanded", "false");
    if (note.contains(document.activeElement) || document.activeElement === document.body) owner.focus({ preventScroll: true });
    owner = undefined;
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && note.matches(":popover-open")) note.hidePopover();
  });

  /* Resting the pointer on a symbol explains it; the pointer may then move into the note. */
  const pointed = (event) => event.target.closest?.(LETTER)?.closest(FORMULA) && event.target.closest(LETTER);
  let waiting;
  document.addEventListener("pointerover", (event) => {
    clearTimeout(waiting);
    if (event.pointerType !== "mouse" || owner) return;
    const letter = !note.contains(event.target) && pointed(event);
    if (letter) waiting = setTimeout(() => explain(letter), 250);
    else if (note.matches(":popover-open") && !note.contains(event.target)) waiting = setTimeout(() => note.hidePopover(), 300);
  });
  document.addEventListener("click", (event) => {
    const letter = !note.contains(event.target) && pointed(event);
    if (letter) explain(letter);
  });
  globalThis.symbolsAtHand = { names, notation, describe }; // for tests
})();
