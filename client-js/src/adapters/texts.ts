/** Shows other authors' texts: characters that people cannot see are named. */

const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;

/** Returns the text on one line, with the names of invisible characters, such as ⟨U+202E⟩. A text
 * that is too long is cut, and ends in an ellipsis. */
export function oneLine(text: string, longest: number): string {
  const line = text.split(/\s+/).filter(Boolean).join(" ").replace(INVISIBLE, named) || "…";
  const letters = [...line];
  return letters.length <= longest ? line : `${letters.slice(0, longest - 1).join("")}…`;
}

/** Returns JSON on one line, with invisible characters as escapes. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value).replace(INVISIBLE, (letter) =>
    [...Array(letter.length).keys()]
      .map((place) => `\\u${letter.charCodeAt(place).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

function named(letter: string): string {
  const code = letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0");
  return `⟨U+${code}⟩`;
}
