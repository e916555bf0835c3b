// How the search orders pages: guides first, the lab notebook and other internals last. See html_search_scorer of Sphinx.
var Scorer = {
  score: ([docname, title, anchor, description, score]) =>
    score + (/^(start|guides)\//.test(docname) ? 20 : 0) - (/^internals\/|^changelog/.test(docname) ? 20 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
