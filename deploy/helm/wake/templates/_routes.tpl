{{/* The paths of the proxy in front: those of deploy/nginx.conf. */}}

{{/* Returns JSON: the path, the role that serves it, whether agents send keys to it, and how an Ingress matches it. An Ingress cannot route by the query, so `stream` gets all requests of the two paths that may wait. */}}
{{- define "wake.paths" -}}
{{- list
  (dict "path" "/wake/v1/response" "role" "stream" "keys" true "type" "Prefix")
  (dict "path" "/wake/v1/responses" "role" "stream" "keys" true "type" "Prefix")
  (dict "path" "/wake" "role" "web" "keys" true "type" "Prefix")
  (dict "path" "/mcp" "role" "stream" "keys" true "type" "Prefix")
  (dict "path" "/@" "role" "stream" "keys" true "type" "ImplementationSpecific")
  (dict "path" "/connect" "role" "stream" "keys" true "type" "Prefix")
  (dict "path" "/oauth" "role" "web" "keys" true "type" "Prefix")
  (dict "path" "/scim" "role" "web" "keys" true "type" "Prefix")
  (dict "path" "/live" "role" "stream" "keys" false "type" "Exact")
  (dict "path" "/" "role" "web" "keys" false "type" "Prefix")
| toJson -}}
{{- end }}

{{/* Takes a dict with `root` and `role`. */}}
{{- define "wake.backendRefs" -}}
backendRefs:
  - { name: {{ include "wake.service" . }}, port: 80 }
{{- end }}
