/* Ranks sections for a query, with MiniSearch (BM25, one typo) and Sphinx's Porter stemmer. section_search.py puts both and
   the index in front of this file, in search-sections.js, which search.js fetches when a reader begins to search. */
(({ MiniSearch, Stemmer }, { pages, guides, names, synonyms, stopWords }) => {
  const SUB = "\ue000", END = "\ue002";
  const TOKEN = /[\p{L}\p{N}\p{M}_]+(?:\ue000[^\ue000-\ue002]*\ue002)?/gu;
  const MIN_FUZZY_LETTERS = 5, MIN_PREFIX_LETTERS = 3; // in shorter words, too many others would match
  const SYNONYM_WEIGHT = 0.4;
  const BOOST = { terms: 4, heading: 2, title: 1, text: 1 }; // tuned on half of the queries in tests/book/search_queries.toml
  const PHRASE_BONUS = 1, ENTRY_BONUS = 3, RERANKED = 50;
  const { stemWord } = new Stemmer();
  const stops = new Set(stopWords);

  const isStop = (token) => stops.has(token.toLowerCase()) && !/^[A-HJ-Z]$/.test(token); // a capital may be a symbol or a note
  const tokenize = (text) => text.replace(/[\\{}]/g, "").match(TOKEN) ?? [];

  /* Normalise a word for comparison: α, alpha and \alpha become one, as do e_ij and e with its subscript, or masks and masking. */
  function normalize(token) {
    const word = token.toLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, "")
      .replaceAll(SUB, "_").replaceAll(END, "").replace(/^_+|_+$/g, "");
    const [first] = word.split("_", 1);
    if (Object.hasOwn(names, first)) return names[first] + word.slice(first.length);
    return /^[a-z]+$/.test(word) ? stemWord(word.replace(/is(e[ds]?|ing|ations?)$/, "iz$1")) : word;
  }

  /* The index terms of a word on a page: the word and its parts, such as masked and softmax of masked_softmax. */
  function indexTerms(token) {
    const word = normalize(token);
    return word.includes("_") ? [word, ...word.split("_").map(normalize)] : word;
  }

  const expansions = new Map();
  for (const group of synonyms.map((phrases) => phrases.map((phrase) => tokenize(phrase).map(normalize)))) {
    for (const phrase of group) {
      const others = group.filter((other) => other !== phrase).flat();
      expansions.set(phrase.join(" "), [...(expansions.get(phrase.join(" ")) ?? []), ...others]);
    }
  }

  const sections = pages.flatMap(([page, parts]) => parts.map(([anchor, heading, text, weight, terms]) => (
    { page, anchor, heading, text, weight, terms, title: parts[0][1] })));
  const index = new MiniSearch({
    fields: ["terms", "heading", "title", "text"],
    tokenize,
    processTerm: indexTerms,
    searchOptions: { boost: BOOST, processTerm: (term) => term },
  });
  index.addAll(sections.map((section, id) => ({ id, ...section })));

  /* The words of a query without stop words, unless it has no others. */
  function queryTerms(query) {
    const tokens = tokenize(query).filter((token) => normalize(token));
    const telling = tokens.filter((token) => !isStop(token));
    return [...new Set((telling.length ? telling : tokens).map(normalize))];
  }

  /* The synonyms in `expansions` of one to three consecutive words of a query, which get less weight. */
  function synonymTerms(query) {
    const words = tokenize(query).map(normalize), found = [];
    for (let from = 0; from < words.length; from++) {
      for (let to = from + 1; to <= Math.min(from + 3, words.length); to++) {
        found.push(...(expansions.get(words.slice(from, to).join(" ")) ?? []));
      }
    }
    return [...new Set(found)].filter((term) => !words.includes(term));
  }

  /* The sections of the book, or of its guides, that match a query, best first; a query of letters favours the page on
     notation. `elsewhere` counts the matches in the other part, and `terms` are the index terms that matched, for `isMatch`. */
  function search(query, inGuides = false) {
    const terms = queryTerms(query), letters = terms.every((term) => term.split("_", 1)[0].length === 1);
    if (!terms.length) return { results: [], elsewhere: 0, terms: new Set() };
    const exact = terms.filter((term) => index.search(term, { tokenize: (term) => [term] }).length);
    const plain = { tokenize: (term) => [term], combineWith: "OR" };
    const queries = terms.map((term) => ({
      ...plain, queries: [term],
      prefix: term.length >= MIN_PREFIX_LETTERS,
      fuzzy: !exact.includes(term) && term.length >= MIN_FUZZY_LETTERS ? 1.5 / term.length : false,
    }));
    const others = synonymTerms(query).map((term) => ({
      ...plain, queries: [term], boost: Object.fromEntries(Object.entries(BOOST).map(([field, boost]) => [field, boost * SYNONYM_WEIGHT])),
    }));
    const everywhere = index.search({ combineWith: "OR", queries: [...queries, ...others] }, {
      boostDocument: (id) => sections[id].weight * (letters && /(^|\/)notation$/.test(sections[id].page) ? 8 : 1),
    });
    const found = everywhere.filter(({ id }) => guides.includes(sections[id].page) === inGuides);
    for (const result of found) {
      const known = terms.filter((term) => result.queryTerms.includes(term)).length;
      result.score *= (known + 0.5) / (terms.length + 0.5);
    }
    found.sort((a, b) => b.score - a.score);
    for (const result of found.slice(0, RERANKED)) {
      const section = sections[result.id];
      result.score *= (1 + PHRASE_BONUS * adjacentPairs(section, terms)) * (1 + ENTRY_BONUS * bestEntry(section, terms));
    }
    found.sort((a, b) => b.score - a.score);
    return {
      results: found.map(({ id }) => sections[id]),
      elsewhere: everywhere.length - found.length,
      terms: new Set(found.flatMap(({ terms }) => terms)),
    };
  }

  /* The share of the query's pairs of adjacent words that are adjacent in a section too. */
  function adjacentPairs({ terms: indexed, heading, text }, terms) {
    if (terms.length < 2) return 0;
    const words = tokenize(`${indexed} . ${heading} . ${text}`).filter((token) => !isStop(token)).map(normalize);
    const pairs = new Set(words.slice(1).map((word, n) => `${words[n]} ${word}`));
    return terms.slice(1).filter((term, n) => pairs.has(`${terms[n]} ${term}`)).length / (terms.length - 1);
  }

  /* The best overlap of a query with a section's heading or index entries: words in both over words in either. */
  function bestEntry({ terms: indexed, heading }, terms) {
    const shares = [heading, ...indexed.split(";")].map((entry) => {
      const words = new Set(queryTerms(entry)), both = terms.filter((term) => words.has(term)).length;
      return both / (words.size + terms.length - both);
    });
    return Math.max(...shares);
  }

  const isMatch = (token, terms) => [indexTerms(token)].flat().some((term) => terms.has(term));

  globalThis.courseSearch = { TOKEN, guides, search, isMatch };
})(globalThis, globalThis.searchSections);
