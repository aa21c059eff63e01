"""Makes the answers on which the checks of output are tuned and held to account.

    audit local start --gguf FILE --parallel 4       then, for each model,
    python make.py ask URL MODEL >> raw.jsonl        its answers to prompts.json, at temperature 0 and 0.8
    python make.py split                             raw.jsonl.xz to tune.jsonl.xz and heldout.jsonl.xz

README.md says what is in them. Needs nothing but Python.
"""

import json
import lzma
import random
import re
import sys
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TEMPERATURES = (0.0, 0.8)
MAX_TOKENS = 320
SEED = 20261201
"""Of the split and of the breakage; fixed before anything was tuned."""
HELD_OUT_PROMPTS = 64
HONEST, BROKEN = 50, 50
"""Held-out answers of each model."""
Answer = dict[str, Any]


def ask(url: str, model: str, streams: int = 16) -> None:
    """Print one JSON line for each answer: the text of every token, how it ended, the mean log-probability."""
    prompts = [
        (kind, text) for kind, texts in json.loads((HERE / "prompts.json").read_text()).items() for text in texts
    ]
    jobs = [(kind, text, temperature) for temperature in TEMPERATURES for kind, text in prompts]
    with ThreadPoolExecutor(streams) as pool:
        for found in pool.map(lambda job: _answer(url, model, *job), jobs):
            print(json.dumps(found, ensure_ascii=False), flush=True)


def _answer(url: str, model: str, kind: str, prompt: str, temperature: float) -> Answer:
    body = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": MAX_TOKENS,
        "temperature": temperature,
        "seed": 7,
        "stream": True,
        "logprobs": True,
        "top_logprobs": 1,
    }
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    pieces, logprobs, finish = [], [], None
    with urllib.request.urlopen(request) as response:
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            for choice in json.loads(line[6:])["choices"]:
                finish = choice["finish_reason"] or finish
                if text := choice["delta"].get("content"):
                    pieces.append(text)
                content = (choice.get("logprobs") or {}).get("content") or []
                logprobs += [entry["logprob"] for entry in content]
    mean = round(sum(logprobs) / len(logprobs), 3) if logprobs else None
    shared = {"model": model, "kind": kind, "prompt": prompt, "temperature": temperature, "finish": finish}
    return {**shared, "max_tokens": MAX_TOKENS, "logprob": mean, "pieces": pieces}


def split() -> None:
    """Part the answers by prompt, break half of those held out, and of the rest each in every way that it allows."""
    rng = random.Random(SEED)
    answers = [json.loads(line) for line in lzma.decompress((HERE / "raw.jsonl.xz").read_bytes()).splitlines()]
    for number, answer in enumerate(answers):
        answer["id"] = number
    prompts = sorted({answer["prompt"] for answer in answers})
    held_out = set(rng.sample(prompts, HELD_OUT_PROMPTS))
    for name, is_held_out in (("tune", False), ("heldout", True)):
        own = [answer for answer in answers if (answer["prompt"] in held_out) == is_held_out]
        rows = _broken_and_honest(own, rng, all_ways=not is_held_out)
        text = "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)
        (HERE / f"{name}.jsonl.xz").write_bytes(lzma.compress(text.encode(), preset=9))


def _broken_and_honest(answers: list[Answer], rng: random.Random, *, all_ways: bool) -> list[Answer]:
    rows = [{**answer, "label": "own-loop"} for answer in answers if is_own_loop(answer)]
    honest = [{**answer, "label": "honest"} for answer in answers if not is_own_loop(answer)]
    if all_ways:
        made = [(way, answer) for answer in honest for way in WAYS]
        return rows + honest + [row for way, answer in made if (row := _broken(way, answer, honest, rng)) is not None]
    for model in sorted({answer["model"] for answer in honest}):
        own = [answer for answer in honest if answer["model"] == model]
        rng.shuffle(own)
        long = [answer for answer in own if len(answer["pieces"]) >= LEAST_TOKENS]
        broken: list[Answer] = []
        used: set[int] = set()
        while len(broken) < BROKEN:
            # Ways in turn, each on an answer of its own for as long as there are any that it fits.
            way = list(WAYS)[len(broken) % len(WAYS)]
            pool = [answer for answer in long if answer["id"] not in used] or long
            row = next(row for answer in rng.sample(pool, len(pool)) if (row := _broken(way, answer, honest, rng)))
            used.add(row["id"])
            broken.append(row)
        whole = [answer for answer in own if answer["id"] not in used]
        rows += broken + (whole + [answer for answer in own if answer["id"] in used])[:HONEST]
    return rows


def is_own_loop(answer: Answer) -> bool:
    """Whether the model itself ran into a loop and was cut there: the last 24 tokens came twice before, or of the
    four-token runs among the last 96 tokens at most 40 % differ; numbers are taken as equal except where the prompt
    asks for repetition."""
    whole, end = answer["pieces"], answer["pieces"][-24:]
    if answer["finish"] == "length" and sum(whole[at : at + 24] == end for at in range(len(whole) - 24)) >= 2:
        return True
    tokens = answer["pieces"][-96:]
    if answer["kind"] != "repetitive":
        tokens = [re.sub(r"\d+", "0", token) for token in tokens]
        tokens = [token for one, token in zip(["", *tokens], tokens, strict=False) if (one, token) != ("0", "0")]
    runs = [tuple(tokens[at : at + 4]) for at in range(len(tokens) - 3)]
    return answer["finish"] == "length" and len(set(runs)) <= 0.4 * len(runs)


