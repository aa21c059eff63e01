"""Honest text that is hard to tell from garbage, and the same broken."""

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.core.validity.answer import validity_of
from auditor.core.validity.characters import wrong_decoding
from auditor.core.validity.languages import expected_languages, unexpected

PROSE = (
    "The keeper climbed the stairs and lit the lamp, as he had done on every evening for thirty years. Below him the "
    "sea went on with its work, and the boats that were late came in one after the other. He counted them, wrote the "
    "number into the book, and put the pen away. When the last of them was in the harbour he went down again, closed "
    "the door behind him and sat by the fire. Nobody had asked him for the number since the war, but he was not a man "
    "who left a column empty."
)
HASKELL = """\
quicksort :: Ord a => [a] -> [a]
quicksort [] = []
quicksort (p:xs) = quicksort [x | x <- xs, x < p] ++ [p] ++ quicksort [x | x <- xs, x >= p]

main :: IO ()
main = mapM_ print $ zip [1 :: Int ..] (quicksort [3, 1, 2])
"""
APL = "life←{⊃1 ⍵∨.∧3 4=+/,¯1 0 1∘.⊖¯1 0 1∘.⌽⊂⍵}\nprimes←{(~⍵∊⍵∘.×⍵)/⍵←1↓⍳⍵}\navg←{(+⌿⍵)÷≢⍵}\n"
LISP = """\
(defun fact (n)
  (if (<= n 1)
      1
      (* n (fact (- n 1)))))

(dotimes (i 10)
  (format t "~a! = ~a~%" i (fact i)))
"""
BRAINFUCK = "++++++++[>++++[>++>+++>+++>+<<<<-]>+>+>->>+[<]<-]>>.>---.+++++++..+++.>>.<-.<.+++.------.--------.>>+.>++."
CHINESE = (
    "春天来了，冰雪融化，小河又开始流动。孩子们跑到田野里放风筝，老人坐在门前晒太阳。树上的花一朵一朵地开了，"
    "红的、黄的、白的，像一幅画。燕子从南方飞回来，在屋檐下筑巢。农民们忙着播种，希望今年有好收成。"
)
JAPANESE = (
    "京都は古い都で、多くの寺や神社があります。春には桜が咲き、秋には紅葉が美しいです。鴨川のそばを歩くと、"
    "昔の人々の暮らしを思い浮かべることができます。町の市場では、漬物や豆腐などの食べ物が売られています。"
)
ARABIC = (
    "البحر واسع وعميق، وفيه كثير من الأسماك والنباتات. يحب الناس السفر إليه في الصيف للراحة والسباحة. "
    "وتعتمد مدن كثيرة على البحر في التجارة والصيد، لأن السفن تنقل البضائع من بلد إلى آخر."
)
HINDI = "समुद्र बहुत बड़ा और गहरा होता है। उसमें अनेक प्रकार की मछलियाँ और पौधे रहते हैं। लोग गर्मियों में वहाँ घूमने जाते हैं।"
FINNISH = (
    "Majakanvartija kiipesi portaat ylös ja sytytti lampun, niin kuin hän oli tehnyt joka ilta kolmenkymmenen vuoden "
    "ajan. Meri jatkoi työtään hänen allaan, ja myöhästyneet veneet palasivat yksi toisensa jälkeen satamaan. Hän laski "
    "ne, kirjoitti luvun kirjaan ja pani kynän pois. Kun viimeinenkin oli perillä, hän laskeutui alas, sulki oven "
    "takanaan ja istuutui tulen ääreen. Kukaan ei ollut kysynyt häneltä lukua sodan jälkeen."
)
LATEX = (
    "\\begin{proof}\nSuppose $\\sqrt{2} = \\frac{p}{q}$ with $\\gcd(p, q) = 1$. Then $p^2 = 2 q^2$, so $p$ is even, say "
    "$p = 2r$.\nHence \\[ 4 r^2 = 2 q^2 \\quad\\Longrightarrow\\quad q^2 = 2 r^2, \\]\nand $q$ is even as well, which "
    "contradicts $\\gcd(p, q) = 1$.\n\\end{proof}\n\\begin{align}\n  \\int_0^1 x^n \\, dx &= \\frac{1}{n+1} \\\\\n"
    "  \\sum_{k=0}^n \\binom{n}{k} &= 2^n\n\\end{align}"
)
BYTES = random.Random(2).randbytes(320)
HEX = "\n".join(f"{at:08x}: {BYTES[at : at + 16].hex(' ', 2)}" for at in range(0, 320, 16))
TABLE = "\n".join(f"{a} times {b} is {a * b}" for a in range(1, 21) for b in range(1, 21))
BASE64 = base64.b64encode(random.Random(1).randbytes(900)).decode()
EMOJI = "🎂🎉 Happy birthday, dear Sam! 🎈🎁 We hope that your day is full of 🍰, 🎶 and ❤️. See you at 7️⃣ at the 🏖️! 👨‍👩‍👧‍👦 🇫🇷"
BOX = "\n".join(["+" + "-" * 30 + "+", *["|" + " " * 30 + "|"] * 10, "+" + "-" * 30 + "+"])
POEM = "\n\n".join(
    f"The {word} is on the water\nand the night is long,\nand the sea goes on."
    for word in ["moon", "star", "wind", "boat"]
)
DIFF = "@@ -1,4 +1,4 @@\n def f(x):\n-    return x+1\n+    return x + 1\n \n-print(f(1))\n+print(f(2))\n"
UUIDS = "\n".join(f"{i}. {random.Random(i).getrandbits(128):032x}" for i in range(30))
CALL = "\n".join(f"{n}: GET /api/items/{n * 37 % 101} 200 {n * 13 % 89} ms" for n in range(40))

