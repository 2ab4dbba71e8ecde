import type { Handler, Hono } from 'hono'
import { declareEntry, type EntryRule, type HubEnv } from '../../hub/http/page-entry'
import { faviconSvg } from '../parts/icons'
import { findAsset } from './assets'

const forever = 'public, max-age=31536000, immutable'

/** Registers `/assets/<hash>.css|js`, whose content never changes, and the icon. */
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
}
