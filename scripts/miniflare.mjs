// Miniflare, loaded by `require`: for an `import` of a CommonJS package, Node keeps its source twice more, as bytes and as
// text. That is 17 MiB for as long as the hub runs.
import { createRequire } from 'node:module'

/** @type {typeof import('miniflare')} */
const miniflare = createRequire(import.meta.url)('miniflare')

export const { convertV4MiniflareOptions, Log, LogLevel, Miniflare, ProxyNodeBinding, Response } =
  miniflare
