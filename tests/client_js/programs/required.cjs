// Node 20.19 and later can require() a module.
const wakeClient = require("wake-client");

import("./calls.mjs").then(({ serve }) => serve(wakeClient));
