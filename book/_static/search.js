/* Search as the reader types, in the theme's dialog and on the results page. The search engine, search-ranking.js with its
   index, is fetched when the reader begins. A guide for instructors or contributors searches the guides, and every other
   page the book; each offers what the other has. */
(() => {
  const SUB = "\ue000", SUP = "\ue001", END = "\ue002", NOT_PROSE = /\ue003[^\ue003]*\ue003/g;
  const AROUND = 80, MOST = 30;
  const site = new URL("..", document.currentScript.src);
  const here = location.href.replace(/[?#].*/, "").slice(site.href.length).replace(/\.html$/, "");
  const asked = new URLSearchParams(location.search);
  let fetched;

  /* Fetch the search engine with its index, once. */
  function finder() {
    fetched ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL("search-sections.js", site);
      script.onload = () => resolve(globalThis.courseSearch);
      script.onerror = () => { fetched = undefined; reject(); };
      document.head.append(script);
    });
    return fetched;
  }

  /* The text around the first match in sentences, cut at spaces; of a table only where there is nothing else. */
  function excerpt(whole, matches) {
    const text = whole.replace(NOT_PROSE, " ").trim() || whole.replaceAll("\ue003", "");
    const first = matches(text)[0]?.index ?? 0;
    const from = first > AROUND ? text.indexOf(" ", first - AROUND) + 1 : 0;
    const space = text.lastIndexOf(" ", first + 2 * AROUND);
    const to = text.length > first + 2 * AROUND && space > first ? space : text.length;
    return (from ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
  }

  /* Put a text into an element, with matches marked, and with subscripts and superscripts. */
  function put(element, text, matches) {
    let at = 0;
    for (const { 0: token, index: start } of matches(text)) {
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

  function item({ page, anchor, heading, text }, matches) {
    const entry = document.createElement("li"), link = entry.appendChild(document.createElement("a"));
    link.href = new URL(`${page}.html${anchor && `#${anchor}`}`, site);
    put(link, heading, matches);
    if (text) put(entry.appendChild(document.createElement("p")), excerpt(text, matches), matches);
    return entry;
  }

  /* The results on one page, best first, below its title, which is a link if the page itself is the best. */
  function group([best, ...others], matches) {
    const head = best.anchor ? document.createElement("li") : item(best, matches);
    if (best.anchor) {
      put(head, best.title, matches);
      others.unshift(best);
    }
    head.className = "page";
    return [head, ...others.map((section) => item(section.anchor ? section : { ...section, heading: "Introduction" }, matches))];
  }

  /* Lead from the results of one search to those of the other, if it has any. */
  function offer(more, count, query, inGuides) {
    more.replaceChildren();
    if (!count) return;
    const link = more.appendChild(document.createElement("a")), address = new URL("search.html", site);
    address.search = new URLSearchParams(inGuides ? { q: query } : { q: query, in: "guides" });
    link.href = address;
    link.textContent = `${count} ${count === 1 ? "place" : "places"} in ${inGuides ? "the book" : "the guides for instructors and contributors"}`;
  }

  /* Let a form that is submitted search the guides, too. */
  function keepScope(form) {
    if (form.querySelector("input[name=in]")) return;
    const scope = form.appendChild(document.createElement("input"));
    Object.assign(scope, { type: "hidden", name: "in", value: "guides" });
  }

  /* Arrow keys move from the field to the results, among them, and back. */
  function walk(event, field, place) {
    if (!["ArrowDown", "ArrowUp"].includes(event.key)) return;
    const stops = [field, ...place.querySelectorAll("a")];
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
    const more = place.appendChild(document.createElement("p"));
    more.className = "other-search";
    const answer = async () => {
      const query = field.value.trim();
      let found;
      try {
        found = await finder();
      } catch {
        status.textContent = "The index of the search could not be fetched.";
        return;
      }
      if (query !== field.value.trim()) return; // the query has changed meanwhile
      const inGuides = asked.get("in") === "guides" || found.guides.includes(here);
      if (inGuides) keepScope(form);
      const { results, elsewhere, terms } = found.search(query, inGuides), shown = results.slice(0, MOST);
      const matches = (text) => [...text.matchAll(found.TOKEN)].filter(([token]) => found.isMatch(token, terms));
      const best = results.length > shown.length ? `, the best ${shown.length} of them here` : "";
      status.textContent = query && `${results.length || "No"} ${results.length === 1 ? "place" : "places"} found${best}`;
      const pages = [...new Set(shown.map(({ page }) => page))].map((page) => shown.filter((section) => section.page === page));
      list.replaceChildren(...pages.flatMap((sections) => group(sections, matches)));
      offer(more, elsewhere, query, inGuides);
    };
    field.addEventListener("focus", () => finder().catch(() => {}));
    field.addEventListener("input", answer);
    for (const part of [form, place]) part.addEventListener("keydown", (event) => walk(event, field, place));
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
    field.value = asked.get("q") ?? "";
    if (field.value) answer();
  }
})();
