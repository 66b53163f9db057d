// The page of a host: the official bridge on one side, and the card in a sandboxed frame on the
// other. The test bundles it, and calls `show`.

import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

// The policy of MCP Apps for a card that declares no domains ("Security Implications").
const POLICY = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' "
  + "'unsafe-inline'; img-src 'self' data:; font-src 'self'; media-src 'self' data:; "
  + "connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'";

async function show(html, hostContext, { opens = true, styles } = {}) {
  const frame = document.querySelector('iframe');
  const opened = [];
  const sizes = [];
  const called = [];
  const bridge = new AppBridge(
    null, { name: 'host', version: '1' }, { openLinks: {} }, { hostContext: { ...hostContext, styles } },
  );
  bridge.onopenlink = async ({ url }) => {
    opened.push(url);
    return opens ? {} : { isError: true };
  };
  bridge.onsizechange = ({ height }) => {
    sizes.push(height);
    frame.style.height = `${height}px`;
  };
  bridge.oncalltool = async ({ name }) => {
    called.push(name);
    return { content: [] };
  };
  const ready = new Promise((resolve) => { bridge.oninitialized = resolve; });
  const target = frame.contentWindow;
  await bridge.connect(new PostMessageTransport(target, target));
  const policy = `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`;
  frame.srcdoc = html.replace('<head>', `<head>${policy}`);
  await ready;
  window.host = { bridge, opened, sizes, called, app: bridge.getAppVersion() };
}

window.show = show;
