// Runs the client where there is nothing of Node: in the VM of an edge runtime.
import { createRequire } from "node:module";
import { serve } from "./calls.mjs";

const tools = createRequire(`${process.env.TOOLS}/`);
const { EdgeVM } = tools("@edge-runtime/vm");
const { build } = tools("esbuild");

const bundle = await build({
  stdin: { contents: 'export * from "wake-client"', resolveDir: import.meta.dirname },
  bundle: true,
  format: "iife",
  globalName: "wakeClient",
  platform: "neutral",
  mainFields: ["module"],
  write: false,
});
const vm = new EdgeVM({ initialCode: bundle.outputFiles[0].text.replace("var wakeClient", "globalThis.wakeClient") });
if (vm.evaluate("typeof process") !== "undefined") throw new Error("This is not an edge VM.");
await serve(vm.evaluate("wakeClient"));
