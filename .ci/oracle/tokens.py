"""The sentencepiece package as a foreign check of internal/sentencepiece. Needs: pip install sentencepiece protobuf.

    tokens.py model e5-small-q4.bin OUT.model   writes a SentencePiece model file with the encoder's pieces and scores and
                                                the nmt_nfkc rule; models/e5small/convert takes the rule's map from it
    tokens.py ids MODEL SHARED [COUNT]          prints what the package makes of every text below SHARED/datasets and
                                                SHARED/files and of COUNT random strings (60000), one JSON object a line
    tokens.py golden MODEL LINES                the same for the texts of such lines, to renew testdata/golden.jsonl

A line is {"text": … or "b64": bytes, "ids": [of the text, of "query: " + text, of "passage: " + text], "bounds": [byte offset
where the first token starts, where each token ends]}; bounds are those of the text alone. A test of models/e5small reads
the lines: EXHIBIT_ORACLE_TOKENS=FILE go test ./models/e5small
"""

import base64
import io
import json
import pathlib
import random
import struct
import sys

import sentencepiece

PREFIXES = (b"", b"query: ", b"passage: ")
TEXT_LIKE = ("md", "txt", "html", "csv", "json", "xml", "eml", "ipynb", "rtf", "tsv")


def source_pieces(path):
    """Reads pieces and scores from the 4-bit file; models/e5small/convert describes its layout."""
    data = open(path, "rb").read()
    at = 8 + 7 * 4 + 8
    n, bos, eos, pad, unk = struct.unpack_from("<5i", data, at)
    (blob_size,) = struct.unpack_from("<Q", data, at + 20)
    at += 28
    offsets = struct.unpack_from(f"<{n + 1}I", data, at)
    at += 4 * (n + 1)
    scores = struct.unpack_from(f"<{n}f", data, at)
    at += 4 * n
    blob = data[at : at + blob_size]
    pieces = [blob[offsets[i] : offsets[i + 1]].decode() for i in range(n)]
    return pieces, scores, {"bos": bos, "eos": eos, "pad": pad, "unk": unk}


def write_model(source, out):
    from sentencepiece import sentencepiece_model_pb2 as pb

    pieces, scores, special = source_pieces(source)
    # A throwaway vocabulary, trained only for the compiled character map that the package puts into its models.
    rng = random.Random(1)
    words = ["".join(rng.choice("abcdefghijklmnop") for _ in range(5)) for _ in range(2400)]
    lines = [" ".join(words[i : i + 8]) for i in range(0, len(words), 8)]
    buf = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=buf,
        vocab_size=60,
        normalization_rule_name="nmt_nfkc",
        model_type="unigram",
        hard_vocab_limit=False,
        minloglevel=2,
    )
    model = pb.ModelProto()
    model.ParseFromString(buf.getvalue())
    del model.pieces[:]
    kinds = pb.ModelProto.SentencePiece
    for i, (piece, score) in enumerate(zip(pieces, scores)):
        kind = kinds.NORMAL
        if i == special["unk"]:
            kind = kinds.UNKNOWN
        elif i in special.values():
            kind = kinds.CONTROL
        model.pieces.add(piece=piece, score=score, type=kind)
    for name, value in special.items():
        setattr(model.trainer_spec, name + "_id", value)
    model.trainer_spec.vocab_size = len(pieces)
    pathlib.Path(out).write_bytes(model.SerializeToString())


