import copy from '../client/copy.client.js'
import drafts from '../client/drafts.client.js'
import follow from '../client/follow.client.js'
import keys from '../client/keys.client.js'
import listen from '../client/listen.client.js'
import live from '../client/live.client.js'
import mentions from '../client/mentions.client.js'
import passkeys from '../client/passkeys.client.js'
import preview from '../client/preview.client.js'
import push from '../client/push.client.js'
import pushWorker from '../client/push-worker.client.js'
import times from '../client/times.client.js'
import admin from '../styles/admin.css'
import chart from '../styles/chart.css'
import columns from '../styles/columns.css'
import feed from '../styles/feed.css'
import frame from '../styles/frame.css'
import money from '../styles/money.css'
import parts from '../styles/parts.css'
import thread from '../styles/thread.css'
import tokens from '../styles/tokens.css'
import trace from '../styles/trace.css'

export type AssetName =
  | 'css'
  | 'thread'
  | 'trace'
  | 'chart'
  | 'admin'
  | 'page'
  | 'live'
  | 'follow'
  | 'passkeys'
  | 'push'
  | 'preview'
  | 'copy'

export interface Asset {
  type: string
  body: string
}

const texts = [tokens, frame, columns, parts, feed, thread]
const common = [...texts, money]

const sources: Record<AssetName, () => Asset> = {
  css: () => style(...common),
  thread: () => style(...texts),
  trace: () => style(...common, trace),
  chart: () => style(...common, chart),
  admin: () => style(...common, admin),
  page: () => script(keys, drafts, mentions, times),
  live: () => script(`${listen}\n${live}`),
  follow: () => script(`${listen}\n${follow}`),
  passkeys: () => script(passkeys),
  push: () => script(push),
  preview: () => script(preview),
  copy: () => script(copy),
}

const style = (...texts: string[]): Asset => ({
  type: 'text/css; charset=utf-8',
  body: texts.map(shrinkCss).join(''),
})

/** Joins scripts. Each file gets a block of its own, so that names of two files cannot collide. */
const script = (...texts: string[]): Asset => ({
  type: 'text/javascript; charset=utf-8',
  body: texts.map((text) => `{${shrinkScript(text)}}`).join('\n'),
})

/** Removes comments, leading zeros and the space between tokens; no string in these styles contains either. */
export const shrinkCss = (text: string): string =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,>]) ?/g, '$1')
    .replace(/ \+ (?=[^;{}]*\{)/g, '+')
    .replaceAll('@media (', '@media(')
    .replace(/([a-z-]): /g, '$1:')
    .replaceAll(';}', '}')
    .replace(/([ :,(])0(\.\d)/g, '$1$2')
    .trim()

/**
 * Removes indentation, comment lines and the space around operators that no string of these scripts contains. Line ends
 * stay, because they can end statements.
 */
export const shrinkScript = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(\/\/|\/?\*)/.test(line))
    .join('\n')
    .replace(/ (=>|===|!==|&&|\|\|) /g, '$1')

/** Returns the service worker, whose path must not change: browsers look for updates there. */
export const findPushWorker = (): Asset => script(pushWorker)

let built: { paths: Record<AssetName, string>; byPath: Map<string, Asset> } | null = null

function buildAssets() {
  if (built) return built
  const byPath = new Map<string, Asset>()
  const publish = (name: AssetName): string => {
    const asset = sources[name]()
    const path = `/assets/${hash(asset.body)}.${asset.type.startsWith('text/css') ? 'css' : 'js'}`
    byPath.set(path, asset)
    return path
  }
  const paths = {
    css: publish('css'),
    thread: publish('thread'),
    trace: publish('trace'),
    chart: publish('chart'),
    admin: publish('admin'),
    page: publish('page'),
    live: publish('live'),
    follow: publish('follow'),
    passkeys: publish('passkeys'),
    push: publish('push'),
    preview: publish('preview'),
    copy: publish('copy'),
  }
  built = { paths, byPath }
  return built
}

/** Returns the paths of stylesheets and scripts. A path changes with the content, so it is cacheable. */
export const assetPaths = (): Record<AssetName, string> => buildAssets().paths

/** Returns the asset at `/assets/<hash>.css|js`, or null. */
export const findAsset = (path: string): Asset | null => buildAssets().byPath.get(path) ?? null

/** Hashes a text by FNV-1a (draft-eastlake-fnv), twice with different offsets; not cryptographic. */
function hash(text: string): string {
  const run = (start: number) => {
    let value = start
    for (let index = 0; index < text.length; index++) {
      value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
    }
    return (value >>> 0).toString(16).padStart(8, '0')
  }
  return run(0x811c9dc5) + run(0x1b873593)
}
