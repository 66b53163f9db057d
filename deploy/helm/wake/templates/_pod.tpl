{{/* The parts that all pods share. */}}

{{/* Takes a dict with `root`, `role` and `checksum`. */}}
{{- define "wake.podMetadata" -}}
labels:
  {{- include "wake.labels" . | nindent 2 }}
  {{- with .root.Values.pod.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .root.Values.pod.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Takes a dict with `root` and `role`. */}}
{{- define "wake.podSettings" -}}
# A service link to a Service named wake-metrics would be called WAKE_METRICS_PORT.
enableServiceLinks: false
automountServiceAccountToken: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .root.Values.pod.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .root.Values.pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
{{- with .root.Values.pod.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.pod.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.pod.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  {{- include "wake.volumes" . | nindent 2 }}
{{- end }}

{{/* Takes a dict with `root`, `role`, `arguments` and `resources`, and `name` if it is not the role. */}}
{{- define "wake.container" -}}
name: {{ .name | default .role }}
image: {{ include "wake.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: {{ .arguments | toJson }}
env:
  {{- include "wake.environment" . | nindent 2 }}
resources:
  {{- toYaml .resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: secrets, mountPath: /run/secrets/wake, readOnly: true }
  - { name: tmp, mountPath: /tmp }
  {{- with .root.Values.pod.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* The probes of a server. A server is restarted, and taken out of its Service, by /healthz alone: /readyz reports parts that all servers share. */}}
{{- define "wake.probes" -}}
# A new server that cannot reach the database replaces no old one.
startupProbe:
  exec:
    command:
      - python
      - -c
      - |
        import http.client, json
        connection = http.client.HTTPConnection("127.0.0.1", 8000, timeout=8)
        connection.request("GET", "/readyz")
        raise SystemExit(json.load(connection.getresponse())["database"] != "ok")
  periodSeconds: 5
  timeoutSeconds: 10
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 10
  timeoutSeconds: 6
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 5
  timeoutSeconds: 6
  failureThreshold: 2
{{- end }}
