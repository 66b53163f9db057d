/**
 * Builds typed blocks, the parts of `details` that people see as tables, pictures, diffs, choices
 * and fields.
 *
 *     const details = blocks.page([
 *       blocks.markdown("Both **fit the plan**."),
 *       blocks.choice("Which price?", ["One price", blocks.option("B", { label: "Per person" })]),
 *     ]);
 *
 * The builders throw a TypeError for content that the server would show as plain JSON.
 */

import type { Upload } from "./types.js";
import { pictureType } from "./uploads.js";

export interface Block {
  type: string;
  [member: string]: unknown;
}

export interface Option {
  id: string;
  label: string;
  text?: string;
  recommended?: boolean;
}

export interface Page {
  wake_blocks: 1;
  blocks: Block[];
  text?: string;
  proposal?: object | string;
}

export type Scalar = string | number | boolean | null;

interface Titled {
  title?: string;
}

const MAX_OPTIONS = 12;
const LONGEST_NAME = 64;
const MAX_SERIES = 6;
const MAX_POINTS = 1_000;
// A delivery has 256 KiB, and base64 adds a third.
const MAX_INLINE_BYTES = 180_000;

/** Returns the details. `text` is for readers that do not know typed blocks. A person edits
 * `proposal` if no block asks for a value. */
export function page(
  blocks: Block[],
  { text, proposal }: { text?: string; proposal?: object | string } = {},
): Page {
  const names = blocks
    .filter(({ type }) => type === "choice" || type === "field")
    .map((block) => block["name"]);
  check(
    new Set(names).size === names.length,
    "Give each choice and each field of a page a name of its own.",
  );
  check(
    names.length === 0 || proposal === undefined,
    "A page with choices or fields has no proposal: they are the proposal.",
  );
  return { wake_blocks: 1, blocks, ...given({ text, proposal }) };
}

export function markdown(text: string, { title }: Titled = {}): Block {
  return { type: "markdown", text, ...given({ title }) };
}

/** Returns a block of plain text, which the page shows line by line. */
export function text(text: string, { title }: Titled = {}): Block {
  return { type: "text", text, ...given({ title }) };
}

export function code(
  text: string,
  { language, title }: Titled & { language?: string } = {},
): Block {
  return { type: "code", text, ...given({ language, title }) };
}

/** Returns the difference between two texts or values. */
export function diff(before: unknown, after: unknown, { title }: Titled = {}): Block {
  return { type: "diff", before, after, ...given({ title }) };
}

export function table(columns: string[], rows: Scalar[][], { title }: Titled = {}): Block {
  return { type: "table", columns, rows, ...given({ title }) };
}

/** Returns a chart of up to six lines or colours of bars. Each has one value for each label. A value
 * of null is a gap. */
export function chart(
  kind: "line" | "bar",
  labels: (string | number)[],
  series: Record<string, (number | null)[]>,
  { unit, title }: Titled & { unit?: string } = {},
): Block {
  const lines = Object.entries(series).map(([name, values]) => ({ name, values }));
  const points = labels.length * lines.length;
  check(
    lines.length >= 1 && lines.length <= MAX_SERIES && points >= 1 && points <= MAX_POINTS,
    `A chart has 1 to ${MAX_SERIES} series and ${MAX_POINTS} values at most.`,
  );
  check(
    lines.every(({ values }) => values.length === labels.length),
    "Each series of a chart has one value a label.",
  );
  return { type: "chart", kind, labels, series: lines, ...given({ unit, title }) };
}

/** Returns a picture: the result of upload(), or the bytes of a small file that is sent as part of
 * the delivery. `alt` describes the picture for people who do not see it. */
export function image(
  source: Uint8Array | Upload,
  alt: string,
  { caption, title }: Titled & { caption?: string } = {},
): Block {
  check(Boolean(alt.trim()), "A picture needs an alt text, which says what it shows.");
  return { type: "image", alt, ...picture(source), ...given({ caption, title }) };
}

/** Returns a file that people download under this name. Call upload() first. */
export function file(upload: Upload, name: string, { title }: Titled = {}): Block {
  check(Boolean(name.trim()), "A file needs a name.");
  return { type: "file", blob: upload.blob_id, name, ...given({ title }) };
}

/** Returns a block that lists names and their values. */
export function pairs(items: object, { title }: Titled = {}): Block {
  return { type: "kv", items, ...given({ title }) };
}

export function json(value: unknown, { title }: Titled = {}): Block {
  return { type: "json", value, ...given({ title }) };
}

export function link(url: string, { label = url, title }: Titled & { label?: string } = {}): Block {
  check(/^https?:\/\//.test(url), "A link begins with https:// or http://.");
  return { type: "link", url, label, ...given({ title }) };
}

/** Returns one option of a choice. The answer contains the id of the chosen option. */
export function option(
  id: string,
  { label = id, text, recommended }: { label?: string; text?: string; recommended?: boolean } = {},
): Option {
  checkName(id);
  check(Boolean(label.trim()), "An option needs a label, which people read.");
  return { id, label, ...given({ text, recommended: recommended || undefined }) };
}

/** Returns a question that people answer with a click. The answer has the id of the chosen option
 * under `name`, or the list of ids if the choice is `multiple` (null without a tick). */
export function choice(
  label: string,
  options: (string | Option)[],
  { name = "choice", multiple = false }: { name?: string; multiple?: boolean } = {},
): Block {
  checkName(name);
  const built = options.map((each) => (typeof each === "string" ? option(each) : each));
  const ids = new Set(built.map(({ id }) => id));
  check(
    built.length >= 1 && built.length <= MAX_OPTIONS && ids.size === built.length,
    `A choice has 1 to ${MAX_OPTIONS} options with different ids.`,
  );
  check(
    multiple || built.filter(({ recommended }) => recommended).length <= 1,
    "Recommend one option, or make the choice multiple.",
  );
  const optional = given({ label: label || undefined, multiple: multiple || undefined });
  return { type: "choice", name, options: built, ...optional };
}

/** Returns a value that the person may change. */
export function field(
  name: string,
  value?: Scalar,
  {
    label = name,
    kind = "text",
  }: { label?: string; kind?: "text" | "long" | "number" | "boolean" } = {},
): Block {
  checkName(name);
  return { type: "field", name, label, kind, ...given({ value: value ?? undefined }) };
}

function picture(source: Uint8Array | Upload): { blob: string } | { data: string } {
  if (!(source instanceof Uint8Array)) {
    check(source.width !== null, `The server stored ${source.media_type}, which is no picture.`);
    return { blob: source.blob_id };
  }
  check(Boolean(pictureType(source)), "A picture is a PNG, JPEG, WebP or GIF.");
  check(
    source.length <= MAX_INLINE_BYTES,
    `A picture above ${MAX_INLINE_BYTES} bytes does not fit into a delivery: upload() it.`,
  );
  return { data: btoa(Array.from(source, (byte) => String.fromCharCode(byte)).join("")) };
}

function checkName(name: string): void {
  check(
    name.length >= 1 && [...name].length <= LONGEST_NAME && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name),
    `A name or an id is one line of 1 to ${LONGEST_NAME} characters.`,
  );
}

function check(condition: boolean, message: string): void {
  if (!condition) throw new TypeError(message);
}

/** Returns the members that have a value. */
function given<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: NonNullable<Members[Name]> } {
  const present = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [Name in keyof Members]?: NonNullable<Members[Name]> };
}
