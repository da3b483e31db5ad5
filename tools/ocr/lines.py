#!/usr/bin/python3
"""Lines of text for the recognition network of PP-OCR v4: renders them, cuts them out of a picture, and
reads what the network says of them. Debian's python3-pil and python3-numpy.

    lines.py render OUT.npy OUT.txt [--num N] [--seed S]   lines f32[N,3,48,320], and their texts
    lines.py page OUT.png                                  a page of text, rendered
    lines.py cut PICTURE OUT.npy [--show OUT.png]          the lines of a picture: f32[N,3,48,W]
    lines.py read SCORES.npy KEYS.txt                      the texts that f32[N,T,classes] say, one a line
    lines.py compare A.txt B.txt [--truth TRUTH.txt]       in how many lines two files agree
    lines.py columns A.npy B.npy                           in how many columns the best class of scores differs

A line is made for the network as in its training: 48 high, as wide as that makes it, BGR, x / 127.5 - 1;
to the right of it zeros, which are a middle grey. White there, as the paper is, is another task than the
network was trained for: float scores grow small, and int8 ones differ.
"""
import argparse
import pathlib
import random

import numpy as np
from PIL import Image, ImageDraw, ImageFont

HEIGHT = 48
MIN_WIDTH = 320  # of what the network was trained on
WIDTH_STEP = 8   # one column of scores

FOLDER = pathlib.Path("/usr/share/fonts/truetype")
FONTS = [FOLDER / "dejavu" / f"{name}.ttf" for name in ("DejaVuSans", "DejaVuSerif", "DejaVuSansMono")]
FONTS += [FOLDER / "liberation2" / f"Liberation{name}-Regular.ttf" for name in ("Sans", "Serif", "Mono")]

WORDS = """the of and a to in is you that it he was for on are as with his they at be this have from or one had
by word but not what all were we when your can said there use an each which she do how their if will up other
about out many then them these so some her would make like him into time has look two more write go see number
no way could people my than first water been call who oil its now find long down day did get come made may part
over new sound take only little work know place year live me back give most very after thing our just name good
sentence man think say great where help through much before line right too mean old any same tell boy follow
came want show also around form three small set put end does another well large must big even such because turn
here why ask went men read need land different home us move try kind hand picture again change off play spell
air away animal house point page letter mother answer found study still learn should America world""".split()

PAGE = [
    ("LiberationSerif", 34, "A page of plain text"),
    ("LiberationSans", 24, "Each line is cut out where the paper shows"),
    ("LiberationSans", 24, "between two rows of ink, scaled to 48 rows,"),
    ("LiberationSans", 24, "and read by a network in float and in int8."),
    ("DejaVuSerif", 22, "Invoice 20481: 17 boxes, 3 crates, 1 letter"),
    ("LiberationMono", 22, "tools/demo --ocr page.png"),
    ("DejaVuSans", 28, "Quantized on Wednesday, 2 December"),
]


# ---- a line as the network takes it ----------------------------------------------------------


