"""ONNX Runtime beside our encoder: an independent reference for its vectors and its speed.

    encoder.py graph ORACLE.py OUT.onnx            run the graph writer ORACLE.py (in its own folder) to write OUT.onnx
    encoder.py ids SP.model FOLDER OUT [--texts N] token ids of at least N texts of the BEIR datasets under FOLDER, 1 to 512
                                                   tokens, as JSON lines {"ids": [...]}; SP.model: what oracle_tokens.py writes
    encoder.py vectors GRAPH.onnx IDS OUT          the vectors of IDS, as JSON lines {"ids": [...], "vector": "<base64>"};
                                                   the vector is little-endian float32, mean over all tokens, length 1
    encoder.py bench GRAPH.onnx [--threads N] [--rounds N]
                                                   texts/s at 128 tokens with N threads, the best of several batch sizes, and the
                                                   seconds of a 14-token query with one thread; JSON lines, medians of the rounds

pip install onnx onnxruntime numpy sentencepiece protobuf
"""
import argparse, base64, glob, json, os, random, statistics, subprocess, sys, time

import numpy as np

LIMIT, BOS, EOS = 512, 0, 2


def session(path, threads):
    import onnxruntime as ort

    opt = ort.SessionOptions()
    opt.intra_op_num_threads, opt.inter_op_num_threads = threads, 1
    opt.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    return ort.InferenceSession(path, opt, providers=["CPUExecutionProvider"])


def feed(batch):
    """Inputs of texts of one length; nothing is padded."""
    ids = np.array(batch, np.int64)
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}


def embed(s, batch):
    mean = s.run(None, feed(batch))[0].mean(axis=1, dtype=np.float64)
    return (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)


def graph(a):
    out = os.path.abspath(a.out)
    subprocess.run([sys.executable, os.path.basename(a.writer), out], cwd=os.path.dirname(os.path.abspath(a.writer)), check=True)


def texts(folder):
    """Every text of every dataset, by dataset; queries are told from passages by their file's name."""
    for d in sorted(glob.glob(os.path.join(folder, "*"))):
        rows = []
        for f in sorted(glob.glob(os.path.join(d, "**", "*.jsonl"), recursive=True)):
            prefix = "query: " if "quer" in os.path.basename(f) else "passage: "
            for line in open(f, encoding="utf-8"):
                r = json.loads(line)
                if isinstance(r.get("text"), str):
                    rows.append(prefix + " ".join(x for x in (r.get("title"), r["text"]) if x))
        if rows:
            yield os.path.basename(d), rows


def ids(a):
    import sentencepiece

    sp = sentencepiece.SentencePieceProcessor(model_file=a.model)
    rng, sets = random.Random(1), list(texts(a.folder))
    each = -(-a.texts // len(sets))
    out, seen = [], {}
    for name, rows in sets:
        picked = rng.sample(rows, min(each, len(rows)))
        seen[name] = len(picked)
        out += [[BOS] + sp.encode(t)[: LIMIT - 2] + [EOS] for t in picked]
    # Lengths that texts seldom have: two texts run together and cut, at every eighth length and the first sixteen and the last.
    for n in sorted({*range(1, 17), *range(24, LIMIT, 8), LIMIT - 1, LIMIT}):
        pool = []
        while len(pool) < n:
            pool += sp.encode(rng.choice(rng.choice(sets)[1]))
        out.append(([BOS] + pool[: max(n - 2, 0)] + [EOS])[:n])
    with open(a.out, "w") as f:
        f.writelines(json.dumps({"ids": x}) + "\n" for x in out)
    lengths = [len(x) for x in out]
    print(json.dumps({"texts": len(out), "datasets": seen, "shortest": min(lengths), "longest": max(lengths)}))


def vectors(a):
    rows = [json.loads(line)["ids"] for line in open(a.ids)]
    s = session(a.graph, a.threads)
    with open(a.out, "w") as f:
        for x in rows:
            v = embed(s, [x])[0].astype("<f4")
            f.write(json.dumps({"ids": x, "vector": base64.b64encode(v.tobytes()).decode()}) + "\n")


def seconds(s, batch, least=1.0):
    """Median seconds of a run, over at least `least` seconds of runs after a first one."""
    x, took = feed(batch), []
    s.run(None, x)
    end = time.perf_counter() + least
    while time.perf_counter() < end or len(took) < 3:
        t = time.perf_counter()
        s.run(None, x)
        took.append(time.perf_counter() - t)
    return statistics.median(took)


def bench(a):
    import onnxruntime as ort

    rng = np.random.default_rng(7)
    many, one = session(a.graph, a.threads), session(a.graph, 1)
    batch = lambda n, tokens: rng.integers(10, 200000, (n, tokens)).tolist()
    for r in range(a.rounds):
        rates = {n: n / seconds(many, batch(n, 128)) for n in (1, 4, 16)}
        best = max(rates, key=rates.get)
        print(json.dumps({"measure": "texts_per_second", "engine": "onnxruntime " + ort.__version__, "tokens": 128, "threads": a.threads,
                          "batch": best, "value": rates[best], "by_batch": rates, "round": r}), flush=True)
        print(json.dumps({"measure": "query_seconds", "engine": "onnxruntime " + ort.__version__, "tokens": 14, "threads": 1,
                          "value": seconds(one, batch(1, 14)), "round": r}), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(required=True)

    def mode(f, *names):
        m = sub.add_parser(f.__name__)
        m.set_defaults(run=f)
        for n in names:
            m.add_argument(n)
        return m

    mode(graph, "writer", "out")
    mode(ids, "model", "folder", "out").add_argument("--texts", type=int, default=1200)
    mode(vectors, "graph", "ids", "out").add_argument("--threads", type=int, default=os.cpu_count())
    b = mode(bench, "graph")
    b.add_argument("--threads", type=int, default=os.cpu_count())
    b.add_argument("--rounds", type=int, default=1)
    a = p.parse_args()
    a.run(a)


main()