LEAST_TOKENS = 60
"""Of an answer that is broken."""


def _broken(way: str, answer: Answer, others: list[Answer], rng: random.Random) -> Answer | None:
    """The answer, broken; None where this way does not fit it."""
    if len(answer["pieces"]) < LEAST_TOKENS:
        return None
    made = WAYS[way](answer, others, rng)
    if made is None:
        return None
    begins, pieces, finish = made
    return {**answer, "label": way, "begins": begins, "pieces": pieces, "finish": finish, "logprob": None}


Made = tuple[int, list[str], str] | None
"""Token from which it is broken, the tokens, the finish reason."""


def nan(answer: Answer, _: list[Answer], rng: random.Random) -> Made:
    """From some token on the one that a sampler takes of logits that are not numbers: the first of the vocabulary."""
    tokens = answer["pieces"]
    begins = rng.choice([0, rng.randrange(len(tokens) * 7 // 10)])
    token = rng.choice(["!", "!", "<unk>", "<|endoftext|>", "<pad>", "0"])
    return begins, tokens[:begins] + [token] * (MAX_TOKENS - begins), "length"


def loop(answer: Answer, _: list[Answer], rng: random.Random) -> Made:
    """From some token on the tokens before it again and again until the answer is cut."""
    tokens = answer["pieces"]
    begins = rng.randrange(20, len(tokens) * 3 // 4)
    period = rng.randint(1, min(40, begins))
    piece = tokens[begins - period : begins]
    return begins - period, (tokens[:begins] + piece * MAX_TOKENS)[:MAX_TOKENS], "length"


def mojibake(answer: Answer, _: list[Answer], rng: random.Random) -> Made:
    """UTF-8 read as a code page, the alphabet of byte-level tokens, or bytes lost within characters."""
    tokens, text = answer["pieces"], "".join(answer["pieces"])
    if sum(not one.isascii() for one in text) >= 8 and rng.random() < 0.7:
        page = rng.choice(["latin-1", "cp1252", "cp1251"])
        return 0, [one.encode().decode(page, "replace") for one in tokens], answer["finish"]
    if rng.random() < 0.5:
        return 0, [one.replace(" ", "Ġ").replace("\n", "Ċ") for one in tokens], answer["finish"]
    begins = rng.randrange(len(tokens) // 2)
    lost = [one if at < begins or rng.random() > 0.1 else "\ufffd" for at, one in enumerate(tokens)]
    return begins, lost, answer["finish"]


def language(answer: Answer, others: list[Answer], rng: random.Random) -> Made:
    """From some token on an answer in a language that is neither that of the prompt nor English."""
    if answer["kind"] == "language":
        return None
    foreign = [one for one in others if _is_foreign(one)]
    other = rng.choice(foreign)
    tokens = answer["pieces"]
    begins = rng.choice([0, rng.randrange(len(tokens) * 6 // 10)])
    return begins, [*tokens[:begins], "\n", *other["pieces"]][:MAX_TOKENS], other["finish"]


def _is_foreign(answer: Answer) -> bool:
    """A good answer to a prompt in one other language."""
    is_asked = answer["kind"] == "language" and not re.match(r"(Write|Translate)\b", answer["prompt"])
    return is_asked and "qwen" in answer["model"] and len(answer["pieces"]) >= LEAST_TOKENS


def stop(answer: Answer, _: list[Answer], rng: random.Random) -> Made:
    """Ended at some token as if the model had ended it."""
    tokens = answer["pieces"]
    ends = rng.randrange(len(tokens) * 15 // 100, len(tokens) * 7 // 10)
    return ends, tokens[:ends], "stop"


def shuffle(answer: Answer, _: list[Answer], rng: random.Random) -> Made:
    """The tokens from some point on in any order."""
    tokens = answer["pieces"]
    begins = rng.choice([0, rng.randrange(len(tokens) * 3 // 10)])
    rest = tokens[begins:]
    rng.shuffle(rest)
    return begins, tokens[:begins] + rest, answer["finish"]


def garbage(answer: Answer, others: list[Answer], rng: random.Random) -> Made:
    """From some token on tokens of any answer in any language, as a wrong back end prints."""
    tokens = answer["pieces"]
    begins = rng.choice([0, rng.randrange(len(tokens) * 3 // 10)])
    vocabulary = sorted({piece for one in others for piece in one["pieces"]})
    return begins, tokens[:begins] + rng.choices(vocabulary, k=MAX_TOKENS - begins), "length"


WAYS: dict[str, Callable[[Answer, list[Answer], random.Random], Made]] = {
    "nan": nan,
    "loop": loop,
    "mojibake": mojibake,
    "language": language,
    "stop": stop,
    "shuffle": shuffle,
    "garbage": garbage,
}


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ask", url, model]:
            ask(url, model)
        case ["split"]:
            split()
        case _:
            sys.exit(__doc__)
