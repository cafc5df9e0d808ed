/* Search: in the theme's dialog while one types, and on the page of results. The index is fetched when somebody begins.
   It has [page, [[anchor, heading, text], ...]] with formulas as text; see book/_ext/section_search.py. */
(() => {
  const SUB = "\ue000", SUP = "\ue001", END = "\ue002";
  const TOKEN = /[\p{L}\p{N}\p{M}_]+(?:\ue000[^\ue000-\ue002]*\ue002)?/gu;
  const AROUND = 80, MOST = 30;
  const site = new URL("..", document.currentScript.src);
  let fetched;

  /* The index, with the words of each section counted. */
  function index() {
    fetched ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL("search-sections.js", site);
      script.onload = () => resolve(prepared(globalThis.searchSections));
      script.onerror = () => { fetched = undefined; reject(); };
      document.head.append(script);
    });
    return fetched;
  }

  /* A word as it is compared: α, alpha and \alpha are one, e_ij and e with its subscript too. */
  function plain(token, names) {
    const word = token.toLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, "")
      .replaceAll(SUB, "_").replaceAll(END, "").replace(/^_+|_+$/g, "");
    const [first] = word.split("_", 1);
    return Object.hasOwn(names, first) ? names[first] + word.slice(first.length) : word;
  }

  function prepared({ pages, names, words }) {
    const count = (text) => {
      const counts = new Map();
      for (const [token] of text.matchAll(TOKEN)) {
        const word = plain(token, names);
        counts.set(word, (counts.get(word) ?? 0) + 1);
      }
      return counts;
    };
    const sections = pages.flatMap(([page, parts]) => parts.map(([anchor, heading, text]) => {
      const title = parts[0][1];
      return { page, anchor, heading, text, title, words: count(text), headed: count(heading), titled: count(title) };
    }));
    const also = new Map(words.flatMap(([word, letter]) => [[word, letter], [letter, word]]));
    return { sections, names, also };
  }

  /* How well a word of a text answers a word of the query: the whole of it, a part of it, its beginning; 0 for not at all. */
  function fit(word, term) {
    if (word === term) return 1;
    const parts = word.split("_"), stem = term.replace(/(?<=.{3})s$/, "");
    if (!term.includes("_") && parts.includes(term)) return 0.8;
    if (stem.length > 2 && (word === stem || word.startsWith(stem) || parts.some((part) => part.startsWith(stem)))) return 0.4;
    return 0;
  }

  const best = (counts, term) => Math.max(0, ...[...counts].map(([word, n]) => fit(word, term) * (1 + Math.log2(n))));

  /* The words of a query, each with the other name that notation has for it. */
  function terms(query, { names, also }) {
    const words = query.replace(/[\\{}]/g, "").match(TOKEN) ?? [];
    return [...new Set(words.map((token) => plain(token, names)).filter(Boolean))].map((term) => [term, also.get(term)]);
  }

  /* For each section how well it answers a term: in its own words, and in the title of its page. */
  function answers([term, other], sections) {
    const scores = sections.map(({ words, headed, titled }) => {
      const own = Math.max(8 * best(headed, term), best(words, term),
        other ? 2 * best(headed, other) : 0, other ? 0.2 * best(words, other) : 0);
      return { own, all: own + best(titled, term) };
    });
    const rarity = Math.log(1 + sections.length / (1 + scores.filter(({ own }) => own).length));
    return scores.map(({ own, all }) => ({ own: own * rarity, all: all * rarity }));
  }

  /* Where most terms of a query are, the best first; of letters, the page on notation before others. */
  function search(query, { sections, ...known }) {
    const asked = terms(query, known), tables = asked.map((term) => answers(term, sections));
    const letters = asked.every(([term]) => term.split("_", 1)[0].length === 1);
    const scored = sections.map((section, n) => {
      const row = tables.map((table) => table[n]), sum = row.reduce((total, { all }) => total + all, 0);
      const found = row.some(({ own }) => own) ? row.filter(({ all }) => all).length : 0;
      return { section, found, score: letters && /(^|\/)notation$/.test(section.page) ? 8 * sum : sum };
    });
    const most = Math.max(0, ...scored.map(({ found }) => found));
    const results = most ? scored.filter(({ found }) => found === most) : [];
    return { asked: asked.flat().filter(Boolean), results: results.sort((a, b) => b.score - a.score).map(({ section }) => section) };
  }

  const isFound = (token, asked, names) => asked.some((term) => fit(plain(token, names), term));

  /* The text around the first word that was found, cut at spaces. */
  function excerpt(text, asked, names) {
    const first = [...text.matchAll(TOKEN)].find(([token]) => isFound(token, asked, names))?.index ?? 0;
    const from = first > AROUND ? text.indexOf(" ", first - AROUND) + 1 : 0;
    const space = text.lastIndexOf(" ", first + 2 * AROUND);
    const to = text.length > first + 2 * AROUND && space > first ? space : text.length;
    return (from ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
  }

  /* Put a text into an element, with what was found marked, and subscripts below. */
  function put(element, text, asked, names) {
    let at = 0;
    for (const { 0: token, index: start } of text.matchAll(TOKEN)) {
      if (!isFound(token, asked, names)) continue;
      scripts(element, text.slice(at, start));
      scripts(element.appendChild(document.createElement("mark")), token);
      at = start + token.length;
    }
    scripts(element, text.slice(at));
    return element;
  }

  function scripts(element, text) {
    let here = element;
    for (const part of text.split(/([\ue000-\ue002])/)) {
      if (part === SUB || part === SUP) here = here.appendChild(document.createElement(part === SUB ? "sub" : "sup"));
      else if (part === END) here = here === element ? element : here.parentElement;
      else here.append(part);
    }
  }

  function item(section, asked, names) {
    const { page, anchor, heading, title, text } = section, entry = document.createElement("li");
    const link = entry.appendChild(document.createElement("a"));
    link.href = new URL(`${page}.html${anchor && `#${anchor}`}`, site);
    put(link.appendChild(document.createElement("strong")), heading, asked, names);
    if (heading !== title) put(link.appendChild(document.createElement("span")), ` ${title}`, [], names);
    put(entry.appendChild(document.createElement("p")), excerpt(text, asked, names), asked, names);
    return entry;
  }

  /* Arrows go from the field to the results, among them, and back. */
  function walk(event, field, list) {
    if (!["ArrowDown", "ArrowUp"].includes(event.key)) return;
    const stops = [field, ...list.querySelectorAll("a")];
    const at = stops.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    if (at >= 0 && at < stops.length) {
      stops[at].focus();
      event.preventDefault();
    }
  }

  function start(form, place) {
    const field = form.querySelector("input[name=q]");
    const status = place.appendChild(document.createElement("p"));
    status.setAttribute("role", "status");
    const list = place.appendChild(document.createElement("ol"));
    list.setAttribute("aria-label", "Results");
    const answer = async () => {
      const query = field.value.trim();
      let known;
      try {
        known = await index();
      } catch {
        status.textContent = "The index of the search could not be fetched.";
        return;
      }
      if (query !== field.value.trim()) return; // asked again meanwhile
      const { asked, results } = search(query, known), shown = results.slice(0, MOST);
      const more = results.length > shown.length ? `, the best ${shown.length} of them here` : "";
      status.textContent = query && `${results.length || "No"} ${results.length === 1 ? "place" : "places"} found${more}`;
      list.replaceChildren(...shown.map((section) => item(section, asked, known.names)));
    };
    field.addEventListener("focus", () => index().catch(() => {}));
    field.addEventListener("input", answer);
    for (const part of [form, list]) part.addEventListener("keydown", (event) => walk(event, field, list));
    return { field, answer };
  }

  const dialog = document.getElementById("pst-search-dialog"), page = document.getElementById("search-results");
  if (dialog) {
    const place = dialog.appendChild(document.createElement("div"));
    place.className = "found-sections";
    start(dialog.querySelector("form"), place);
    place.addEventListener("click", (event) => event.target.closest("a") && dialog.close()); // it may lead to this very page
  }
  if (page) {
    page.classList.add("found-sections");
    const { field, answer } = start(page.parentElement.querySelector("form"), page);
    field.value = new URLSearchParams(location.search).get("q") ?? "";
    if (field.value) answer();
  }
})();