def scaled_width(picture):
    return max(1, -(-picture.width * HEIGHT // picture.height))


def to_input(picture, width):
    """f32[3,48,width]; a line that would be wider is squeezed."""
    used = min(width, scaled_width(picture))
    pixels = np.asarray(picture.convert("RGB").resize((used, HEIGHT), Image.BILINEAR), np.float32)
    out = np.zeros((3, HEIGHT, width), np.float32)
    out[:, :, :used] = (pixels[:, :, ::-1] / np.float32(127.5) - 1).transpose(2, 0, 1)
    return out


# ---- rendered lines --------------------------------------------------------------------------


def random_word(rng):
    draw = rng.random()
    if draw < 0.1:
        return str(rng.randint(0, 9999))
    word = rng.choice(WORDS)
    return word.capitalize() if draw < 0.25 else word


def random_line(rng):
    """A picture of one to four words, not wider than the network's input, and its text."""
    font = ImageFont.truetype(str(rng.choice(FONTS)), rng.randint(24, 40))
    ink, paper = rng.randint(0, 90), rng.randint(200, 255)
    up, down = font.getmetrics()
    text, margin = random_word(rng), 4
    for _ in range(rng.randint(0, 3)):
        longer = f"{text} {random_word(rng)}"
        if font.getlength(longer) + 2 * margin > MIN_WIDTH / HEIGHT * (up + down):
            break
        text = longer
    picture = Image.new("L", (round(font.getlength(text)) + 2 * margin, up + down), paper)
    ImageDraw.Draw(picture).text((margin, 0), text, font=font, fill=ink)
    return picture, text


def render(arguments):
    rng = random.Random(arguments.seed)
    lines = [random_line(rng) for _ in range(arguments.num)]
    np.save(arguments.out, np.stack([to_input(picture, MIN_WIDTH) for picture, _ in lines]))
    with open(arguments.texts, "w", encoding="utf-8") as out:
        out.writelines(f"{text}\n" for _, text in lines)


def page(arguments):
    fonts = {path.stem.removesuffix("-Regular"): path for path in FONTS}
    rows = [(ImageFont.truetype(str(fonts[name]), size), text) for name, size, text in PAGE]
    heights = [round(1.4 * sum(font.getmetrics())) for font, _ in rows]
    width = round(max(font.getlength(text) for font, text in rows))
    picture = Image.new("RGB", (width + 48, sum(heights) + 32), (250, 248, 240))
    top = 20
    for (font, text), height in zip(rows, heights):
        ImageDraw.Draw(picture).text((24, top), text, font=font, fill=(30, 30, 40))
        top += height
    picture.save(arguments.out)


# ---- a picture, cut into lines ---------------------------------------------------------------


def ink_of(grey):
    """bool[H,W]: what differs from the paper (the most common grey) by a third of the greatest difference."""
    paper = np.bincount(grey.ravel(), minlength=256).argmax()
    distance = np.abs(grey.astype(np.int16) - paper)
    return distance > max(distance.max() / 3, 16)


def runs(flags):
    """[begin, end) of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist()))


def merge_low(bands):
    """Runs of rows lower than a third of the middle height are dots and accents: they join the band that is
    nearest, where that is nearer than they and their gap would make a line."""
    usual = sorted(end - begin for begin, end in bands)[len(bands) // 2]
    out = []
    for begin, end in bands:
        low = min(end - begin, out[-1][1] - out[-1][0] if out else usual) < usual / 3
        if out and low and begin - out[-1][1] < usual / 3:
            out[-1] = (out[-1][0], end)
        else:
            out.append((begin, end))
    return out


def find_lines(grey):
    """Boxes (left, top, right, bottom) of the rows of text, top to bottom, with a margin of a fifth of the
    height; the whole picture where there is no ink."""
    ink = ink_of(grey)
    boxes = []
    for top, bottom in merge_low(runs(ink.any(axis=1)) or [(0, grey.shape[0])]):
        columns = np.flatnonzero(ink[top:bottom].any(axis=0))
        left, right = (columns[0], columns[-1] + 1) if len(columns) else (0, grey.shape[1])
        margin = max(1, (bottom - top) // 5)
        boxes.append((max(0, int(left) - margin), max(0, top - margin),
                      min(grey.shape[1], int(right) + margin), min(grey.shape[0], bottom + margin)))
    return boxes


def cut(arguments):
    picture = Image.open(arguments.picture).convert("RGB")
    boxes = find_lines(np.asarray(picture.convert("L")))
    pieces = [picture.crop(box) for box in boxes]
    width = max(MIN_WIDTH, *map(scaled_width, pieces))
    width = -(-width // WIDTH_STEP) * WIDTH_STEP
    np.save(arguments.out, np.stack([to_input(piece, width) for piece in pieces]))
    if arguments.show:
        for box in boxes:
            ImageDraw.Draw(picture).rectangle(box, outline=(220, 40, 40))
        picture.save(arguments.show)


# ---- what the network says -------------------------------------------------------------------


def decode(classes, keys):
    """CTC, greedy: of the best class of each column, repeats and then blanks (class 0) fall out."""
    kept = [now for now, before in zip(classes, [0, *classes]) if now and now != before]
    return "".join(keys[index] for index in kept).strip()


def read_keys(path):
    """Class 0 is the blank, the last one the space; between them the characters of the file, one a line."""
    return ["", *pathlib.Path(path).read_text(encoding="utf-8").rstrip("\n").split("\n"), " "]


def read(arguments):
    keys = read_keys(arguments.keys)
    scores = np.load(arguments.scores)
    if scores.ndim != 3 or scores.shape[2] != len(keys):
        raise SystemExit(f"{arguments.scores}: scores {list(scores.shape)} do not fit {len(keys)} classes of "
                         f"{arguments.keys}")
    for line in scores:
        print(decode(line.argmax(axis=1).tolist(), keys))


def compare(arguments):
    """`same N of M`; with the truth also how many are right; then each line that differs, with its number."""
    paths = [arguments.a, arguments.b] + ([arguments.truth] if arguments.truth else [])
    files = [pathlib.Path(path).read_text(encoding="utf-8").split("\n")[:-1] for path in paths]
    first, second = files[:2]
    for path, lines in zip(paths, files):
        if len(lines) != len(first):
            raise SystemExit(f"{path}: {len(lines)} lines, {arguments.a} has {len(first)}")
    num = len(first)
    print(f"same {sum(map(str.__eq__, first, second))} of {num}")
    for path, lines in zip(paths, files[:2] if arguments.truth else []):
        print(f"right {sum(map(str.__eq__, lines, files[2]))} of {num} {path}")
    for number, (a, b) in enumerate(zip(first, second), 1):
        if a != b:
            print(f"{number}: {a!r} {b!r}")


def columns(arguments):
    a, b = (np.load(path, mmap_mode="r").argmax(axis=2) for path in (arguments.a, arguments.b))
    print(f"differ {(a != b).sum()} of {a.size}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)

    def command(run, *positional):
        sub = commands.add_parser(run.__name__)
        for name in positional:
            sub.add_argument(name)
        sub.set_defaults(run=run)
        return sub

    sub = command(render, "out", "texts")
    sub.add_argument("--num", type=int, default=8)
    sub.add_argument("--seed", type=int, default=1)
    command(page, "out")
    command(cut, "picture", "out").add_argument("--show")
    command(read, "scores", "keys")
    command(compare, "a", "b").add_argument("--truth")
    command(columns, "a", "b")
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
