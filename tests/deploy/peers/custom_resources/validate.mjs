// Validates objects whose definitions are not part of Kubernetes. Reads a list of objects as JSON,
// and writes a list of problems.
import { HTTPRoute } from "@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor";
import { readFileSync } from "node:fs";

const kinds = { HTTPRoute, ServiceMonitor };
const problems = [];
for (const object of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    new kinds[object.kind](object).validate();
  } catch (error) {
    problems.push(`${object.kind} ${object.metadata.name}: ${error.message}`);
  }
}
process.stdout.write(JSON.stringify(problems));
