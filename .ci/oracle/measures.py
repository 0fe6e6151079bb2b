"""ir-measures, pytrec_eval and ranx as foreign checks of package eval.

    measures.py golden OUT            writes random judgements and rankings with the values that ir-measures gives each query,
                                      to renew eval/testdata/oracle.json, which a Go test reads
    measures.py check QRELS RUN RESULT
                                      compares what `exhibit eval DIR --json --run-out RUN > RESULT` says, query by query and in
                                      the mean, with what the packages make of RUN and of DIR/qrels/test.tsv; exits 1 above 1e-6

pip install ir-measures pytrec_eval-terrier ranx
"""

import csv
import json
import random
import sys

import ir_measures
import pytrec_eval

TOLERANCE = 1e-6
MEASURES = "nDCG@1 nDCG@5 nDCG@10 nDCG R@5 R@100 RR@3 RR@10 RR P@5 P@100 P(rel=2)@5 AP AP@5 AP(rel=2) Success@1 Success@5 Judged@5 Judged@100".split()
TIED = "nDCG@5 nDCG R@5 P@5 AP AP@5 Success@5 RR".split()  # measures that trec_eval itself computes, so that its order of ties holds


def values(names, qrels, run):
    out = {q: {} for q in run}
    for m in ir_measures.iter_calc([ir_measures.parse_measure(n) for n in names], qrels, run):
        if m.query_id in out:
            out[m.query_id][str(m.measure)] = m.value
    return out


def golden(out):
    rng, cases = random.Random(3), []
    for tied in (False, True):
        qrels, run = {}, {}
        for i in range(60):
            docs = [f"d{n:02d}" for n in range(40)]
            judged = rng.sample(docs, rng.randint(1, 25))
            qrels[f"q{i}"] = {d: rng.choice((0, 0, 1, 1, 2, 3)) for d in judged}
            qrels[f"q{i}"][judged[0]] = rng.randint(1, 3)
            found = rng.sample(docs, rng.randint(1, 30))
            scores = [rng.randint(0, 5) / 4 for _ in found] if tied else [float(s) for s in rng.sample(range(1000), len(found))]
            run[f"q{i}"] = dict(zip(found, scores))
        cases.append({"qrels": qrels, "run": run, "values": values(TIED if tied else MEASURES, qrels, run)})
    with open(out, "w") as f:
        json.dump(cases, f, separators=(",", ":"), sort_keys=True)
        f.write("\n")


def read_qrels(path):
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    qrels = {}
    for query, doc, rel in rows:
        qrels.setdefault(query, {})[doc] = int(rel)
    return {q: d for q, d in qrels.items() if max(d.values()) > 0}


def read_run(path):
    run = {}
    for line in open(path, encoding="utf-8"):
        query, _, doc, _, score, _ = line.split()
        run.setdefault(query, {})[doc] = float(score)
    return run


def compare(tool, names, ours, theirs, queries):
    """Counts values compared and returns the largest difference; a query that found nothing is 0 in every measure."""
    worst, n = 0.0, 0
    for name in names:
        mean = 0.0
        for q in queries:
            want = theirs.get(q, {}).get(name, 0.0)
            mean += want / len(queries)
            worst = max(worst, abs(ours["per_query"][q][name] - want))
            n += 1
        worst = max(worst, abs(ours["measures"][name] - mean))
        print(f"{tool:12s} {name:14s} mean {mean:.6f}, ours {ours['measures'][name]:.6f}")
    print(f"{tool:12s} {n} values of {len(queries)} queries, largest difference {worst:.2e}")
    return worst


def pytrec_names(names):
    of = {"nDCG": "ndcg_cut", "R": "recall", "P": "P", "AP": "map_cut", "Success": "success"}
    for name in names:
        kind, at, k = name.partition("@")
        if at and kind in of:
            yield name, f"{of[kind]}_{k}"


def ranx_names(names):
    # Judgements that are 0 are no gain there either; its ndcg is the linear one, as here.
    of = {"nDCG": "ndcg", "R": "recall", "RR": "mrr", "P": "precision", "AP": "map", "Success": "hit_rate"}
    for name in names:
        kind, _, k = name.partition("@")
        if kind in of and k:
            yield name, f"{of[kind]}@{k}"


def check(qrels_path, run_path, result_path):
    from ranx import Qrels, Run, evaluate

    qrels, run, ours = read_qrels(qrels_path), read_run(run_path), json.load(open(result_path, encoding="utf-8"))
    queries = list(qrels)
    if set(queries) != set(ours["per_query"]) or len(queries) != ours["queries"]:
        sys.exit(f"{len(queries)} queries are judged, {ours['queries']} were counted")
    names = list(ours["measures"])
    worst = compare("ir-measures", names, ours, values(names, qrels, run), queries)

    theirs = dict(pytrec_names(names))
    found = pytrec_eval.RelevanceEvaluator(qrels, {t.rsplit("_", 1)[0] + "." + t.rsplit("_", 1)[1] for t in theirs.values()}).evaluate(run)
    worst = max(worst, compare("pytrec_eval", theirs, ours, {q: {n: v[t] for n, t in theirs.items()} for q, v in found.items()}, queries))

    theirs = dict(ranx_names(names))
    ranx_run = Run({q: run.get(q) or {"none": 0.0} for q in queries})
    found = {q: {} for q in queries}
    for name, t in theirs.items():
        evaluate(Qrels(qrels), ranx_run, t, return_mean=False)
        for q, v in ranx_run.scores[t].items():
            found[q][name] = float(v)
    worst = max(worst, compare("ranx", theirs, ours, found, queries))
    if worst > TOLERANCE:
        sys.exit(f"largest difference {worst:.2e} is above {TOLERANCE:.0e}")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "golden":
        golden(sys.argv[2])
    elif len(sys.argv) == 5 and sys.argv[1] == "check":
        check(*sys.argv[2:])
    else:
        sys.exit(__doc__)
