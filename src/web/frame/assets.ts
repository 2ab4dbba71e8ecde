import type { Handler, Hono } from 'hono'
import { declareEntry, type EntryRule, type HubEnv } from '../../hub/http/page-entry'
import { cutText } from '../../shared/cut-text'
import compare from '../client/compare.client.js'
import copy from '../client/copy.client.js'
import drafts from '../client/drafts.client.js'
import feedScript from '../client/feed.client.js'
import follow from '../client/follow.client.js'
import formKeys from '../client/form-keys.client.js'
import images from '../client/images.client.js'
import keys from '../client/keys.client.js'
import lengths from '../client/lengths.client.js'
import listen from '../client/listen.client.js'
import live from '../client/live.client.js'
import mentions from '../client/mentions.client.js'
import menus from '../client/menus.client.js'
import passkeys from '../client/passkeys.client.js'
import preview from '../client/preview.client.js'
import push from '../client/push.client.js'
import pushWorker from '../client/push-worker.client.js'
import times from '../client/times.client.js'
import unread from '../client/unread.client.js'
import work from '../client/work.client.js'
import writing from '../client/writing.client.js'
import { faviconSvg } from '../parts/meter'
import admin from '../styles/admin.css'
import chart from '../styles/chart.css'
import columns from '../styles/columns.css'
import comments from '../styles/comments.css'
import feed from '../styles/feed.css'
import frame from '../styles/frame.css'
import lists from '../styles/lists.css'
import money from '../styles/money.css'
import parts from '../styles/parts.css'
import thread from '../styles/thread.css'
import tokens from '../styles/tokens.css'
import trace from '../styles/trace.css'

type AssetName =
  | 'css'
  | 'thread'
  | 'trace'
  | 'chart'
  | 'admin'
  | 'page'
  | 'writing'
  | 'live'
  | 'feed'
  | 'follow'
  | 'passkeys'
  | 'push'
  | 'preview'
  | 'copy'
  | 'compare'
  | 'menus'
  | 'work'

interface Asset {
  type: string
  body: string
}

const texts = [tokens, frame, columns, parts, feed, thread]
const common = [...texts, lists, money]

const sources: Record<AssetName, () => Asset> = {
  css: () => style(...common),
  thread: () => style(...texts, comments),
  trace: () => style(...common, trace),
  chart: () => style(...common, chart),
  admin: () => style(...common, admin),
  page: () => script(keys, drafts, formKeys, writing, times, unread),
  writing: () => script(lengths, mentions, images),
  live: () => script(`${listen}\n${live}`),
  feed: () => script(`${listen}\n${feedScript}`),
  follow: () => script(`${listen}\n${follow}`),
  passkeys: () => script(passkeys),
  push: () => script(push),
  preview: () => script(preview),
  copy: () => script(copy),
  compare: () => script(compare),
  menus: () => script(menus),
  work: () => script(work),
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
const findPushWorker = (): Asset => script(pushWorker)

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
    writing: publish('writing'),
    live: publish('live'),
    feed: publish('feed'),
    follow: publish('follow'),
    passkeys: publish('passkeys'),
    push: publish('push'),
    preview: publish('preview'),
    copy: publish('copy'),
    compare: publish('compare'),
    menus: publish('menus'),
    work: publish('work'),
  }
  built = { paths, byPath }
  return built
}

/** Returns the paths of stylesheets and scripts. A path changes with the content, so it is cacheable. */
export const assetPaths = (): Record<AssetName, string> => buildAssets().paths

/** Returns the asset at `/assets/<hash>.css|js`, or null. */
const findAsset = (path: string): Asset | null => buildAssets().byPath.get(path) ?? null

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

const forever = 'public, max-age=31536000, immutable'

/** Registers `/assets/<hash>.css|js`, whose content never changes, the icon, and what an installed page needs. */
export function registerAssets(app: Hono<HubEnv>): void {
  const file: EntryRule = { rate: 'read', body: 'none' }
  const sendAsset = declareEntry<Handler<HubEnv>>(file, (c) => {
    const asset = findAsset(c.req.path)
    if (!asset) return c.text('File not found.', 404)
    return c.body(asset.body, 200, { 'content-type': asset.type, 'cache-control': forever })
  })
  app.get('/assets/:file', sendAsset)
  const sendIcon = declareEntry<Handler<HubEnv>>(file, (c) =>
    c.body(faviconSvg, 200, {
      'content-type': 'image/svg+xml',
      'cache-control': 'public, max-age=86400',
    }),
  )
  for (const path of ['/favicon.svg', '/favicon.ico']) app.get(path, sendIcon)
  app.get(
    '/push-worker.js',
    declareEntry<Handler<HubEnv>>(file, (c) => {
      const { body, type } = findPushWorker()
      return c.body(body, 200, { 'content-type': type })
    }),
  )
  app.get(
    '/manifest.webmanifest',
    declareEntry<Handler<HubEnv>>(file, (c) =>
      c.body(JSON.stringify(composeManifest(c.var.context.settings.ROOKERY_NAME)), 200, {
        'content-type': 'application/manifest+json',
        'cache-control': 'public, max-age=86400',
      }),
    ),
  )
}

/** Returns the web app manifest, with which a browser installs the hub as an app. */
const composeManifest = (name: string) => ({
  name,
  short_name: cutText(name, 12),
  start_url: '/',
  scope: '/',
  display: 'standalone',
  background_color: '#ffffff',
  theme_color: '#0b6070',
  icons: [{ src: '/favicon.svg', sizes: 'any', type: 'image/svg+xml', purpose: 'any' }],
})
