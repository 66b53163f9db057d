#!/usr/bin/env node
/** Runs the command line of the package. */

import { main } from "./login.js";

process.once("SIGINT", () => {
  process.stderr.write("wake-client: stopped\n");
  process.exit(130);
});
process.exitCode = await main(process.argv.slice(2), process.env);