HONEST = {
    "prose": ("Write a story.", PROSE),
    "haskell": ("Write a quicksort in Haskell.", HASKELL),
    "apl": ("Write three functions in APL.", APL),
    "lisp": ("Write factorial in Lisp.", LISP),
    "brainfuck": ("Write hello world in Brainfuck.", BRAINFUCK),
    "chinese": ("请写一段关于春天的文章。", CHINESE),
    "japanese": ("日本語で京都の紹介文を書いてください。", JAPANESE),
    "arabic": ("اكتب فقرة عن البحر.", ARABIC),
    "hindi": ("समुद्र के बारे में लिखिए।", HINDI),
    "finnish": ("Kirjoita lyhyt tarina majakanvartijasta.", FINNISH),
    "finnish by an English prompt": ("Write a short story in Finnish.", FINNISH),
    "three languages": ("Write about the sea in Chinese, Japanese and Arabic.", f"{CHINESE}\n\n{JAPANESE}\n\n{ARABIC}"),
    "latex": ("Prove it in LaTeX.", LATEX),
    "hex": ("Print a hex dump.", HEX),
    "table": ("Write the multiplication tables.", TABLE),
    "base64": ("Encode it.", BASE64),
    "emoji": ("Write a message with many emoji.", EMOJI),
    "box": ("Draw a box.", BOX),
    "poem": ("Write a poem with a refrain.", POEM),
    "diff": ("Show the diff.", DIFF),
    "uuids": ("Give thirty random ids.", UUIDS),
    "log": ("Write an access log.", CALL),
    "one word": ("What is the capital of France? One word.", "Paris"),
    "one number": ("What is 6 times 7?", "42"),
    "quoted mojibake": ("What is mojibake?", "If UTF-8 is read as Latin-1, an é becomes Ã© on the screen. " + PROSE),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_hard_honest_text_is_valid(name: str, finish: str) -> None:
    prompt, text = HONEST[name]
    assert validity_of(text, prompt=prompt, finish=finish).words == ""


def shuffled(text: str) -> str:
    words = text.split(" ")
    random.Random(5).shuffle(words)
    return " ".join(words)


@pytest.mark.parametrize(
    ("text", "prompt", "finish", "kind"),
    [
        ("", "", "stop", "empty"),
        (" \n\n", "", "stop", "empty"),
        ("!" * 1000, "", "length", "token-run"),
        ("10" * 400, "", "length", "token-run"),
        (PROSE[:200] + "<unk>" * 90, "", "length", "token-run"),
        (PROSE + "<|endoftext|>" * 60, "", "stop", "token-run"),
        ("good text \ufffd\ufffd and \ufffd more", "", "stop", "characters"),
        ("\x00\x01 binary \ue000", "", "stop", "characters"),
        (PROSE.replace(" ", "Ġ"), "", "stop", "decoding"),
        (PROSE.replace(" ", "▁"), "", "stop", "decoding"),
        (CHINESE.encode().decode("latin-1"), "", "stop", "decoding"),
        ("Les élèves ont été très occupés à l'école.".encode().decode("cp1252"), "", "stop", "decoding"),
        ("Привет, как дела у тебя сегодня?".encode().decode("cp1251", "replace"), "", "stop", "decoding"),
        (shuffled(PROSE), "Write a story.", "stop", "order"),
        (CHINESE, "Write a story about a keeper of a lighthouse.", "stop", "language"),
        (PROSE[:250] + CHINESE, "Write a story about a keeper.", "stop", "language"),
        (PROSE + " " + PROSE[:120], "Write a story.", "stop", "broken-off"),
        (PROSE[:-9] + " the", "Write a story.", "stop", "broken-off"),
        (PROSE + "\n\n```python\ndef f(", "", "stop", "broken-off"),
        (PROSE + "\n\n", "Write a story.", "stop", "broken-off"),
        (PROSE + "\n", "Write a story.", "stop", None),
        (PROSE + " again and again" * 60, "", "length", "loop"),
        (PROSE + " again and again" * 60 + ".", "", "stop", None),
    ],
)  # fmt: skip
def test_what_is_broken_is_named(text: str, prompt: str, finish: str, kind: str | None) -> None:
    found = validity_of(text, prompt=prompt, finish=finish)
    assert (found.faults[0].kind if found.faults else None) == kind, found.words


@given(st.text(max_size=400), st.text(max_size=80), st.sampled_from(["stop", "length", None]))
def test_no_text_makes_it_fail(text: str, prompt: str, finish: str | None) -> None:
    found = validity_of(text, prompt=prompt, finish=finish)
    assert all(0 <= fault.begins <= len(text) for fault in found.faults)


@given(st.sampled_from([CHINESE, JAPANESE, ARABIC, HINDI, FINNISH, EMOJI]), st.integers(0, 40))
def test_text_that_was_decoded_rightly_never_seems_decoded_wrongly(text: str, start: int) -> None:
    assert wrong_decoding(text[start:]) is None


@pytest.mark.parametrize(
    ("prompt", "languages"),
    [
        ("Write a story about a baker.", {"en"}),
        ("Erkläre auf Deutsch in drei Absätzen, wie ein Sauerteig funktioniert.", {"en", "de", "nl"}),
        ("Translate it into eight languages.", None),
        ("Name fifteen programming languages.", {"en"}),
        ("请用中文解释。", {"en", "zh", "ja"}),
    ],
)
def test_languages_are_expected_by_the_prompt(prompt: str, languages: set[str] | None) -> None:
    found = expected_languages(prompt)
    assert found == (None if languages is None else frozenset(languages))


def test_an_answer_in_english_is_never_foreign() -> None:
    assert unexpected(PROSE, "Erkläre auf Deutsch, wie eine Brücke gebaut wird.") is None
