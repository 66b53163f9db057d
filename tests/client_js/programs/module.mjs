import * as wakeClient from "wake-client";
import { serve } from "./calls.mjs";

await serve(wakeClient);
