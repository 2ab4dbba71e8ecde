// Miniflare, loaded by `require`: for an `import` of a CommonJS package, Node keeps its source twice more, as bytes and as
// text. That is 17 MiB for as long as the hub runs.
import { createRequire, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { escapeWideCharacters } from './build-worker.mjs'

const require = createRequire(import.meta.url)
const address = pathToFileURL(require.resolve('miniflare')).href

/**
 * Miniflare writes the configuration of workerd, which begins with the Worker's script, to one buffer. That grows by so many
 * bytes, and is copied each time: 4 MB some 350 times, which was half of what the launcher computed until the hub answered,
 * and 90 MB of its memory.
 */
export const growth = {
  from: 'MIN_SINGLE_SEGMENT_GROWTH = 4096;',
  to: 'MIN_SINGLE_SEGMENT_GROWTH = 1 << 20;',
}

const hooks = registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (url !== address) return loaded
    const source = escapeWideCharacters(String(loaded.source).replace(growth.from, growth.to))
    // What is made of a text of two bytes a character has two as well, until it is read anew: 5.8 MB here.
    return { ...loaded, source: Buffer.from(source, 'latin1').toString('latin1') }
  },
})
/** @type {typeof import('miniflare')} */
const miniflare = require('miniflare')
hooks.deregister()

export const { convertV4MiniflareOptions, Log, LogLevel, Miniflare, ProxyNodeBinding, Response } =
  miniflare
