import { expect, test } from "vitest";
import { blocks } from "../src/index.js";

const PNG = Uint8Array.from("\x89PNG\r\n\x1a\n", (character) => character.charCodeAt(0));
const UPLOAD = {
  ...{ blob_id: "b", media_type: "image/png", size: 8, sha256: "0", expires_at: "" },
  ...{ width: 1, height: 1 },
};

test("a page has the blocks as the protocol wants them", () => {
  const page = blocks.page(
    [
      blocks.markdown("**Both** fit."),
      blocks.table(["Price", "Count"], [["A", 1]], { title: "What changes" }),
      blocks.choice("Which?", [
        "A",
        blocks.option("B", { label: "Per person", recommended: true }),
      ]),
      blocks.field("floor", 10, { kind: "number" }),
    ],
    { text: "In words." },
  );

  expect(page).toEqual({
    wake_blocks: 1,
    text: "In words.",
    blocks: [
      { type: "markdown", text: "**Both** fit." },
      { type: "table", title: "What changes", columns: ["Price", "Count"], rows: [["A", 1]] },
      {
        ...{ type: "choice", name: "choice", label: "Which?" },
        options: [
          { id: "A", label: "A" },
          { id: "B", label: "Per person", recommended: true },
        ],
      },
      { type: "field", name: "floor", label: "floor", kind: "number", value: 10 },
    ],
  });
});

test("the other blocks have the protocol's members", () => {
  expect([
    blocks.text("a"),
    blocks.code("ls", { language: "sh" }),
    blocks.diff("a", "b"),
    blocks.chart("bar", ["Mo"], { sales: [1] }, { unit: "EUR" }),
    blocks.image(UPLOAD, "A page"),
    blocks.image(PNG, "A page", { caption: "Wide" }),
    blocks.file(UPLOAD, "a.png"),
    blocks.pairs({ a: 1 }),
    blocks.json([1]),
    blocks.link("https://example.com"),
    blocks.choice("", ["a", "b"], { name: "told", multiple: true }),
  ]).toEqual([
    { type: "text", text: "a" },
    { type: "code", text: "ls", language: "sh" },
    { type: "diff", before: "a", after: "b" },
    {
      type: "chart",
      kind: "bar",
      labels: ["Mo"],
      series: [{ name: "sales", values: [1] }],
      unit: "EUR",
    },
    { type: "image", alt: "A page", blob: "b" },
    { type: "image", alt: "A page", data: "iVBORw0KGgo=", caption: "Wide" },
    { type: "file", blob: "b", name: "a.png" },
    { type: "kv", items: { a: 1 } },
    { type: "json", value: [1] },
    { type: "link", url: "https://example.com", label: "https://example.com" },
    {
      ...{ type: "choice", name: "told", multiple: true },
      options: [
        { id: "a", label: "a" },
        { id: "b", label: "b" },
      ],
    },
  ]);
});

test.each([
  () => blocks.page([blocks.field("a"), blocks.choice("", ["x"], { name: "a" })]),
  () => blocks.page([blocks.field("a")], { proposal: "x" }),
  () => blocks.chart("line", [], { a: [] }),
  () => blocks.chart("line", ["Mo"], { a: [1, 2] }),
  () => blocks.image(UPLOAD, " "),
  () => blocks.image(new Uint8Array([1]), "A page"),
  () => blocks.image({ ...UPLOAD, width: null }, "A page"),
  () => blocks.file(UPLOAD, ""),
  () => blocks.link("javascript:alert(1)"),
  () => blocks.option("two\nlines"),
  () => blocks.choice("", []),
  () => blocks.choice("", ["a", "a"]),
  () =>
    blocks.choice("", [
      blocks.option("a", { recommended: true }),
      blocks.option("b", { recommended: true }),
    ]),
  () => blocks.field("x".repeat(65)),
])("content that people would see as JSON is refused (%#)", (build) => {
  expect(build).toThrow(TypeError);
});
