{{/* The variables of the containers, and the files of those that are secret. */}}

{{/* Takes a dict with `root` and `role`. Returns JSON: the names of the secret variables, by the Secret that has them. */}}
{{- define "wake.secrets" -}}
{{- $values := .root.Values -}}
{{- $urls := list "DATABASE_URL" -}}
{{- $others := concat (list "REDIS_URL" "WAKE_SECRET_KEYS" "WAKE_ENCRYPTION_KEYS") $values.secret.moreKeys -}}
{{- if and (eq .role "migrate") $values.migrate.secretName -}}
{{- dict $values.migrate.secretName $urls $values.secret.name $others | toJson -}}
{{- else -}}
{{- if $values.database.pooled }}{{ $urls = append $urls "DATABASE_DIRECT_URL" }}{{ end -}}
{{- dict $values.secret.name (concat $urls $others) | toJson -}}
{{- end -}}
{{- end }}

{{/* Takes a dict with `root` and `role`. */}}
{{- define "wake.environment" -}}
{{- $values := .root.Values -}}
{{- $secrets := include "wake.secrets" . | fromJson -}}
- name: WAKE_ORIGIN
  value: {{ $values.origin | quote }}
- name: WAKE_PROXY_SCHEME_HEADER
  value: {{ $values.proxy.schemeHeader | quote }}
- name: WAKE_PROXY_CLIENT_HEADER
  value: {{ $values.proxy.clientHeader | quote }}
{{- if and $values.database.pooled (has "DATABASE_DIRECT_URL" (get $secrets $values.secret.name)) }}
- name: WAKE_DATABASE_POOLED
  value: "1"
{{- end }}
{{- if and $values.metrics.enabled (ne .role "migrate") }}
- name: WAKE_METRICS_PORT
  value: {{ $values.metrics.port | quote }}
- name: WAKE_METRICS_HOST
  value: "0.0.0.0"
{{- end }}
{{- range $secret, $names := $secrets }}
{{- range $names }}
- name: {{ . }}_FILE
  value: /run/secrets/wake/{{ . }}
{{- end }}
{{- end }}
{{- range $name, $value := $values.settings }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{/* Takes a dict with `root` and `role`. */}}
{{- define "wake.volumes" -}}
- name: secrets
  projected:
    # Readable by the group of the pod.
    defaultMode: 0440
    sources:
      {{- range $secret, $names := include "wake.secrets" . | fromJson }}
      - secret:
          name: {{ $secret }}
          items:
            {{- range $names }}
            - { key: {{ . }}, path: {{ . }} }
            {{- end }}
      {{- end }}
- name: tmp
  emptyDir: { sizeLimit: 512Mi }
{{- with .root.Values.pod.volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
