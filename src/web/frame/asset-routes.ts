import type { Handler, Hono } from 'hono'
import { declareEntry, type EntryRule, type HubEnv } from '../../hub/http/page-entry'
import { cutText } from '../../shared/cut-text'
import { faviconSvg } from '../parts/icons'
import { findAsset, findPushWorker } from './assets'

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
