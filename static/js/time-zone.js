// Fills a hidden field with the browser's time zone, such as Europe/Berlin.
export default function timeZone(input) {
  input.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
}
