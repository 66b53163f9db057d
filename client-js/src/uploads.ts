/** Detects the types of files by their first bytes. */

const UNKNOWN = "application/octet-stream";

/** Returns the type of a picture, which its first bytes show. For any other file, returns the type
 * that its Blob names. */
export async function mediaTypeOf(content: Uint8Array | Blob): Promise<string> {
  if (content instanceof Uint8Array) return pictureType(content) || UNKNOWN;
  const first = new Uint8Array(await content.slice(0, 12).arrayBuffer());
  return pictureType(first) || content.type || UNKNOWN;
}

/** Returns the media type of a PNG, JPEG, GIF or WebP, or an empty text. */
export function pictureType(content: Uint8Array): string {
  const first = String.fromCharCode(...content.subarray(0, 12));
  if (first.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (first.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (first.startsWith("GIF87a") || first.startsWith("GIF89a")) return "image/gif";
  return first.startsWith("RIFF") && first.slice(8) === "WEBP" ? "image/webp" : "";
}