def data_texts(shared):
    """Every title and text of the data sets; every text-like file, as it is and decoded with U+FFFD for what is not UTF-8."""
    for path in sorted(shared.glob("datasets/*/*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            record = json.loads(line)
            fields = [record.get("title"), record.get("text")]
            if all(fields):
                fields.append("\n".join(fields))
            yield from (f for f in fields if f)
    for path in sorted(p for p in shared.glob("files/**/*") if p.is_file()):
        if path.suffix.lstrip(".").lower() in TEXT_LIKE:
            raw = path.read_bytes()
            yield raw.decode("utf-8", "replace")
            if raw.decode("utf-8", "ignore").encode() != raw:
                yield raw


SPACES = " \t\n\r\v\f\u0085\u00a0\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u200b\u200c\u200d\ufeff\u2060\u180e\u2581"
RANGES = [
    (0x20, 0x7F), (0x00, 0x20), (0xA0, 0x250), (0x250, 0x2B0), (0x300, 0x370), (0x370, 0x530), (0x590, 0x780),
    (0x900, 0xE00), (0xE00, 0xF00), (0x1000, 0x10A0), (0x1100, 0x1200), (0x1E00, 0x2000), (0x2000, 0x2070),
    (0x2070, 0x2C00), (0x3000, 0x3100), (0x3100, 0x3400), (0x3400, 0x4DC0), (0x4E00, 0xA000), (0xAC00, 0xD7B0),
    (0xE000, 0xE100), (0xF900, 0xFB00), (0xFB00, 0xFE00), (0xFE00, 0xFF00), (0xFF00, 0x10000), (0x10000, 0x10400),
    (0x1D400, 0x1D800), (0x1F000, 0x1FB00), (0x20000, 0x2A6E0), (0xE0000, 0xE0200), (0x10FF00, 0x110000),
]
FIXED = ["e\u0301", "n\u0303", "\u1112\u1161\u11ab", "ﬁ", "ﬀ", "㈱", "ﷺ", "…", "½", "Ⅷ", "ｶﾞ", "👩\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈",
         "🇩🇪", "\ufffd", "\x00", "<mask>", "<s>", "</s>", "<unk>", "<pad>", "query:", "passage:", "ا\u0651\u064e", "ก\u0e33",
         "क\u094d\u0937", "\u0344", "ά\u0345", "ǆ", "ſ", "K", "Å", "々", "\u3099", "か\u3099", "\ud7b0", "№", "™", "\u00ad"]


def random_text(rng, pieces):
    kind = rng.randrange(8)
    if kind == 0:
        return "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 12)))
    if kind == 1:
        return rng.choice(pieces).replace("▁", "") * rng.randrange(1, 80)
    if kind == 2:
        return bytes(rng.choice((rng.randrange(256), 0x65, 0xCC, 0x81, 0xE4, 0xB8, 0xAD)) for _ in range(rng.randrange(1, 40)))
    if kind == 3:
        lo, hi = rng.choice(RANGES)
        return "".join(char(rng, lo, hi) for _ in range(rng.randrange(1, 200)))
    parts = []
    for _ in range(rng.randrange(1, 16)):
        pick = rng.randrange(6)
        if pick == 0:
            parts.append(rng.choice(SPACES) * rng.choice((1, 1, 2, 5)))
        elif pick == 1:
            parts.append(rng.choice(FIXED))
        elif pick == 2:
            parts.append(rng.choice(pieces).replace("▁", rng.choice((" ", "", "▁"))))
        elif pick == 3:
            parts.append(rng.choice("aeioucnAEIOUyw") + char(rng, 0x300, 0x345))
        else:
            lo, hi = rng.choice(RANGES)
            parts.extend(char(rng, lo, hi) for _ in range(rng.randrange(1, 6)))
    return "".join(parts)


def char(rng, lo, hi):
    c = rng.randrange(lo, hi)
    return "\ufffd" if 0xD800 <= c < 0xE000 else chr(c)


def random_texts(sp, count):
    rng = random.Random(20240607)
    pieces = [sp.id_to_piece(i) for i in range(4, sp.get_piece_size())]
    for c in range(0x3100):  # every character of the low blocks, alone and between letters
        if not 0xD800 <= c < 0xE000:
            yield f"{chr(c)} x{chr(c)}y e{chr(c)} "
    for text in ("x" * 100000, "ab " * 40000, "中" * 30000, "".join(map(chr, range(0x4E00, 0x9FFF))), " " * 50000 + "a", "\ufffd" * 2000 + "é" * 2000):
        yield text
    long = "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(200000))
    yield long
    yield "".join(rng.choice("01") for _ in range(200000))
    for _ in range(count):
        yield random_text(rng, pieces)


def record(sp, text):
    raw = text if isinstance(text, bytes) else text.encode("utf-8")
    whole = sp.encode(raw, return_type="offset_mapping")
    ids = [list(sp.encode(p + raw)) for p in PREFIXES]
    if ids[0] != whole["ids"]:
        raise SystemExit(f"the package contradicts itself on {text!r}")
    offsets = whole["offsets"]
    bounds = [offsets[0][0]] if offsets else []
    for begin, end in offsets:
        if begin != bounds[-1]:
            raise SystemExit(f"the package leaves a gap at {begin} in {text!r}")
        bounds.append(end)
    out = {"b64": base64.b64encode(raw).decode()} if isinstance(text, bytes) else {"text": text}
    out.update(ids=ids, bounds=bounds)
    return json.dumps(out, ensure_ascii=False, separators=(",", ":"))


def main(args):
    if len(args) == 3 and args[0] == "model":
        return write_model(args[1], args[2])
    if len(args) not in (3, 4) or args[0] not in ("ids", "golden"):
        raise SystemExit(__doc__)
    sys.stdout.reconfigure(encoding="utf-8")
    sp = sentencepiece.SentencePieceProcessor(model_file=args[1])
    if args[0] == "golden":
        lines = map(json.loads, pathlib.Path(args[2]).read_text("utf-8").split("\n")[:-1])
        texts = [base64.b64decode(line["b64"]) if "b64" in line else line["text"] for line in lines]
    else:
        texts = list(data_texts(pathlib.Path(args[2])))
        texts.extend(random_texts(sp, int(args[3]) if len(args) == 4 else 60000))
    for text in texts:
        print(record(sp, text))


main(sys.argv[1:])
