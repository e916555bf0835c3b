// How the search orders pages: those whose keywords were typed, guides, the rest, the lab notebook and other internals last.
// See html_search_scorer of Sphinx; _ext/search_words.py puts the keywords of all pages above.
var typed = new URLSearchParams(window.location.search).get("q")?.toLowerCase().trim() ?? "";
var leadsTo = (docname) => (KEYWORDS[docname] ?? []).some((word) => word === typed || word === typed.replace(/s$/, ""));
var Scorer = {
  score: ([docname, title, anchor, description, score]) =>
    score +
    (leadsTo(docname) ? 40 : 0) +
    (/^(start|guides)\//.test(docname) ? 20 : 0) -
    (/^guides\/(index|glossary)$/.test(docname) ? 5 : 0) -
    (/^internals\/|^changelog/.test(docname) ? 20 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
