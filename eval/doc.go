// Package eval measures retrieval: question sets with judgements, rankings, the measures of information retrieval, and
// the files in which other tools exchange them.
//
//	set, err := eval.LoadBEIR("datasets/scifact")
//	measures, err := eval.ParseMeasures("nDCG@10,R@100,RR@10")
//	result, err := eval.Evaluate(ctx, set, search, &eval.Options{Measures: measures})
//
// Measures have the names of ir-measures (https://ir-measur.es) and the values of trec_eval
// (https://github.com/usnistgov/trec_eval), whose formulas the doc comment of each measure repeats.
//
// # What counts
//
// A question counts if at least one document is judged relevant to it (relevance 1 or more), as in BEIR and MTEB; others
// are left out, and [Set.Unjudged] says how many. A mean is over all questions that count, also over those for which
// nothing was found: they give 0 (trec_eval -c). A judged document that the collection does not have stays in the ideal
// ranking and in the number of relevant documents.
package eval
