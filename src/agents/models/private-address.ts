/** Names of a local network, and addresses of private, link-local and loopback ranges. */
const privateHosts = [
  /^([a-z0-9_-]+|[^:]+\.(localhost|local|internal|lan|home|home\.arpa))$/,
  /^(127|10|0)(\.\d+){3}$/,
  /^192\.168(\.\d+){2}$/,
  /^172\.(1[6-9]|2\d|3[01])(\.\d+){2}$/,
  /^169\.254(\.\d+){2}$/,
  /^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])(\.\d+){2}$/,
  /^\[(::1?|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)\]$/,
]

/**
 * Returns whether a URL names a server of one's own: on this machine, in its network, or a container
 * by name. It decides only how long a call waits, not what may be reached.
 */
export function isPrivateAddress(url: string): boolean {
  const { hostname } = new URL(url)
  return privateHosts.some((pattern) => pattern.test(hostname.toLowerCase()))
}
