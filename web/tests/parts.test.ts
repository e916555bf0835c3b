import { describe, expect, it } from "vitest";
import type { Part } from "../src/core/data";
import { blocksOf, inParts, oddParts, partInWords } from "../src/core/parts";
import { data as rowsOf } from "./sample";

const part = (name: string, kind: Part["kind"], ...odd: number[]): Part => ({ name, kind, odd: Float32Array.from(odd) });

/** Four rows: an odd picture, a picture of something else than the name says, an ordinary row, one without a picture. */
const data = { ...rowsOf(4), parts: [
  part("photo", "picture", 912, 3, 2, NaN),
  part("words", "text", 1.2, 4, 99, 40),
  part("the other columns", "rest", 2, 1, 5, 150),
  part("photo and words", "pair", 400, 2, 1, NaN),
  part("photo and the other columns", "pair", 5000, 4000, 1, NaN),
  part("words and the other columns", "pair", 1, 300, 1, 1),
] };
const names = (row: number) => oddParts(data, row).map(({ name }) => name);

describe("the parts of a row", () => {
  it("are odd from one in a hundred on, the oddest first", () => {
    expect(names(2)).toEqual([]);
    expect(names(1)).toEqual(["photo and the other columns", "words and the other columns"]);
  });

  it("explain why they do not go with others if they are odd themselves", () => {
    expect(names(0)).toEqual(["photo"]);
  });

  it("are told in a sentence, with those that are missing", () => {
    expect([0, 1, 2, 3].map((row) => inParts(data, row))).toEqual([
      "odd as a picture (1 in 910), ordinary otherwise",
      "odd as a combination: photo and the other columns (1 in 4,000), ordinary otherwise",
      "ordinary in each part",
      "odd in the other columns (1 in 150), ordinary otherwise, no photo",
    ]);
  });

  it("are called by their names where there are several of a kind", () => {
    const two = { ...data, parts: [...data.parts, part("back", "picture", 1, 1, 1, 1)] };
    expect(inParts(two, 0)).toBe("odd in photo (1 in 910), ordinary otherwise");
  });

  it("are said as reasons: by themselves, and how badly two go together", () => {
    expect(partInWords(data, "photo", 0)).toBe("as odd as 1 in 910");
    expect(partInWords(data, "photo and words", 0)).toBe("go together as badly as 1 in 400");
    expect(partInWords(data, "photo", 3)).toBe("missing");
    expect(partInWords(data, "price", 0)).toBeUndefined();
  });

  it("are seen by themselves unless they are pairs or the other columns", () => {
    expect(blocksOf(data).map(({ name }) => name)).toEqual(["photo", "words"]);
  });
});
