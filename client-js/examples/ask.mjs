// Asks people for a colour. Needs WAKE_ENDPOINT, WAKE_API_KEY and WAKE_AGENT_ID.
import { Wake } from "wake-client";

const wake = new Wake({
  endpoint: process.env.WAKE_ENDPOINT,
  key: process.env.WAKE_API_KEY,
  agentId: process.env.WAKE_AGENT_ID,
});
const answer = await wake.ask({
  headline: "Two colours are left for the fence",
  summary: "Approve red, or redirect me with another.",
  details: { colours: ["red", "blue"] },
  timeout_seconds: 3600,
  assumption: "I will take red.",
});
if (answer.status === "approved") console.log("red");
else if (answer.status === "redirected") console.log(answer.feedback, answer.edited_content);
else if (answer.status === "rejected") console.log("not at all:", answer.feedback);
else if (answer.withdrawn_at) console.log("people are not asked any more");
else if (answer.expired) console.log("red, as I said");
